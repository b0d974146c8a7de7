package config_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/url"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"

	"legwork/pkg/config"
)

const secretYAML = `
endpoints:
  g:
    base_url: http://g:1
    api_key: sk-live-0123456789
    headers: {Authorization: Bearer tok-abcdefgh, X-Team: 'quo"te\key'}
    env: {ANTHROPIC_CUSTOM: zz9zz8zz7zz6zz5zz4, MY_TOKEN: hunter22, LANG: en_US.UTF-8, COUNT: "8192"}
  local: {base_url: http://l:1, api_key: ollama}
research: {brave_api_key: BSA-brave-key, tavily_api_key: "tvly/with space+plus"}
`

var secretValues = []string{
	"sk-live-0123456789", "tok-abcdefgh", `quo"te\key`, "zz9zz8zz7zz6zz5zz4", "hunter22", "BSA-brave-key", "tvly/with space+plus",
}

// A secret has no way out but Reveal: not by any verb, encoder, logger or the view.
func TestSecretsNeverShow(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "LEGWORK_ENDPOINTS_G_CONCURRENCY=2")
	w.user(secretYAML)
	cfg := w.load()
	noWarnings(t, cfg)
	var out bytes.Buffer
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
		fmt.Fprintf(&out, verb+"\n", *cfg)
		fmt.Fprintf(&out, verb+"\n", cfg.Endpoints)
		fmt.Fprintf(&out, verb+"\n", cfg.Endpoints[0].APIKey)
	}
	for _, v := range []any{cfg.Endpoints, cfg.Research, cfg.View()} {
		j, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		y, err := yaml.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		out.Write(j)
		out.Write(y)
	}
	log := slog.New(slog.NewJSONHandler(&out, nil))
	log.Info("x", "cfg", cfg.Endpoints, "key", cfg.Endpoints[0].APIKey, "research", cfg.Research)
	for _, s := range secretValues {
		for _, form := range []string{s, fmt.Sprintf("%x", s)} {
			if strings.Contains(out.String(), form) {
				t.Errorf("%q is shown", s)
			}
		}
	}
	if cfg.Endpoints[0].APIKey.Reveal() != "sk-live-0123456789" {
		t.Error("and cannot be had either")
	}
	view := map[string]string{}
	for _, e := range cfg.View() {
		view[e.Key] = e.Value
	}
	for _, key := range []string{"endpoints.g.api_key", "endpoints.g.headers.X-Team", "endpoints.g.env.COUNT", "research.brave_api_key"} {
		if view[key] != "(set)" {
			t.Errorf("view of %s: %q", key, view[key])
		}
	}
}

func TestRedact(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.user(secretYAML)
	cfg := w.load()
	for _, s := range secretValues {
		quoted, _ := json.Marshal(s)
		for _, form := range []string{s, string(quoted), url.QueryEscape(s), url.PathEscape(s), base64.StdEncoding.EncodeToString([]byte(s))} {
			got := cfg.Redact("before " + form + " after")
			if strings.Contains(got, strings.Trim(form, `"`)) || !strings.HasPrefix(got, "before ") || !strings.HasSuffix(got, " after") {
				t.Errorf("%s → %s", form, got)
			}
		}
	}
	const plain = "ollama said none of 8192 in en_US.UTF-8 was Bearer of bad news"
	if got := cfg.Redact(plain); got != plain {
		t.Errorf("ordinary words are damaged: %s", got)
	}
	if got := cfg.Redact(`Get "http://g:1": header Authorization: Bearer tok-abcdefgh`); strings.Contains(got, "tok-") {
		t.Error(got)
	}
}

// What a program wrote is masked by all that is known of keys; what is wanted to the letter by the known values.
func TestMasker(t *testing.T) {
	t.Parallel()
	env := []string{"DEPLOY_TOKEN=blue-horse-9134-xyz"}
	text := secretValues[0] + " blue-horse-9134-xyz DB_PASS=another-value"
	made := func(settings string) *config.Config {
		w := newWorld(t)
		w.user(secretYAML + settings)
		return w.load()
	}
	on, off := made(""), made("\noffload: {mask_secrets: false}\n")
	for name, c := range map[string]struct{ got, want string }{
		"all":                {on.Masker(env)(text), "(set) [masked] DB_PASS=[masked]"},
		"known":              {on.KnownMasker(env)(text), "(set) [masked] DB_PASS=another-value"},
		"turned off":         {off.Masker(env)(text), "(set) blue-horse-9134-xyz DB_PASS=another-value"},
		"known, turned off":  {off.KnownMasker(env)(text), "(set) blue-horse-9134-xyz DB_PASS=another-value"},
		"no settings at all": {(*config.Config)(nil).Masker(env)(text), secretValues[0] + " [masked] DB_PASS=[masked]"},
	} {
		if c.got != c.want {
			t.Errorf("%s: got %q, want %q", name, c.got, c.want)
		}
	}
}

// Messages about a bad value never quote it where it is secret.
func TestWarningsHoldNoSecret(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "LEGWORK_ENDPOINTS_G_HEADERS=hunter22", "LEGWORK_RESEARCH_SEARXNG_URL=http://me:hunter22@s")
	w.user(`
endpoints:
  g: {base_url: "http://user:hunter22@g:1", api_key: [hunter22], headers: {A: [hunter22]}, env: hunter22, apikey: hunter22}
  h: {base_url: "http://user:hunter22@%zz"}
research: {brave_api_key: {a: hunter22}, tavily_api_key: "hunter22\u0007"}
`)
	cfg := w.load()
	if len(cfg.Warnings) < 9 {
		t.Errorf("only %d warnings: %v", len(cfg.Warnings), cfg.Warnings)
	}
	for _, warning := range cfg.Warnings {
		if strings.Contains(warning.String(), "hunter22") {
			t.Error(warning)
		}
	}
}
