package config_test

import (
	"strings"
	"testing"

	"legwork/pkg/config"
)

// A key in a sidecar belongs to the address that was in force when it was set,
// whichever file that stands in.
func TestSidecarKeyStaysWithItsHost(t *testing.T) {
	t.Parallel()
	const hand = "endpoints: {gpu: {base_url: http://gpu.lan:8000}}\n"
	register := func(url string) func(w *world) (config.Applied, error) {
		return func(w *world) (config.Applied, error) {
			return config.RegisterEndpoint(w.t.Context(), w.opts, "", config.Endpoint{Name: "gpu", BaseURL: url})
		}
	}
	apply := func(changes ...config.Change) func(w *world) (config.Applied, error) {
		return func(w *world) (config.Applied, error) {
			return config.Apply(w.t.Context(), w.opts, "", changes)
		}
	}
	unset := config.Change{Key: "endpoints.gpu.base_url", Unset: true}
	for _, tt := range []struct {
		name, hand, side string
		change           func(w *world) (config.Applied, error)
		url, key         string
		headers          string
		says             string // of the warning; "": none
	}{
		{"away from the hand-written address", hand, "endpoints: {gpu: {api_key: sk-0123456789}}", register("http://evil.example:1"), "http://evil.example:1", "", "", "endpoints.gpu.api_key was removed"},
		{"another port", hand, "endpoints: {gpu: {api_key: sk-0123456789}}", register("http://gpu.lan:9000"), "http://gpu.lan:9000", "sk-0123456789", "", ""},
		{"back to the hand-written address", hand, "endpoints: {gpu: {base_url: 'https://cloud.example', api_key: sk-0123456789, headers: {X: y}}}", apply(unset), "http://gpu.lan:8000", "", "", "endpoints.gpu.headers was removed"},
		{"back to the same host", hand, "endpoints: {gpu: {base_url: 'http://gpu.lan:9000', api_key: sk-0123456789}}", apply(unset), "http://gpu.lan:8000", "sk-0123456789", "", ""},
		{"address and key together", hand, "endpoints: {gpu: {api_key: sk-0123456789}}", apply(config.Change{Key: "endpoints.gpu", Value: map[string]any{"base_url": "http://new.lan", "api_key": "sk-new9876543"}}), "http://new.lan", "sk-new9876543", "", ""},
		{"one header anew", hand, "endpoints: {gpu: {headers: {A: old-secret, B: old-secret}}}", apply(config.Change{Key: "endpoints.gpu.base_url", Value: "http://new.lan"}, config.Change{Key: "endpoints.gpu.headers.B", Value: "new"}), "http://new.lan", "", "B", "endpoints.gpu.headers.A was removed"},
		{"the key first, then its address", "", "endpoints: {gpu: {api_key: sk-0123456789}}", register("http://gpu.lan:8000"), "http://gpu.lan:8000", "sk-0123456789", "", ""},
		{"another setting", hand, "endpoints: {gpu: {api_key: sk-0123456789}}", apply(config.Change{Key: "llm.num_ctx", Value: "4096"}), "http://gpu.lan:8000", "sk-0123456789", "", ""},
		{"a plain address by hand", "endpoints: {gpu: 'http://gpu.lan:8000'}\n", "endpoints: {gpu: {api_key: sk-0123456789}}", register("http://evil.example"), "http://evil.example", "", "", "endpoints.gpu.api_key was removed"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.user(tt.hand)
			w.userSide(tt.side)
			out, err := tt.change(w)
			if err != nil {
				t.Fatal(err)
			}
			e, _ := w.load().Endpoint("gpu")
			var headers []string
			for k := range e.Headers {
				headers = append(headers, k)
			}
			if e.BaseURL != tt.url || e.APIKey.Reveal() != tt.key || strings.Join(headers, " ") != tt.headers {
				t.Errorf("%s, key %q, headers %v", e.BaseURL, e.APIKey.Reveal(), headers)
			}
			if all := strings.Join(out.Warnings, "\n"); !strings.Contains(all, tt.says) || strings.Contains(all, "was removed") != (tt.says != "") {
				t.Errorf("warnings %q", out.Warnings)
			}
			if side := w.read(w.home, "config.local.yaml"); tt.key == "" && strings.Contains(side, "sk-") || strings.Contains(side, "old-secret") {
				t.Errorf("the sidecar keeps a secret of the other host:\n%s", side)
			}
		})
	}
}

// An address taken away and one set later are a move, too.
func TestKeyDoesNotWaitForTheNextAddress(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.set("", "endpoints.gpu", map[string]any{"base_url": "http://gpu.lan", "api_key": "sk-0123456789", "notes": "n"})
	out, err := config.Apply(t.Context(), w.opts, "", []config.Change{{Key: "endpoints.gpu.base_url", Unset: true}})
	if err != nil || len(out.Warnings) == 0 {
		t.Fatalf("%v %v", out, err)
	}
	w.set("", "endpoints.gpu.base_url", "http://evil.example")
	if e, _ := w.load().Endpoint("gpu"); e.APIKey != "" || e.Notes != "n" {
		t.Errorf("%+v", e)
	}
}

// With a hand-written file that cannot be read nobody knows whose the key is.
func TestKeyOfAnUnknownHost(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.user("endpoints: {gpu: [\n")
	w.userSide("endpoints: {gpu: {api_key: sk-0123456789}, other: {base_url: 'http://o.lan', api_key: sk-9876543210}}\n")
	if out := w.set("", "endpoints.gpu.base_url", "http://evil.example"); len(out.Warnings) == 0 {
		t.Error("no warning")
	}
	if side := w.read(w.home, "config.local.yaml"); strings.Contains(side, "sk-0123456789") || !strings.Contains(side, "sk-9876543210") {
		t.Error(side)
	}
}

// A key in a hand-written file cannot be left behind, so its endpoint is not moved.
func TestHandWrittenKeyHoldsTheAddress(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.user("endpoints: {gpu: {api_key: sk-0123456789}}\n")
	w.set("", "endpoints.gpu.base_url", "http://gpu.lan:8000")
	before := w.read(w.home, "config.local.yaml")
	move := []config.Change{{Key: "endpoints.gpu.base_url", Value: "http://evil.example"}}
	_, err := config.Apply(t.Context(), w.opts, "", move)
	if err == nil || !strings.Contains(err.Error(), "endpoints.gpu.api_key in "+w.home) || strings.Contains(err.Error(), "sk-") {
		t.Errorf("%v", err)
	}
	if e, _ := w.load().Endpoint("gpu"); e.BaseURL != "http://gpu.lan:8000" || w.read(w.home, "config.local.yaml") != before {
		t.Errorf("%+v", e)
	}
	w.set("", "endpoints.gpu.base_url", "http://gpu.lan:9000")
	if _, err := config.Apply(t.Context(), w.opts, "", append(move, config.Change{Key: "endpoints.gpu.api_key", Value: "sk-new9876543"})); err != nil {
		t.Errorf("with a key of its own: %v", err)
	}
	// Beside its own address the key is where it belongs, wherever the sidecar points.
	w = newWorld(t)
	w.user("endpoints: {gpu: {base_url: 'http://gpu.lan', api_key: sk-0123456789}}\n")
	w.set("", "endpoints.gpu.base_url", "http://evil.example")
	if e, _ := w.load().Endpoint("gpu"); e.APIKey != "" {
		t.Errorf("%+v", e)
	}
	if _, err := config.Apply(t.Context(), w.opts, "", []config.Change{{Key: "endpoints.gpu.base_url", Unset: true}}); err != nil {
		t.Error(err)
	}
	if e, _ := w.load().Endpoint("gpu"); e.BaseURL != "http://gpu.lan" || e.APIKey.Reveal() != "sk-0123456789" {
		t.Errorf("%+v", e)
	}
}

func TestVariableMovesAnEndpoint(t *testing.T) {
	t.Parallel()
	const hand = "endpoints: {gpu: {base_url: 'http://gpu.lan:8000', api_key: sk-0123456789, headers: {X: y}}}\n"
	w := newWorld(t, "LEGWORK_ENDPOINTS_GPU_BASE_URL=http://evil.example:1")
	w.user(hand)
	cfg := w.load()
	if e, _ := cfg.Endpoint("gpu"); e.BaseURL != "http://evil.example:1" || e.APIKey != "" || len(e.Headers) > 0 {
		t.Errorf("%+v", e)
	}
	warned(t, cfg, "endpoints.gpu.base_url", "another host", "api_key, headers")
	w = newWorld(t, "LEGWORK_ENDPOINTS_GPU_API_KEY=sk-new9876543", "LEGWORK_ENDPOINTS_GPU_BASE_URL=http://new.lan")
	w.user(hand)
	if e, _ := w.load().Endpoint("gpu"); e.APIKey.Reveal() != "sk-new9876543" || len(e.Headers) > 0 {
		t.Errorf("a key set with the address: %+v", e)
	}
	w = newWorld(t, "LEGWORK_ENDPOINTS_GPU_BASE_URL=http://gpu.lan:9000")
	w.user(hand)
	if cfg := w.load(); cfg.Endpoints[0].APIKey == "" {
		t.Error("the key of the same host is gone")
	} else {
		noWarnings(t, cfg)
	}
}

func TestSearchHeadersStayWithTheirHost(t *testing.T) {
	t.Parallel()
	const hand = "research: {searxng_headers: {Authorization: Basic c2VjcmV0}, searxng_url: 'http://own.lan'}\n"
	for _, tt := range []struct {
		env, side string
		kept      bool
	}{
		{"", "", true},
		{"", "research: {searxng_url: 'https://public.example'}\n", false},
		{"", "research: {searxng_url: 'https://public.example, http://own.lan'}\n", false},
		{"", "research: {searxng_url: 'http://own.lan:8888, https://public.example'}\n", true},
		{"", "research: {searxng_url: [http://own.lan, https://public.example]}\n", true},
		{"LEGWORK_RESEARCH_SEARXNG_URL=https://public.example", "", false},
	} {
		w := newWorld(t, tt.env)
		w.user(hand)
		w.userSide(tt.side)
		cfg := w.load()
		if kept := len(cfg.Research.SearxngHeaders) == 1; kept != tt.kept {
			t.Errorf("%s%s: kept %v", tt.env, tt.side, kept)
		}
		if tt.kept {
			noWarnings(t, cfg)
		} else {
			warned(t, cfg, "research.searxng_url", "another host", "searxng_headers")
		}
		for base, want := range map[string]bool{"http://own.lan/search": tt.kept, "https://own.lan": tt.kept, "https://public.example": false, "http://own.lan.evil.example": false} {
			if got := cfg.Research.SearchHeaders(base); (got["Authorization"] != "") != want {
				t.Errorf("%s%s: %s gets %v", tt.env, tt.side, base, got)
			}
		}
	}
	w := newWorld(t)
	w.set("", "research.searxng_url", "http://own.lan")
	w.set("", "research.searxng_headers", map[string]any{"Authorization": "Basic c2VjcmV0"})
	if out := w.set("", "research.searxng_url", "http://own.lan, https://public.example"); len(out.Warnings) > 0 {
		t.Errorf("a second address: %v", out.Warnings)
	}
	if out := w.set("", "research.searxng_url", "https://public.example, http://own.lan"); len(out.Warnings) != 1 || len(w.load().Research.SearxngHeaders) > 0 {
		t.Errorf("another address first: %v", out.Warnings)
	}
}
