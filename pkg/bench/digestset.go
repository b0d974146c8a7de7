// Package bench measures legwork against data with known answers.
package bench

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"text/tabwriter"

	"legwork/pkg/runners"
)

// Report is what ScoreRunners found over a folder of recorded runs.
type Report struct {
	Records     int
	StateRight  int
	CountsAsked int // counts the truth states
	CountsRight int
	// IDsAsked and so on count only what stands in the text at all (`shown`).
	IDsAsked, IDsFound         int
	FilesAsked, FilesFound     int
	MessagesAsked, MessagesHit int
	BuildAsked, BuildFound     int
	// InventedIDs are failures reported that the truth does not know.
	InventedIDs int
	// FalsePasses are records read as passed that did not pass. False greens that
	// no text can show (evidence: names) are counted apart.
	FalsePasses, NamesOnly int
	Misses                 []Miss
	ByRunner               map[string]*Tally
}

// Tally is one runner's share of the records.
type Tally struct{ Records, StateRight, IDsAsked, IDsFound int }

// Miss is one difference between the reader and the truth.
type Miss struct{ Record, What, Want, Got string }

// Ok reports whether the bar is met: every state right, at least 98 % of counts
// and failing ids, no false pass.
func (r Report) Ok() bool {
	return r.StateRight == r.Records && 100*r.CountsRight >= 98*r.CountsAsked &&
		100*r.IDsFound >= 98*r.IDsAsked && r.FalsePasses == 0
}

// Options choose what ScoreRunnersWith does.
type Options struct {
	// Only keeps records whose name starts with it.
	Only string
	// WithCommand gives the reader the command too, as when legwork ran it itself;
	// without it only text and exit code are known, as for a saved log.
	WithCommand bool
}

// record is NAME.json of the corpus.
type record struct {
	Runner   string `json:"runner"`
	Command  string `json:"command"`
	ExitCode *int   `json:"exit_code"`
	Truth    truth  `json:"truth"`
}

type truth struct {
	State            string          `json:"state"`
	AcceptStates     []string        `json:"accept_states"`
	Tests            map[string]*int `json:"tests"`
	Failures         []wantFailure   `json:"failures"`
	OptionalFailures []string        `json:"optional_failures"`
	BuildErrors      []wantBuild     `json:"build_errors"`
	FalseGreen       bool            `json:"false_green"`
	Evidence         string          `json:"evidence"`
}

type wantFailure struct {
	ID      *string  `json:"id"`
	AltIDs  []string `json:"alt_ids"`
	File    *string  `json:"file"`
	Line    *int     `json:"line"`
	Message []string `json:"message_contains"`
	Shown   struct{ ID, Line, Message bool }
}

type wantBuild struct {
	File    *string  `json:"file"`
	Line    *int     `json:"line"`
	Message []string `json:"message_contains"`
	Shown   struct{ Line, Message bool }
}

// ScoreRunners scores the reader over a folder of NAME.json with NAME.out or
// NAME.out.gz. Records without output are an error.
func ScoreRunners(dir string) (Report, error) { return ScoreRunnersWith(os.DirFS(dir), Options{}) }

// ScoreRunnersWith is ScoreRunners over any file system.
func ScoreRunnersWith(fsys fs.FS, o Options) (Report, error) {
	rep := Report{ByRunner: map[string]*Tally{}}
	names, err := fs.Glob(fsys, "*.json")
	if err != nil {
		return rep, err
	}
	sort.Strings(names)
	for _, n := range names {
		name := strings.TrimSuffix(n, ".json")
		if !strings.HasPrefix(name, o.Only) {
			continue
		}
		if err := rep.add(fsys, name, o); err != nil {
			return rep, fmt.Errorf("record %s: %w", name, err)
		}
	}
	if rep.Records == 0 {
		return rep, errors.New("no records: the folder must hold NAME.json with NAME.out or NAME.out.gz")
	}
	return rep, nil
}

func (r *Report) add(fsys fs.FS, name string, o Options) error {
	raw, err := fs.ReadFile(fsys, name+".json")
	if err != nil {
		return err
	}
	var rec record
	if err := json.Unmarshal(raw, &rec); err != nil {
		return err
	}
	out, err := readOutput(fsys, name)
	if err != nil {
		return err
	}
	h := runners.Hint{Exit: rec.ExitCode}
	if o.WithCommand {
		h.Command = rec.Command
	}
	r.score(name, rec, runners.Parse(out, h))
	return nil
}

func readOutput(fsys fs.FS, name string) ([]byte, error) {
	out, err := fs.ReadFile(fsys, name+".out")
	if err == nil {
		return out, nil
	}
	packed, err2 := fs.ReadFile(fsys, name+".out.gz")
	if err2 != nil {
		return nil, err
	}
	z, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(z)
}

func (r *Report) score(name string, rec record, got runners.Result) {
	r.Records++
	by := r.ByRunner[rec.Runner]
	if by == nil {
		by = &Tally{}
		r.ByRunner[rec.Runner] = by
	}
	by.Records++
	t := rec.Truth
	miss := func(what, want, have string) {
		r.Misses = append(r.Misses, Miss{name, what, want, have})
	}
	accept := append([]string{t.State}, t.AcceptStates...)
	switch {
	case slices.Contains(accept, string(got.State)):
		r.StateRight++
		by.StateRight++
	case got.State == runners.StatePassed && t.Evidence == "names":
		// The text is that of a real green run; only a side channel could tell.
		r.NamesOnly++
		r.StateRight++
		by.StateRight++
	default:
		if got.State == runners.StatePassed {
			r.FalsePasses++
		}
		miss("state", t.State, string(got.State)+" by "+got.Runner)
	}
	r.scoreCounts(t, got, miss)
	r.scoreIDs(t, got, by, miss)
	r.scoreBuild(t, got, miss)
}

func (r *Report) scoreCounts(t truth, got runners.Result, miss func(a, b, c string)) {
	have := map[string]*int{
		"passed": got.Tests.Passed, "failed": got.Tests.Failed, "skipped": got.Tests.Skipped,
		"todo": got.Tests.Todo, "errors": got.Tests.Errors,
	}
	for _, k := range []string{"passed", "failed", "skipped", "todo", "errors"} {
		want := t.Tests[k]
		if want == nil {
			continue
		}
		r.CountsAsked++
		switch h := have[k]; {
		case h != nil && *h == *want:
			r.CountsRight++
		case h == nil:
			miss(k, fmt.Sprint(*want), "null")
		default:
			miss(k, fmt.Sprint(*want), fmt.Sprint(*h))
		}
	}
}

func (r *Report) scoreIDs(t truth, got runners.Result, by *Tally, miss func(a, b, c string)) {
	known := map[string]bool{}
	for _, id := range t.OptionalFailures {
		known[id] = true
	}
	for _, w := range t.Failures {
		f := findFailure(w, got, known)
		if w.ID != nil && w.Shown.ID {
			r.IDsAsked++
			by.IDsAsked++
			if f == nil {
				miss("id", *w.ID, ids(got))
			} else {
				r.IDsFound++
				by.IDsFound++
			}
		}
		if f == nil && (w.ID == nil || !w.Shown.ID) {
			f = matchByPlace(w, got)
		}
		r.scorePlace(w, f, miss)
	}
	if len(t.Failures) == 0 && t.State != "passed" && t.State != "no_tests" {
		return // the truth lists no failures for runs that did not finish
	}
	for _, g := range got.Failures {
		if g.ID != "" && !known[g.ID] {
			r.InventedIDs++
			miss("invented", "", g.ID)
		}
	}
}

// findFailure looks a wanted failure up by its ids and marks them as known.
func findFailure(w wantFailure, got runners.Result, known map[string]bool) *runners.Failure {
	if w.ID == nil {
		return nil
	}
	names := append([]string{*w.ID}, w.AltIDs...)
	var f *runners.Failure
	for _, n := range names {
		known[n] = true
		for i := range got.Failures {
			if got.Failures[i].ID == n && f == nil {
				f = &got.Failures[i]
			}
		}
	}
	return f
}

// matchByPlace finds a failure outside any test by its file and message, among
// the failures and the suite-level ones.
func matchByPlace(w wantFailure, got runners.Result) *runners.Failure {
	all := slices.Clone(got.Failures)
	for _, s := range got.Suites {
		all = append(all, runners.Failure{File: s.File, Line: s.Line, Message: s.Message})
	}
	for _, b := range got.BuildErrors {
		all = append(all, runners.Failure{File: b.File, Line: b.Line, Message: b.Message})
	}
	for i := range all {
		if samePlace(w.File, w.Line, all[i].File, all[i].Line) && containsAll(all[i].Message, w.Message) {
			return &all[i]
		}
	}
	for i := range all {
		if w.File == nil || sameFile(*w.File, all[i].File) || containsAll(all[i].Message, w.Message) {
			return &all[i]
		}
	}
	return nil
}

func (r *Report) scorePlace(w wantFailure, f *runners.Failure, miss func(a, b, c string)) {
	if f == nil {
		f = &runners.Failure{}
	}
	id := f.ID
	if w.File != nil && w.Line != nil && w.Shown.Line {
		r.FilesAsked++
		if samePlace(w.File, w.Line, f.File, f.Line) {
			r.FilesFound++
		} else {
			miss("place", fmt.Sprintf("%s:%d", *w.File, *w.Line), fmt.Sprintf("%s:%d of %s", f.File, f.Line, id))
		}
	}
	if len(w.Message) > 0 && w.Shown.Message {
		r.MessagesAsked++
		if containsAll(f.Message, w.Message) {
			r.MessagesHit++
		} else {
			miss("message", strings.Join(w.Message, " & "), id+": "+f.Message)
		}
	}
}

func (r *Report) scoreBuild(t truth, got runners.Result, miss func(a, b, c string)) {
	for _, w := range t.BuildErrors {
		r.BuildAsked++
		if slices.ContainsFunc(got.BuildErrors, func(b runners.BuildError) bool {
			return samePlace(w.File, w.Line, b.File, b.Line) && containsAll(b.Message, w.Message)
		}) {
			r.BuildFound++
			continue
		}
		miss("build", wantedBuild(w), fmt.Sprint(got.BuildErrors))
	}
}

func wantedBuild(w wantBuild) string {
	s := strings.Join(w.Message, " & ")
	if w.Line != nil {
		s = fmt.Sprintf("%d: %s", *w.Line, s)
	}
	if w.File != nil {
		s = *w.File + ":" + s
	}
	return s
}

func ids(r runners.Result) string {
	var s []string
	for _, f := range r.Failures {
		s = append(s, f.ID)
	}
	return strings.Join(s, " | ")
}

// sameFile compares paths; one may be absolute and the other relative.
func sameFile(a, b string) bool {
	a, b = filepath.ToSlash(a), filepath.ToSlash(b)
	return a == b || a != "" && b != "" && (strings.HasSuffix(a, "/"+b) || strings.HasSuffix(b, "/"+a))
}

func samePlace(file *string, line *int, gotFile string, gotLine int) bool {
	if file != nil && !sameFile(*file, gotFile) {
		return false
	}
	return line == nil || *line == gotLine
}

func containsAll(s string, parts []string) bool {
	s = squeeze(s)
	for _, p := range parts {
		if !strings.Contains(s, squeeze(p)) {
			return false
		}
	}
	return true
}

// squeeze folds white space, which reflowing may change.
func squeeze(s string) string { return strings.Join(strings.Fields(s), " ") }

// Table prints the report for people; with misses the single differences too.
func (r Report) Table(w io.Writer, misses bool) error {
	tw := tabwriter.NewWriter(w, 0, 4, 2, ' ', 0)
	row := func(name string, got, of int) {
		share := 100.0
		if of > 0 {
			share = 100 * float64(got) / float64(of)
		}
		fmt.Fprintf(tw, "%s\t%d\tof %d\t%.1f %%\n", name, got, of, share)
	}
	row("state right", r.StateRight, r.Records)
	row("counts right", r.CountsRight, r.CountsAsked)
	row("failing ids named", r.IDsFound, r.IDsAsked)
	row("file:line right", r.FilesFound, r.FilesAsked)
	row("message kept", r.MessagesHit, r.MessagesAsked)
	row("build errors named", r.BuildFound, r.BuildAsked)
	fmt.Fprintf(tw, "false passes\t%d\t\t\n", r.FalsePasses)
	fmt.Fprintf(tw, "green in every line of text (side channel needed)\t%d\t\t\n", r.NamesOnly)
	fmt.Fprintf(tw, "ids invented\t%d\t\t\n", r.InventedIDs)
	names := make([]string, 0, len(r.ByRunner))
	for n := range r.ByRunner {
		names = append(names, n)
	}
	sort.Strings(names)
	fmt.Fprintf(tw, "\nrunner\truns\tstate\tids\n")
	for _, n := range names {
		b := r.ByRunner[n]
		fmt.Fprintf(tw, "%s\t%d\t%d\t%d/%d\n", n, b.Records, b.StateRight, b.IDsFound, b.IDsAsked)
	}
	if misses {
		for _, m := range r.Misses {
			fmt.Fprintf(tw, "\n%s\t%s\twant %q\tgot %q", m.Record, m.What, m.Want, m.Got)
		}
		fmt.Fprintln(tw)
	}
	return tw.Flush()
}
