// Package digest is the extractive reader: it finds, without a model, the lines of a large text that
// answer a question, counts what can be counted, and looks for the line that supports an answer.
//
// Rules. The text is read as a stream and memory stays flat for any size: text above Options.Keep bytes
// is read again through Options.Reopen when a question comes. Line numbers start at 1 and count "\n"
// only, so they are those of the raw file. Nothing is cut silently: a shortened line states its size.
//
// Pitfall: the package expects cleaned text (see package clean); escape sequences would become words.
package digest

import (
	"errors"
	"io"
)

// ErrReopen is returned by a question about text that was too large to keep and cannot be read again.
var ErrReopen = errors.New("text is larger than the reader keeps and there is no way to read it again: set Options.Reopen")

// Options of Scan. The zero value works for text up to the default Keep size.
type Options struct {
	// Reopen gives the same cleaned text from its start. It may be called once for each question.
	Reopen func() (io.ReadCloser, error)
	// Keep is how many bytes are held in memory (0 = 16 MiB); a longer text is read again instead.
	Keep int64
}

// Budget limits a selection.
type Budget struct {
	Tokens int
	// BytesPerToken converts; 0 takes the estimate for the kind of text (see Doc.BytesPerToken).
	BytesPerToken float64
}

// Line is one line of the text, or a window of a long one.
type Line struct {
	No    int     `json:"line"`            // 1-based
	Text  string  `json:"text"`            // without the newline; a cut is marked inside with its size
	Score float64 `json:"score,omitempty"` // comparable within one selection only
	Cut   int     `json:"cut,omitempty"`   // bytes of the line that are not in Text
	// Count lines of the text read the same but for numbers, ids and paths, between First and Last.
	// They are set on one line of a kind only, and when there are 20 or more.
	Count int `json:"count,omitempty"`
	First int `json:"first,omitempty"`
	Last  int `json:"last,omitempty"`
}

// Coverage says what a selection was made from.
type Coverage struct {
	LinesScanned int   `json:"lines_scanned"`
	BytesScanned int64 `json:"bytes_scanned"`
	LinesKept    int   `json:"lines_kept"`
	BytesKept    int64 `json:"bytes_kept"`
	LinesCut     int   `json:"lines_cut"` // kept lines that are shortened
	BytesCut     int64 `json:"bytes_cut"` // bytes missing from those
}

// Selection is what Select kept, in the order of the text.
type Selection struct {
	Lines []Line `json:"lines"`
	// Answered is false when, by the reader's scores, the text does not say. Confidence is 0 to 1.
	Answered   bool     `json:"answered"`
	Confidence float64  `json:"confidence"`
	Why        string   `json:"why,omitempty"` // what the judgement rests on, one clause
	Whole      bool     `json:"whole"`         // the complete text fitted and nothing is left out
	Coverage   Coverage `json:"coverage"`
}

// Counted is an answer computed over the whole text.
type Counted struct {
	Kind  string `json:"kind"`  // count, first, last, longest, largest, most, …
	Value string `json:"value"` // the short answer
	Rule  string `json:"rule"`  // how it was computed, one sentence
	Lines []Line `json:"lines"` // the lines it rests on, best first, at most 8
}

// Support is what Doc.Support found for an answer.
type Support struct {
	Found   bool   `json:"found"`
	Line    Line   `json:"line"`    // the line that says so, when Found
	More    []Line `json:"more"`    // further lines, when it takes up to three to hold all of the answer
	Nearest []Line `json:"nearest"` // 3 to 8 lines by the reader's own ranking, in text order
}

// Chunk is a part of the text that ends at a line boundary.
type Chunk struct {
	From, To int    // lines, both included
	Text     string // each line as "number: text"
	Tokens   int    // estimate
	// Folded lines are not in Text: the chunk had lines alike, and says how many.
	Folded int
}
