package llm

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
)

// maxLine bounds one line of a stream.
const maxLine = 32 << 20

// lineReader reads lines of any ending and of any length up to maxLine.
type lineReader struct{ r *bufio.Reader }

func newLineReader(r io.Reader) *lineReader { return &lineReader{bufio.NewReaderSize(r, 16<<10)} }

// next returns a line without its ending. The last line may lack one; then
// comes io.EOF.
func (l *lineReader) next() ([]byte, error) {
	var line []byte
	for {
		part, err := l.r.ReadSlice('\n')
		line = append(line, part...)
		if len(line) > maxLine {
			return nil, fmt.Errorf("a line of the stream is longer than %d bytes", maxLine)
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		if err != nil && (len(line) == 0 || !errors.Is(err, io.EOF)) {
			return nil, err
		}
		return bytes.TrimRight(line, "\r\n"), nil
	}
}

// sseEvent is one server-sent event; a comment has neither name nor data.
type sseEvent struct {
	name string
	data []byte
}

// readSSE hands every event of a stream to f until the stream ends, f returns
// an error, or f says stop. Comments are handed on as empty events: they show
// that the server lives.
func readSSE(r io.Reader, f func(sseEvent) (stop bool, err error)) error {
	lines := newLineReader(r)
	var ev sseEvent
	for {
		line, err := lines.next()
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		ended := err != nil
		switch {
		case len(line) == 0: // an empty line or the end of the stream ends an event
			if ev.data != nil || ev.name != "" {
				if stop, err := f(ev); stop || err != nil {
					return err
				}
			}
			ev = sseEvent{}
		case line[0] == ':':
			if stop, err := f(sseEvent{}); stop || err != nil {
				return err
			}
		default:
			field, value, _ := bytes.Cut(line, []byte(":"))
			value = bytes.TrimPrefix(value, []byte(" "))
			switch string(field) {
			case "event":
				ev.name = string(value)
			case "data":
				if ev.data != nil {
					ev.data = append(ev.data, '\n')
				}
				ev.data = append(ev.data, value...)
			}
		}
		if ended {
			return nil
		}
	}
}

// readNDJSON hands every non-empty line to f.
func readNDJSON(r io.Reader, f func([]byte) (stop bool, err error)) error {
	lines := newLineReader(r)
	for {
		line, err := lines.next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if line = bytes.TrimSpace(line); len(line) == 0 {
			continue
		}
		if stop, err := f(line); stop || err != nil {
			return err
		}
	}
}
