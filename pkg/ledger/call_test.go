package ledger

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// A call's line holds the arguments and the reply as they were, and what a job of it does later has neither.
func TestCall(t *testing.T) {
	t.Parallel()
	verb := Run{Tool: "offload", Model: "m", OK: true, Outcome: Done, BaseTok: 7000, BaseOut: 20, ClaudeTokIn: 1, ClaudeTokOut: 2}
	real := Run{Tool: "offload", Outcome: Asked, OK: true, ClaudeTokIn: 150, ClaudeTokOut: 60}
	for _, tt := range []struct {
		name   string
		caller Caller
		runs   []Run
		alone  Run
		want   []Run
	}{
		{
			"Claude's",
			Caller{Claude: true, Session: "s"},
			[]Run{verb},
			real,
			[]Run{{Tool: "offload", Model: "m", OK: true, Outcome: Done, BaseTok: 7000, BaseOut: 20, ClaudeTokIn: 150, ClaudeTokOut: 60, Session: "s"}},
		},
		{"a person's spares Claude nothing", Caller{}, []Run{verb}, real, []Run{{Tool: "offload", Model: "m", OK: true, Outcome: Done}}},
		{
			"two runs, one reply",
			Caller{Claude: true},
			[]Run{verb, verb},
			real,
			[]Run{
				{Tool: "offload", Model: "m", OK: true, Outcome: Done, BaseTok: 7000, BaseOut: 20, ClaudeTokIn: 150, ClaudeTokOut: 60},
				{Tool: "offload", Model: "m", OK: true, Outcome: Done, BaseTok: 7000, BaseOut: 20},
			},
		},
		{
			"refused",
			Caller{Claude: true, Session: "s"},
			nil,
			Run{Tool: "offload", Outcome: Refused, ClaudeTokIn: 30, ClaudeTokOut: 9},
			[]Run{{Tool: "offload", Outcome: Refused, ClaudeTokIn: 30, ClaudeTokOut: 9, Session: "s"}},
		},
	} {
		l := New(t.TempDir())
		ctx, call := Begin(t.Context(), tt.caller)
		for _, r := range tt.runs {
			if err := l.Append(ctx, r); err != nil {
				t.Fatal(err)
			}
		}
		if kept, _ := readAll(t, l, time.Time{}); len(kept) != 0 {
			t.Errorf("%s: written before the reply is known: %+v", tt.name, kept)
		}
		got := call.End(tt.alone)
		for i := range got {
			got[i].TS = time.Time{}
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s:\n%s", tt.name, diff)
		}
		checkLater(t, l, ctx, tt.caller, verb)
	}
}

func checkLater(t *testing.T, l *Ledger, ctx context.Context, caller Caller, verb Run) {
	t.Helper()
	for _, ctx := range []context.Context{ctx, After(t.Context(), caller)} {
		if err := l.Append(ctx, verb); err != nil {
			t.Fatal(err)
		}
	}
	got, _ := readAll(t, l, time.Time{})
	if len(got) != 2 {
		t.Fatalf("%d lines of what a job did later", len(got))
	}
	for _, r := range got {
		if r.ClaudeTokIn != 0 || r.ClaudeTokOut != 0 || (r.BaseOut != 0) != caller.Claude || r.Session != caller.Session {
			t.Errorf("%+v", r)
		}
	}
}
