package shim

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
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

// instant answers every request at once with n events.
func instant(b *testing.B, n int) *httptest.Server {
	stream := strings.Join(textStream("end_turn", slices.Repeat([]string{"some words "}, n)...), "")
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, stream)
	}))
	b.Cleanup(s.Close)
	return s
}

func post(tb testing.TB, client *http.Client, url, token, body string) int {
	req, err := http.NewRequestWithContext(context.Background(), http.MethodPost, url+"/v1/messages", strings.NewReader(body))
	if err != nil {
		tb.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+token)
	resp, err := client.Do(req)
	if err != nil {
		tb.Fatal(err)
	}
	n, _ := io.Copy(io.Discard, resp.Body)
	_ = resp.Body.Close()
	return int(n)
}

// both measures the server alone and through the shim, and reports the median difference.
func both(b *testing.B, server *httptest.Server, body string, per float64, unit string) {
	s, err := New(Target{BaseURL: server.URL, Route: RouteNative, Window: 1 << 20}, Options{RecordDir: b.TempDir()})
	if err != nil {
		b.Fatal(err)
	}
	shim := httptest.NewServer(s)
	b.Cleanup(func() { shim.Close(); _ = s.Close() })
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 300}}
	var direct, through []time.Duration
	for b.Loop() {
		t0 := time.Now()
		post(b, client, server.URL, "x", body)
		t1 := time.Now()
		post(b, client, shim.URL, s.Token(), body)
		direct, through = append(direct, t1.Sub(t0)), append(through, time.Since(t1))
	}
	slices.Sort(direct)
	slices.Sort(through)
	d, t := direct[len(direct)/2], through[len(through)/2]
	b.ReportMetric(float64(d.Microseconds()), "µs-direct")
	b.ReportMetric(float64(t.Microseconds()), "µs-shim")
	b.ReportMetric(float64((t-d).Microseconds())/per, unit)
}

func BenchmarkRequest100KB(b *testing.B) { both(b, instant(b, 3), longBody(100<<10), 1, "µs-added") }

func BenchmarkPerEvent(b *testing.B) {
	both(b, instant(b, 1000), longBody(1<<10), 1000, "µs-added/event")
}

// BenchmarkStreams200 is 200 streams at once; anything lost fails it.
func BenchmarkStreams200(b *testing.B) {
	server := instant(b, 100)
	s, err := New(Target{BaseURL: server.URL, Route: RouteNative}, Options{})
	if err != nil {
		b.Fatal(err)
	}
	shim := httptest.NewServer(s)
	b.Cleanup(func() { shim.Close(); _ = s.Close() })
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 300}}
	body := longBody(20 << 10)
	want := post(b, client, server.URL, "", body)
	for b.Loop() {
		var wg sync.WaitGroup
		for range 200 {
			wg.Go(func() {
				if n := post(b, client, shim.URL, s.Token(), body); n < want {
					b.Errorf("%d bytes of %d", n, want)
				}
			})
		}
		wg.Wait()
	}
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
