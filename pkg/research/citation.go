package research

import (
	"strings"
)

// maxCitation bounds the ranges that are expanded ([1-3]).
const maxCitation = 99

// parseCitation reads a citation mark at the start of s: [1], [1, 2], [1-3],
// [^1], [source 1], 【1】. n is its length in bytes, 0 when there is none.
func parseCitation(s string) (numbers []int, n int) {
	open, end := "[", "]"
	switch {
	case strings.HasPrefix(s, "["):
	case strings.HasPrefix(s, "【"):
		open, end = "【", "】"
	default:
		return nil, 0
	}
	stop := strings.Index(s, end)
	if stop < 0 || stop > 60 {
		return nil, 0
	}
	inner := strings.ToLower(strings.TrimSpace(s[len(open):stop]))
	inner, _, _ = strings.Cut(inner, "†") // [1†page]
	for _, prefix := range []string{"^", "sources", "source", "src", "ref", "page", "#"} {
		inner = strings.TrimSpace(strings.TrimPrefix(inner, prefix))
	}
	inner = strings.TrimLeft(inner, ": ")
	numbers, ok := numberList(inner)
	if !ok {
		return nil, 0
	}
	return numbers, stop + len(end)
}

// numberList reads "1", "1, 2 and 5" and "1-3".
func numberList(s string) ([]int, bool) {
	var numbers []int
	current, digits, ranged := 0, 0, false
	flush := func() bool {
		if digits == 0 {
			return true
		}
		if current > maxCitation {
			return false
		}
		if ranged && len(numbers) > 0 {
			for k := numbers[len(numbers)-1] + 1; k < current; k++ {
				numbers = append(numbers, k)
			}
		}
		numbers = append(numbers, current)
		current, digits, ranged = 0, 0, false
		return true
	}
	for _, field := range strings.FieldsFunc(strings.NewReplacer("and", ",", "&", ",").Replace(s), func(r rune) bool { return r == ',' || r == ';' || r == ' ' }) {
		for _, r := range field {
			switch {
			case r >= '0' && r <= '9' && digits < 3:
				current = current*10 + int(r-'0')
				digits++
			case (r == '-' || r == '–') && digits > 0:
				if !flush() {
					return nil, false
				}
				ranged = true
			default:
				return nil, false
			}
		}
		if !flush() {
			return nil, false
		}
	}
	return numbers, len(numbers) > 0
}

// citationLen is the length of a citation mark at the start of s, 0 for none.
func citationLen(s string) int {
	_, n := parseCitation(s)
	return n
}

// segment is a part of a sentence with the citations that follow it.
type segment struct {
	text  string // without marks
	cites []int
	tail  string // what stood behind the marks up to the next part (punctuation)
}

// segments splits a sentence at its groups of citation marks. Marks inside code
// are no citations.
func segments(sentence string) []segment {
	var out []segment
	var text strings.Builder
	inCode := false
	for i := 0; i < len(sentence); {
		if sentence[i] == '`' {
			inCode = !inCode && strings.Contains(sentence[i+1:], "`")
		}
		numbers, n := []int(nil), 0
		if !inCode {
			numbers, n = parseCitation(sentence[i:])
		}
		if n == 0 || i+n < len(sentence) && sentence[i+n] == '(' { // [1](url) is a link
			text.WriteByte(sentence[i])
			i++
			continue
		}
		i += n
		for { // marks that follow directly are one group
			skip := len(sentence[i:]) - len(strings.TrimLeft(sentence[i:], " ,"))
			more, m := parseCitation(sentence[i+skip:])
			if m == 0 {
				break
			}
			numbers = append(numbers, more...)
			i += skip + m
		}
		out = append(out, segment{text: strings.TrimRight(text.String(), " "), cites: numbers})
		text.Reset()
	}
	rest := text.String()
	if len(out) > 0 && strings.Trim(rest, " .!?,;:)*_\"'”’。！？") == "" {
		out[len(out)-1].tail = rest
	} else if strings.TrimSpace(rest) != "" {
		out = append(out, segment{text: rest})
	}
	return out
}
