package shim

import (
	"context"
	"crypto/sha256"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/tidwall/gjson"
)

// Counting is what an overflow check costs, so it is only done near the limit. Three bounds, from cheap to exact:
// a prompt has no more tokens than bytes; a conversation that has grown by n bytes since the server told its size has
// grown by at most n tokens and the answer; and the server's own count.

// meter remembers, per conversation, what the server said its prompt was.
type meter struct {
	mu    sync.Mutex
	last  map[[32]byte]reading
	bytes float64 // of all readings, for the ratio
	toks  float64
}

type reading struct{ bytes, tokens int }

func newMeter() *meter { return &meter{last: map[[32]byte]reading{}} }

// bytesPerToken is used until the server has told more. It is low for prose, so that a guess is rather too large.
const bytesPerToken = 3.0

// templateSlack covers what a chat template adds of its own: how to call tools, marks around turns.
const templateSlack = 512

// conversationKey tells conversations of one job apart: main loop, subagents, the state after a compaction.
func conversationKey(r *request) [32]byte {
	var b strings.Builder
	if len(r.conv.turns) > 0 {
		r.conv.turns[0].emit(&b)
	}
	fmt.Fprintf(&b, "\x00%d\x00%d", len(r.tools), len(r.system))
	return sha256.Sum256([]byte(b.String()))
}

func (m *meter) learn(r *request, tokens int) {
	if tokens <= 0 || len(r.body) == 0 {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.last) > 64 {
		clear(m.last) // a job has a handful of conversations
	}
	m.last[r.key] = reading{len(r.body), tokens}
	m.bytes += float64(len(r.body))
	m.toks += float64(tokens)
}

// bound is a number of tokens the prompt cannot exceed, guess the likely one.
func (m *meter) bound(r *request) (bound, guess int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	n := len(r.body)
	ratio := bytesPerToken
	if m.toks > 0 {
		ratio = m.bytes / m.toks
	}
	bound, guess = n+templateSlack, int(float64(n)/ratio)+1
	if last, ok := m.last[r.key]; ok && n >= last.bytes {
		grown := n - last.bytes
		bound = min(bound, last.tokens+grown+templateSlack)
		guess = last.tokens + int(float64(grown)/ratio)
	}
	return bound, guess
}

// minAnswer is the room in tokens an answer needs to be worth asking for. A prompt that leaves less counts as too long:
// the client then compacts, while an answer cut after a few words would end the job.
const minAnswer = 256

// countLimit bounds one count. Near the limit it is worth waiting; a server that is busy with a long prompt answers
// its tokenizer anyway.
const countLimit = 20 * time.Second

// measure sets r.tokens and fails when the prompt does not fit.
func (s *Shim) measure(ctx context.Context, r *request, header http.Header, n *notes) *failure {
	bound, guess := s.meter.bound(r)
	r.tokens = guess
	w := s.target.Window
	if w <= 0 || bound+max(r.maxTokens, 1) <= w || s.target.Kind == Anthropic {
		return nil
	}
	tokens, exact, fail := s.count(ctx, r, header, n)
	if fail != nil {
		return fail
	}
	r.tokens, r.exact = tokens, exact
	if room := w - min(minAnswer, max(r.maxTokens, 1)); exact && tokens > room {
		f := overflow(tokens, room)
		return &f
	}
	// A guess alone refuses only what is hopeless: the server has the last word on the rest. Unless it has none.
	limit := w + w/2
	if s.target.cutsSilently() {
		limit = w - min(minAnswer, max(r.maxTokens, 1))
	}
	if !exact && tokens > limit && bound > w {
		f := overflow(tokens, w)
		return &f
	}
	return nil
}

// count asks the server, then the tokenizer of the caller, then the ratio learned.
func (s *Shim) count(ctx context.Context, r *request, header http.Header, n *notes) (tokens int, exact bool, fail *failure) {
	ctx, cancel := context.WithTimeout(ctx, countLimit)
	defer cancel()
	if s.target.CountTokens && s.route() == RouteNative && !s.learned.has(lessonNoCount) {
		tokens, fail = s.askCount(ctx, r, header, n)
		if tokens > 0 || fail != nil {
			return tokens, true, fail
		}
	}
	if s.target.Count != nil {
		// The template adds a few tokens a turn that a plain tokenizer does not see.
		if t, err := s.target.Count(ctx, promptText(r.body)); err == nil && t > 0 {
			return t + 8*r.turns, false, nil
		}
	}
	_, guess := s.meter.bound(r)
	return guess, false, nil
}

// askCount uses the server's count_tokens. vLLM's fails above the window, which is an answer too.
func (s *Shim) askCount(ctx context.Context, r *request, header http.Header, n *notes) (int, *failure) {
	c, err := s.up.post(ctx, "/messages/count_tokens", r.body, header, s.learned.has(lessonLocalHost))
	if err != nil {
		return 0, nil // the request itself will tell
	}
	defer c.cancel(nil)
	body := readLimited(c.body)
	if c.resp.StatusCode == http.StatusOK {
		return int(gjson.Get(body, "input_tokens").Int()), nil
	}
	f := classify(c.resp.StatusCode, c.resp.Header, body)
	switch f.class {
	case classOverflow:
		_, guess := s.meter.bound(r)
		o := overflow(max(f.tokens, guess), orZero(f.window, s.target.Window))
		return 0, &o
	case classNoRoute:
		s.teach(ctx, lessonNoCount, n)
	}
	return 0, nil
}

// promptText is the text of a body as a tokenizer should see it: all strings and schemas, without the framing.
func promptText(body string) string {
	var b strings.Builder
	for i := strings.IndexByte(body, '"'); i >= 0 && i < len(body); {
		end := stringEnd(body, i)
		b.WriteString(unquote(body[i:end]))
		b.WriteByte('\n')
		k := strings.IndexByte(body[end:], '"')
		if k < 0 {
			break
		}
		i = end + k
	}
	return b.String()
}

func orZero(v, def int) int {
	if v == 0 {
		return def
	}
	return v
}
