package digest

import (
	"bytes"
	"regexp"
	"strings"
	"sync"
)

// want says what kind of answer a question expects.
type want uint32

const (
	wantTime want = 1 << iota
	wantDuration
	wantCount
	wantSize
	wantVersion
	wantPlace // file, line, path
	wantAddress
	wantPort
	wantCode
	wantReason
	wantSpeed
	wantName // who, which host, account, test …
	wantFirst
	wantLast
	wantMost // longest, largest, highest …
	wantLeast
	wantFrequent
	wantList // which ones
)

// wantRules are read over the whole question; all that match hold.
var wantRules = sync.OnceValue(func() []struct {
	re *regexp.Regexp
	w  want
} {
	type rule = struct {
		re *regexp.Regexp
		w  want
	}
	var out []rule
	for _, r := range []struct {
		re string
		w  want
	}{
		{`\bwhen\b|\b(what|which) (exact )?(time|moment|date|day|month|year|hour|minute)s?\b|\bsince when\b`, wantTime},
		{`\bhow long\b|\bhow many (seconds|milliseconds|minutes|hours|ms)\b|\b(duration|elapsed|took|take|takes)\b|\b(slow|long|fast|quick)est\b`, wantDuration},
		{`\bhow many\b|\b(number|count|total) of\b|\bhow often\b|\bhow much\b`, wantCount},
		{`\bhow (much|big|large)\b|\bsize\b|\b(larg|bigg)est\b|\b(memory|bytes|capacity|space|swap|heap)\b`, wantSize},
		{`\bversions?\b|\brelease[ds]?\b`, wantVersion},
		{`\bwhere\b|\b(which|what|source) (source )?(files?|lines?|paths?|director(y|ies)|folders?|scripts?|modules?|imports?)\b`, wantPlace},
		{`\b(which|what) (ip|address|host|machine|peer|client|server|node)\b|\bip address|\bfrom where\b`, wantAddress},
		{`\bports?\b`, wantPort},
		{`\b(status|exit|error|return|response) ?codes?\b|\b(which|what) (code|signal|errno|status)\b`, wantCode},
		{`\bwhy\b|\breasons?\b|\bcauses?d?\b|\bhow come\b|\bwhat (made|prevented|stopped|kept|keeps|went)\b|\bwith what (message|error)`, wantReason},
		{`\b(speed|throughput|bandwidth|rate|how fast)\b`, wantSpeed},
		{`\b(who|whose|whom)\b|\bwhich (user|account|role|host|machine|test|service|package|module|process|thread|container|pod|program|component)s?\b`, wantName},
		{`\b(first|earliest|initial|initially|began|begin|start(ed)?)\b`, wantFirst},
		{`\b(last|latest|final|finally|most recent|at the end|end(ed)?)\b`, wantLast},
		{`\b(longest|slowest|largest|biggest|highest|greatest|maximum|max|peak|most expensive|worst|hottest)\b`, wantMost},
		{`\b(shortest|fastest|quickest|smallest|lowest|minimum|min|least)\b`, wantLeast},
		{`\b(most (frequent|often|common)(ly)?|more often than)`, wantFrequent},
		{`\b(the|had|has|have|made|sent|caused|got|did) (the )?most (\w+ )?\w+s\b|\bmost often\b`, wantFrequent},
		{`\b(the )?most (memory|time|space|cpu|disk|bytes|bandwidth|ram|data)\b`, wantMost},
		{`\b(latency|delay|response times?|milliseconds|\w+_ms)\b`, wantDuration},
		{`\bwhich (\w+ ){0,2}(\w+s) (are|were|have|had|did|do|failed|could|got|was)\b|\blist\b|\bname all\b|\bwhich ones\b|\ball the\b`, wantList},
	} {
		out = append(out, rule{regexp.MustCompile(`(?i)` + r.re), r.w})
	}
	return out
})

func readWant(question string) want {
	var w want
	for _, r := range wantRules() {
		if r.re.MatchString(question) {
			w |= r.w
		}
	}
	if w&wantMost != 0 { // "the most memory" is no question of how often
		w &^= wantFrequent
	}
	return w
}

// answerForms are what an answer of a kind looks like.
var answerForms = sync.OnceValue(func() []struct {
	w  want
	re *regexp.Regexp
} {
	return []struct {
		w  want
		re *regexp.Regexp
	}{
		{wantDuration, regexp.MustCompile(`\d ?(ms|s|sec|secs|seconds|us|µs|ns|min|mins|minutes|hours|h)\b|(?i)(elapsed|duration|took|time)\W{1,4}\d`)},
		{wantSize, regexp.MustCompile(`(?i)\d ?([kmgt]i?b?|bytes)\b|\b(size|bytes|len|length|capacity)\W{1,3}\d`)},
		{wantVersion, regexp.MustCompile(`\d+\.\d+`)},
		{wantPlace, regexp.MustCompile(`[\w./-]+\.[a-zA-Z]{1,5}:\d+|[\w.-]*/[\w./-]+|\bline \d+|[A-Z]:\\`)},
		{wantAddress, regexp.MustCompile(`\d+\.\d+\.\d+\.\d+|[\w-]+(\.[\w-]+){2,}|\b[a-z]+-?\d+\b|[0-9a-f]*::[0-9a-f]`)},
		{wantPort, regexp.MustCompile(`(?i):\d{2,5}\b|port\W{0,3}\d+`)},
		{wantCode, regexp.MustCompile(`(?i)\b(code|status|exit|signal|errno|error)\W{0,4}(code\W{0,3})?-?\d+|\b[1-5]\d\d\b|0x[0-9a-f]{4,}|\bE[A-Z]{3,}\b`)},
		{wantReason, regexp.MustCompile(`(?i)because|due to|reason|cause|error|fail|cannot|could not|denied|not found|no such|invalid|undefined|refused|missing`)},
		{wantSpeed, regexp.MustCompile(`(?i)\d ?([kmg]?b(it)?ps|[kmg]i?b/s|[kmg]bit|/s|rpm|[kmg]?hz|tps|ops)\b|per second`)},
	}
})

// fits is the share of the expected forms that line has, 0 when the question expects none in particular.
func (q *query) fits(line []byte) float64 {
	n, has := 0, 0
	for _, f := range answerForms() {
		if q.want&f.w == 0 {
			continue
		}
		n++
		if f.re.Match(line[:min(len(line), 1000)]) {
			has++
		}
	}
	if q.want&wantCount != 0 {
		n++
		if bytes.ContainsAny(line[stampEnd(line):], "0123456789") {
			has++
		}
	}
	if n == 0 {
		return 0
	}
	return float64(has) / float64(n)
}

// moment is a date or a time of day named in a question.
type moment struct {
	dates []string // spellings, any of which will do
	hours [2]int   // from, to; only when daytime is set
	set   bool
	day   bool // hours is set
}

var (
	monthNames = [...]string{"january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november", "december"}
	dateRes    = sync.OnceValue(func() [3]*regexp.Regexp {
		const mon = `(jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)`
		return [3]*regexp.Regexp{
			regexp.MustCompile(`(?i)\b(\d{1,2})(?:st|nd|rd|th)?(?: of)? ` + mon + `\b(?:,? (\d{4}))?`),
			regexp.MustCompile(`(?i)\b` + mon + `\.? (\d{1,2})(?:st|nd|rd|th)?\b(?:,? (\d{4}))?`),
			regexp.MustCompile(`\b(\d{4})-(\d\d)-(\d\d)\b`),
		}
	})
	dayParts = []struct {
		word string
		a, b int
	}{
		{"midnight", 0, 0}, {"night", 22, 5}, {"morning", 5, 11}, {"noon", 12, 12}, {"midday", 11, 13}, {"afternoon", 12, 17}, {"evening", 17, 23},
	}
)

// readMoment finds a date or part of the day in a question and gives the question without it.
func readMoment(question string) (moment, string) {
	var m moment
	rest := question
	for i, re := range dateRes() {
		g := re.FindStringSubmatch(rest)
		if g == nil {
			continue
		}
		d, mon, year := g[1], g[2], g[3]
		switch i {
		case 1:
			d, mon = g[2], g[1]
		case 2:
			year, mon, d = g[1], g[2], g[3]
		}
		m.dates, m.set = spellings(year, monthNumber(mon), atoi(d)), true
		rest = strings.Replace(rest, g[0], " ", 1)
		break
	}
	low := lower(rest) // keeps every offset, as strings.ToLower does not
	for _, p := range dayParts {
		if i := strings.Index(low, p.word); i >= 0 {
			m.hours, m.day, m.set = [2]int{p.a, p.b}, true, true
			rest = rest[:i] + rest[i+len(p.word):]
			break
		}
	}
	return m, rest
}

func monthNumber(s string) int {
	if n := atoi(s); n > 0 {
		return n
	}
	for i, name := range monthNames {
		if strings.HasPrefix(name, strings.ToLower(s)[:3]) {
			return i + 1
		}
	}
	return 0
}

func atoi(s string) int {
	n := 0
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return 0
		}
		n = n*10 + int(s[i]-'0')
		if n > 1<<20 {
			return 0
		}
	}
	return n
}

// spellings are the ways logs write a date.
func spellings(year string, mon, day int) []string {
	if mon < 1 || mon > 12 || day < 1 {
		return nil
	}
	two := func(n int) string { return string([]byte{byte('0' + n/10%10), byte('0' + n%10)}) }
	name := strings.ToUpper(monthNames[mon-1][:1]) + monthNames[mon-1][1:]
	m, d, short := two(mon), two(day), strings.TrimPrefix(two(day), "0")
	out := []string{
		"-" + m + "-" + d, "/" + m + "/" + d, "." + m + "." + d, m + "-" + d + " ", m + "." + d + " ", m + "/" + d + " ", m + d + " ", m + d + "-",
		name[:3] + " " + d, name[:3] + "  " + short + " ", name[:3] + " " + short + " ", d + "/" + name[:3], d + " " + name[:3], short + " " + name[:3], name + " " + short,
	}
	if year != "" {
		out = append(out, year+m+d)
	}
	return out
}

// matches: 1 the line is of that moment, -1 it names another, 0 it does not say.
func (m *moment) matches(line []byte) int {
	head := line[:min(len(line), 120)]
	verdict := 0
	if len(m.dates) > 0 {
		verdict = -1
		for _, s := range m.dates {
			if bytes.Contains(head, []byte(s)) {
				verdict = 1
				break
			}
		}
		if verdict < 0 && !bytes.ContainsAny(head[:min(len(head), 24)], "0123456789") {
			verdict = 0
		}
	}
	if m.day && verdict >= 0 {
		h := hourOf(head)
		in := h >= m.hours[0] && h <= m.hours[1] || m.hours[0] > m.hours[1] && (h >= m.hours[0] || h <= m.hours[1] && h >= 0)
		switch {
		case h < 0:
		case in:
			verdict = 1
		default:
			verdict = -1
		}
	}
	return verdict
}

// hourOf finds the hour of the first h:mm or hh:mm in b, or -1.
func hourOf(b []byte) int {
	for i := 1; i+2 < len(b); i++ {
		if b[i] != ':' || b[i-1]-'0' > 9 || b[i+1]-'0' > 9 {
			continue
		}
		h := int(b[i-1] - '0')
		if i > 1 && b[i-2]-'0' <= 9 {
			h += 10 * int(b[i-2]-'0')
		}
		if h < 24 {
			return h
		}
	}
	return -1
}
