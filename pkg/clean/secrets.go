package clean

import (
	"regexp"
	"slices"
	"strings"
	"sync"
)

// Masked stands where a secret stood.
const Masked = "[masked]"

// Secrets hides keys in text that leaves the machine or lands in a log: values of environment
// variables whose name says that they are secret, and the shapes of well-known keys. The zero value
// knows the shapes only; a nil *Secrets hides nothing.
type Secrets struct {
	values []string // longest first, so that a value inside another one does not leave a rest
}

// minSecret is the shortest value that is hidden wherever it occurs; shorter ones would hide words.
const minSecret = 8

var secretName = regexp.MustCompile(`(?i)(secret|token|passw(or)?d|passphrase|credential|private_?key|api_?key|access_?key|auth_?key|_key$|_pat$|_dsn$)`)

// NewSecrets takes the environment as KEY=value entries, and further values that must not show.
func NewSecrets(env []string, more ...string) *Secrets {
	s := &Secrets{}
	for _, kv := range env {
		name, value, ok := strings.Cut(kv, "=")
		if ok && len(value) >= minSecret && secretName.MatchString(name) && !looksHarmless(value) {
			s.values = append(s.values, value)
		}
	}
	for _, v := range more {
		if len(v) >= minSecret {
			s.values = append(s.values, v)
		}
	}
	slices.SortFunc(s.values, func(a, b string) int { return len(b) - len(a) })
	s.values = slices.Compact(s.values)
	return s
}

// looksHarmless: a path or a plain switch in a variable such as SSH_AUTH_KEY is no secret itself.
func looksHarmless(v string) bool {
	return strings.HasPrefix(v, "/") || strings.HasPrefix(v, "~/") || strings.HasPrefix(v, "file:")
}

// shapes are the forms of keys that are known to be keys wherever they stand. Group 1, where there is
// one, is kept; the rest of the match is hidden.
var shapes = sync.OnceValue(func() []*regexp.Regexp {
	return []*regexp.Regexp{
		regexp.MustCompile(`(?s)(-----BEGIN [A-Z ]*PRIVATE KEY-----).*?(-----END [A-Z ]*PRIVATE KEY-----|\z)`),
		regexp.MustCompile(`\b(?:AKIA|ASIA)[0-9A-Z]{16}\b`),
		regexp.MustCompile(`\bgh[pousr]_[A-Za-z0-9]{30,}\b|\bgithub_pat_[A-Za-z0-9_]{30,}\b`),
		regexp.MustCompile(`\bglpat-[A-Za-z0-9_-]{16,}`),
		regexp.MustCompile(`\bsk-[A-Za-z0-9_-]{20,}`),
		regexp.MustCompile(`\b[rs]k_(?:live|test)_[A-Za-z0-9]{16,}`),
		regexp.MustCompile(`\bxox[abeoprs]-[A-Za-z0-9-]{10,}`),
		regexp.MustCompile(`\bAIza[A-Za-z0-9_-]{35}`),
		regexp.MustCompile(`\bnpm_[A-Za-z0-9]{36}\b`),
		regexp.MustCompile(`\bpypi-[A-Za-z0-9_-]{32,}`),
		regexp.MustCompile(`\bhf_[A-Za-z0-9]{30,}\b`),
		regexp.MustCompile(`\beyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}`),
		regexp.MustCompile(`(?i)(\bauthorization["']?\s*[:=]\s*["']?(?:bearer|basic|token)\s+)[A-Za-z0-9+/=._~-]{8,}`),
		regexp.MustCompile(`(?i)(\b[a-z0-9_.-]*(?:password|passwd|secret|api[_-]?key|access[_-]?key|auth[_-]?token|access[_-]?token|private[_-]?key)["']?\s*[=:]\s*["']?)[^\s"',;&<>(){}\[\]]{8,}`),
		regexp.MustCompile(`(\b[a-z][a-z0-9+.-]*://[^\s/:@]+:)[^\s/@]{3,}(@)`),
	}
})

// hints are substrings of which at least one stands in every text that a shape matches; the check
// costs far less than the expressions.
var hints = []string{
	"PRIVATE KEY", "AKIA", "ASIA", "gh", "glpat-", "sk-", "k_live_", "k_test_", "xox", "AIza", "npm_", "pypi-", "hf_", "eyJ", "://",
}

var wordHints = []string{"authorization", "passw", "secret", "key", "token"}

// Mask returns s without secrets. It works on whole text; a secret that is cut by a read must be joined
// before (all callers mask complete lines or complete replies).
func (s *Secrets) Mask(text string) string {
	if s == nil || text == "" {
		return text
	}
	for _, v := range s.values {
		if strings.Contains(text, v) {
			text = strings.ReplaceAll(text, v, Masked)
		}
	}
	if !mayHoldKey(text) {
		return text
	}
	for _, re := range shapes() {
		if re.NumSubexp() == 0 {
			text = re.ReplaceAllString(text, Masked)
		} else {
			text = re.ReplaceAllString(text, "${1}"+Masked+lastGroup(re))
		}
	}
	return text
}

func lastGroup(re *regexp.Regexp) string {
	if re.NumSubexp() > 1 {
		return "${2}"
	}
	return ""
}

func mayHoldKey(text string) bool {
	for _, h := range hints {
		if strings.Contains(text, h) {
			return true
		}
	}
	lower := strings.ToLower(text)
	for _, h := range wordHints {
		if strings.Contains(lower, h) {
			return true
		}
	}
	return false
}
