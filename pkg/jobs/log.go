package jobs

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"legwork/pkg/fsx"
)

// Limits of one page of a transcript.
const (
	DefaultLines = 40
	maxLines     = 400
	maxPage      = 12_000 // bytes
	maxLogLine   = 600    // bytes
)

// Page is a part of a job's transcript.
type Page struct {
	Text     string `json:"text"`
	From, To int    // lines, counted from 1; From is 0 when there are none
	Total    int    // lines so far
}

// Log reads up to lines lines of the transcript that end before line before (0: the end of it), so that
// Log(id, 40, page.From) is the page in front of page. Long lines and pages are shortened.
func (s *Store) Log(id string, lines, before int) (Page, error) {
	id, err := s.Find(id)
	if err != nil {
		return Page{}, err
	}
	b, err := os.ReadFile(s.Path(id, transcriptName))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return Page{}, err
	}
	var all []string
	if text := strings.TrimRight(string(b), "\n"); text != "" {
		all = strings.Split(text, "\n")
	}
	if lines <= 0 {
		lines = DefaultLines
	}
	end := len(all)
	if before > 0 {
		end = min(end, before-1)
	}
	from, size := end, 0
	for from > 0 && end-from < min(lines, maxLines) {
		line := shortLine(all[from-1])
		if size+len(line) > maxPage && from < end {
			break
		}
		all[from-1] = line
		size += len(line) + 1
		from--
	}
	p := Page{Text: strings.Join(all[from:end], "\n"), To: end, Total: len(all)}
	if end > from {
		p.From = from + 1
	}
	return p, nil
}

func shortLine(line string) string {
	if len(line) <= maxLogLine {
		return line
	}
	return fmt.Sprintf("%s … (%d bytes)", strings.ToValidUTF8(line[:maxLogLine], ""), len(line))
}

// TranscriptPath is the file behind Log, and EventsPath that of the client's events as they came.
func (s *Store) TranscriptPath(id string) string { return s.Path(id, transcriptName) }

// EventsPath is the file with the events of the job's client as they came, one JSON object a line.
func (s *Store) EventsPath(id string) string { return s.Path(id, eventsName) }

// Say appends lines to the transcript.
func (h *Handle) Say(text string) error {
	return h.append(transcriptName, []byte(strings.TrimRight(text, "\n")))
}

// Event appends a line to the events.
func (h *Handle) Event(line []byte) error { return h.append(eventsName, line) }

// append needs no lock: the owner is the only writer, and O_APPEND keeps whole writes together.
func (h *Handle) append(name string, line []byte) (err error) {
	f, err := os.OpenFile(h.Path(name), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	_, err = f.Write(append(bytes.Clone(line), '\n'))
	return err
}

// Remove deletes the record of a job that is over, with all its files.
func (s *Store) Remove(id string) error {
	job, err := s.Get(id)
	if err != nil {
		return err
	}
	if !job.State.Final() {
		return fmt.Errorf("job %s is %s; cancel it first: %w", job.ID, job.State, ErrOver)
	}
	return fsx.RemoveAll(s.Path(job.ID, ""))
}
