package shim

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/tidwall/gjson"

	"legwork/pkg/clean"
)

// Outcome is how one request ended. Never two of them mean the same.
type Outcome string

// The outcomes of a request.
const (
	Answered    Outcome = "answered"
	EmptyAnswer Outcome = "empty_answer" // nothing came, twice
	Overflowed  Outcome = "overflow"     // the prompt does not fit
	Refused     Outcome = "refused"      // a permanent error
	Busy        Outcome = "busy"         // the client may try again
	Cut         Outcome = "cut"          // the connection broke before the answer was whole
	Stalled     Outcome = "stalled"      // the server fell silent for too long
	ClientGone  Outcome = "client_gone"  // the client left, the server's work was cancelled
)

// Usage is what a request cost, in tokens. Input does not include Cached, where the server tells them apart.
type Usage struct {
	Input     int  `json:"input"`
	Cached    int  `json:"cached"`
	Written   int  `json:"written,omitempty"` // newly written to a cache, where the server tells
	Output    int  `json:"output"`
	Estimated bool `json:"estimated,omitempty"` // some of it is our estimate
	// CacheUnknown says that the server does not tell what came from its cache (Ollama never does): Cached is then 0
	// without meaning that nothing did.
	CacheUnknown bool `json:"cache_unknown,omitempty"`
}

// Record is one line of requests.jsonl.
type Record struct {
	Time       time.Time `json:"time"`
	ID         string    `json:"id"`
	Path       string    `json:"path"`
	Route      Route     `json:"route,omitempty"`
	Model      string    `json:"model,omitempty"`
	Stream     bool      `json:"stream"`
	Status     int       `json:"status"` // 499: the client left first
	Outcome    Outcome   `json:"outcome"`
	FirstMS    float64   `json:"first_ms"` // to the first byte that is no ping
	TotalMS    float64   `json:"total_ms"`
	BytesIn    int       `json:"bytes_in"`
	BytesUp    int       `json:"bytes_up"` // forwarded
	BytesOut   int64     `json:"bytes_out"`
	Messages   int       `json:"messages"`
	Tools      int       `json:"tools"`
	Prompt     int       `json:"prompt_tokens"` // known before sending: counted or estimated
	Counted    bool      `json:"counted"`
	Usage      Usage     `json:"usage"`
	Stop       string    `json:"stop,omitempty"`
	Calls      int       `json:"calls"`                // tool calls handed to the client
	Converted  int       `json:"converted,omitempty"`  // of them, printed as text by the model
	Forced     int       `json:"forced,omitempty"`     // of them, from a forced second ask
	Asks       int       `json:"asks"`                 // requests sent to the server for this answer
	Unexecuted []string  `json:"unexecuted,omitempty"` // what looked like a call and was not executed, and why
	Suspect    string    `json:"suspect,omitempty"`    // a reason to doubt the answer
	Changed    []string  `json:"changed,omitempty"`
	Error      string    `json:"error,omitempty"`
}

func (r *Record) fail(what string) { r.Unexecuted = append(r.Unexecuted, clip(what, 300)) }

// use books the usage of an answer: start and delta are the usage objects of its first and last event.
func (r *Record) use(start, delta string, req *request) {
	last := delta
	if promptTokens(delta) == 0 {
		last = start
	}
	r.Usage.Input = int(gjson.Get(last, "input_tokens").Int())
	r.Usage.Cached = int(gjson.Get(last, "cache_read_input_tokens").Int())
	r.Usage.Written = int(gjson.Get(last, "cache_creation_input_tokens").Int())
	r.Usage.Output += int(gjson.Get(delta, "output_tokens").Int())
	r.Usage.CacheUnknown = !tellsCache(start) && !tellsCache(delta)
	if promptTokens(last) == 0 {
		r.Usage.Input, r.Usage.Estimated = req.tokens, true
	}
}

// tellsCache tells whether a usage object says what came from the server's cache.
func tellsCache(usage string) bool {
	return gjson.Get(usage, "cache_read_input_tokens").Type == gjson.Number
}

// Total is the whole prompt in tokens.
func (u Usage) Total() int { return u.Input + u.Cached + u.Written }

// Summary adds up the records of one job.
type Summary struct {
	Requests   int             `json:"requests"`
	Usage      Usage           `json:"usage"`
	Calls      int             `json:"calls"`
	Converted  int             `json:"converted"`
	Forced     int             `json:"forced"`
	Unexecuted []string        `json:"unexecuted,omitempty"`
	Outcomes   map[Outcome]int `json:"outcomes"`
	// Last is the outcome of the newest request to /v1/messages, LastUnexecuted whether its answer held a call that was
	// not executed: a job that ends with either of them bad is no success.
	Last           Outcome `json:"last"`
	LastUnexecuted bool    `json:"last_unexecuted"`
}

// recorder writes the record files of one job.
type recorder struct {
	mu      sync.Mutex
	file    io.WriteCloser
	full    io.WriteCloser
	on      func(Record)
	secrets []string
	more    func(string) string // of the options; may be nil
	sum     Summary
}

func newRecorder(opt Options, secrets []string) (*recorder, error) {
	r := &recorder{on: opt.OnRecord, secrets: secrets, more: opt.Mask, sum: Summary{Outcomes: map[Outcome]int{}}}
	if opt.RecordDir == "" {
		return r, nil
	}
	if err := os.MkdirAll(opt.RecordDir, 0o700); err != nil {
		return nil, fmt.Errorf("shim records: %w", err)
	}
	var err error
	if r.file, err = appendTo(opt.RecordDir, "requests.jsonl"); err != nil {
		return nil, err
	}
	if opt.Full {
		if r.full, err = appendTo(opt.RecordDir, "requests_full.jsonl"); err != nil {
			_ = r.file.Close()
			return nil, err
		}
	}
	return r, nil
}

func appendTo(dir, name string) (io.WriteCloser, error) {
	f, err := os.OpenFile(filepath.Join(dir, name), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("shim records: %w", err)
	}
	return f, nil
}

// bodies is what requests_full.jsonl holds beside the record.
type bodies struct {
	ID        string `json:"id"`
	Received  any    `json:"received"`
	Forwarded any    `json:"forwarded"`
	Answer    any    `json:"answer"`
}

// body is a text as it stands in the full record: masked first, because inside another string it would be escaped
// twice, and as JSON where it is JSON.
func (r *recorder) body(s string) any {
	if json.Valid([]byte(s)) {
		return json.RawMessage(clean.MaskJSON([]byte(s), r.mask))
	}
	return r.mask(s)
}

// put writes one record. A full disk must not fail the job, so write errors are only returned for the log.
func (r *recorder) put(rec Record, b *bodies) error {
	rec.Error, rec.Suspect = r.mask(rec.Error), r.mask(rec.Suspect)
	for _, list := range [][]string{rec.Unexecuted, rec.Changed} { // both may quote the model
		for i, what := range list {
			list[i] = r.mask(what)
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.sum.add(rec)
	var err error
	if r.file != nil {
		err = writeLine(r.file, rec)
	}
	if r.full != nil && b != nil {
		if werr := writeLine(r.full, b); werr != nil {
			err = werr
		}
	}
	if r.on != nil {
		r.on(rec)
	}
	return err
}

// marshal is one JSON line without HTML escapes.
func marshal(v any) (string, error) {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	return b.String(), err
}

func writeLine(w io.Writer, v any) error {
	line, err := marshal(v)
	if err != nil {
		return err
	}
	_, err = io.WriteString(w, line)
	return err
}

func (s *Summary) add(r Record) {
	s.Requests++
	s.Outcomes[r.Outcome]++
	s.Usage.Input += r.Usage.Input
	s.Usage.Cached += r.Usage.Cached
	s.Usage.Written += r.Usage.Written
	s.Usage.Output += r.Usage.Output
	s.Usage.Estimated = s.Usage.Estimated || r.Usage.Estimated
	s.Usage.CacheUnknown = s.Usage.CacheUnknown || r.Usage.CacheUnknown
	s.Calls += r.Calls
	s.Converted += r.Converted
	s.Forced += r.Forced
	s.Unexecuted = append(s.Unexecuted, r.Unexecuted...)
	if !strings.HasSuffix(r.Path, "/count_tokens") {
		s.Last, s.LastUnexecuted = r.Outcome, len(r.Unexecuted) > 0 && r.Calls == 0
	}
}

func (r *recorder) summary() Summary {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.sum
	s.Unexecuted = slices.Clone(s.Unexecuted)
	s.Outcomes = maps.Clone(s.Outcomes)
	return s
}

func (r *recorder) close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	var err error
	for _, f := range []io.WriteCloser{r.file, r.full} {
		if f != nil {
			if cerr := f.Close(); err == nil {
				err = cerr
			}
		}
	}
	r.file, r.full = nil, nil
	return err
}

var keyLike = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(\b|\\[nrt])(sk-[A-Za-z0-9_-]{12,}|gh[pousr]_[A-Za-z0-9]{20,}|hf_[A-Za-z0-9]{20,}|AKIA[0-9A-Z]{16}|xox[abps]-[A-Za-z0-9-]{10,}|(?i:bearer )[A-Za-z0-9._~+/-]{16,}=*)`)
})

// mask hides the job's own secrets and what has the shape of a well-known key.
func (r *recorder) mask(s string) string {
	if s == "" {
		return s
	}
	for _, secret := range r.secrets {
		s = strings.ReplaceAll(s, secret, "***")
	}
	if s = keyLike().ReplaceAllString(s, "${1}***"); r.more != nil {
		s = r.more(s)
	}
	return s
}

// secretsOf collects what must never be in a record. Values of a few characters are left out: masking "1" everywhere
// would only destroy the record.
func secretsOf(t Target, token string) []string {
	var out []string
	add := func(s string) {
		if len(s) >= 6 && !slices.Contains(out, s) {
			out = append(out, s)
			if q := quote(s); q != `"`+s+`"` {
				out = append(out, q[1:len(q)-1]) // as it stands inside JSON
			}
		}
	}
	add(token)
	add(t.APIKey)
	for k, values := range t.Header {
		if k = strings.ToLower(k); k == "content-type" || k == "accept" || k == "user-agent" {
			continue
		}
		for _, v := range values {
			add(v)
			_, rest, _ := strings.Cut(v, " ")
			add(rest)
		}
	}
	if u, err := url.Parse(t.BaseURL); err == nil && u.User != nil {
		password, _ := u.User.Password()
		add(password)
	}
	slices.SortFunc(out, func(a, b string) int { return len(b) - len(a) })
	return out
}
