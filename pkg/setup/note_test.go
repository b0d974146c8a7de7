package setup

import (
	"bytes"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

const text = "## Local worker\n\n- use it\n"

func put(t *testing.T, path, data string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(data), 0o640); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// write carries an edit out; a nil one is a mistake.
func write(t *testing.T, e *Edit, err error) {
	t.Helper()
	if err == nil && e == nil {
		t.Fatal("nothing to do")
	}
	if err == nil {
		err = e.write()
	}
	if err != nil {
		t.Fatal(err)
	}
}

// In, in again, updated, out: the file is byte for byte what it was, whatever its line ends, mark and last line.
func TestNoteComesAndGoes(t *testing.T) {
	t.Parallel()
	for name, before := range map[string]string{
		"plain": "# Mine\n\nrules\n", "crlf": "# Mine\r\n\r\nrules\r\n", "bom": "\ufeff# Mine\nrules\n", "bom and crlf": "\ufeff# Mine\r\nrules\r\n",
		"no final newline": "# Mine\nrules", "crlf, no final newline": "# Mine\r\nrules", "empty": "", "only bom": "\ufeff", "blank lines": "a\n\n\n", "one newline": "\n",
		"a text about the marks": "Never write `" + beginMark + "` yourself\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "CLAUDE.md")
			put(t, path, before)
			n := findNote(User, path, text)
			if n.State != Absent {
				t.Fatalf("state %s %s", n.State, n.Why)
			}
			e, err := n.insert(text)
			write(t, e, err)
			in := read(t, path)
			if !strings.HasPrefix(in, before) || strings.Contains(before, "\r\n") != strings.Contains(in, "\r\n") || strings.Count(in, "\ufeff") != strings.Count(before, "\ufeff") {
				t.Errorf("%q became %q", before, in)
			}
			if strings.HasSuffix(before, "\n") != strings.HasSuffix(in, "\n") {
				t.Errorf("the end of the file changed: %q became %q", before, in)
			}
			if n = findNote(User, path, text); n.State != Current {
				t.Errorf("state %s after the insertion", n.State)
			}
			if e, err := n.insert(text); e != nil || err != nil {
				t.Errorf("a second insertion: %v, %v", e, err)
			}
			e, err = n.insert(text + "- and more\n")
			write(t, e, err)
			if n = findNote(User, path, text); n.State != Old || strings.Count(read(t, path), "legwork:begin -->") != 1+strings.Count(before, "legwork:begin -->") {
				t.Errorf("state %s after an update: %q", n.State, read(t, path))
			}
			e, err = n.remove()
			write(t, e, err)
			if after := read(t, path); after != before {
				t.Errorf("removed: %q, was %q", after, before)
			}
			if st, err := os.Stat(path); err != nil || runtime.GOOS != "windows" && st.Mode().Perm() != 0o640 {
				t.Errorf("mode %v, %v", st.Mode(), err)
			}
		})
	}
}

// A file that we made goes with the note; one to which the user added something stays.
func TestNoteInANewFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "new folder", "CLAUDE.md")
	e, err := findNote(User, path, text).insert(text)
	write(t, e, err)
	n := findNote(User, path, text)
	if n.State != Current {
		t.Fatalf("state %s", n.State)
	}
	e, err = n.insert(text + "- more\n") // an update keeps the mark
	write(t, e, err)
	e, err = findNote(User, path, text).remove()
	write(t, e, err)
	if _, err := os.Stat(path); !os.IsNotExist(err) {
		t.Errorf("the file stays: %v", err)
	}
	e, err = findNote(User, path, text).insert(text)
	write(t, e, err)
	put(t, path, read(t, path)+"\nmine\n")
	e, err = findNote(User, path, text).remove()
	write(t, e, err)
	if got := read(t, path); got != "\nmine\n" {
		t.Errorf("left: %q", got)
	}
}

// The user's text around the note is theirs, wherever they moved the note to; a note that is there twice is there once
// afterwards.
func TestNoteInTheMiddleAndTwice(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "CLAUDE.md")
	block := beginMark + "\nold\n" + endMark + "\n"
	put(t, path, "a\n\n"+block+"\nb\n"+block+"c\n")
	e, err := findNote(User, path, text).insert(text)
	write(t, e, err)
	want := "a\n\n" + beginMark + "\n" + text + endMark + "\n\nb\nc\n"
	if got := read(t, path); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	put(t, path, "a\n\n"+block+"\nb\n"+block+"c\n")
	e, err = findNote(User, path, text).remove()
	write(t, e, err)
	if got := read(t, path); got != "a\n\nb\nc\n" {
		t.Errorf("got %q", got)
	}
}

// What cannot be edited safely is left alone, with the reason.
func TestDamagedNote(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, data := range map[string]string{
		"no end": "a\n" + beginMark + "\nb\n", "no begin": "a\n" + endMark + "\n", "begin twice": beginMark + "\n" + beginMark + "\n" + endMark + "\n",
		"not text": "a\xff\xfeb legwork: x",
	} {
		path := filepath.Join(dir, name)
		put(t, path, data)
		n := findNote(User, path, text)
		_, err1 := n.insert(text)
		_, err2 := n.remove()
		if n.State != Damaged || err1 == nil || err2 == nil || !strings.Contains(err1.Error(), path) {
			t.Errorf("%s: %s, %v, %v", name, n.State, err1, err2)
		}
		if read(t, path) != data {
			t.Errorf("%s was changed", name)
		}
	}
	if n := findNote(User, dir, text); n.State != Damaged {
		t.Errorf("a folder is %s", n.State)
	}
}

// A linked CLAUDE.md stays a link, and its target gets the note once.
func TestLinkedNote(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	real, link := filepath.Join(dir, "AGENTS.md"), filepath.Join(dir, "CLAUDE.md")
	put(t, real, "mine\n")
	if err := os.Symlink(real, link); err != nil {
		t.Skipf("no symbolic links here: %v", err)
	}
	e, err := findNote(User, link, text).insert(text)
	write(t, e, err)
	if !isLink(link) || !strings.Contains(read(t, real), beginMark) {
		t.Error("the link was replaced, or its target has no note")
	}
	a, b := findNote(User, link, text), findNote(Project, real, text)
	if b.State != Current || !a.sameFile(b) {
		t.Errorf("through the other name it is %s", b.State)
	}
	e, err = a.remove()
	write(t, e, err)
	if !isLink(link) || read(t, real) != "mine\n" {
		t.Errorf("left: %q", read(t, real))
	}
	if err := os.Remove(real); err != nil {
		t.Fatal(err)
	}
	if n := findNote(User, link, text); n.State != Damaged {
		t.Errorf("a dangling link is %s", n.State)
	}
}

// Between the plan and the writing the user may have saved the file.
func TestNoteChangedMeanwhile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "CLAUDE.md")
	put(t, path, "a\n")
	e, err := findNote(User, path, text).insert(text)
	if err != nil {
		t.Fatal(err)
	}
	put(t, path, "a\nb\n")
	if err := e.write(); err == nil || read(t, path) != "a\nb\n" {
		t.Errorf("%v, %q", err, read(t, path))
	}
}

// The note is short, and names only tools that it was given.
func TestNoteText(t *testing.T) {
	t.Parallel()
	got := Text([]string{"offload", "research"}, "mcp__x__")
	if len(got) > 900 || !strings.Contains(got, "`mcp__x__offload`") || !strings.Contains(got, "`mcp__x__research`") || strings.Contains(got, "delegate") {
		t.Errorf("%d bytes: %s", len(got), got)
	}
	if strings.Contains(Text(nil, "mcp__x__"), "mcp__x__offload") {
		t.Error("nothing is allowed, and the note names a tool")
	}
}

func FuzzNote(f *testing.F) {
	for _, s := range []string{"", "a", "a\n", "a\r\n", "\ufeffa\n", beginMark + "\nx\n" + endMark, "x\n\n" + beginMark + "\r\n" + endMark + "\r\n\r\n"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		blocks, err := blocksIn(data)
		if err != nil || len(blocks) > 0 {
			return
		}
		n := Note{data: data}
		in, err := n.insert(text)
		if err != nil || in == nil {
			t.Fatalf("insert: %v, %v", in, err)
		}
		out, err := Note{data: in.After}.remove()
		if err != nil || out == nil || !bytes.Equal(out.After, data) {
			t.Fatalf("%q became %q and then %+v (%v)", data, in.After, out, err)
		}
	})
}
