package shim

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// A long conversation of about n bytes.
func longBody(n int) string {
	k := begin("/home/u/project", false)
	for i := 0; len(k.body("1")) < n; i++ {
		k.step(i)
		if i%7 == 0 {
			k.say("assistant", `[{"type":"text","text":`+quote(strings.Repeat("some line of code\n", 100))+`}]`)
			k.say("user", quote(strings.Repeat("another line of output\n", 100)))
		}
	}
	return k.body("1")
}

// instant answers every request at once with n pieces of text, on both routes.
func instant(b *testing.B, n int) *httptest.Server {
	words := slices.Repeat([]string{"some words "}, n)
	native := strings.Join(textStream("end_turn", words...), "")
	chat := strings.Repeat(chunk(`{"content":"some words "}`, ""), n) + chunk(`{}`, "stop") + chatEnd
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "text/event-stream")
		if strings.HasSuffix(r.URL.Path, "/chat/completions") {
			_, _ = io.WriteString(w, chat)
			return
		}
		_, _ = io.WriteString(w, native)
	}))
	b.Cleanup(s.Close)
	return s
}

// lane is one way to the scripted server.
type lane struct {
	name, url, key string
	pid            int // of a peer's process, 0: ours
}

// lanes are the server alone, the shim on both routes and, when LEGWORK_PEER names the cli.js of
// @musistudio/claude-code-router, that router, all in front of the same server.
func lanes(b *testing.B, server *httptest.Server) []lane {
	out := []lane{{"direct", server.URL, "", 0}}
	for name, route := range map[string]Route{"shim": RouteNative, "shim-chat": RouteChat} {
		s, err := New(Target{BaseURL: server.URL, Route: route, Model: "m", Window: 1 << 20}, Options{RecordDir: b.TempDir()})
		if err != nil {
			b.Fatal(err)
		}
		front := httptest.NewServer(s)
		b.Cleanup(func() { front.Close(); _ = s.Close() })
		out = append(out, lane{name, front.URL, s.Token(), 0})
	}
	if cli := os.Getenv("LEGWORK_PEER"); cli != "" {
		out = append(out, startPeer(b, cli, server.URL))
	}
	return out
}

// startPeer runs the router with a home and configuration of its own.
func startPeer(b *testing.B, cli, upstream string) lane {
	home := b.TempDir()
	ln, err := Listen(b.Context(), 0)
	if err != nil {
		b.Fatal(err)
	}
	port := ln.Addr().(*net.TCPAddr).Port
	_ = ln.Close()
	dir := filepath.Join(home, ".claude-code-router")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		b.Fatal(err)
	}
	config := fmt.Sprintf(`{"HOST":"127.0.0.1","PORT":%d,"APIKEY":"peer","LOG":false,"Providers":[{"name":"local","api_base_url":"%s/v1/chat/completions","api_key":"x","models":["m"]}],"Router":{"default":"local,m"}}`, port, upstream)
	if err := os.WriteFile(filepath.Join(dir, "config.json"), []byte(config), 0o600); err != nil {
		b.Fatal(err)
	}
	cmd := exec.CommandContext(context.Background(), "node", cli, "start")
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home}
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	l := lane{"peer", fmt.Sprintf("http://127.0.0.1:%d", port), "peer", cmd.Process.Pid}
	for range 200 {
		if n, err := tryPost(http.DefaultClient, l, `{"model":"m","max_tokens":10,"stream":true,"messages":[{"role":"user","content":"hi"}]}`); err == nil && n > 0 {
			return l
		}
		time.Sleep(100 * time.Millisecond)
	}
	b.Fatal("the peer does not answer")
	return l
}

func tryPost(client *http.Client, l lane, body string) (int, error) {
	req, err := http.NewRequestWithContext(context.Background(), http.MethodPost, l.url+"/v1/messages", strings.NewReader(body))
	if err != nil {
		return 0, err
	}
	req.Header.Set("X-Api-Key", l.key)
	req.Header.Set("Content-Type", "application/json")
	resp, err := client.Do(req)
	if err != nil {
		return 0, err
	}
	defer func() { _ = resp.Body.Close() }()
	data, err := io.ReadAll(resp.Body)
	return strings.Count(string(data), "some words "), err
}

func mustAsk(tb testing.TB, client *http.Client, l lane, body string, want int) {
	if n, err := tryPost(client, l, body); err != nil || n != want {
		tb.Fatalf("%s: %d pieces of %d, %v", l.name, n, want, err)
	}
}

// both measures every lane in turn and reports the medians and what each adds to the direct one.
func both(b *testing.B, pieces int, body string, per float64, unit string) {
	ls := lanes(b, instant(b, pieces))
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 300}}
	took := map[string][]time.Duration{}
	for b.Loop() {
		for _, l := range ls {
			t0 := time.Now()
			mustAsk(b, client, l, body, pieces)
			took[l.name] = append(took[l.name], time.Since(t0))
		}
	}
	median := func(name string) float64 {
		slices.Sort(took[name])
		return float64(took[name][len(took[name])/2].Nanoseconds()) / 1000
	}
	b.ReportMetric(median("direct"), "µs-direct")
	for _, l := range ls[1:] {
		b.ReportMetric((median(l.name)-median("direct"))/per, "µs-"+l.name+"-adds"+unit)
	}
	client.CloseIdleConnections()
}

func BenchmarkRequest100KB(b *testing.B) { both(b, 3, longBody(100<<10), 1, "") }

func BenchmarkPerEvent(b *testing.B) { both(b, 1000, longBody(1<<10), 1000, "/event") }

// BenchmarkStreams200 is 200 streams at once; anything lost fails it.
func BenchmarkStreams200(b *testing.B) {
	const pieces = 100
	body := longBody(20 << 10)
	for _, l := range lanes(b, instant(b, pieces)) {
		b.Run(l.name, func(b *testing.B) {
			client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 300}}
			for b.Loop() {
				var wg sync.WaitGroup
				for range 200 {
					wg.Go(func() {
						if n, err := tryPost(client, l, body); err != nil || n != pieces {
							b.Errorf("%s: %d pieces of %d, %v", l.name, n, pieces, err)
						}
					})
				}
				wg.Wait()
			}
			client.CloseIdleConnections()
			if mb := peakMB(l.pid); mb > 0 {
				b.ReportMetric(mb, "MB-peak") // ours includes the clients and the scripted server
			}
		})
	}
}

// peakMB is the largest resident size of a process so far, 0 where the system does not tell.
func peakMB(pid int) float64 {
	name := "self"
	if pid != 0 {
		name = fmt.Sprint(pid)
	}
	data, err := os.ReadFile("/proc/" + name + "/status")
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(data), "VmHWM:")
	var kb float64
	_, _ = fmt.Sscan(rest, &kb)
	return kb / 1024
}

// canned answers without a network, so that only the shim's own memory is seen.
type canned string

func (c canned) RoundTrip(r *http.Request) (*http.Response, error) {
	_, _ = io.Copy(io.Discard, r.Body)
	return &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {"text/event-stream"}}, Body: io.NopCloser(strings.NewReader(string(c)))}, nil
}

// BenchmarkMemory reports what one request allocates in all, as a multiple of its size: an upper bound of what is held.
func BenchmarkMemory(b *testing.B) {
	for _, size := range []int{100 << 10, 4 << 20} {
		b.Run(fmt.Sprint(size>>10, "KB"), func(b *testing.B) {
			s, err := New(Target{BaseURL: "http://127.0.0.1:1", Route: RouteNative}, Options{Transport: canned(strings.Join(textStream("end_turn", "a"), ""))})
			if err != nil {
				b.Fatal(err)
			}
			body := longBody(size)
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			n := 0
			for b.Loop() {
				req := httptest.NewRequestWithContext(b.Context(), http.MethodPost, "/v1/messages", strings.NewReader(body))
				req.Header.Set("X-Api-Key", s.Token())
				s.ServeHTTP(httptest.NewRecorder(), req)
				n++
			}
			runtime.ReadMemStats(&after)
			b.ReportMetric(float64(after.TotalAlloc-before.TotalAlloc)/float64(n)/float64(len(body)), "x-request")
		})
	}
}

func BenchmarkSplice100KB(b *testing.B) {
	body := longBody(100 << 10)
	b.SetBytes(int64(len(body)))
	for b.Loop() {
		r := parseRequest(body)
		r.splice(spliceRules{local: true}, &notes{})
	}
}

// waiting holds every request until released, as a server does that reads a long prompt.
type waiting struct{ arrived, release chan struct{} }

func (w waiting) RoundTrip(r *http.Request) (*http.Response, error) {
	_, _ = io.Copy(io.Discard, r.Body)
	w.arrived <- struct{}{}
	<-w.release
	return canned(strings.Join(textStream("end_turn", "a"), "")).RoundTrip(r)
}

// BenchmarkHeld reports what requests in flight hold, as a multiple of their size.
func BenchmarkHeld(b *testing.B) {
	const flights = 20
	body := longBody(1 << 20)
	for b.Loop() {
		w := waiting{make(chan struct{}), make(chan struct{})}
		s, err := New(Target{BaseURL: "http://127.0.0.1:1", Route: RouteNative}, Options{Transport: w})
		if err != nil {
			b.Fatal(err)
		}
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		var wg sync.WaitGroup
		for range flights {
			wg.Go(func() {
				req := httptest.NewRequestWithContext(b.Context(), http.MethodPost, "/v1/messages", strings.NewReader(body))
				req.Header.Set("X-Api-Key", s.Token())
				s.ServeHTTP(httptest.NewRecorder(), req)
			})
		}
		for range flights {
			<-w.arrived
		}
		runtime.GC()
		runtime.ReadMemStats(&after)
		b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/float64(flights)/float64(len(body)), "x-request")
		close(w.release)
		wg.Wait()
	}
}
