package setup

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"unicode/utf8"
)

// Place is where the note for Claude can stand.
type Place string

// The places: the user's CLAUDE.md, read in every session, and the project's.
const (
	User    Place = "user"
	Project Place = "project"
)

// NoteState says how a CLAUDE.md stands to us.
type NoteState string

// The states of a note.
const (
	Absent  NoteState = "absent"
	Current NoteState = "current"
	Old     NoteState = "outdated" // of another version, or changed by hand
	Damaged NoteState = "damaged"  // one of the marks is missing; nothing is touched
)

// Note is a CLAUDE.md as it was found.
type Note struct {
	Place Place     `json:"place"`
	Path  string    `json:"path"`
	State NoteState `json:"state"`
	Why   string    `json:"why,omitempty"` // of Damaged

	data    []byte
	missing bool // there is no such file
}

// Edit is one file to be replaced.
type Edit struct {
	Path    string
	After   []byte
	Delete  bool // the file was made by us and holds nothing else
	before  []byte
	missing bool
}

// The marks. A file that we made says so, and goes with the note.
const (
	beginMark = "<!-- legwork:begin -->"
	madeMark  = "<!-- legwork:begin, file made by legwork -->"
	endMark   = "<!-- legwork:end -->"
)

const maxNote = 4 << 20 // bytes of a CLAUDE.md

// lines of the note, for each tool that Claude may use on its own.
var noteLines = []struct{ tool, text string }{
	{"offload", "Long or noisy output (tests, builds, logs, big diffs): `%soffload` with a command and your question, in place of Bash. Exact text, or less than 1,500 characters: Bash or Read."},
	{"offload_files", "A question about big files: `%soffload_files`; several run in parallel."},
	{"research", "A question to the web: `%sresearch`; it reads the pages in full and checks every citation."},
	{"delegate", "A file whose behaviour a test can judge: write the test, then `%sdelegate`."},
	{"run_agent", "Mechanical edits in many files: `%srun_agent`, with a verify command."},
	{"local_complete", "Boilerplate text from one prompt: `%slocal_complete`."},
}

// Text is the note, with LF as line ends, without its marks. prefix is how the client names our tools.
func Text(tools []string, prefix string) string {
	var b strings.Builder
	b.WriteString("## Local worker (legwork)\n\n")
	n := 0
	for _, l := range noteLines {
		if slices.Contains(tools, l.tool) {
			fmt.Fprintf(&b, "- "+l.text+"\n", prefix)
			n++
		}
	}
	if n == 0 {
		b.WriteString("- Use the tools `" + prefix + "*` only when you are asked to.\n")
	}
	b.WriteString("- In a reply, the first line is measured; `answer:` is the local model's opinion, and the line below it is the one that says so.\n")
	return b.String()
}

// findNote reads a CLAUDE.md. What cannot be edited safely is Damaged, with the reason.
func findNote(place Place, path, text string) Note {
	n := Note{Place: place, Path: path, State: Absent}
	st, err := os.Stat(path) // links followed: many keep one file for several places
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if _, lerr := os.Lstat(path); lerr == nil {
			return n.damaged("it is a link to a file that is not there")
		}
		n.missing = true
		return n
	case err != nil:
		return n.damaged(err.Error())
	case !st.Mode().IsRegular():
		return n.damaged("it is no plain file")
	case st.Size() > maxNote:
		return n.damaged("it is larger than 4 MB")
	}
	if n.data, err = os.ReadFile(path); err != nil {
		return n.damaged(err.Error())
	}
	if !utf8.Valid(n.data) {
		return n.damaged("it is not UTF-8 text")
	}
	blocks, err := blocksIn(n.data)
	switch {
	case err != nil:
		return n.damaged(err.Error())
	case len(blocks) == 0:
		return n
	case len(blocks) == 1 && bytes.Contains(n.data[blocks[0].from:blocks[0].to], shape(n.data, "-->\n"+text+endMark)):
		n.State = Current
	default:
		n.State = Old
	}
	return n
}

func (n Note) damaged(why string) Note {
	n.State, n.Why = Damaged, why
	return n
}

func (n Note) broken() error {
	return fmt.Errorf("%s is left as it is: %s", n.Path, n.Why)
}

// block is what stands from the first byte of the line with the begin mark to the end of the line with the end mark.
type block struct {
	from, to int
	made     bool
}

// blocksIn finds our blocks. Marks count only as whole lines, so that a text about them is not taken for one.
func blocksIn(data []byte) ([]block, error) {
	var out []block
	open, pos := -1, 0
	made := false
	for i, line := 1, data; len(line) > 0; i++ {
		l, rest, _ := bytes.Cut(line, []byte("\n"))
		end := pos + len(l)
		if len(rest) > 0 || bytes.HasSuffix(line, []byte("\n")) {
			end++
		}
		switch mark := string(bytes.TrimSpace(bytes.TrimPrefix(l, []byte("\ufeff")))); {
		case mark == beginMark || mark == madeMark:
			if open >= 0 {
				return nil, fmt.Errorf("line %d: a second %q without %q before it", i, mark, endMark)
			}
			open, made = pos, mark == madeMark
		case mark == endMark && open < 0:
			return nil, fmt.Errorf("line %d: %q without %q before it", i, endMark, beginMark)
		case mark == endMark:
			out, open = append(out, block{open, end, made}), -1
		}
		line, pos = rest, end
	}
	if open >= 0 {
		return nil, fmt.Errorf("%q without %q behind it", beginMark, endMark)
	}
	return out, nil
}

// newline is the line end of a file: CRLF when its first line has it.
func newline(data []byte) string {
	if i := bytes.IndexByte(data, '\n'); i > 0 && data[i-1] == '\r' {
		return "\r\n"
	}
	return "\n"
}

// shape gives a text the line ends of a file.
func shape(data []byte, text string) []byte {
	return []byte(strings.ReplaceAll(text, "\n", newline(data)))
}

// insert puts the note at the end, or in the place of the one that is there; nil when it is there already. A byte order
// mark, the line ends and a missing final newline stay as they are.
func (n Note) insert(text string) (*Edit, error) {
	if n.State == Damaged {
		return nil, n.broken()
	}
	blocks, err := blocksIn(n.data)
	if err != nil {
		return nil, err
	}
	mark := beginMark
	if n.missing || len(blocks) > 0 && blocks[0].made {
		mark = madeMark
	}
	body := shape(n.data, mark+"\n"+text+endMark)
	nl := []byte(newline(n.data))
	var after []byte
	if len(blocks) > 0 {
		at := blocks[0]
		if bytes.HasSuffix(n.data[at.from:at.to], []byte("\n")) {
			body = append(body, nl...)
		}
		if bytes.HasPrefix(n.data[at.from:], []byte("\ufeff")) { // the block opens the file
			at.from += len("\ufeff")
		}
		rest := n.data[at.to:]
		for _, b := range slices.Backward(blocks[1:]) { // never twice
			b.from, b.to = b.from-at.to, b.to-at.to
			rest = slices.Concat(rest[:b.from], rest[b.to:])
		}
		after = slices.Concat(n.data[:at.from], body, rest)
	} else {
		after = n.appended(body, nl)
	}
	if bytes.Equal(after, n.data) && !n.missing {
		return nil, nil //nolint:nilnil // nothing to do
	}
	return &Edit{Path: n.Path, After: after, before: n.data, missing: n.missing}, nil
}

// appended adds the block behind a blank line. A file without a final newline stays without one.
func (n Note) appended(body, nl []byte) []byte {
	switch {
	case n.missing:
		return append(body, nl...)
	case len(bytes.TrimPrefix(n.data, []byte("\ufeff"))) == 0:
		return slices.Concat(n.data, body)
	case bytes.HasSuffix(n.data, []byte("\n")):
		return slices.Concat(n.data, nl, body, nl)
	}
	return slices.Concat(n.data, nl, nl, body)
}

// remove takes every block of ours out, with the blank line that was put before it; nil when there is none.
func (n Note) remove() (*Edit, error) {
	if n.State == Damaged {
		if !bytes.Contains(n.data, []byte("legwork:")) {
			return nil, nil //nolint:nilnil // whatever it is, nothing in it is ours
		}
		return nil, n.broken()
	}
	blocks, err := blocksIn(n.data)
	if err != nil || len(blocks) == 0 {
		return nil, err
	}
	after := slices.Clone(n.data)
	for _, b := range slices.Backward(blocks) {
		from := b.from
		if bytes.HasPrefix(after[from:], []byte("\ufeff")) {
			from += len("\ufeff")
		}
		head, tail := after[:from], after[b.to:]
		nl := []byte(newline(after[b.from:b.to])) // as it was inserted
		atEnd := len(tail) == 0
		ended := bytes.HasSuffix(after[b.from:b.to], []byte("\n"))
		if blank, ok := bytes.CutSuffix(head, nl); ok && bytes.HasSuffix(blank, []byte("\n")) && (atEnd || bytes.HasPrefix(tail, nl)) {
			head = blank
			if atEnd && !ended { // the file had no final newline before
				head = bytes.TrimSuffix(head, nl)
			}
		}
		after = slices.Concat(head, tail)
	}
	e := &Edit{Path: n.Path, After: after, before: n.data}
	e.Delete = blocks[0].made && len(bytes.TrimSpace(after)) == 0 && !isLink(n.Path)
	return e, nil
}

// check says whether the file is still what the plan saw.
func (e Edit) check() error {
	now, err := os.ReadFile(e.Path)
	switch {
	case errors.Is(err, fs.ErrNotExist) && e.missing:
		return nil
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return err
	case err != nil || e.missing || !bytes.Equal(now, e.before):
		return fmt.Errorf("%s: %w", e.Path, ErrChanged)
	}
	return nil
}

// sameFile tells whether two names lead to one file: many link the CLAUDE.md of a project to their own.
func (n Note) sameFile(other Note) bool {
	a, err1 := os.Stat(n.Path)
	b, err2 := os.Stat(other.Path)
	return err1 == nil && err2 == nil && os.SameFile(a, b)
}

func isLink(path string) bool {
	st, err := os.Lstat(path)
	return err == nil && st.Mode()&fs.ModeSymlink != 0
}
