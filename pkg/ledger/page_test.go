package ledger

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/html"
)

// randomLedger is a run log with everything in it: every tool and outcome, odd names, gains and losses.
func randomLedger(t testing.TB, seed uint64, n int) *Ledger {
	t.Helper()
	l := New(t.TempDir())
	rnd := newRandom(seed)
	tools := []string{"offload", "research", "delegate", "run_agent", ToolShrink, ToolShrink, ToolNote, ToolReread, ToolSession, "wait_job"}
	ends := append(Outcomes(), Asked, "of a newer version", "")
	for range n {
		r := Run{
			TS:   time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC).Add(time.Duration(rnd.n(40*24*3600)) * time.Second),
			Tool: tools[rnd.n(len(tools))], Model: []string{"", "a", "b:7b"}[rnd.n(3)], Outcome: ends[rnd.n(len(ends))], OK: rnd.n(2) == 0,
			Attempts: rnd.n(4), InTok: int64(rnd.n(50_000)), OutTok: int64(rnd.n(900)), MS: int64(rnd.n(90_000)),
			BaseTok: int64(rnd.n(9000)), BaseOut: int64(rnd.n(700)), ClaudeTokIn: int64(rnd.n(12_000)), ClaudeTokOut: int64(rnd.n(600)),
			Project: []string{"", "/p", "/q/</title><script>alert(1)</script>", "/r/\x1b[31m\u202e"}[rnd.n(4)], Session: fmt.Sprint(rnd.n(9)), Rule: []string{"", "go-test", "<b>"}[rnd.n(3)],
			Raw: []string{"", "r1"}[rnd.n(2)],
		}
		if rnd.n(5) == 0 {
			r.Session = ""
		}
		if err := l.Append(t.Context(), r); err != nil {
			t.Fatal(err)
		}
	}
	return l
}

// K15: whatever was run and whatever is assumed, the headline is the sum of its parts and of the rows of each table.
func TestHeadlineIsTheSum(t *testing.T) {
	t.Parallel()
	for seed := range uint64(20) {
		rnd := newRandom(seed)
		w := Weights{
			CacheWrite: float64(rnd.n(300)) / 100, CacheRead: float64(rnd.n(100)) / 100, Output: float64(rnd.n(1000)) / 99, LaterTurns: float64(rnd.n(30)),
			Turns: float64(rnd.n(90)), PrefixTok: float64(rnd.n(2000)) / 3, SearchCost: float64(rnd.n(3000)) / 7,
		}
		l := randomLedger(t, seed, 150)
		rep, err := l.Stats(Query{Weights: w, Loc: time.UTC, Searched: func(tool string) bool { return tool == "delegate" }})
		if err != nil {
			t.Fatal(err)
		}
		runs := 0
		var net float64
		if _, err := l.Read(time.Time{}, func(r *Run) bool {
			if r.Tool != ToolSession {
				net += w.Net(r)
			}
			return true
		}); err != nil {
			t.Fatal(err)
		}
		if got := rep.Total.Net - rep.Parts.Prefix - rep.Parts.Searches; got != net {
			t.Errorf("seed %d: runs bring %v, each by itself %v", seed, got, net)
		}
		if rep.Parts.Net() != rep.Total.Net || rep.Calls+rep.Shrunk != rep.Total.Net || rep.Total.Net != math.Round(rep.Total.Net) {
			t.Errorf("seed %d: total %v, parts %v, calls %v and shrunk %v", seed, rep.Total.Net, rep.Parts.Net(), rep.Calls, rep.Shrunk)
		}
		for name, rows := range map[string][]Row{"tools": rep.Tools, "models": rep.Models, "projects": rep.Projects, "days": rep.Days} {
			sum := Row{Outcomes: map[string]int{}}
			for i := range rows {
				sum.Add(&rows[i])
			}
			if sum.Net != rep.Total.Net || sum.Runs != rep.Total.Runs || sum.Asked != rep.Total.Asked || sum.ClaudeTok != rep.Total.ClaudeTok || fmt.Sprint(sum.Outcomes) != fmt.Sprint(rep.Total.Outcomes) {
				t.Errorf("seed %d, %s: %+v, want %+v", seed, name, sum, rep.Total)
			}
			runs += sum.Runs
		}
		ended := 0
		for _, n := range rep.Total.Outcomes {
			ended += n
		}
		if ended != rep.Total.Runs || runs != 4*ended {
			t.Errorf("seed %d: %d runs, %d endings", seed, rep.Total.Runs, ended)
		}
	}
}

// random is a small generator, the same everywhere.
type random struct{ x uint64 }

func newRandom(seed uint64) *random { return &random{seed*2654435761 + 88172645463325252} }

func (r *random) n(n int) int {
	r.x ^= r.x << 13
	r.x ^= r.x >> 7
	r.x ^= r.x << 17
	return int(r.x % uint64(n))
}

func TestOutcomePlaces(t *testing.T) {
	t.Parallel()
	for i, o := range Outcomes() {
		if place(o) != i {
			t.Errorf("%s: %d, want %d", o, place(o), i)
		}
	}
}

func testPage(t testing.TB, l *Ledger) string {
	t.Helper()
	rep, err := l.Stats(Query{Weights: DefaultWeights(), Loc: time.UTC})
	if err != nil {
		t.Fatal(err)
	}
	page, err := Page(rep, PageOptions{Assumptions: []string{"a <b> c"}, Made: time.Unix(0, 0).UTC(), Version: "1"})
	if err != nil {
		t.Fatal(err)
	}
	return string(page)
}

// The page is whole by itself, hostile names are text in it, and a screen reader finds its way.
func TestPage(t *testing.T) {
	t.Parallel()
	text := testPage(t, randomLedger(t, 3, 300))
	doc, err := html.Parse(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	ids, refs, images, tables := map[string]bool{}, []string{}, 0, 0
	for n := range doc.Descendants() {
		if n.Type != html.ElementNode {
			continue
		}
		at := map[string]string{}
		for _, a := range n.Attr {
			at[a.Key] = a.Val
			if strings.HasPrefix(a.Key, "on") || strings.Contains(a.Val, "http:") || strings.Contains(a.Val, "https:") || a.Key == "src" {
				t.Errorf("<%s %s=%q> reaches out", n.Data, a.Key, a.Val)
			}
		}
		if at["id"] != "" {
			ids[at["id"]] = true
		}
		switch n.Data {
		case "script", "b", "iframe", "img", "object":
			t.Errorf("<%s> in the page", n.Data)
		case "svg":
			images++
			if at["role"] != "img" || at["aria-labelledby"] == "" {
				t.Errorf("a chart without a name: %v", at)
			}
			refs = append(refs, strings.Fields(at["aria-labelledby"])...)
		case "html":
			if at["lang"] != "en" {
				t.Error("no language")
			}
		case "table":
			tables++
			if n.FirstChild == nil || n.FirstChild.NextSibling == nil || n.FirstChild.NextSibling.Data != "caption" {
				t.Error("a table without a caption")
			}
		case "th":
			if at["scope"] == "" {
				t.Error("a head cell without a scope")
			}
		}
	}
	for _, r := range refs {
		if !ids[r] {
			t.Errorf("a chart's name %q is missing", r)
		}
	}
	if images != 3 || tables < 6 || !strings.Contains(text, "&lt;script&gt;") || strings.ContainsAny(text, "\x1b\u202e") {
		t.Errorf("%d charts, %d tables", images, tables)
	}
	if empty := testPage(t, New(t.TempDir())); !strings.Contains(empty, "Nothing has been run yet") || strings.Contains(empty, "<svg") {
		t.Error("the page of an empty run log")
	}
}

// Text can be read in both schemes: 4.5 to 1 at least, parts of charts 3 to 1.
func TestPageContrast(t *testing.T) {
	t.Parallel()
	blocks := regexp.MustCompile(`:root \{([^}]*)\}`).FindAllSubmatch([]byte(pageCSS), -1)
	if len(blocks) != 2 {
		t.Fatalf("%d schemes", len(blocks))
	}
	for i, b := range blocks {
		color := map[string]string{}
		for _, m := range regexp.MustCompile(`--([\w]+): (#[0-9a-f]{6});`).FindAllSubmatch(b[1], -1) {
			color[string(m[1])] = string(m[2])
		}
		for _, ground := range []string{"bg", "card"} {
			for name, c := range color {
				want := 4.5
				switch name {
				case "bg", "card", "line":
					continue
				case "failed", "cut_off", "timeout", "transport", "refused", "cancelled", "other":
					want = 3
				}
				if got := contrast(t, c, color[ground]); got < want {
					t.Errorf("scheme %d: %s on %s: %.2f", i, name, ground, got)
				}
			}
		}
	}
}

func contrast(t *testing.T, a, b string) float64 {
	t.Helper()
	light := func(c string) float64 {
		sum := 0.0
		for i, weight := range []float64{0.2126, 0.7152, 0.0722} {
			n, err := strconv.ParseUint(c[1+2*i:3+2*i], 16, 8)
			if err != nil {
				t.Fatal(err)
			}
			v := float64(n) / 255
			if v <= 0.04045 {
				v /= 12.92
			} else {
				v = math.Pow((v+0.055)/1.055, 2.4)
			}
			sum += weight * v
		}
		return sum
	}
	x, y := light(a), light(b)
	return (max(x, y) + 0.05) / (min(x, y) + 0.05)
}
