package shim

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"
)

// maxFrame bounds one SSE event; a server that sends more without an end is broken.
const maxFrame = 64 << 20

var errFrame = errors.New("event larger than 64 MB")

// frame is one SSE event as sent.
type frame struct {
	event string
	data  string
}

// sseReader cuts a stream into events, however the bytes arrive: lines cut anywhere, \n or \r\n as line ends,
// several data lines, comments, a BOM.
type sseReader struct {
	r    *bufio.Reader
	data []byte
}

func newSSEReader(r io.Reader) *sseReader { return &sseReader{r: bufio.NewReaderSize(r, 16<<10)} }

// next returns the next event that has data; one whose data is empty is a sign of life and no event, as the standard
// says. At the end of the stream it returns io.EOF; an event that was not closed by an empty line is returned before
// that, because some servers leave out the last one.
func (s *sseReader) next() (frame, error) {
	var f frame
	s.data = s.data[:0]
	has := false
	for {
		line, err := s.line()
		if err != nil {
			if errors.Is(err, io.EOF) && !blank(s.data) {
				f.data = string(s.data)
				return f, nil
			}
			return frame{}, err
		}
		if line == "" {
			if !blank(s.data) {
				f.data = string(s.data)
				return f, nil
			}
			f, has, s.data = frame{}, false, s.data[:0]
			continue
		}
		name, value, _ := strings.Cut(line, ":")
		value = strings.TrimPrefix(value, " ")
		switch name {
		case "event":
			f.event = value
		case "data":
			if has {
				s.data = append(s.data, '\n')
			}
			has = true
			if len(s.data)+len(value) > maxFrame {
				return frame{}, errFrame
			}
			s.data = append(s.data, value...)
		}
	}
}

// blank tells whether data holds nothing: no piece of an answer is only white space.
func blank(data []byte) bool { return len(bytes.TrimSpace(data)) == 0 }

// line reads up to \n or \r\n. An unfinished last line is returned with a nil error once.
func (s *sseReader) line() (string, error) {
	var long []byte
	for {
		chunk, err := s.r.ReadSlice('\n')
		long = append(long, chunk...)
		if len(long) > maxFrame {
			return "", errFrame
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		if err != nil && len(long) == 0 {
			return "", err
		}
		line := strings.TrimSuffix(strings.TrimSuffix(string(long), "\n"), "\r")
		return strings.TrimPrefix(line, "\uFEFF"), nil
	}
}

// sseSink writes events to the client. The status is committed with the first event or the first ping, so until then
// a failure can still have a status of its own.
type sseSink struct {
	mu        sync.Mutex
	w         http.ResponseWriter
	flush     func() error
	committed bool
	last      time.Time // of the last byte
	bytes     int64
	first     time.Time
	log       *strings.Builder // answer for the full record, nil: not wanted
	err       error
	buf       []byte
}

func newSSESink(w http.ResponseWriter, keep bool) *sseSink {
	s := &sseSink{w: w, flush: http.NewResponseController(w).Flush, last: time.Now()}
	if keep {
		s.log = &strings.Builder{}
	}
	return s
}

// emit sends one event; typ is its name, data one line of JSON.
func (s *sseSink) emit(typ, data string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.first.IsZero() && typ != "ping" {
		s.first = time.Now()
	}
	return s.send(typ, data)
}

func (s *sseSink) send(typ, data string) error {
	if s.err != nil {
		return s.err
	}
	if !s.committed {
		s.committed = true
		h := s.w.Header()
		h.Set("Content-Type", "text/event-stream; charset=utf-8")
		h.Set("Cache-Control", "no-cache")
		s.w.WriteHeader(http.StatusOK)
	}
	s.buf = append(s.buf[:0], "event: "...)
	s.buf = append(s.buf, typ...)
	s.buf = append(s.buf, "\ndata: "...)
	s.buf = append(s.buf, data...)
	s.buf = append(s.buf, "\n\n"...)
	n, err := s.w.Write(s.buf)
	if err == nil {
		err = s.flush()
	}
	s.bytes += int64(n)
	s.last = time.Now()
	s.err = err
	if s.log != nil {
		s.log.Write(s.buf)
	}
	return err
}

// ping keeps the client waiting when nothing was sent for a while, and says how long until the next look.
func (s *sseSink) ping(every time.Duration) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	if quiet := time.Since(s.last); quiet < every {
		return every - quiet
	}
	_ = s.send("ping", `{"type":"ping"}`)
	return every
}

// fail tells the client: as a status while that is possible, else as an error event.
func (s *sseSink) fail(f failure) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.committed {
		s.committed = true
		writeFailure(s.w, f)
		return
	}
	_ = s.send("error", f.json())
}

// json answers with one whole body instead of events.
func (s *sseSink) json(status int, body string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.committed = true
	s.first = time.Now()
	s.w.Header().Set("Content-Type", "application/json")
	s.w.WriteHeader(status)
	n, err := io.WriteString(s.w, body)
	s.bytes, s.err = int64(n), err
	if s.log != nil {
		s.log.WriteString(body)
	}
}

func (s *sseSink) isCommitted() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.committed
}
