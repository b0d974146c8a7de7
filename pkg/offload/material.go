package offload

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"legwork/pkg/clean"
	"legwork/pkg/fsx"
)

// maxFiles bounds what one glob or list may name.
const maxFiles = 500

// InputError is a request that cannot be carried out as it stands; the text says what would work.
type InputError struct{ Msg string }

func (e *InputError) Error() string { return e.Msg }

func badInput(format string, a ...any) error { return &InputError{fmt.Sprintf(format, a...)} }

// part is one stretch of the material: a file, a range of it, or a command's output.
type part struct {
	name     string // as shown to the user
	open     func() (io.ReadCloser, error)
	from, to int // wanted lines, 1-based and inclusive; to 0 = to the end
	first    int // its first line in the joined text, known after the first full reading
	lines    int
}

// material is all parts read as one text.
type material struct {
	parts   []*part
	secrets *clean.Secrets // nil: nothing is masked
	bad     int64          // bytes that were not text, of the first full reading
}

// locate turns a line of the joined text into a line of the part it came from.
func (m *material) locate(n int) (string, int) {
	for _, p := range slices.Backward(m.parts) {
		if n >= p.first && p.first > 0 {
			return p.name, n - p.first + max(p.from, 1)
		}
	}
	return m.parts[0].name, n
}

// open reads all parts as one cleaned text without well-known keys; each part ends with a newline.
func (m *material) open() (io.ReadCloser, error) {
	j := &joined{m: m}
	if err := j.next(); err != nil {
		return nil, err
	}
	return struct {
		io.Reader
		io.Closer
	}{m.secrets.Reader(j), j}, nil
}

// all is the whole material as one string.
func (m *material) all() (string, error) {
	r, err := m.open()
	if err != nil {
		return "", err
	}
	defer r.Close()
	b, err := io.ReadAll(r)
	return string(b), err
}

type joined struct {
	m     *material
	i     int // index of the next part to open
	raw   io.ReadCloser
	clean *clean.Reader
	cur   io.Reader
	lines int
	last  byte
	total int
}

func (j *joined) next() error {
	p := j.m.parts[j.i]
	f, err := p.open()
	if err != nil {
		return err
	}
	j.i++
	j.raw, j.lines, j.last = f, 0, '\n'
	j.clean = clean.NewReader(f)
	j.cur = j.clean
	if p.from > 1 || p.to > 0 {
		j.cur = &lineRange{r: j.clean, from: max(p.from, 1), to: p.to}
	}
	p.first = j.total + 1
	return nil
}

func (j *joined) Read(b []byte) (int, error) {
	for {
		if j.cur == nil {
			return 0, io.EOF
		}
		n, err := j.cur.Read(b)
		if n > 0 {
			j.lines += bytes.Count(b[:n], newline)
			j.last = b[n-1]
			return n, nil
		}
		if err == nil {
			continue
		}
		if !errors.Is(err, io.EOF) {
			return 0, err
		}
		if j.last != '\n' && len(b) > 0 {
			b[0], j.last = '\n', '\n'
			j.lines++
			return 1, nil
		}
		if err := j.endPart(); err != nil {
			return 0, err
		}
	}
}

var newline = []byte{'\n'}

func (j *joined) endPart() error {
	p := j.m.parts[j.i-1]
	_ = j.raw.Close()
	j.raw = nil
	if p.lines == 0 {
		j.m.bad += j.clean.Stats().BadBytes
	}
	p.lines = j.lines
	j.total += j.lines
	if j.i < len(j.m.parts) {
		return j.next()
	}
	j.cur = nil
	return nil
}

func (j *joined) Close() error {
	if j.raw != nil {
		return j.raw.Close()
	}
	return nil
}

// lineRange passes on the lines from..to of r.
type lineRange struct {
	r        io.Reader
	from, to int
	line     int // lines seen so far
	buf      [32 << 10]byte
	rest     []byte
}

func (l *lineRange) Read(b []byte) (int, error) {
	for {
		for len(l.rest) > 0 {
			if l.to > 0 && l.line >= l.to {
				return 0, io.EOF
			}
			end := bytes.IndexByte(l.rest, '\n') + 1
			seg := l.rest
			if end > 0 {
				seg = l.rest[:end]
			}
			if l.line+1 >= l.from {
				n := copy(b, seg)
				l.rest = l.rest[n:]
				if n == end {
					l.line++
				}
				return n, nil
			}
			l.rest = l.rest[len(seg):]
			if end > 0 {
				l.line++
			}
		}
		n, err := l.r.Read(l.buf[:])
		l.rest = l.buf[:n]
		if n == 0 && err != nil {
			return 0, err
		}
	}
}

var rangeForm = regexp.MustCompile(`^(.+):(\d+)(-(\d*))?$`)

// fileParts turns the names of a request into parts. Every name must lie inside one of the roots.
func fileParts(names []string, dir string, roots []string, allow func(path string) error) ([]*part, error) {
	var out []*part
	for _, name := range names {
		ps, err := expand(name, dir, roots, allow)
		if err != nil {
			return nil, err
		}
		if out = append(out, ps...); len(out) > maxFiles {
			return nil, badInput("files: more than %d files; name fewer, or narrow the pattern", maxFiles)
		}
	}
	return out, nil
}

func expand(name, dir string, roots []string, allow func(string) error) ([]*part, error) {
	if strings.TrimSpace(name) == "" {
		return nil, badInput("files: an empty name; give a path like src/app.log, src/app.log:10-90 or logs/*.log")
	}
	path, from, to := name, 0, 0
	if _, err := os.Stat(abs(dir, name)); err != nil {
		if m := rangeForm.FindStringSubmatch(name); m != nil {
			var err error
			if path, from, to, err = parseRange(name, m); err != nil {
				return nil, err
			}
		}
	}
	if _, err := os.Lstat(abs(dir, path)); err != nil && strings.ContainsAny(path, "*?[{") {
		return glob(path, from, to, dir, roots, allow)
	}
	p, err := onePart(path, from, to, dir, roots, allow)
	if err != nil {
		return nil, err
	}
	return []*part{p}, nil
}

func abs(dir, name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(dir, name)
}

func parseRange(name string, m []string) (path string, from, to int, err error) {
	from, err1 := strconv.Atoi(m[2])
	to = from
	if m[3] != "" {
		if to = 0; m[4] != "" {
			var err2 error
			if to, err2 = strconv.Atoi(m[4]); err2 != nil {
				err1 = err2
			}
		}
	}
	if err1 != nil || from < 1 || (to != 0 && to < from) {
		return "", 0, 0, badInput("files: the range of %q makes no sense; lines count from 1, as in %s:10-90", name, m[1])
	}
	return m[1], from, to, nil
}

func glob(pattern string, from, to int, dir string, roots []string, allow func(string) error) ([]*part, error) {
	if !doublestar.ValidatePathPattern(pattern) {
		return nil, badInput("files: %q is not a valid pattern", pattern)
	}
	full := abs(dir, pattern)
	base, rest := doublestar.SplitPattern(filepath.ToSlash(full))
	if _, err := fsx.Resolve(roots, base); err != nil {
		return nil, outside(pattern, roots, err)
	}
	found, err := doublestar.Glob(os.DirFS(base), rest, doublestar.WithFilesOnly(), doublestar.WithNoFollow())
	if err != nil {
		return nil, badInput("files: %q: %v", pattern, err)
	}
	if len(found) == 0 {
		return nil, badInput("files: nothing matches %q in %s (`**` matches directories, as in src/**/*.go)", pattern, dir)
	}
	if len(found) > maxFiles {
		return nil, badInput("files: %q matches %d files, more than %d; narrow the pattern", pattern, len(found), maxFiles)
	}
	var out []*part
	for _, f := range found {
		path := filepath.Join(filepath.FromSlash(base), filepath.FromSlash(f))
		p, err := onePart(path, from, to, dir, roots, allow)
		if errors.Is(err, errBinary) {
			continue // a pattern may catch an image beside the logs
		}
		if err != nil {
			return nil, err
		}
		out = append(out, p)
	}
	if len(out) == 0 {
		return nil, badInput("files: all %d files that match %q are binary", len(found), pattern)
	}
	return out, nil
}

var errBinary = errors.New("binary")

type binaryError struct{ InputError }

func (e *binaryError) Is(target error) bool { return target == errBinary }
func (e *binaryError) Unwrap() error        { return &e.InputError }

func onePart(path string, from, to int, dir string, roots []string, allow func(string) error) (*part, error) {
	full := abs(dir, path)
	real, err := fsx.Resolve(roots, full)
	if err != nil {
		return nil, outside(path, roots, err)
	}
	for _, name := range []string{full, real} { // a rule about a link's own name holds too
		if allow == nil {
			break
		}
		if err := allow(name); err != nil {
			return nil, err
		}
	}
	if err := readable(path, real); err != nil {
		return nil, err
	}
	name := path
	if rel, err := filepath.Rel(dir, full); err == nil && filepath.IsAbs(path) && !strings.HasPrefix(rel, "..") {
		name = rel
	}
	return &part{name: name, from: from, to: to, open: func() (io.ReadCloser, error) { return os.Open(real) }}, nil
}

func outside(name string, roots []string, err error) error {
	switch {
	case errors.Is(err, fsx.ErrOutside):
		return &RefusedError{fmt.Sprintf("files: %s lies outside the project (%s); only files inside it are read, links are followed first", name, strings.Join(roots, ", "))}
	case errors.Is(err, fs.ErrNotExist):
		return badInput("files: %s does not exist; paths are relative to the working directory", name)
	default:
		return badInput("files: %s: %v", name, err)
	}
}

// readable looks at the file's kind and first bytes.
func readable(name, path string) error {
	st, err := os.Stat(path)
	if err != nil {
		return outside(name, nil, err)
	}
	switch {
	case st.IsDir():
		return badInput("files: %s is a directory; name files, or use a pattern such as %s", name, filepath.Join(name, "**", "*.log"))
	case !st.Mode().IsRegular():
		return badInput("files: %s is not a regular file", name)
	}
	f, err := os.Open(path)
	if err != nil {
		return badInput("files: %s cannot be read: %v", name, err)
	}
	defer f.Close()
	head := make([]byte, 8<<10)
	n, err := io.ReadFull(f, head)
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.EOF) {
		return badInput("files: %s cannot be read: %v", name, err)
	}
	if _, stats := clean.BytesStats(head[:n]); stats.Binary() {
		hint := "it is not text"
		if strings.HasSuffix(name, ".gz") {
			hint = "use command \"zcat " + name + "\" instead"
		}
		return &binaryError{InputError{fmt.Sprintf("files: %s is binary; %s", name, hint)}}
	}
	return nil
}

// RefusedError is a request that a rule forbids: a path outside the project, a denied command.
type RefusedError struct{ Msg string }

func (e *RefusedError) Error() string { return e.Msg }
