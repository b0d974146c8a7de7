package clean

import (
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"
)

// assignment is a name that tells of a secret, with the value it is given: groups for what comes before, the name,
// what stands between, the opening quote, and the value.
var assignment = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)(\b|\\[nrtbf])([a-z0-9_.-]*(?:` +
		`passw(?:or)?d|passphrase|secret|token|pass|pwd|(?:api|access|private|secret|signing|encryption|master|account)[_-]?key` +
		`)(?:[_-]?base|[_-]?[0-9])?)(\\*["']?\s*(?::=|=>|[=:])\s*)(\\*["'` + "`" + `]?)` +
		`((?:[^\s"'` + "`" + `,;&<>(){}\[\]\\=:]|\\[^nrt"'\s])(?:[^\s"'` + "`" + `,;&<>(){}\[\]\\]|\\[^nrt"'\s]){7,})`)
})

var wordHints = []string{"pass", "pwd", "secret", "key", "token"}

// maskAssignments hides values that stand beside a telling name ("password: …", "NPM_TOKEN=…"). Code and test
// names hold such words too, so what is no value of a secret stays.
func maskAssignments(text string) string {
	if !strings.ContainsAny(text, "=:") || !holdsWord(text) {
		return text
	}
	var b strings.Builder
	done := 0
	for _, m := range assignment().FindAllStringSubmatchIndex(text, -1) {
		group := func(n int) string { return text[m[2*n]:m[2*n+1]] }
		g := given{name: group(2), between: group(3), quoted: group(4) != "", value: group(5)}
		if m[1] < len(text) {
			g.next = text[m[1]]
		}
		if g.secret() {
			b.WriteString(text[done:m[10]] + Masked)
			done = m[11]
		}
	}
	if done == 0 {
		return text
	}
	b.WriteString(text[done:])
	return b.String()
}

func holdsWord(text string) bool {
	lower := strings.ToLower(text)
	for _, h := range wordHints {
		if strings.Contains(lower, h) {
			return true
		}
	}
	return false
}

// given is a name with its value, as found in a text.
type given struct {
	name, between, value string
	quoted               bool
	next                 byte // after the value
}

// secret tells whether the value is to be hidden. Of names that say it beyond doubt every value is, unless it is an
// expression of a program; "token", "pass" and "pwd" name much else, so there the form of name and value decides.
func (g given) secret() bool {
	if !g.plausible() || !g.quoted && g.expression() {
		return false
	}
	word := strings.TrimRight(strings.ToLower(g.name), "_-0123456789")
	kind := "" // the word at the end, where it is one of several meanings
	for _, w := range []string{"token", "pass", "pwd"} {
		if strings.HasSuffix(word, w) {
			kind = w
		}
	}
	holder := strings.TrimSuffix(word, kind)
	number := measure().MatchString(g.value)
	switch {
	case kind == "":
		return true
	case g.variable():
		return !number && !constant().MatchString(g.value) && (kind == "token" || strings.HasSuffix(holder, "_"))
	case kind == "token":
		holder = strings.TrimRight(holder, "_-")
		return strings.HasSuffix(holder, "access") || strings.HasSuffix(holder, "auth") || holderOf().MatchString(holder) && mixed(g.value)
	}
	camel := strings.ToUpper(kind[:1]) + kind[1:]
	apart := holder == "" && kind == "pwd" || strings.ContainsAny(holder, "_-.") || holder != "" && strings.Contains(g.name, camel)
	return apart && mixed(g.value) && !number
}

// plausible is false for references, paths, the name itself once more, plain words of settings, and the frame of a
// key, whose inside is hidden.
func (g given) plausible() bool {
	v := strings.ToLower(g.value)
	for _, before := range []string{"file:", "arn:", "-----begin"} {
		if strings.HasPrefix(v, before) {
			return false
		}
	}
	return !strings.ContainsRune("$/~.%*#@", rune(v[0])) && strings.Trim(v, v[:1]) != "" && !slices.Contains(switches, v) &&
		!strings.HasSuffix(strings.ToLower(g.name), v)
}

// expression: program text goes on where a value would end, takes a field of something, or names another variable.
func (g given) expression() bool {
	return g.next != 0 && strings.IndexByte("([{", g.next) >= 0 || strings.Contains(g.between, ">") || strings.Contains(g.between, ":=") ||
		fields().MatchString(g.value) || g.next != 0 && strings.IndexByte(",;)", g.next) >= 0 && identifier().MatchString(g.value)
}

// variable: as an environment or a .env file has it, NAME=value.
func (g given) variable() bool {
	return g.between == "=" && strings.ToUpper(g.name) == g.name && strings.IndexFunc(g.name, unicode.IsLetter) >= 0
}

var (
	// fields is a.b.c, without the figures that a key has.
	fields = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z_$]+(?:(?:\.|->|::)[A-Za-z_]+)+$`) })
	// identifier is a name of several words, as in snake_case or camelCase.
	identifier = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^[A-Za-z]+_[A-Za-z_]+$|^[A-Za-z][a-z]+[A-Z][A-Za-z]*$`)
	})
	constant = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Z_]+$`) })
	// measure is a number, with or without a unit.
	measure = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^[+-]?[0-9][0-9.,:]*(?:[a-zA-Zµ%]{0,3}|tokens)(?:/[a-z]+)?$`)
	})
	// holderOf are the first halves of names of tokens that let somebody in.
	holderOf = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?:^|[_.-])(?:refresh|session|security|bearer|id|api|deploy|bot|oauth|client|user|personal|npm|github|gitlab|gh|slack|discord|telegram|registry|vault|webhook)$|(?:refresh|session|security|bearer|deploy)$`)
	})
)

// mixed: letters and figures, as random words have them.
func mixed(v string) bool {
	return strings.ContainsFunc(v, unicode.IsLetter) && strings.ContainsFunc(v, unicode.IsDigit)
}
