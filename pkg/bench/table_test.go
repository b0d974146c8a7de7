package bench

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"legwork/pkg/llm/llmtest"
)

// madeUp is a row of no measurement.
func madeUp(task string, run int, model, policy string, classes ...string) *Row {
	r := &Row{
		Schema: RowSchema, Time: time.Date(2026, 1, 2, 3, run, 0, 0, time.UTC), Tool: "legwork 0", Commit: "c0ffee", System: "x", Task: task, Kind: "parser", Tier: 1 + len(task)%3,
		TaskHash: "h", Run: run, Identity: Identity{Model: model, Quant: "Q4_K_M", Endpoint: "http://127.0.0.1:1", Backend: "llama.cpp", Server: "b1", Window: 4096, Slots: 2},
		Policy: policy, MaxAttempts: 3, Parallel: 2, Verdict: "fail", Outcome: "failed", Total: 4, Green: 1, Calls: len(classes), MS: 9000, OverheadMS: 100,
	}
	for i, c := range classes {
		r.Attempts = append(r.Attempts, RowAttempt{N: i + 1, Kind: "first", Temperature: 0.2, Class: c, InTok: 200, OutTok: 100, CachedTok: 50, MS: int64(1000 * (i + 1))})
		if c == ClassPassed {
			r.PassAt, r.Verdict, r.Outcome, r.Green = i+1, "pass", "passed", 4
		}
	}
	r.Class = r.class()
	return r
}

func madeUpRows() []*Row {
	down := madeUp("beta", 1, "m|1", "default")
	down.Outcome, down.Verdict, down.Class, down.Leaked = ClassTransport, "error", ClassTransport, 1
	scripted := madeUp("alpha", 1, "scripted:gold", "default", ClassPassed)
	scripted.Scripted = true
	old := madeUp("alpha", 1, "m|1", "default", ClassPassed)
	old.TaskHash, old.Time = "before", old.Time.Add(-time.Hour)
	again := madeUp("alpha", 2, "m|1", "default", ClassPassed)
	again.Time = again.Time.Add(-time.Minute)
	return []*Row{
		madeUp("alpha", 1, "m|1", "default", ClassPassed), madeUp("alpha", 2, "m|1", "default", ClassFormat, ClassWrong, ClassRepeat),
		madeUp("beta", 1, "m|1", "default", ClassCutOff, ClassPassed), madeUp("beta", 1, "m|1", "classic", ClassWrong, ClassTimeout),
		madeUp("gamma", 1, "m2", "default", ClassFormat), down, scripted, old, again,
	}
}

// What counts: the newest version of a task and of a run, no transport error, no scripted answer.
func TestTable(t *testing.T) {
	t.Parallel()
	p := NewPage(madeUpRows(), 1)
	md := p.Markdown()
	for _, want := range []string{
		"5 runs, 3 tasks, 2 models.",
		"Rows that are in no rate: 1 that failed for reasons outside the model, 1 of earlier versions of their tasks, 1 of runs that were done again, 1 of scripted answers, 1 that are damaged.",
		`| m\|1 Q4_K_M | default | 3 | 33 % (6–79) | 67 % (21–94) | 1.50 | 2.00 |`,               // solved
		`| m\|1 Q4_K_M | default | 1 | 0 | 0 | 0 | 0 | 0 | 1 | 25 % | 1 | 0 | 1 |`,               // failures
		`| m\|1 Q4_K_M | default | 6 | 67 % | 2 | 1 | 1 | 0 | 0 | 1 | 1 |`,                       // answers
		`| m\|1 Q4_K_M | default | 1.0 | 3.0 | 9.0 | 400 | 25 % | 200 | 100 |`,                   // cost
		"| alpha | parser | 3 | – | – | 1 of 2 (1) |",                                            // by task
		`| 2 | m\|1 Q4_K_M | classic | 1 | 0 % (0–79) | 0 % (0–79) | 2.00 |`,                     // by tier
		"| llama.cpp b1 | 4096 tokens, 2 slots, 2 runs at once | first 0.2 | legwork 0 c0ffee |", // origin
	} {
		if !strings.Contains(md, want) {
			t.Errorf("missing: %s\n%s", want, md)
		}
	}
	if strings.Contains(md, "scripted:") {
		t.Error("scripted answers stand beside models")
	}
	page := p.HTML()
	for _, want := range []string{`role="img"`, "<title id=\"ct\">", "prefers-color-scheme:dark", `<th scope="col"`, "m|1 Q4_K_M, default: pass@1 33 % (6 to 79), pass@final 67 % (21 to 94)."} {
		if !strings.Contains(page, want) {
			t.Errorf("missing in the page: %s", want)
		}
	}
	for _, bad := range []string{"<script", "http://", "https://", "src="} {
		if strings.Contains(page, bad) {
			t.Errorf("the page is not self-contained: %s", bad)
		}
	}
}

// Any order of rows, and rows that went through a file, give the same bytes.
func TestTableIsTheSame(t *testing.T) {
	t.Parallel()
	rows := madeUpRows()
	want := NewPage(rows, 0)
	path := filepath.Join(t.TempDir(), "raw.jsonl")
	for range 20 {
		rand.Shuffle(len(rows), func(i, j int) { rows[i], rows[j] = rows[j], rows[i] })
		writeRows(t, path, rows)
		read, damaged, err := ReadRows(path)
		if err != nil {
			t.Fatal(err)
		}
		got := NewPage(read, damaged)
		if d := cmp.Diff(want.Markdown(), got.Markdown()) + cmp.Diff(want.HTML(), got.HTML()); d != "" {
			t.Fatal(d)
		}
	}
}

func writeRows(t testing.TB, path string, rows []*Row) {
	t.Helper()
	var b strings.Builder
	for _, r := range rows {
		line, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		b.Write(append(line, '\n'))
	}
	if err := os.WriteFile(path, []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
}

// Nothing but scripted answers: the page says what it is.
func TestSelfCheckPage(t *testing.T) {
	t.Parallel()
	r := madeUp("alpha", 1, "scripted:gold", "default", ClassPassed)
	r.Scripted = true
	md := NewPage([]*Row{r}, 0).Markdown()
	if !strings.HasPrefix(md, "# Self-check of the bench (scripted answers, no model)\n") || !strings.Contains(md, "says nothing about any model") {
		t.Error(md)
	}
}

// The published tables are what their raw rows give, byte for byte.
func TestPublishedTables(t *testing.T) {
	t.Parallel()
	for _, dir := range []string{"results", "results/second"} {
		t.Run(dir, func(t *testing.T) { checkPublished(t, filepath.Join("..", "..", "bench", filepath.FromSlash(dir))) })
	}
}

func checkPublished(t *testing.T, dir string) {
	t.Helper()
	raw, err := filepath.Glob(filepath.Join(dir, "*.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	published, err := os.ReadFile(filepath.Join(dir, "RESULTS.md"))
	if err != nil || len(raw) == 0 {
		t.Skip("no results are published here")
	}
	rows, damaged, err := ReadRows(raw...)
	if err != nil {
		t.Fatal(err)
	}
	page := NewPage(rows, damaged)
	if d := cmp.Diff(strings.ReplaceAll(string(published), "\r\n", "\n"), page.Markdown()); d != "" {
		t.Errorf("RESULTS.md is not what the raw rows give (legwork bench table rebuilds it):\n%s", d)
	}
	html, err := os.ReadFile(filepath.Join(dir, "results.html"))
	if err != nil {
		t.Fatal(err)
	}
	if strings.ReplaceAll(string(html), "\r\n", "\n") != page.HTML() {
		t.Error("results.html is not what the raw rows give")
	}
	for _, r := range rows {
		if r.Scripted || r.Commit == "" || r.Quant == "" || r.Server == "" || strings.Contains(r.Model, "/root") {
			t.Errorf("%s run %d of %s cannot be published: it does not say what was measured", r.Task, r.Run, r.Model)
		}
	}
}

func TestRunClass(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		outcome string
		classes []string
		want    string
	}{
		{"failed", []string{ClassFormat, ClassWrong, ClassRepeat}, ClassWrong},
		{"failed", []string{ClassFormat, ClassFormat}, ClassFormat},
		{"failed", []string{ClassImport, ClassFormat}, ClassImport},
		{"failed", []string{ClassTimeout}, ClassTimeout},
		{"cut_off", []string{ClassCutOff}, ClassCutOff},
		{"timeout", nil, ClassTimeout},
		{"transport", []string{ClassWrong}, ClassTransport},
		{"overflow", nil, ClassCutOff},
		{"passed", []string{ClassWrong, ClassPassed}, ClassPassed},
	} {
		r := &Row{Outcome: c.outcome}
		for _, a := range c.classes {
			r.Attempts = append(r.Attempts, RowAttempt{Class: a})
		}
		if got := r.class(); got != c.want {
			t.Errorf("%s %v: %s, want %s", c.outcome, c.classes, got, c.want)
		}
	}
	for word, want := range map[string]string{"": ClassPassed, "tests": ClassWrong, "load": ClassWrong, "scope": ClassWrong, "looped": ClassCutOff, "empty": ClassCutOff, "format": ClassFormat} {
		if got := classOf(word); got != want {
			t.Errorf("%q: %s", word, got)
		}
	}
}

func TestReadRowsDamaged(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "raw.jsonl")
	line, err := json.Marshal(madeUp("a", 1, "m", "p", ClassPassed))
	if err != nil {
		t.Fatal(err)
	}
	text := string(line) + "\n{\"schema\":1,\"task\n\n[1]\n{}\n" + string(line) + "\r\n" + string(line[:20])
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	rows, damaged, err := ReadRows(path)
	if err != nil || len(rows) != 2 || damaged != 4 {
		t.Errorf("%d rows, %d damaged, %v", len(rows), damaged, err)
	}
	if err := os.WriteFile(path, []byte(strings.Replace(string(line), `"schema":1`, `"schema":9`, 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, err := ReadRows(path); err == nil || !strings.Contains(err.Error(), "schema 9") {
		t.Errorf("a row from the future: %v", err)
	}
}

func TestQuantOf(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"qwen2.5-coder-1.5b-instruct-q4_k_m.gguf": "Q4_K_M", "Qwen3-30B-A3B-IQ2_XXS.gguf": "IQ2_XXS", "llama3.2:3b-instruct-q8_0": "Q8_0", "Qwen/Qwen3-32B-AWQ": "AWQ",
		"org/model-FP8": "FP8", "mistral-small": "", "qwen3:4b": "", "gpt-oss-20b-mxfp4": "MXFP4", "x-GPTQ-Int4": "GPTQ-INT4", "Q-model": "",
	} {
		if got := quantOf(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	if got := toldQuant("Q4_K - Medium"); got != "Q4_K_M" {
		t.Error(got)
	}
	if got := publicID(`C:\Users\x\m.gguf`); got != "m.gguf" {
		t.Error(got)
	}
	if got := publicID("org/model"); got != "org/model" {
		t.Error(got)
	}
}

func TestReadGGUF(t *testing.T) {
	t.Parallel()
	path := llmtest.WriteGGUF(t, t.TempDir(), llmtest.GGUF{Name: "tiny"})
	var c Contestant
	if err := c.readFile(path); err != nil || c.ModelName != "tiny" || len(c.ModelSHA) != 64 {
		t.Errorf("%+v %v", c, err)
	}
	for _, bad := range []string{"", "GGUF", "GGUF\x03\x00\x00\x00" + strings.Repeat("\xff", 40), "safetensors and more bytes"} {
		if _, err := readGGUF(strings.NewReader(bad)); err == nil {
			t.Errorf("%q: no error", bad)
		}
	}
}

// Two contenders of which one is better by a known amount, in pairs of several runs.
func TestCompare(t *testing.T) {
	t.Parallel()
	var rows []*Row
	for task := range 12 {
		for run := range 3 {
			name := fmt.Sprintf("task%02d", task)
			good, bad := []string{ClassPassed}, []string{ClassWrong, ClassWrong}
			a := bad
			if task < 8 && run < 2 {
				a = good
			}
			b := bad
			if task < 3 {
				b = good
			}
			rows = append(rows, madeUp(name, run, "m", "default", a...), madeUp(name, run, "m", "classic", b...))
		}
	}
	rows = append(rows, madeUp("alone", 1, "m", "default", ClassPassed))
	list, err := CompareBy(rows, "policy")
	if err != nil || len(list) != 1 {
		t.Fatal(list, err)
	}
	c := list[0]
	if c.A != "default" || c.Pairs != 36 || c.Tasks != 12 || c.Alone != [2]int{1, 0} || c.SolvedEach != [2]int{16, 9} {
		t.Errorf("%+v", c)
	}
	// Tasks differ by -1/3 (3 of them), 2/3 (5) and 0 (4): mean 7/36, sd .4371 over 12 tasks, t .975,11 = 2.201.
	near(t, "mean", c.Solved.Mean, 7.0/36, 1e-12)
	near(t, "half", c.Solved.High-c.Solved.Mean, 2.201*0.43713/3.4641, 1e-3)
	var out strings.Builder
	if err := c.Write(&out); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"| solved | 16 of 36 (44 %) | 9 of 36 (25 %) | +19.4 points", "36 pairs of 12 tasks", "(1 run without a partner left out)", "cannot separate default and classic in what is solved", "Nor in the calls they need."} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("missing %q:\n%s", want, out.String())
		}
	}
	slices.Reverse(rows)
	again, err := CompareBy(rows, "policy")
	if err != nil || cmp.Diff(c, again[0]) != "" {
		t.Errorf("the order of rows matters: %v", cmp.Diff(c, again[0]))
	}
	if _, err := CompareBy(rows[:1], "policy"); err == nil {
		t.Error("one policy is compared")
	}
}

// Two files: the same contenders before and after pair with themselves; no common task is an error.
func TestCompareFiles(t *testing.T) {
	t.Parallel()
	var before, after []*Row
	for i := range 20 {
		name := fmt.Sprint("t", i)
		for _, policy := range []string{"default", "classic"} {
			before = append(before, madeUp(name, 1, "m", policy, ClassWrong))
			after = append(after, madeUp(name, 1, "m", policy, ClassPassed))
		}
	}
	c, err := Compare(before, after, "", "before", "after")
	if err != nil || c.Pairs != 40 || c.Solved.Mean != -1 || !strings.Contains(c.verdict(), "after solves more than before.") {
		t.Errorf("%+v %v", c, err)
	}
	same, err := Compare(before[:2], before[:2], "", "a", "b")
	if err != nil || !same.Solved.holds(0) || same.Solved.Low > -0.5 || !strings.Contains(same.verdict(), "cannot separate") {
		t.Errorf("%+v %v", same, err)
	}
	if _, err := Compare(before, []*Row{madeUp("other", 1, "m", "default", ClassPassed)}, "", "a", "b"); err == nil || !strings.Contains(err.Error(), "in common") {
		t.Error(err)
	}
	if _, err := json.Marshal(c); err != nil {
		t.Error(err)
	}
}

// BenchmarkTable rebuilds the tables from a raw file of 10,000 rows.
func BenchmarkTable(b *testing.B) {
	var rows []*Row
	for i := range 10_000 {
		class := ClassWrong
		if i%3 == 0 {
			class = ClassPassed
		}
		rows = append(rows, madeUp(fmt.Sprint("task", i%40), i/160, fmt.Sprint("m", i/40%2), []string{"default", "classic"}[i/80%2], ClassFormat, class))
	}
	path := filepath.Join(b.TempDir(), "raw.jsonl")
	writeRows(b, path, rows)
	b.ResetTimer()
	for b.Loop() {
		rows, damaged, err := ReadRows(path)
		if err != nil || len(rows) != 10_000 {
			b.Fatal(len(rows), err)
		}
		p := NewPage(rows, damaged)
		if len(p.Markdown()) == 0 || len(p.HTML()) == 0 {
			b.Fatal("empty")
		}
	}
}
