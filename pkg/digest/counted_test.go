package digest

import (
	"fmt"
	"strings"
	"testing"
)

// accessLog has 300 requests, one slow, one large, and one client more often than others.
func accessLog() string {
	var b strings.Builder
	for i := range 300 {
		ip := fmt.Sprintf("192.0.2.%d", i%7+1)
		if i%3 == 0 {
			ip = "192.0.2.99"
		}
		size, rt := 100+i, 0.001*float64(i%40)
		switch i {
		case 111:
			rt = 12.5
		case 222:
			size = 7_000_000
		}
		fmt.Fprintf(&b, "%s - - [12/Apr/2025:06:%02d:%02d +0000] \"GET /item/%d HTTP/1.1\" 200 %d \"-\" \"curl/8\" took=%.3fs\n", ip, i/60, i%60, i, size, rt)
	}
	return b.String()
}

func TestCount(t *testing.T) {
	t.Parallel()
	tests := "=== RUN TestA\n--- PASS: TestA (0.10s)\n--- PASS: TestB (13.10s)\n--- FAIL: TestC (1.00s)\nTests: 3 failed, 14 skipped, 1452 passed, 1469 total\n"
	retries := strings.Repeat("10:00:00 WARN retry of upload 7\n10:00:01 INFO done\n", 9) + "10:00:02 WARN retry of download 8\n"
	for _, c := range []struct{ name, text, question, kind, value string }{
		{"slowest", accessLog(), "Which request took longest?", "largest", "12.500s"},
		{"largest", accessLog(), "What was the largest response?", "largest", "7000000"},
		{"value", accessLog(), "Which address made requests most often?", "most frequent", "192.0.2.99 (100 times)"},
		{"stated", tests, "How many tests were skipped and how many passed?", "stated", "14 skipped, 1452 passed"},
		{"slowest test", tests, "Which test was the slowest?", "largest", "13.10s"},
		{"lines", retries, "How many uploads had a retry?", "count", "9"},
		{"first", retries + retries, "What was the first retry of a download?", "first", "10:00:02 WARN retry of download 8"},
		{"thousands", "read 9,500 bytes\nread 812 bytes\nread 11,200 bytes\n", "What was the largest read?", "largest", "11,200 bytes"},
		{"smallest", "pause 5 ms\npause 2 ms\npause 9 ms\n", "What was the shortest pause?", "smallest", "2 ms"},
		{"units", "pause 5 ms\npause 2 s\npause 900 µs\n", "What was the longest pause?", "largest", "2 s"},
		{"frequent", retries, "What is the most frequent message?", "most frequent", "10:00:00 WARN retry of upload 7"},
	} {
		got, ok, err := scan(t, c.text, Options{}).Count(t.Context(), c.question)
		if err != nil {
			t.Fatal(err)
		}
		if !ok || got.Kind != c.kind || got.Value != c.value {
			t.Errorf("%s: %s: ok=%t %s %q (%s), want %s %q", c.name, c.question, ok, got.Kind, got.Value, got.Rule, c.kind, c.value)
		}
		if ok && (len(got.Lines) == 0 || got.Rule == "") {
			t.Errorf("%s: no lines or no rule: %+v", c.name, got)
		}
	}
}

// What the rules do not reach is said to be beyond them. A number that names a process, and a name that
// few lines have, are not what was asked for.
func TestCountBeyond(t *testing.T) {
	t.Parallel()
	for _, q := range []string{"Why did it stop?", "How many zebras were fed?", "Which giraffe was the tallest?", "Who asked first for a zebra?", ""} {
		if c, ok, err := scan(t, accessLog(), Options{}).Count(t.Context(), q); ok || err != nil {
			t.Errorf("%s: %+v %v", q, c, err)
		}
	}
	locked := noise(200) + "2025-03-04 11:00:00 LOG process 23517 detected deadlock while waiting for transaction 1477\n" +
		"2025-03-04 11:00:01 LOG process name: a\n2025-03-04 11:00:02 LOG process name: b\n" + noise(200)
	for _, q := range []string{"How many deadlocks were detected?", "Which process logs most often?"} {
		if c, ok, err := scan(t, locked, Options{}).Count(t.Context(), q); ok || err != nil {
			t.Errorf("%s: %+v %v", q, c, err)
		}
	}
}

func TestFields(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		"[5.984s][gc] GC(12) Pause Full 94M->94M(96M) 27.445ms":  "12 94M 94M 96M 27.445ms",
		"2025-03-04 10:11:12.345 INFO took 12 ms":                "12 ms",
		`{"ts":1.5,"trace":"52129245089006b","latency_ms":12.5}`: "1.5 12.5",
		"10.1.2.3:443 v1.2.3 node-55 e1000 3rd a_7":              "",
		"HTTP/1.1\" 200 5120":                                    "200 5120",
	} {
		var got []string
		eachField([]byte(line), func(f field) { got = append(got, string(f.raw)) })
		if strings.Join(got, " ") != want {
			t.Errorf("%s: %v, want %s", line, got, want)
		}
	}
}

func TestSupport(t *testing.T) {
	t.Parallel()
	text := noise(500) + `2025-03-04 11:00:00 ERROR [db] deadlock detected: process 23517 waits for transaction 1477
2025-03-04 11:00:05 ERROR [auth] role "billing_ro" does not exist
2025-03-04 11:00:09 INFO [boot] listening on port 8443
` + noise(500)
	for _, c := range []struct {
		question, answer string
		line             int
	}{
		{"Which process was in the deadlock?", "Process 23517 waited for transaction 1477.", 501},
		{"Which role does not exist?", "billing_ro", 502},
		{"On which port does it listen?", "It listens on port 8443", 503},
		{"Which process was in the deadlock?", "billing_ro", 0},       // stands there, is about something else
		{"Which role does not exist?", "reporting_rw", 0},             // stands nowhere
		{"Which process was in the deadlock?", "process 99321", 0},    // a wrong figure
		{"Which zeppelin landed on port 8443?", "It is port 8443", 0}, // the text does not say
	} {
		s, err := scan(t, text, Options{}).Support(t.Context(), c.question, c.answer)
		if err != nil {
			t.Fatal(err)
		}
		if s.Found != (c.line > 0) || s.Line.No != c.line {
			t.Errorf("%s %s: found=%t line %d, want %d", c.question, c.answer, s.Found, s.Line.No, c.line)
		}
		if len(s.Nearest) < minNearest || len(s.Nearest) > maxNearest {
			t.Errorf("%s: %d nearest lines", c.question, len(s.Nearest))
		}
	}
}

func TestSupportTogether(t *testing.T) {
	t.Parallel()
	text := noise(200) + "12:00:01 starting topic deletion for topic orders\n" + noise(50) + "12:07:30 starting topic deletion for topic audits\n" + noise(200)
	s, err := scan(t, text, Options{}).Support(t.Context(), "Which topic deletion was starting first, which second?", "orders at 12:00:01, audits at 12:07:30")
	if err != nil {
		t.Fatal(err)
	}
	if !s.Found || s.Line.No != 201 || len(s.More) != 1 || s.More[0].No != 252 {
		t.Errorf("found=%t %+v %+v", s.Found, s.Line, s.More)
	}
}

func TestStem(t *testing.T) {
	t.Parallel()
	for _, group := range []string{
		"fail fails failed failing failure failures", "connect connects connected connection connecting connections",
		"allocate allocated allocation allocations allocating", "delete deleted deleting deletion", "retry retries retried",
		"update updated updating updates", "stop stopped stopping stops", "execute executed execution executable",
		"terminate terminated termination", "process processes processed processing",
	} {
		ws := strings.Fields(group)
		for _, w := range ws[1:] {
			if stemHash(w) != stemHash(ws[0]) {
				t.Errorf("%s (%s) and %s (%s) differ", ws[0], stemString(ws[0]), w, stemString(w))
			}
		}
	}
	for _, pair := range []string{"port report", "user use", "test text", "class close", "node note", "status state"} {
		a, b, _ := strings.Cut(pair, " ")
		if stemHash(a) == stemHash(b) {
			t.Errorf("%s and %s are joined", a, b)
		}
	}
}

func TestWordsSplit(t *testing.T) {
	t.Parallel()
	for s, want := range map[string]string{
		"HTTPServer": "http server", "camelCaseWord": "camel case word", "snake_case-9": "snake case 9", "URLs": "urls", "parseURL": "parse url",
		"e1000": "e 1000", "Größe": "größe", "x@v1.2": "x v 1 2",
	} {
		if got := strings.Join(words(s), " "); got != want {
			t.Errorf("%s: %s, want %s", s, got, want)
		}
		var tok tokenizer
		tok.run([]byte(s))
		for i, w := range words(s) {
			if tok.hashes[i] != stemHash(w) {
				t.Errorf("%s: word %q hashes differently in a line and alone", s, w)
			}
		}
	}
}

func TestTemplates(t *testing.T) {
	t.Parallel()
	same := [][2]string{
		{"Jul  3 17:37:47 host sshd[123]: Failed password for root from 10.0.0.1 port 22", "Dec 13 07:00:01 host sshd[9]: Failed password for root from 192.168.1.99 port 51000"},
		{"GET /a/b/c 200 in 5ms", "GET /x/y/z 404 in 17ms"},
		{"id 4f2a9c01-aa11-4c22-9d33-0123456789ab done", "id 00000000-0000-4000-8000-000000000001 done"},
	}
	for _, p := range same {
		if templateHash([]byte(p[0])) != templateHash([]byte(p[1])) {
			t.Errorf("different templates:\n%s\n%s", p[0], p[1])
		}
	}
	if templateHash([]byte("user alice logged in")) == templateHash([]byte("user alice logged out")) {
		t.Error("different words have one template")
	}
}

func TestMoments(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		question, line string
		want           int
	}{
		{"What broke on 9 December?", "2005-12-09-12.33.25 x", 1},
		{"What broke on 9 December?", "Dec  9 12:33:25 x", 1},
		{"What broke on December 9th, 2005?", "2005.12.10 x", -1},
		{"What broke on 2 July in the evening?", "Jul  2 22:24:03 x", 1},
		{"What broke on 2 July in the evening?", "Jul  2 09:24:03 x", -1},
		{"What broke on 2025-03-04?", "04/Mar/2025:10:00:00 x", 1},
		{"What broke right after midnight?", "00:00:07 x", 1},
		{"What may have broken?", "2025-03-04 x", 0},
	} {
		m, _ := readMoment(c.question)
		if got := m.matches([]byte(c.line)); got != c.want {
			t.Errorf("%s %s: %d, want %d", c.question, c.line, got, c.want)
		}
	}
}

// Every line of the table of related words can be used, and none names a word twice.
func TestRelated(t *testing.T) {
	t.Parallel()
	table := relatedTable()
	if len(table) < 1000 {
		t.Errorf("only %d words have kin", len(table))
	}
	for _, p := range [][2]string{{"crash", "segfault"}, {"ram", "oom"}, {"configuration", "cfg"}, {"turn_away", "denied"}} {
		ok := false
		for _, k := range table[stemKey(p[0])] {
			ok = ok || strings.Join(k.words, "_") == p[1]
		}
		if !ok {
			t.Errorf("%s does not lead to %s", p[0], p[1])
		}
	}
	for line := range strings.Lines(relatedText) {
		if strings.Count(line, "|") > 1 || strings.HasPrefix(line, "|") {
			t.Errorf("bad line %q", line)
		}
	}
}

func TestSeverity(t *testing.T) {
	t.Parallel()
	var tok tokenizer
	for line, want := range map[string]uint8{
		"panic: runtime error": sevFatal, "--- FAIL: TestX": sevFatal, "--- PASS: TestFailFast (0.0s)": sevNone, "ERROR in ./a.js": sevError,
		"0 errors found": sevNone, "compiling src/errors/wrap.go": sevNone, "gcc --fatal-warnings -c x.c": sevNone, "connection refused": sevError,
		"warning: unused": sevWarn, "12 passed in 3s": sevSummary, "GET /health 200": sevNone,
	} {
		if got := tok.severity([]byte(line)); got != want {
			t.Errorf("%s: %d, want %d", line, got, want)
		}
	}
}

// What is asked for is counted by its values, whatever stands beside the noun; where that cannot be done, a
// kind of line is no answer.
func TestMostFrequentValueOfANoun(t *testing.T) {
	t.Parallel()
	var text strings.Builder
	for i := range 60 {
		fmt.Fprintf(&text, "10.4.0.%d - - \"GET /page/%d HTTP/1.1\" 200 \"python-requests/2.31\"\n", i%7, i%3)
	}
	text.WriteString("10.4.0.99 - - \"GET /rare HTTP/1.1\" 500 \"curl\"\n")
	doc, err := Scan(t.Context(), strings.NewReader(text.String()), Options{})
	if err != nil {
		t.Fatal(err)
	}
	for q, want := range map[string]string{
		"which client made the most requests?":         "10.4.0.0 (9 times)",
		"which client address made the most requests?": "10.4.0.0 (9 times)",
		"Which IP appears most often?":                 "10.4.0.0 (9 times)",
		"which path was requested most often?":         "/page/0 (20 times)",
		"which status code is most frequent?":          "200 (60 times)",
		"which ip was banned most often?":              "",
	} {
		c, ok, err := doc.Count(t.Context(), q)
		if err != nil || ok != (want != "") || c.Value != want {
			t.Errorf("%s: %q, %v, %v; want %q", q, c.Value, ok, err, want)
		}
	}
}
