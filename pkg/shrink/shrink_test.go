package shrink_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"legwork/pkg/config"
	"legwork/pkg/shrink"
)

// repeat makes at least size characters of numbered lines.
func repeat(size int, format string) string {
	var b strings.Builder
	for i := 1; b.Len() < size; i++ {
		b.WriteString(strings.ReplaceAll(format, "#", fmt.Sprint(i)) + "\n")
	}
	return b.String()
}

const (
	logLine  = "2026-01-02 03:04:05 INFO worker # finished the job without a warning in #ms"
	tapLine  = "ok # - case # holds"
	codeLine = "\tif value := compute(#); value > limit { // keep the larger one of the two"
)

func tap(size int) string {
	s := "TAP version 13\n" + repeat(size, tapLine)
	return s + fmt.Sprintf("1..%d\n", strings.Count(s, "\n")-1)
}

var safe = config.Shrink{Mode: "safe", Above: 6000}

func document(size int) string {
	var items []map[string]string
	for i := range size / 60 {
		items = append(items, map[string]string{"name": fmt.Sprint("the item with number ", i), "state": "ok and running"})
	}
	b, _ := json.MarshalIndent(items, "", " ")
	return string(b)
}

// What is folded and what is not, in each mode and size.
func TestWhatIsFolded(t *testing.T) {
	t.Parallel()
	on, off := config.Shrink{Mode: "on", Above: 6000}, config.Shrink{Mode: "off", Above: 6000}
	mixed := "The service has begun to read its settings from disk.\n" // lines that differ
	for i := range 300 {
		mixed += fmt.Sprintf("%s %s %s of %s was found\n", strings.Repeat("a", i%17+3), strings.Repeat("b", i%13+3), strings.Repeat("c", i%11+3), strings.Repeat("d", i%7+3))
	}
	for _, c := range []struct {
		name, command, text string
		settings            config.Shrink
		want                string // rule, "" for untouched
	}{
		{"a run", "npm test", tap(20_000), safe, "tap-stream"},
		{"a short run", "npm test", tap(5_000), safe, ""},
		{"off", "npm test", tap(20_000), off, ""},
		{"off, long", "npm test", tap(90_000), off, ""},
		{"repeats", "./serve.sh", repeat(20_000, logLine), safe, "repeats"},
		{"few lines alike", "./x", mixed, safe, ""},
		{"few lines alike, on", "./x", mixed, on, "digest"},
		{"few lines alike, long", "./x", strings.Repeat(mixed, 4)[:31_000], safe, "digest"},
		{"cat of a log", "cat x.log", repeat(20_000, logLine), on, ""},
		{"cat of a long log", "cat x.log", repeat(90_000, logLine), safe, "repeats"},
		{"cat of long source", "cat x.go", repeat(90_000, codeLine), on, ""},
		{"grep, long", "grep -n INFO x.log", repeat(90_000, logLine), on, ""},
		{"source", "./show.sh", repeat(20_000, codeLine), on, ""},
		{"long source", "./show.sh", repeat(90_000, codeLine), safe, ""},
		{"diff", "./show.sh", "some words come first\n" + repeat(20_000, "@@ -#,3 +#,4 @@\n-the old line of text #\n+the new line of text #"), on, ""},
		{"JSON", "./dump.sh", document(20_000), on, ""},
		{"long JSON", "./dump.sh", document(90_000), safe, ""},
		{"JSON lines", "./dump.sh", repeat(20_000, `{"name":"some name","value":#}`), on, ""},
		{"paths", "./list.sh", repeat(20_000, "src/components/item#/index.ts"), on, ""},
		{"long listing", "./list.sh", repeat(20_000, "-rw-r--r-- 1 user group # Jan 2 03:04 file#.txt"), on, ""},
		{"CSV", "./export.sh", repeat(20_000, "some name #,some place,#,#"), on, ""},
		{"figures", "python3 stats.py", repeat(20_000, "row # 1.# 2.# 3.#"), on, ""},
		{"a coverage table behind a run", "npm test", "TAP version 13\nok 1 - works\n1..1\n" + repeat(20_000, "src/file#.js  |  10 | 20 | 30 | 1-#"), on, ""},
		{"a run among lists", "npm test", "TAP version 13\nok 1 - works\n1..1\n" + repeat(20_000, "INFO queue # has these workers: anna, bert, carl, dora, emil"), safe, "tap-stream"},
		{"raw", "LEGWORK_RAW=1 npm test", tap(20_000), on, ""},
		{"raw as a comment", "npm test # LEGWORK_RAW", tap(90_000), on, ""},
		{"excepted", "cd web && npm test", tap(20_000), config.Shrink{Mode: "on", Except: []string{"npm *"}}, ""},
	} {
		o := result(t, c.command, c.text)
		got, err := shrink.Bash(t.Context(), c.settings, o, kept)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		rule, limit := "", 1500
		if o.Persisted != "" {
			limit = 2200
		}
		if got != nil {
			rule = got.Rule
			if n := utf8.RuneCountInString(got.Text); n > limit {
				t.Errorf("%s: %d characters", c.name, n)
			}
		}
		if rule != c.want {
			t.Errorf("%s: %q, want %q", c.name, rule, c.want)
		}
	}
}

// K16: the first line says what was cut and how to get it; the outcome is in the second.
func TestFoldedText(t *testing.T) {
	t.Parallel()
	got, err := shrink.Bash(t.Context(), safe, result(t, "npm test", tap(20_000)), kept)
	if err != nil || got == nil {
		t.Fatalf("%v %v", got, err)
	}
	lines := strings.Split(got.Text, "\n")
	for _, want := range []string{"folded", fmt.Sprint(got.Lines, " lines"), kept(), "no need to run it again"} {
		if !strings.Contains(lines[0], want) {
			t.Errorf("%q is not in %q", want, lines[0])
		}
	}
	if want := fmt.Sprintf("tap-stream: passed (%d passed, 0 failed)", got.Lines-2); lines[1] != want {
		t.Errorf("%q, want %q", lines[1], want)
	}
}

// Where nothing can be kept, and where the reader is late or has nothing to read, the original stands.
func TestOriginalStands(t *testing.T) {
	t.Parallel()
	if got, err := shrink.Bash(t.Context(), safe, result(t, "npm test", tap(20_000)), func() string { return "" }); got != nil || err != nil {
		t.Errorf("no place for the whole text: %v %v", got, err)
	}
	late, cancel := context.WithCancel(t.Context())
	cancel()
	if got, err := shrink.Bash(late, safe, result(t, "npm test", tap(90_000)), kept); got != nil || !errors.Is(err, context.Canceled) {
		t.Errorf("late: %v %v", got, err)
	}
	o := result(t, "npm test", tap(90_000))
	o.Persisted = filepath.Join(t.TempDir(), "gone.txt")
	if got, err := shrink.Bash(t.Context(), safe, o, kept); got != nil || !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no file: %v %v", got, err)
	}
	o = result(t, "npm test", tap(20_000))
	o.Special = true
	if got, err := shrink.Bash(t.Context(), safe, o, kept); got != nil || err != nil {
		t.Errorf("interrupted: %v %v", got, err)
	}
}

// Failing tests whose exit code was lost are all named, be they many.
func TestEveryFailureIsNamed(t *testing.T) {
	t.Parallel()
	text := strings.ReplaceAll(tap(60_000), "ok 7", "not ok 7")
	failed := strings.Count(text, "not ok 7")
	got, err := shrink.Bash(t.Context(), safe, result(t, "npm test || true", text), kept)
	if err != nil || got == nil {
		t.Fatalf("%v %v", got, err)
	}
	if n := strings.Count(got.Text, "✗ "); n != failed || !strings.Contains(got.Text, fmt.Sprintf("%d failed", failed)) {
		t.Errorf("%d of %d failures are named: %.300s", n, failed, got.Text)
	}
}

// The limits of the client, as measured: which ends are lost, by size and by the user's limit.
func TestLostEnds(t *testing.T) {
	t.Parallel()
	late, _ := cutAsClient(143, "Command timed out after 2m 0s\n"+repeat(50_000, "line # of the failing run"), 30_029)
	if got := shrink.Failure("make", late, 0); !strings.Contains(got, "real end is gone") {
		t.Errorf("a run over its time: %s", got)
	}
	for _, c := range []struct {
		size, limit, told int // told is the limit the server knows of
		want              string
	}{
		{9_000, 30_000, 0, ""},
		{20_000, 30_000, 0, "its end are complete"},
		{29_000, 30_000, 0, "its end are complete"},
		{31_000, 30_000, 0, "real end is gone"},
		{100_000, 30_000, 0, "real end is gone"},
		{100_000, 150_000, 150_000, "its end are complete"},
		{100_000, 150_000, 0, "its end are complete"},
		{30_000, 150_000, 150_000, "its end are complete"},
		{200_000, 150_000, 150_000, "real end is gone"},
		{200_000, 150_000, 0, "real end is gone"},
		{9_000, 5_000, 5_000, "real end is gone"},
		{4_000, 5_000, 5_000, ""},
	} {
		text := repeat(c.size, "line # of the failing run")[:c.size]
		shown, _ := cutAsClient(1, text, c.limit)
		got := shrink.Failure("make", shown, c.told)
		if c.want == "" && got != "" || !strings.Contains(got, c.want) {
			t.Errorf("%d characters, limit %d (told %d): %q, want %q", c.size, c.limit, c.told, got, c.want)
		}
	}
}
