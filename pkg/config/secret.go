package config

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"slices"
	"strings"
	"unicode"

	"gopkg.in/yaml.v3"

	"legwork/pkg/clean"
)

// Secret is a value that is never shown: every way of printing or encoding it gives "(set)", or "" when empty.
type Secret string

const masked = "(set)"

// Reveal returns the value itself, for the one place that sends it.
func (s Secret) Reveal() string { return string(s) }

// String implements [fmt.Stringer] with the masked form.
func (s Secret) String() string {
	if s == "" {
		return ""
	}
	return masked
}

// Format implements [fmt.Formatter], so that no verb shows the value.
func (s Secret) Format(w fmt.State, verb rune) {
	if verb == 'q' || w.Flag('#') {
		_, _ = fmt.Fprintf(w, "%q", s.String())
		return
	}
	_, _ = fmt.Fprint(w, s.String())
}

// MarshalText implements [encoding.TextMarshaler] with the masked form; JSON and YAML encoders use it too.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// LogValue implements [slog.LogValuer] with the masked form.
func (s Secret) LogValue() slog.Value { return slog.StringValue(s.String()) }

func secretFrom(s string) (any, error) {
	s = strings.TrimSpace(s)
	if isReference(s) {
		return nil, errors.New("a reference to a variable, and none is expanded here; set the LEGWORK_ variable of this key instead")
	}
	if strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		return nil, errors.New("a value with control characters")
	}
	return Secret(s), nil
}

// isReference is true for text that another program would expand: $KEY, ${KEY}, %KEY%.
func isReference(s string) bool {
	word := func(s string) bool {
		return s != "" && !strings.ContainsFunc(s, func(r rune) bool { return r != '_' && !unicode.IsUpper(r) && !unicode.IsDigit(r) })
	}
	if rest, ok := strings.CutPrefix(s, "Bearer "); ok {
		s = rest
	}
	if rest, ok := strings.CutPrefix(s, "${"); ok {
		return strings.HasSuffix(rest, "}")
	}
	if rest, ok := strings.CutPrefix(s, "$"); ok {
		return word(rest)
	}
	return len(s) > 2 && s[0] == '%' && s[len(s)-1] == '%' && word(s[1:len(s)-1])
}

// secretsFrom reads {"K": "v"} or K=v,K2=v2.
func (f *field) secretsFrom(s string) (any, error) {
	s = strings.TrimSpace(s)
	if strings.HasPrefix(s, "{") {
		var n yaml.Node
		if err := yaml.Unmarshal([]byte(s), &n); err != nil || len(n.Content) != 1 {
			return nil, errors.New("not a JSON object")
		}
		return f.fromNode(n.Content[0])
	}
	out := map[string]Secret{}
	for pair := range strings.SplitSeq(s, ",") {
		if strings.TrimSpace(pair) == "" {
			continue
		}
		k, v, ok := strings.Cut(pair, "=")
		if !ok || strings.TrimSpace(k) == "" {
			return nil, errors.New(`neither a JSON object nor name=value pairs`)
		}
		sec, err := secretFrom(v)
		if err != nil {
			return nil, err
		}
		out[strings.TrimSpace(k)] = sec.(Secret)
	}
	return out, nil
}

func secretMap(n *yaml.Node) (any, error) {
	out := map[string]Secret{}
	for k, v := range pairs(n) {
		v = deref(v)
		if v.Kind != yaml.ScalarNode {
			return nil, fmt.Errorf("a %s as value of %s, where text is wanted", nodeWord(v), clip(k.Value))
		}
		if v.Tag == "!!null" {
			continue
		}
		sec, err := secretFrom(v.Value)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", clip(k.Value), err)
		}
		out[k.Value] = sec.(Secret)
	}
	return out, nil
}

// placeholders are keys that local servers want in a form field and that protect nothing. Removing them from
// texts would remove ordinary words.
var placeholders = map[string]bool{
	"none": true, "empty": true, "null": true, "ollama": true, "lmstudio": true, "lm-studio": true, "llama": true,
	"local": true, "localhost": true, "dummy": true, "test": true, "token": true, "secret": true, "no-key": true,
	"sk-no-key-required": true, "not-needed": true, "unused": true, "api-key": true, "vllm": true, "password": true,
	"bearer": true, "true": true, "false": true,
}

// newRedactor collects the secret values of a configuration in the forms in which they travel.
func newRedactor(c *Config) *strings.Replacer {
	seen := map[string]bool{}
	add := func(s string) {
		if len(s) < 5 || placeholders[strings.ToLower(s)] {
			return
		}
		quoted, _ := json.Marshal(s)
		for _, form := range []string{s, strings.Trim(string(quoted), `"`), url.QueryEscape(s), url.PathEscape(s), base64.StdEncoding.EncodeToString([]byte(s))} {
			seen[form] = true
		}
	}
	headers := func(m map[string]Secret) {
		for _, v := range m {
			add(v.Reveal())
			if _, token, ok := strings.Cut(v.Reveal(), " "); ok { // "Bearer x": x travels alone too
				add(strings.TrimSpace(token))
			}
		}
	}
	headers(c.Research.SearxngHeaders)
	for _, e := range c.Endpoints {
		add(e.APIKey.Reveal())
		headers(e.Headers)
		for k, v := range e.Env {
			if secretName(k) || looksRandom(v.Reveal()) {
				add(v.Reveal())
			}
		}
	}
	add(c.Research.BraveAPIKey.Reveal())
	add(c.Research.TavilyAPIKey.Reveal())
	forms := make([]string, 0, len(seen))
	for s := range seen {
		forms = append(forms, s)
	}
	// The replacer prefers earlier pairs at the same place: longer ones first, or a tail would stay.
	slices.SortFunc(forms, func(a, b string) int { return len(b) - len(a) })
	args := make([]string, 0, 2*len(forms))
	for _, s := range forms {
		args = append(args, s, masked)
	}
	return strings.NewReplacer(args...)
}

// secretName is true for names of variables that usually hold a credential.
func secretName(name string) bool {
	name = strings.ToUpper(name)
	for _, w := range []string{"KEY", "TOKEN", "SECRET", "PASS", "AUTH", "CREDENTIAL", "COOKIE", "HEADERS"} {
		if strings.Contains(name, w) {
			return true
		}
	}
	return false
}

// looksRandom is true for one long word of letters and digits: a token, not a path, number or sentence.
func looksRandom(s string) bool {
	if len(s) < 16 || strings.ContainsAny(s, " /\\:") {
		return false
	}
	return strings.ContainsFunc(s, unicode.IsLetter) && strings.ContainsFunc(s, unicode.IsDigit)
}

// Redact removes every secret value of this configuration from text, in plain, JSON, URL and base64 form.
// Values of fewer than five bytes and the usual placeholders of local servers ("none", "ollama") stay: removing
// them would only damage the text.
func (c *Config) Redact(text string) string {
	if c == nil || c.redact == nil {
		return text
	}
	return c.redact().Replace(text)
}

// Masker is how text that programs and models wrote is made fit to be shown or kept: without the secret values of
// this configuration and of env, and without what has the form of a key. offload.mask_secrets leaves the first alone.
func (c *Config) Masker(env []string) func(text string) string {
	secrets := c.secrets(env)
	return func(text string) string { return c.Redact(secrets.Mask(text)) }
}

// KnownMasker is Masker without the forms: for text that is wanted to the letter, as code and pages are, where what
// looks like a key may be an example.
func (c *Config) KnownMasker(env []string) func(text string) string {
	secrets := c.secrets(env)
	return func(text string) string { return c.Redact(secrets.MaskValues(text)) }
}

// secrets are those of env; nil when the settings say that nothing is masked. Without a configuration all is.
func (c *Config) secrets(env []string) *clean.Secrets {
	if c != nil && !c.Offload.MaskSecrets {
		return nil
	}
	return clean.NewSecrets(env)
}
