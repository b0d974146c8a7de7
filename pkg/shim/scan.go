package shim

import (
	"encoding/json"
	"errors"
	"iter"
	"sort"
	"strings"

	"github.com/tidwall/gjson"
)

// The scanner below finds values in JSON text by offset, so that a request can be changed without decoding it: numbers
// keep their digits, keys their order, strings their escapes. It expects text that passed checkJSON; on anything else
// it gives nonsense offsets inside the text, never a panic.

// maxDepth bounds nesting, because the validator below recurses.
const maxDepth = 2000

var errNotJSON = errors.New("body is not a JSON object")

// checkJSON tells whether body is one valid JSON object of sane depth.
func checkJSON(body string) error {
	if i := skipSpace(body, 0); i >= len(body) || body[i] != '{' || !shallow(body) || !gjson.Valid(body) {
		return errNotJSON
	}
	return nil
}

// shallow tells whether brackets outside strings nest no deeper than maxDepth.
func shallow(s string) bool {
	depth := 0
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '"':
			i = stringEnd(s, i) - 1
		case '{', '[':
			if depth++; depth > maxDepth {
				return false
			}
		case '}', ']':
			depth--
		}
	}
	return true
}

func skipSpace(s string, i int) int {
	for i < len(s) && (s[i] == ' ' || s[i] == '\n' || s[i] == '\t' || s[i] == '\r') {
		i++
	}
	return i
}

// stringEnd returns the offset behind the string literal that starts at i.
func stringEnd(s string, i int) int {
	for j := i + 1; j < len(s); j++ {
		k := strings.IndexByte(s[j:], '"')
		if k < 0 {
			return len(s)
		}
		j += k
		b := j - 1
		for b > i && s[b] == '\\' {
			b--
		}
		if (j-1-b)%2 == 0 {
			return j + 1
		}
	}
	return len(s)
}

// valueEnd returns the offset behind the value that starts at i.
func valueEnd(s string, i int) int {
	if i >= len(s) {
		return len(s)
	}
	switch s[i] {
	case '"':
		return stringEnd(s, i)
	case '{', '[':
		depth := 0
		for i < len(s) {
			switch s[i] {
			case '"':
				i = stringEnd(s, i)
				continue
			case '{', '[':
				depth++
			case '}', ']':
				if depth--; depth == 0 {
					return i + 1
				}
			}
			i++
		}
		return len(s)
	default:
		for i < len(s) && !strings.ContainsRune(",]} \n\t\r", rune(s[i])) {
			i++
		}
		return i
	}
}

// member is one key of an object, by offsets into the object's text.
type member struct {
	key   string
	start int // behind the previous member (or the bracket): the separator begins here
	keyAt int
	valAt int
	end   int
}

// members walks the keys of the object s.
func members(s string) iter.Seq[member] {
	return func(yield func(member) bool) {
		i := skipSpace(s, 0)
		if i >= len(s) || s[i] != '{' {
			return
		}
		i++
		for {
			m := member{start: i}
			if i = skipSpace(s, i); i < len(s) && s[i] == ',' {
				i = skipSpace(s, i+1)
			}
			if i >= len(s) || s[i] != '"' {
				return
			}
			m.keyAt = i
			i = stringEnd(s, i)
			m.key = unquote(s[m.keyAt:i])
			if i = skipSpace(s, i); i >= len(s) || s[i] != ':' {
				return
			}
			m.valAt = skipSpace(s, i+1)
			m.end = valueEnd(s, m.valAt)
			i = m.end
			if !yield(m) {
				return
			}
		}
	}
}

// element is one value of an array, by offsets into the array's text.
type element struct {
	start int // behind the previous element (or the bracket)
	valAt int
	end   int
}

// elements walks the values of the array s.
func elements(s string) iter.Seq[element] {
	return func(yield func(element) bool) {
		i := skipSpace(s, 0)
		if i >= len(s) || s[i] != '[' {
			return
		}
		i++
		for {
			e := element{start: i}
			if i = skipSpace(s, i); i < len(s) && s[i] == ',' {
				i = skipSpace(s, i+1)
			}
			if i >= len(s) || s[i] == ']' {
				return
			}
			e.valAt = i
			if e.end = valueEnd(s, i); e.end == i {
				return
			}
			i = e.end
			if !yield(e) {
				return
			}
		}
	}
}

// get returns the raw value of the last member called key (the one a decoder would keep), or "".
func get(obj, key string) string {
	raw := ""
	for m := range members(obj) {
		if m.key == key {
			raw = obj[m.valAt:m.end]
		}
	}
	return raw
}

// literal is get for a string value, as it stands between its quotes and with them; anything else is "".
func literal(obj, key string) string {
	if raw := get(obj, key); strings.HasPrefix(raw, `"`) {
		return raw
	}
	return ""
}

// text is get for a string value, unquoted. Anything else is "".
func text(obj, key string) string { return unquote(get(obj, key)) }

// dropMembers returns obj without the members for which drop is true, every other byte as it was.
func dropMembers(obj string, drop func(key string) bool) string {
	var b strings.Builder
	b.Grow(len(obj))
	kept, last, dropped := 0, 0, false
	for m := range members(obj) {
		switch {
		case drop(m.key):
			dropped = true
		case kept == 0:
			if b.Len() == 0 {
				b.WriteString(obj[:strings.IndexByte(obj, '{')+1])
			}
			b.WriteString(obj[m.keyAt:m.end])
			kept++
		default:
			b.WriteString(obj[m.start:m.end])
			kept++
		}
		last = m.end
	}
	if !dropped {
		return obj
	}
	if kept == 0 {
		return "{}"
	}
	b.WriteString(obj[last:])
	return b.String()
}

// setMember returns obj with key set to the raw value: replaced in place, else added at the end.
func setMember(obj, key, raw string) string {
	at, end, last := -1, -1, -1
	for m := range members(obj) {
		if m.key == key {
			at, end = m.valAt, m.end
		}
		last = m.end
	}
	switch {
	case at >= 0:
		return obj[:at] + raw + obj[end:]
	case last >= 0:
		return obj[:last] + "," + quote(key) + ":" + raw + obj[last:]
	default:
		return "{" + quote(key) + ":" + raw + "}"
	}
}

// unquote decodes a string literal; anything else is "".
func unquote(lit string) string {
	if len(lit) < 2 || lit[0] != '"' {
		return ""
	}
	if strings.IndexByte(lit, '\\') < 0 {
		return lit[1 : len(lit)-1]
	}
	return gjson.Parse(lit).Str
}

// quote makes a string literal, without HTML escapes and always valid UTF-8.
func quote(s string) string {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(s) // a string cannot fail
	return strings.TrimSuffix(b.String(), "\n")
}

// edits are replacements in one text, by offset, not overlapping.
type edits []edit

type edit struct {
	from, to int
	with     string
	write    func(*strings.Builder) // instead of with: what is written need not be held twice
}

func (e *edits) replace(from, to int, with string) { *e = append(*e, edit{from, to, with, nil}) }

func (e *edits) produce(from, to int, write func(*strings.Builder)) {
	*e = append(*e, edit{from, to, "", write})
}

// remove takes members out of the object they were found in, with one comma each.
func (e *edits) remove(obj string, drop map[string]bool) {
	kept, from := 0, -1
	for m := range members(obj) {
		switch {
		case drop[m.key] && kept > 0:
			e.replace(m.start, m.end, "")
		case drop[m.key]:
			if from < 0 {
				from = m.keyAt
			}
		default:
			if kept++; kept == 1 && from >= 0 {
				e.replace(from, m.keyAt, "")
			}
		}
	}
}

// apply returns s with the edits done; without edits s itself.
func (e edits) apply(s string) string {
	if len(e) == 0 {
		return s
	}
	sort.SliceStable(e, func(i, j int) bool { return e[i].from < e[j].from })
	size := len(s)
	for _, x := range e {
		if size += len(x.with) - (x.to - x.from); x.write != nil {
			size += (x.to-x.from)*17/16 + 64
		}
	}
	var b strings.Builder
	b.Grow(max(size, 0))
	at := 0
	for _, x := range e {
		b.WriteString(s[at:x.from])
		b.WriteString(x.with)
		if x.write != nil {
			x.write(&b)
		}
		at = x.to
	}
	b.WriteString(s[at:])
	return b.String()
}
