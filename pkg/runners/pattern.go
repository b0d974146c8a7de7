package runners

import (
	"regexp"
	"regexp/syntax"
	"strings"
	"sync"
)

// pattern is a regular expression that is tried only on lines which hold the
// longest text every match must contain: most lines of a log are ruled out by
// that, at the speed of a byte search.
type pattern struct {
	*regexp.Regexp
	lit string
}

// lazy compiles expr at its first use: the table is built in every process, most
// patterns are needed in few.
func lazy(expr string) func() *pattern {
	return sync.OnceValue(func() *pattern {
		p := &pattern{Regexp: regexp.MustCompile(expr)}
		if tree, err := syntax.Parse(expr, syntax.Perl); err == nil {
			p.lit = needed(tree)
		}
		return p
	})
}

// needed is the longest literal that every match of re contains, "" for none.
func needed(re *syntax.Regexp) string {
	switch re.Op {
	case syntax.OpLiteral:
		if re.Flags&syntax.FoldCase == 0 {
			return string(re.Rune)
		}
	case syntax.OpCapture, syntax.OpPlus:
		return needed(re.Sub[0])
	case syntax.OpRepeat:
		if re.Min > 0 {
			return needed(re.Sub[0])
		}
	case syntax.OpConcat:
		best := ""
		for _, sub := range re.Sub {
			if s := needed(sub); len(s) > len(best) {
				best = s
			}
		}
		return best
	}
	return ""
}

// MatchString reports whether s holds a match.
func (p *pattern) MatchString(s string) bool {
	return strings.Contains(s, p.lit) && p.Regexp.MatchString(s)
}

// FindStringSubmatch is the leftmost match and its groups, nil for none.
func (p *pattern) FindStringSubmatch(s string) []string {
	if !strings.Contains(s, p.lit) {
		return nil
	}
	return p.Regexp.FindStringSubmatch(s)
}

// lastMatch is the index of the last line that matches, or -1.
func lastMatch(t *Text, p *pattern) int {
	if p.lit != "" && !t.Has(p.lit) {
		return -1
	}
	for i := t.Len() - 1; i >= 0; i-- {
		if p.MatchString(t.lines[i]) {
			return i
		}
	}
	return -1
}
