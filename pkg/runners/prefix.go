package runners

import (
	"regexp"
	"strings"
	"sync"
)

// Lines often arrive with something before them: the service's name from docker
// compose, a time stamp of a CI log, a package's name from a monorepo tool. Such
// prefixes hide every anchored pattern, so they are removed first, when nearly
// all lines have one, or most have the name of a service; lines of different
// services are read apart, and so are those without a name.

// linePrefix is a form of prefix: match returns its label (the service, "" for
// time stamps) and its length, 0 when the line has none.
type linePrefix func(l string) (label string, n int)

const (
	// prefixShare is the share of non-blank lines (in percent) that must have the prefix.
	prefixShare = 90
	// labelShare is enough for prefixes that name a service of labelLines lines or
	// more: turbo, pnpm and docker compose print lines of their own in between.
	labelShare = 50
	labelLines = 3
)

func linePrefixes() []linePrefix {
	return []linePrefix{pipePrefix, stampPrefix, bracketPrefix, tabPrefix, taskPrefix, dockerBuildPrefix}
}

// pipePrefix: "app-1  | text" (docker compose).
func pipePrefix(l string) (string, int) {
	i := strings.IndexByte(l, '|')
	if i < 2 || i > 60 || l[i-1] != ' ' {
		return "", 0
	}
	label := strings.TrimRight(l[:i], " ")
	if !isLabel(label) {
		return "", 0
	}
	n := i + 1
	if n < len(l) && l[n] == ' ' {
		n++
	}
	return label, n
}

func isLabel(s string) bool {
	for i := 0; i < len(s); i++ {
		c := s[i]
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && !strings.ContainsRune("-_./@:#", rune(c)) {
			return false
		}
	}
	return s != "" && strings.Trim(s, "0123456789.:") != ""
}

var stampRE = sync.OnceValue(func() *regexp.Regexp {
	const date = `\d{4}[-/]\d\d[-/]\d\d`
	const clock = `\d\d:\d\d:\d\d(?:[.,]\d{1,9})?`
	return regexp.MustCompile(`^(?:` +
		`\[?` + date + `[T ]` + clock + `(?:Z|[+-]\d\d:?\d\d| UTC)?\]?` + // ISO, with or without brackets
		`(?: \d\d[OE][ +]?| std(?:out|err) [FP])?` + // GitLab's and Kubernetes' stream marks
		`|\[` + clock + `\]` +
		`|` + clock +
		`|[A-Z][a-z]{2} [ \d]\d ` + clock + ` \S+ [^\s:\[]+(?:\[\d+\])?:` + // syslog
		`|\[\s*\d+\.\d+\]` + // seconds since start
		`)(?:[ \t]|$)`)
})

// stampPrefix: a time stamp.
func stampPrefix(l string) (string, int) {
	if len(l) < 8 || l[0] != '[' && (l[0] < '0' || l[0] > '9') && (l[0] < 'A' || l[0] > 'Z') {
		return "", 0
	}
	return "", len(stampRE().FindString(l))
}

// bracketPrefix: "[0] text", "[api] text" (concurrently and others).
func bracketPrefix(l string) (string, int) {
	if len(l) < 3 || l[0] != '[' {
		return "", 0
	}
	i := strings.IndexByte(l, ']')
	if i < 2 || i > 50 {
		return "", 0
	}
	label := l[1:i]
	if strings.ContainsAny(label, " %") {
		return "", 0
	}
	switch strings.ToUpper(label) {
	case "INFO", "ERROR", "WARN", "WARNING", "DEBUG", "TRACE", "FATAL", "NOTICE":
		return "", 0 // a level, not a service: Maven's grammar needs it
	}
	n := i + 1
	if n < len(l) {
		if l[n] != ' ' {
			return "", 0
		}
		n++
	}
	return label, n
}

// tabPrefix: "job\tstep\t2026-01-02T03:04:05.6Z text" (gh run view --log).
func tabPrefix(l string) (string, int) {
	parts := strings.SplitN(l, "\t", 3)
	if len(parts) < 3 || parts[0] == "" {
		return "", 0
	}
	n := len(stampRE().FindString(parts[2]))
	if n == 0 {
		return "", 0
	}
	return parts[0], len(l) - len(parts[2]) + n
}

// taskPrefix: "web:test: text" (turbo), "@scope/pkg: text" (lerna),
// "packages/a test: text" (pnpm -r).
func taskPrefix(l string) (string, int) {
	i := strings.Index(l, ": ")
	if i < 0 && strings.HasSuffix(l, ":") {
		i = len(l) - 1
	}
	if i < 2 || i > 60 {
		return "", 0
	}
	label := l[:i]
	for part := range strings.SplitSeq(label, " ") {
		if !isLabel(part) || splitsAsPos(part) {
			return "", 0
		}
	}
	if !strings.ContainsAny(label, ":/@ ") || strings.Count(label, " ") > 1 {
		return "", 0
	}
	return label, min(i+2, len(l))
}

func splitsAsPos(s string) bool { _, _, _, ok := splitPos(s); return ok }

// dockerBuildPrefix: "#12 0.345 text" (docker build --progress=plain).
func dockerBuildPrefix(l string) (string, int) {
	if len(l) < 4 || l[0] != '#' {
		return "", 0
	}
	_, rest, ok := leadingInt(l[1:])
	if !ok || rest == "" || rest[0] != ' ' {
		return "", 0
	}
	i := strings.IndexByte(rest[1:], ' ')
	if i < 0 || !isDecimal(rest[1:1+i]) || !strings.Contains(rest[1:1+i], ".") {
		return "", 0
	}
	return "", len(l) - len(rest) + i + 2
}

// unprefix removes prefixes, twice at most (a time stamp inside docker compose),
// and returns one Text per label.
func unprefix(t *Text) []*Text {
	groups := []*Text{t}
	for range 2 {
		form := findPrefix(groups)
		if form == nil {
			break
		}
		var next []*Text
		for _, g := range groups {
			next = append(next, splitPrefix(g, form)...)
		}
		groups = next
	}
	return groups
}

// findPrefix returns the form that nearly all lines have, nil if none does.
func findPrefix(groups []*Text) linePrefix {
	for _, form := range linePrefixes() {
		lines, hits, labels := 0, 0, map[string]int{}
		for _, g := range groups {
			step := max(1, g.Len()/1000)
			for i := 0; i < g.Len(); i += step {
				l := g.Line(i)
				if strings.TrimSpace(l) == "" {
					continue
				}
				lines++
				if label, n := form(l); n > 0 {
					hits++
					labels[label]++
				} else if lines > 40 && hits == 0 {
					break
				}
			}
		}
		// Many different labels are text, not prefixes ("file.c: error").
		if lines >= 3 && hits*100 >= lines*prefixShare && len(labels) <= 1+hits/3 {
			return form
		}
		if hits*100 >= lines*labelShare {
			names := named(labels)
			sum := 0
			for _, n := range names {
				sum += n
			}
			if sum > 0 && sum*100 >= lines*labelShare {
				return onlyNames(form, names)
			}
		}
	}
	return nil
}

// named keeps the labels that are a service's name; words in capitals are states.
func named(labels map[string]int) map[string]int {
	names := map[string]int{}
	for label, n := range labels {
		if n >= labelLines && (strings.ToUpper(label) != label || isDecimal(label)) {
			names[label] = n
		}
	}
	return names
}

// onlyNames is form for lines with one of names.
func onlyNames(form linePrefix, names map[string]int) linePrefix {
	return func(l string) (string, int) {
		if label, n := form(l); names[label] > 0 {
			return label, n
		}
		return "", 0
	}
}

// splitPrefix strips the prefix and sorts lines by label, keeping their order.
func splitPrefix(t *Text, form linePrefix) []*Text {
	byLabel := map[string]*Text{}
	var order []*Text
	last := ""
	for i := range t.Len() {
		l := t.Line(i)
		label, n := form(l)
		if n == 0 && blank(l) {
			label = last
		}
		last = label
		g := byLabel[label]
		if g == nil {
			g = &Text{Hint: t.Hint, nums: []int{}, dropped: t.dropped, unended: t.unended}
			byLabel[label] = g
			order = append(order, g)
		}
		g.lines = append(g.lines, l[n:])
		g.nums = append(g.nums, t.Num(i))
	}
	for _, g := range order {
		g.whole = strings.Join(g.lines, "\n")
	}
	return order
}
