package clean

import (
	"encoding/json"
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

var secretName = regexp.MustCompile(`(?i)(secret|token|passw(or)?d|passphrase|credential|private_?key|api_?key|access_?key|auth_?key|_key$|_pat$|_dsn$|(^|_)pass$|_pwd$)`)

// NewSecrets takes the environment as KEY=value entries, and further values that must not show.
func NewSecrets(env []string, more ...string) *Secrets {
	s := &Secrets{}
	for _, kv := range env {
		name, value, ok := strings.Cut(kv, "=")
		if ok && secretName.MatchString(name) && !looksHarmless(name, value) {
			s.add(value)
		}
	}
	for _, v := range more {
		s.add(v)
	}
	slices.SortFunc(s.values, func(a, b string) int { return len(b) - len(a) })
	s.values = slices.Compact(s.values)
	return s
}

// add takes a value in the forms in which it shows: as it is, as it stands inside a JSON string, and line by line,
// since most text is looked at in lines.
func (s *Secrets) add(value string) {
	if len(value) < minSecret {
		return
	}
	s.values = append(s.values, value)
	if quoted, err := json.Marshal(value); err == nil && len(quoted) > len(value)+2 {
		s.values = append(s.values, string(quoted[1:len(quoted)-1]))
	}
	if !strings.Contains(value, "\n") {
		return
	}
	for line := range strings.Lines(value) {
		// A line of several words, or the frame of a key, is nothing that only this value holds.
		if line = strings.TrimSpace(line); len(line) >= minSecret && !strings.ContainsAny(line, " \t") && !strings.HasPrefix(line, "-----") {
			s.values = append(s.values, line)
		}
	}
}

// looksHarmless: a path or a plain switch in a variable such as SSH_AUTH_KEY is no secret itself, nor is a number of
// tokens.
func looksHarmless(name, v string) bool {
	for _, before := range []string{"/", "~/", "file:"} {
		if strings.HasPrefix(v, before) {
			return true
		}
	}
	return strings.Trim(v, "0123456789") == "" && strings.Contains(strings.ToLower(name), "token") || slices.Contains(switches, strings.ToLower(v))
}

// switches are long words that variables with telling names hold in place of a secret.
var switches = []string{"disabled", "production", "development", "undefined", "localhost", "required", "optional", "keychain", "keyring"}

// shape is a form of keys that are known to be keys wherever they stand.
type shape struct {
	hints []string // one of them stands in every text that re matches; the look costs far less than re
	re    *regexp.Regexp
	with  string // what a match becomes
}

// start is what a key may follow: the end of a word, an escape as inside a JSON string, or a colour.
const start = `(\b|\\[nrtbf]|\\u00[0-9a-fA-F]{2}|\[[0-9;]*m)`

var shapes = sync.OnceValue(func() []shape {
	key := func(form string, hints ...string) shape {
		return shape{hints, regexp.MustCompile(start + `(?:` + form + `)`), "${1}" + Masked}
	}
	return []shape{
		key(`(?:AKIA|ASIA)[0-9A-Z]{16}\b`, "AKIA", "ASIA"),
		key(`gh[pousr]_[A-Za-z0-9]{30,}\b|github_pat_[A-Za-z0-9_]{30,}\b`, "gh"),
		key(`glpat-[A-Za-z0-9_-]{16,}`, "glpat-"),
		key(`sk-[A-Za-z0-9_-]{20,}`, "sk-"),
		key(`[rs]k_(?:live|test)_[A-Za-z0-9]{16,}`, "k_live_", "k_test_"),
		key(`xox[abeoprs]-[A-Za-z0-9-]{10,}`, "xox"),
		key(`AIza[A-Za-z0-9_-]{35}`, "AIza"),
		key(`npm_[A-Za-z0-9]{36}\b`, "npm_"),
		key(`pypi-[A-Za-z0-9_-]{32,}`, "pypi-"),
		key(`hf_[A-Za-z0-9]{30,}\b`, "hf_"),
		key(`eyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}`, "eyJ"),
		{[]string{"uthorization", "AUTHORIZATION"}, regexp.MustCompile(`(?i)(\bauthorization\\*["']?\s*[:=]\s*\\*["']?(?:bearer|basic|token)\s+)[A-Za-z0-9+/=._~-]{8,}`), "${1}" + Masked},
		{[]string{"hooks.slack.com/"}, regexp.MustCompile(`(hooks\.slack\.com/(?:services|workflows|triggers)/)[A-Za-z0-9/_+-]{16,}`), "${1}" + Masked},
		// The user may be empty, as with Redis.
		{[]string{"://"}, regexp.MustCompile(`(\b[a-z][a-z0-9+.-]*://[^\s/:@"']*:)[^\s/@"']{3,}(@)`), "${1}" + Masked + "${2}"},
	}
})

// Mask returns s without secrets. It works on whole text; a secret that is cut by a read must be joined
// before (all callers mask complete lines or complete replies).
func (s *Secrets) Mask(text string) string {
	if s == nil || text == "" {
		return text
	}
	text = maskBlocks(s.MaskValues(text))
	for _, sh := range shapes() {
		if slices.ContainsFunc(sh.hints, func(h string) bool { return strings.Contains(text, h) }) {
			text = sh.re.ReplaceAllString(text, sh.with)
		}
	}
	return maskAssignments(text)
}

// MaskValues hides the values alone: for text that is wanted to the letter, where what has the form of a key may be
// an example in it.
func (s *Secrets) MaskValues(text string) string {
	if s == nil {
		return text
	}
	for _, v := range s.values {
		if strings.Contains(text, v) {
			text = strings.ReplaceAll(text, v, Masked)
		}
	}
	return text
}
