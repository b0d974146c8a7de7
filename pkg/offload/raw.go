package offload

import (
	"crypto/rand"
	"encoding/base32"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"sort"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"legwork/pkg/fsx"
)

// Store keeps the raw output of commands, so that a question can be asked again without running
// anything. Files are 0600; entries older than Age go, then the oldest until the store is below Max.
type Store struct {
	Dir string        // made on first use
	Max int64         // bytes for all entries together; 0 = no limit
	Age time.Duration // 0 = no limit
}

// Entry describes one kept output.
type Entry struct {
	ID       string    `json:"id"`
	Path     string    `json:"path"` // the exact bytes, as printed
	Command  string    `json:"command"`
	Dir      string    `json:"dir"`
	Started  time.Time `json:"started"`
	MS       int64     `json:"ms"`
	Exit     int       `json:"exit"`
	Ending   string    `json:"ending"` // "exit 0", "killed by SIGKILL", "timed out after 10m"
	Signal   string    `json:"signal,omitempty"`
	TimedOut bool      `json:"timed_out,omitempty"`
	Bytes    int64     `json:"bytes"`             // printed by the command
	Omitted  int64     `json:"omitted,omitempty"` // bytes in the middle that were over the cap and are not kept
}

var idForm = regexp.MustCompile(`^r[a-z2-7]{7}$`)

// tailKeep is how much of the end is kept of an output that is over the cap: errors stand at the end.
const tailKeep = 4 << 20

// capture is a writer of one command's output. Memory is bounded: the file takes the text, and what is
// over the cap (or all, if the disk takes nothing) keeps a ring of its end.
type capture struct {
	mu      sync.Mutex
	file    *os.File
	room    int64 // bytes the file may still take
	head    []byte
	tail    ring
	written int64
	wrote   int64 // bytes that are in file or head
	diskErr error
	seen    *atomic.Int64 // told the bytes so far, for progress; may be nil
}

// Create starts a new entry. It never fails: without a usable directory the text is kept in memory
// (head and tail) and the error is told by problem.
func (s Store) create() (string, *capture) {
	c := &capture{room: s.Max, tail: ring{max: tailKeep}}
	if s.Max <= 0 {
		c.room = 1 << 62
	}
	if err := os.MkdirAll(s.Dir, 0o700); err != nil {
		c.diskErr = err
		return "", c
	}
	s.sweep(time.Now())
	for range 8 {
		id := newID()
		f, err := os.OpenFile(s.path(id), os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err != nil {
			c.diskErr = err
			return "", c
		}
		c.file = f
		return id, c
	}
	c.diskErr = errors.New("no free id in the raw store")
	return "", c
}

func newID() string {
	var b [5]byte
	_, _ = rand.Read(b[:]) // never fails since Go 1.24
	return "r" + strings.ToLower(base32.StdEncoding.EncodeToString(b[:]))[:7]
}

func (s Store) path(id string) string     { return filepath.Join(s.Dir, id+".out") }
func (s Store) metaPath(id string) string { return filepath.Join(s.Dir, id+".json") }

// Write never returns an error: a child must not die of our full disk.
func (c *capture) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.written += int64(len(p))
	if c.seen != nil {
		c.seen.Store(c.written)
	}
	rest := p
	if c.diskErr == nil && c.room > 0 {
		take := rest[:min(int64(len(rest)), c.room)]
		n, err := c.file.Write(take)
		c.wrote += int64(n)
		c.room -= int64(n)
		rest = rest[n:]
		if err != nil {
			c.diskErr = err
		}
	}
	if c.diskErr != nil && c.wrote == int64(len(c.head)) && len(c.head) < tailKeep {
		take := rest[:min(len(rest), tailKeep-len(c.head))]
		c.head = append(c.head, take...)
		c.wrote += int64(len(take))
		rest = rest[len(take):]
	}
	c.tail.Write(rest)
	return len(p), nil
}

// ring keeps the last max bytes written to it.
type ring struct {
	max   int
	buf   []byte
	start int
	total int64
}

func (r *ring) Write(p []byte) {
	r.total += int64(len(p))
	if len(p) >= r.max {
		r.buf, r.start = append(r.buf[:0], p[len(p)-r.max:]...), 0
		return
	}
	if n := min(r.max-len(r.buf), len(p)); n > 0 {
		r.buf = append(r.buf, p[:n]...)
		p = p[n:]
	}
	for len(p) > 0 {
		n := copy(r.buf[r.start:], p)
		r.start = (r.start + n) % len(r.buf)
		p = p[n:]
	}
}

func (r *ring) bytes() []byte {
	return slices.Concat(r.buf[r.start:], r.buf[:r.start])
}

// captured is a finished capture that can be read any number of times.
type captured struct {
	bytes   int64
	omitted int64
	problem string // why nothing, or not all, is on disk
	path    string // "" when the text is in memory only
	memory  []byte
}

func (c *captured) open() (io.ReadCloser, error) {
	if c.path == "" {
		return io.NopCloser(strings.NewReader(string(c.memory))), nil
	}
	return os.Open(c.path)
}

// finish joins head and tail with a line that states the gap, and closes the file.
func (c *capture) finish() *captured {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := &captured{bytes: c.written}
	tail := c.tail.bytes()
	out.omitted = c.tail.total - int64(len(tail))
	if i := strings.IndexByte(string(tail), '\n'); out.omitted > 0 && i >= 0 && i < len(tail)-1 {
		out.omitted += int64(i + 1)
		tail = tail[i+1:]
	}
	if out.omitted > 0 {
		gap := fmt.Sprintf("\n[… %d bytes of output are not kept here …]\n", out.omitted)
		tail = append([]byte(gap), tail...)
	}
	if c.diskErr == nil {
		if _, err := c.file.Write(tail); err != nil {
			c.diskErr = err
		}
	}
	if c.diskErr == nil {
		if err := c.file.Close(); err != nil {
			c.diskErr = err
		} else {
			out.path = c.file.Name()
			return out
		}
	}
	out.problem = diskProblem(c.diskErr)
	out.memory = c.rescue(tail)
	return out
}

// rescue reads back what the file took before the disk refused, within memory bounds, and removes it.
func (c *capture) rescue(tail []byte) []byte {
	head := c.head
	if c.file != nil {
		if n := c.wrote - int64(len(c.head)); n > 0 {
			b := make([]byte, min(n, tailKeep))
			k, _ := c.file.ReadAt(b, 0)
			head = b[:k]
			if n > tailKeep {
				head = fmt.Appendf(head, "\n[… %d bytes of output are not kept here …]\n", n-tailKeep)
			}
		}
		_ = c.file.Close()
		_ = os.Remove(c.file.Name())
	}
	return append(head, tail...)
}

func diskProblem(err error) string {
	switch {
	case errors.Is(err, syscall.ENOSPC):
		return "no space left on the disk of the raw store: the output was read but is not kept"
	case errors.Is(err, fs.ErrPermission):
		return "the raw store is not writable (" + err.Error() + "): the output was read but is not kept"
	default:
		return "the raw store failed (" + err.Error() + "): the output was read but is not kept"
	}
}

// record writes what is known about a finished entry.
func (s Store) record(e Entry) error {
	b, err := json.Marshal(e)
	if err != nil {
		return err
	}
	return fsx.WriteFile(s.metaPath(e.ID), append(b, '\n'), 0o600)
}

// Get finds an entry by its id.
func (s Store) Get(id string) (Entry, error) {
	if !idForm.MatchString(id) {
		return Entry{}, fmt.Errorf("raw: %q is not an id of kept output (they look like rk3x7abq; `legwork raw list` shows them)", id)
	}
	b, err := os.ReadFile(s.metaPath(id))
	if errors.Is(err, fs.ErrNotExist) {
		return Entry{}, fmt.Errorf("raw: no kept output %s: it expired or was never finished (`legwork raw list` shows what there is); run the command again", id)
	}
	if err != nil {
		return Entry{}, fmt.Errorf("raw: %w", err)
	}
	var e Entry
	if err := json.Unmarshal(b, &e); err != nil {
		return Entry{}, fmt.Errorf("raw: the record of %s is damaged: %w", id, err)
	}
	e.Path = s.path(id)
	if _, err := os.Stat(e.Path); err != nil {
		return Entry{}, fmt.Errorf("raw: the text of %s is gone: %w", id, err)
	}
	return e, nil
}

// List gives all finished entries, newest first. A damaged one is left out.
func (s Store) List() ([]Entry, error) {
	names, err := filepath.Glob(filepath.Join(s.Dir, "r*.json"))
	if err != nil {
		return nil, err
	}
	var out []Entry
	for _, n := range names {
		if e, err := s.Get(strings.TrimSuffix(filepath.Base(n), ".json")); err == nil {
			out = append(out, e)
		}
	}
	sort.SliceStable(out, func(i, j int) bool { return out[i].Started.After(out[j].Started) })
	return out, nil
}

// Remove deletes one entry, or all of them when id is "".
func (s Store) Remove(id string) (removed int, bytes int64) {
	files, _ := filepath.Glob(filepath.Join(s.Dir, "r*.out"))
	for _, f := range files {
		if name := strings.TrimSuffix(filepath.Base(f), ".out"); idForm.MatchString(name) && (id == "" || id == name) {
			if st, err := os.Stat(f); err == nil {
				bytes += st.Size()
			}
			s.drop(name)
			removed++
		}
	}
	return removed, bytes
}

func (s Store) drop(id string) {
	_ = os.Remove(s.path(id))
	_ = os.Remove(s.metaPath(id))
}

// sweep removes what is too old, then the oldest of what is too much. An entry without a record that
// is younger than a day may still be written to by another process and is left alone.
func (s Store) sweep(now time.Time) {
	files, err := os.ReadDir(s.Dir)
	if err != nil {
		return
	}
	type item struct {
		id   string
		size int64
		mod  time.Time
	}
	var items []item
	var total int64
	for _, f := range files {
		id, ok := strings.CutSuffix(f.Name(), ".out")
		info, err := f.Info()
		if !ok || !idForm.MatchString(id) || err != nil {
			continue
		}
		if _, err := os.Stat(s.metaPath(id)); err != nil && now.Sub(info.ModTime()) < 24*time.Hour {
			continue
		}
		items = append(items, item{id, info.Size(), info.ModTime()})
		total += info.Size()
	}
	sort.SliceStable(items, func(i, j int) bool { return items[i].mod.Before(items[j].mod) })
	for _, it := range items {
		if tooOld := s.Age > 0 && now.Sub(it.mod) > s.Age; tooOld || (s.Max > 0 && total > s.Max) {
			s.drop(it.id)
			total -= it.size
		}
	}
}
