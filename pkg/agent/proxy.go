package agent

import (
	"bufio"
	"context"
	"io"
	"maps"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"legwork/pkg/shim"
)

// openShim makes the way to the model for this job alone.
func (r *run) openShim(ctx context.Context, s *session, t *tally) (proxy *shim.Shim, addr string, closeAll func(), err error) {
	target, err := ShimTarget(r.d.Models, r.choice, r.d.StateDir)
	if err != nil {
		return nil, "", nil, err
	}
	cfg := r.d.Config
	opt := shim.Options{
		RecordDir: r.h.Path(""), Full: cfg.Defaults.DumpRequests, Log: r.d.Logger, FirstByte: cfg.LLM.FirstByteTimeout,
		Idle: cfg.LLM.IdleTimeout, OnRecord: t.record, Mask: r.mask, Transport: &heard{s: s, r: r},
	}
	want := askWindow
	if cfg.LLM.NumCtx > 0 {
		want = cfg.LLM.NumCtx
	}
	if target, err = shim.EnsureWindow(ctx, target, want, opt); err != nil {
		return nil, "", nil, err
	}
	r.facts.Window = target.Window
	if n := windowNote(target.Window); n != "" {
		r.note("%s", n)
	}
	if proxy, err = shim.New(target, opt); err != nil {
		return nil, "", nil, err
	}
	ln, err := shim.Listen(ctx, 0)
	if err != nil {
		_ = proxy.Close()
		return nil, "", nil, err
	}
	return proxy, ln.Addr().String(), r.serve(ctx, proxy, ln), nil
}

// serve answers until the returned function is called. A cancelled job's requests are cut by that too.
func (r *run) serve(ctx context.Context, proxy *shim.Shim, ln net.Listener) (closeAll func()) {
	sctx, stop := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := proxy.Serve(sctx, ln); err != nil && sctx.Err() == nil {
			r.d.Logger.Error("shim", "err", err)
		}
	}()
	return func() {
		stop()
		<-done
		_ = proxy.Close()
	}
}

// heard is the transport of the shim. It notes that the model is heard of: a long answer shows in no event of the
// client until it is complete.
type heard struct {
	s     *session
	r     *run
	first sync.Once
}

// RoundTrip implements http.RoundTripper.
func (h *heard) RoundTrip(req *http.Request) (*http.Response, error) {
	h.s.touch()
	if strings.HasSuffix(req.URL.Path, "/messages") || strings.HasSuffix(req.URL.Path, "/completions") {
		h.first.Do(func() { h.r.facts.FirstRequestMS = time.Since(h.r.began).Milliseconds() })
	}
	res, err := http.DefaultTransport.RoundTrip(req)
	h.s.touch()
	if err == nil {
		res.Body = &heardBody{res.Body, h.s}
	}
	return res, err
}

type heardBody struct {
	io.ReadCloser
	s *session
}

func (b *heardBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.s.touch()
	return n, err
}

// drafts counts tokens of speculative decoding.
type drafts struct{ drafted, accepted int }

// metricsWait bounds the look at a server's metrics, which many do not have.
const metricsWait = 500 * time.Millisecond

// speculation reads how many tokens the server drafted and accepted so far; zero when it does not tell.
func (r *run) speculation(ctx context.Context) (d drafts) {
	to, ok := r.d.Models.Target(r.choice.Endpoint)
	if !ok {
		return d
	}
	ctx, cancel := context.WithTimeout(ctx, metricsWait)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, to.Root+"/metrics", nil)
	if err != nil {
		return d
	}
	req.Header, req.Host = to.Header.Clone(), to.Host
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return d
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return d
	}
	return readDrafts(io.LimitReader(res.Body, 4<<20))
}

// readDrafts reads the counters of llama-server and vLLM, whose names differ in the prefix alone.
func readDrafts(from io.Reader) (d drafts) {
	lines := bufio.NewScanner(from)
	for lines.Scan() {
		name, value, ok := strings.Cut(lines.Text(), " ")
		if !ok || strings.HasPrefix(name, "#") {
			continue
		}
		name, _, _ = strings.Cut(name, "{")
		n, err := strconv.ParseFloat(value, 64)
		if err != nil {
			continue
		}
		switch {
		case strings.HasSuffix(name, "spec_decode_num_draft_tokens_total"):
			d.drafted += int(n)
		case strings.HasSuffix(name, "spec_decode_num_accepted_tokens_total"):
			d.accepted += int(n)
		}
	}
	return d
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
