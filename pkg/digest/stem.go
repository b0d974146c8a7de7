package digest

import "bytes"

// suffixes that are taken off after plural, -ed and -ing, at most one, longest first within a last
// letter; keep is how many bytes of the word must be left, put what replaces the suffix.
var suffixes = [256][]struct {
	suf, put string
	keep     int
}{
	'n': {{"ization", "iz", 3}, {"ication", "ic", 4}, {"ation", "", 4}, {"tion", "t", 3}, {"sion", "s", 3}},
	'e': {{"izable", "iz", 3}, {"able", "", 4}, {"ible", "", 4}, {"ance", "", 4}, {"ence", "", 4}, {"ive", "", 4}, {"ate", "", 4}, {"ure", "", 4}, {"e", "", 3}},
	't': {{"ment", "", 4}, {"ant", "", 5}, {"ent", "", 5}, {"at", "", 5}},
	's': {{"ness", "", 4}},
	'y': {{"ability", "", 4}, {"ibility", "", 4}, {"ally", "", 4}, {"ency", "", 4}, {"ancy", "", 4}, {"ity", "", 4}, {"ly", "", 4}, {"y", "", 4}},
	'r': {{"er", "", 4}, {"or", "", 4}},
	'l': {{"ful", "", 4}, {"al", "", 4}},
	'i': {{"i", "", 4}},
}

// stem shortens a lower-case word in place to what its forms share ("failed", "failure", "fails"
// → "fail") and returns the new length. It errs on the side of joining too much: the ranking needs
// recall, and a wrong join costs a line.
func stem(w []byte) int {
	n := len(w)
	if n < 4 {
		return n
	}
	n = stripPlural(w, n)
	n = stripPast(w, n)
	if n < 4 {
		return n
	}
	for i := range suffixes[w[n-1]] {
		s := &suffixes[w[n-1]][i]
		if k := n - len(s.suf); k >= s.keep && bytes.HasSuffix(w[:n], []byte(s.suf)) {
			return k + copy(w[k:], s.put)
		}
	}
	return n
}

func stripPlural(w []byte, n int) int {
	if w[n-1] != 's' || w[n-2] == 's' || w[n-2] == 'u' || w[n-2] == 'i' {
		return n
	}
	if w[n-2] != 'e' {
		return n - 1
	}
	switch {
	case n > 4 && w[n-3] == 'i':
		w[n-3] = 'y'
		return n - 2
	case n > 4 && (w[n-3] == 'x' || w[n-3] == 'h' || w[n-3] == 's' && w[n-4] == 's'):
		return n - 2
	}
	return n - 1
}

func stripPast(w []byte, n int) int {
	var k int
	switch {
	case n > 5 && w[n-3] == 'i' && w[n-2] == 'n' && w[n-1] == 'g':
		k = n - 3
	case n > 4 && w[n-2] == 'e' && w[n-1] == 'd' && w[n-3] == 'i':
		w[n-3] = 'y'
		return n - 2
	case n > 4 && w[n-2] == 'e' && w[n-1] == 'd' && w[n-3] != 'e':
		k = n - 2
	default:
		return n
	}
	if !hasVowel(w[:k]) {
		return n
	}
	if k > 3 && w[k-1] == w[k-2] && w[k-1] != 'l' && w[k-1] != 's' && w[k-1] != 'z' {
		k--
	}
	return k
}

func hasVowel(w []byte) bool { return bytes.ContainsAny(w, "aeiouy") }
