package ledger

import (
	"math"
	"testing"
	"time"
)

// The measured caps of the client, at their edges.
func TestBase(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		got, want int64
		name      string
	}{
		{BaseCommand(0, false), 0, "nothing"},
		{BaseCommand(30_000, false), 7500, "the largest success that is shown whole"},
		{BaseCommand(30_001, false), 550, "a success above the cap"},
		{BaseCommand(50_000_000, false), 550, "a huge success"},
		{BaseCommand(11_000, true), 2750, "the largest failure that is shown whole"},
		{BaseCommand(11_050, true), 2510, "a failure above the cap"},
		{BaseCommand(1_000_000, true), 2510, "a huge failure"},
		{BaseRead(4200, 100), 1175, "a small file, with line numbers"},
		{BaseRead(210_000, 5000), 25_000, "a file of more than a page"},
		{BaseRead(300_000, 5000), 95, "a file that is refused"},
	} {
		if tt.got != tt.want {
			t.Errorf("%s: %d, want %d", tt.name, tt.got, tt.want)
		}
	}
}

// By hand: kept = 1.25 + 0.1·10 = 2.25; a session of 600 tokens over 50 turns = 600·(1.25+5) = 3750.
func TestNet(t *testing.T) {
	t.Parallel()
	w := DefaultWeights()
	for _, tt := range []struct {
		run  Run
		want float64
	}{
		{Run{Tool: "offload", BaseTok: 7500, ClaudeTokIn: 130, ClaudeTokOut: 40}, 7370*2.25 - 200},
		{Run{Tool: "offload", BaseTok: 100, ClaudeTokIn: 130, ClaudeTokOut: 40}, -30*2.25 - 200},
		{Run{Tool: "research", ClaudeTokIn: 250, ClaudeTokOut: 30}, -250*2.25 - 150},
		{Run{Tool: "delegate", BaseOut: 600, ClaudeTokIn: 40, ClaudeTokOut: 300}, -40*2.25 + 300*5},
		{Run{Tool: ToolShrink, BaseTok: 550, ClaudeTokIn: 300}, 250 * 2.25},
		{Run{Tool: ToolShrink, BaseTok: 550, ClaudeTokIn: 700}, -150 * 2.25},
		{Run{Tool: ToolReread, BaseTok: 999, ClaudeTokIn: 2500}, -2500 * 2.25},
	} {
		if got := w.Net(&tt.run); math.Abs(got-tt.want) > 1 || got != math.Round(got) {
			t.Errorf("%+v: %v, want %v", tt.run, got, tt.want)
		}
	}
	if got := w.Fixed(); got != 3750 {
		t.Errorf("fixed: %v", got)
	}
}

// K15: the headline is the sum of its rows, in every table, and may be negative.
func TestStats(t *testing.T) {
	t.Parallel()
	l := New(t.TempDir())
	zone := time.FixedZone("east", 10*3600)
	day := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for _, r := range []Run{
		{TS: day, Tool: "offload", Model: "a", OK: true, Outcome: Done, BaseTok: 7500, ClaudeTokIn: 130, ClaudeTokOut: 40, InTok: 19000, CachedTok: 9000, OutTok: 100, MS: 900, Project: "/p", Session: "s1"},
		{TS: day.Add(time.Minute), Tool: "offload", Model: "a", Outcome: Timeout, ClaudeTokIn: 60, ClaudeTokOut: 40, MS: 100, Project: "/p", Session: "s1"},
		{TS: day.Add(3 * time.Hour), Tool: ToolShrink, OK: true, Outcome: Done, BaseTok: 550, ClaudeTokIn: 700, Raw: "a.txt", Rule: "go-test", Project: "/q"},
		{TS: day.Add(4 * time.Hour), Tool: ToolReread, OK: true, Outcome: Done, ClaudeTokIn: 2500, Rule: "go-test", Project: "/q"},
		{TS: day.Add(20 * time.Hour), Tool: "delegate", Model: "b", OK: true, Outcome: Done, BaseOut: 600, ClaudeTokIn: 40, ClaudeTokOut: 300, Project: "/q"},
	} {
		if err := l.Append(t.Context(), r); err != nil {
			t.Fatal(err)
		}
	}
	rep, err := l.Stats(Query{Weights: DefaultWeights(), Loc: zone})
	if err != nil {
		t.Fatal(err)
	}
	want := (7370*2.25 - 200) + (-60*2.25 - 200) - 150*2.25 - 2500*2.25 + (-40*2.25 + 1500) - 2*3750
	if math.Abs(rep.Total.Net-want) > 3 || rep.Calls+rep.Shrunk != rep.Total.Net {
		t.Errorf("net %v = %v + %v, want %v", rep.Total.Net, rep.Calls, rep.Shrunk, want)
	}
	for name, rows := range map[string][]Row{"tools": rep.Tools, "models": rep.Models, "projects": rep.Projects, "days": rep.Days} {
		var sum float64
		runs := 0
		for _, r := range rows {
			sum += r.Net
			runs += r.Runs
		}
		if sum != rep.Total.Net || runs != rep.Total.Runs {
			t.Errorf("%s: %v in %d runs, want %v in %d", name, sum, runs, rep.Total.Net, rep.Total.Runs)
		}
	}
	if rep.Sessions != 2 || rep.Total.OK != 3 || rep.Total.Runs != 4 || rep.Total.Asked != 1 || rep.Total.LocalTok != 19000 || rep.Total.Outcomes[Timeout] != 1 {
		t.Errorf("%+v", rep.Total)
	}
	if len(rep.Days) != 2 || rep.Days[0].Key != "2026-03-01" || rep.Days[1].Key != "2026-03-02" {
		t.Errorf("days: %+v", rep.Days)
	}
	if len(rep.Recalls) != 1 || rep.Recalls[0].Rate != 1 {
		t.Errorf("recalls: %+v", rep.Recalls)
	}
	if empty, err := New(t.TempDir()).Stats(Query{Weights: DefaultWeights(), Loc: zone}); err != nil || empty.Total.Net != 0 || len(empty.Tools) != 0 {
		t.Errorf("an empty ledger: %+v %v", empty, err)
	}
}
