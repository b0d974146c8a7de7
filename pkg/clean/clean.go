// Package clean turns what programs write to terminals and files into plain text: valid UTF-8, one line a newline, no
// control sequences.
//
// Rules: a '\n' is never added or removed, so line 7 of the cleaned text is line 7 of the raw file. Colours, cursor
// moves, titles and other sequences go; the text of a hyperlink stays. Of a line redrawn with '\r' the last frame that
// is not empty stays; "\r\n" is a newline. Backspaces take back what they stand behind once something is written over
// it. Bytes that are no UTF-8 become U+FFFD, one each, and are counted. UTF-16 with a byte order mark is decoded. NULs
// become one blank a run, other control characters go. Memory is bounded whatever comes: of a line without end,
// everything but the last MaxFrame bytes is handed on and can no longer be overwritten.
//
// One pitfall: a control string that is never closed ends at its line, and its text is kept, because swallowing the
// rest of a log would be worse than showing a window title.
package clean

import (
	"bytes"
	"io"
)

// MaxFrame is how much of one line can be taken back by '\r' or backspace, in bytes.
const MaxFrame = 256 << 10

// Stats count what was found so far. They are final when Read has returned io.EOF.
type Stats struct {
	In, Out   int64 // bytes read and given
	Lines     int64 // newlines
	BadBytes  int64 // bytes that were no UTF-8 (or halves of a UTF-16 character), each given as U+FFFD
	NULs      int64
	NULRuns   int64
	Controls  int64  // other control characters removed, escape sequences not counted
	Sequences int64  // escape sequences removed
	Frames    int64  // frames of redrawn lines dropped
	Encoding  string // "utf-8", "utf-16le", "utf-16be"
}

// NewReader returns a reader of the cleaned text of r. It reads r in blocks of 64 KiB.
func NewReader(r io.Reader) *Reader { return newReader(r) }

// Bytes cleans b.
func Bytes(b []byte) []byte {
	out, _ := BytesStats(b)
	return out
}

// BytesStats cleans b and tells what was found.
func BytesStats(b []byte) ([]byte, Stats) {
	r := NewReader(bytes.NewReader(b))
	out, _ := io.ReadAll(r) // a bytes.Reader does not fail
	return out, r.Stats()
}
