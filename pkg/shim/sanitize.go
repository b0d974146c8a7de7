package shim

import (
	"strings"
	"unicode/utf8"
)

// sanitize replaces what no strict server takes and what would be replayed with every later request: bytes that are
// not UTF-8, and escapes of half a surrogate pair. It returns how many were replaced; without any, s itself.
func sanitize(s string) (string, int) {
	n := 0
	if !utf8.ValidString(s) {
		n += strings.Count(strings.ToValidUTF8(s, "\x00"), "\x00")
		s = strings.ToValidUTF8(s, "\uFFFD")
	}
	var e edits
	for i := strings.IndexByte(s, '\\'); i >= 0 && i+1 < len(s); {
		next := i + 2
		if r, ok := escapedUnit(s, i); ok && r >= 0xD800 && r < 0xE000 {
			low, paired := escapedUnit(s, i+6)
			if r < 0xDC00 && paired && low >= 0xDC00 && low < 0xE000 {
				next = i + 12
			} else {
				e.replace(i, i+6, `\ufffd`)
				next = i + 6
			}
		}
		k := strings.IndexByte(s[next:], '\\')
		if k < 0 {
			break
		}
		i = next + k
	}
	return e.apply(s), n + len(e)
}

// escapedUnit reads the escape \uXXXX at i.
func escapedUnit(s string, i int) (int, bool) {
	if i+6 > len(s) || s[i] != '\\' || s[i+1] != 'u' {
		return 0, false
	}
	v := 0
	for _, c := range []byte(s[i+2 : i+6]) {
		switch {
		case c >= '0' && c <= '9':
			v = v<<4 | int(c-'0')
		case c >= 'a' && c <= 'f':
			v = v<<4 | int(c-'a'+10)
		case c >= 'A' && c <= 'F':
			v = v<<4 | int(c-'A'+10)
		default:
			return 0, false
		}
	}
	return v, true
}
