package ledger

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// Counts says what a reading went over.
type Counts struct {
	Lines   int `json:"lines"`   // runs handed to the caller
	Damaged int `json:"damaged"` // lines that are no runs
	Files   int `json:"files"`
}

// maxLine is far above any real line (about 300 bytes); a longer one is damage.
const maxLine = 64 << 10

// Read hands every run since a time (zero: all of them) to fn, oldest file first, until fn returns false. Memory
// does not grow with the ledger. A ledger that does not exist is empty.
func (l *Ledger) Read(since time.Time, fn func(*Run) bool) (Counts, error) {
	var c Counts
	paths := make([]string, 0, Keep+1)
	for n := Keep; n >= 1; n-- {
		paths = append(paths, older(l.dir, n))
	}
	paths = append(paths, filepath.Join(l.dir, fileName))
	dec := newDecoder()
	for _, path := range paths {
		more, err := readFile(path, since, dec, &c, fn)
		if err != nil {
			return c, fmt.Errorf("ledger: %w", err)
		}
		if !more {
			break
		}
	}
	return c, nil
}

func readFile(path string, since time.Time, dec *decoder, c *Counts, fn func(*Run) bool) (more bool, err error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return true, nil
	}
	if err != nil {
		return false, err
	}
	defer func() { _ = f.Close() }()
	if st, err := f.Stat(); err == nil && st.ModTime().Before(since) {
		return true, nil // its last line is older than that
	}
	c.Files++
	r := bufio.NewReaderSize(f, maxLine)
	var run Run
	for {
		line, err := r.ReadSlice('\n')
		if errors.Is(err, bufio.ErrBufferFull) {
			c.Damaged++
			err = skipLine(r)
			line = nil
		}
		if errors.Is(err, io.EOF) {
			return true, nil // a last line without an end is still being written
		}
		if err != nil {
			return false, err
		}
		if line = bytes.TrimSpace(line); len(line) == 0 {
			continue
		}
		if !dec.decode(line, &run) {
			c.Damaged++
			continue
		}
		if run.TS.Before(since) {
			continue
		}
		c.Lines++
		if !fn(&run) {
			return false, nil
		}
	}
}

func skipLine(r *bufio.Reader) error {
	for {
		if _, err := r.ReadSlice('\n'); !errors.Is(err, bufio.ErrBufferFull) {
			return err
		}
	}
}
