package llm

import (
	"path"
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// How a name matched what is served, from sure to loose.
type tier int

const (
	tierNone  tier = iota
	tierExact      // the id or an alias, as written
	tierGlob       // a pattern with * or ?
	tierEqual      // the same letters and digits
	tierFuzzy      // its letters and digits occur in the id
)

func (t tier) String() string {
	return [...]string{"no match", "exact", "glob", "same letters", "fuzzy"}[t]
}

// matchAll returns the indexes of the models that match best, and how.
func matchAll(name string, models []Model) (tier, []int) {
	best, found := tierNone, []int(nil)
	for i, m := range models {
		t := matchOne(name, m)
		switch {
		case t == tierNone || (best != tierNone && t > best):
		case t == best:
			found = append(found, i)
		default:
			best, found = t, []int{i}
		}
	}
	return best, found
}

func matchOne(name string, m Model) tier {
	names := append([]string{m.ID}, m.Aliases...)
	if slices.Contains(names, name) {
		return tierExact
	}
	if strings.ContainsAny(name, "*?") {
		if slices.ContainsFunc(names, globber(name)) {
			return tierGlob
		}
		return tierNone
	}
	want := letters(name)
	if want == "" {
		return tierNone
	}
	t := tierNone
	for _, n := range names {
		switch {
		case letters(n) == want || letters(baseName(n)) == want:
			return tierEqual
		case strings.Contains(letters(n), want):
			t = tierFuzzy
		}
	}
	return t
}

// letters keeps letters and digits, case folded: "Qwen/Qwen3-8B" and "qwen qwen3 8b" are one.
func letters(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return unicode.ToLower(r)
		}
		return -1
	}, s)
}

// baseName takes path, organisation, ".gguf" and ":latest" off an id.
func baseName(id string) string {
	id = strings.TrimSuffix(strings.TrimSuffix(id, ":latest"), ".gguf")
	return path.Base(strings.ReplaceAll(id, `\`, "/"))
}

// globber matches * and ? over the whole id, slashes included, case folded.
func globber(pattern string) func(string) bool {
	q := regexp.QuoteMeta(pattern)
	q = strings.ReplaceAll(strings.ReplaceAll(q, `\*`, ".*"), `\?`, ".")
	re, err := regexp.Compile("(?is)^" + q + "$")
	if err != nil {
		return func(string) bool { return false }
	}
	return re.MatchString
}

// served is the pattern a note is matched by.
func (n ModelNote) served() string {
	if n.ServedName != "" {
		return n.ServedName
	}
	return n.Name
}

// noteFor finds what the user wrote about a model: the first note that names it
// (not merely resembles it).
func noteFor(cfg *Settings, endpoint string, m Model) (ModelNote, bool) {
	for _, n := range cfg.Models {
		if n.Endpoint != "" && n.Endpoint != endpoint {
			continue
		}
		if t := matchOne(n.served(), m); t != tierNone && t <= tierEqual {
			return n, true
		}
	}
	// A looser match counts when the note was written for this one endpoint.
	for _, n := range cfg.Models {
		if n.Endpoint == endpoint && matchOne(n.served(), m) == tierFuzzy {
			return n, true
		}
	}
	return ModelNote{}, false
}

// noteNamed finds the note a user means by a name.
func noteNamed(cfg *Settings, name string) (ModelNote, bool) {
	for _, n := range cfg.Models {
		if n.Name == name {
			return n, true
		}
	}
	for _, n := range cfg.Models {
		if letters(n.Name) == letters(name) && letters(name) != "" {
			return n, true
		}
	}
	return ModelNote{}, false
}
