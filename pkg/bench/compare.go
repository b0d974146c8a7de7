package bench

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"

	"legwork/pkg/delegate"
)

// Comparison is two contenders on the same tasks, run by run.
type Comparison struct {
	A     string `json:"a"`
	B     string `json:"b"`
	Pairs int    `json:"pairs"`
	Tasks int    `json:"tasks"`
	// Alone are runs that have no partner on the other side, and are in no figure.
	Alone [2]int `json:"runs_without_partner"`
	// Solved and First are A less B, as shares; Calls is A's calls over B's. How tells where the interval of Solved
	// comes from.
	Solved     interval   `json:"solved"`
	SolvedEach [2]int     `json:"solved_each"`
	How        string     `json:"how"`
	First      interval   `json:"pass_at_1"`
	FirstEach  [2]int     `json:"pass_at_1_each"`
	Calls      *interval  `json:"calls_ratio,omitempty"`
	CallsEach  [2]float64 `json:"calls_each"`
	Tokens     *interval  `json:"output_tokens_ratio,omitempty"`
	// Green is the share of green tests in failed runs of each.
	Green [2]float64 `json:"green_in_fails"`
	Fails [2]int     `json:"fails"`
}

// pairKey joins runs of the two sides.
type pairKey struct {
	task, hash, other string
	run               int
}

// Compare pairs the rows of a and b on task and run. by is the thing that differs between the two ("policy" or
// "model"): the other one is the same in a pair. With "" two files are compared: one contender each, whoever it is,
// or the same contenders in both.
func Compare(a, b []*Row, by, nameA, nameB string) (*Comparison, error) {
	c := &Comparison{A: nameA, B: nameB}
	if by == "" && (several(a) || several(b)) {
		by = "file"
	}
	left, err := sideOf(a, by)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", nameA, err)
	}
	right, err := sideOf(b, by)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", nameB, err)
	}
	perTask := map[string][][2]*Row{}
	for k, r := range left {
		if o := right[k]; o != nil {
			perTask[k.task] = append(perTask[k.task], [2]*Row{r, o})
			c.Pairs++
		}
	}
	c.Alone = [2]int{len(left) - c.Pairs, len(right) - c.Pairs}
	c.Tasks = len(perTask)
	if c.Pairs == 0 {
		return nil, fmt.Errorf("%s and %s have no run of the same version of a task in common", nameA, nameB)
	}
	c.figures(perTask)
	return c, nil
}

// several says that the rows are of more than one model or policy.
func several(rows []*Row) bool {
	return slices.ContainsFunc(rows, func(r *Row) bool { return r.Model != rows[0].Model || r.Policy != rows[0].Policy })
}

// sideOf keys the rows of one side that count.
func sideOf(rows []*Row, by string) (map[pairKey]*Row, error) {
	out := map[pairKey]*Row{}
	s := choose(rows, 0)
	for _, r := range s.rows {
		k := pairKey{task: r.Task, hash: r.TaskHash, run: r.Run}
		switch by {
		case "policy":
			k.other = r.Model
		case "model":
			k.other = r.Policy
		case "file":
			k.other = r.Model + "\x00" + r.Policy
		}
		if old := out[k]; old != nil {
			return nil, fmt.Errorf("run %d of %s is there twice (%s under %s, %s under %s); compare by model or by policy", r.Run, r.Task, old.Model, old.Policy, r.Model, r.Policy)
		}
		out[k] = r
	}
	return out, nil
}

// figures computes all differences from the pairs of each task.
func (c *Comparison) figures(perTask map[string][][2]*Row) {
	var calls, tokens [][2]float64
	var greens [2][]float64
	for _, task := range slices.Sorted(maps.Keys(perTask)) {
		var call, token [2]float64
		for _, p := range perTask[task] {
			for i, r := range p {
				call[i] += float64(r.Calls)
				for _, a := range r.Attempts {
					token[i] += float64(a.OutTok)
				}
				if passed(r) {
					c.SolvedEach[i]++
				} else {
					c.Fails[i]++
					if r.Total > 0 {
						greens[i] = append(greens[i], float64(r.Green)/float64(r.Total))
					}
				}
				if atOnce(r) {
					c.FirstEach[i]++
				}
			}
		}
		c.CallsEach[0], c.CallsEach[1] = c.CallsEach[0]+call[0], c.CallsEach[1]+call[1]
		calls, tokens = append(calls, call), append(tokens, token)
	}
	for i := range 2 {
		c.CallsEach[i] /= float64(c.Pairs)
		slices.Sort(greens[i]) // sums do not depend on the order of rows
		c.Green[i] = meanOf(greens[i])
	}
	c.Solved, c.How = difference(perTask, passed)
	c.First, _ = difference(perTask, atOnce)
	c.Calls, c.Tokens = ratio(calls), ratio(tokens)
}

func passed(r *Row) bool { return r.Verdict == delegate.Pass }

func atOnce(r *Row) bool { return r.PassAt == 1 }

// difference is the mean over tasks of how much more often A does it than B. With one pair a task the interval
// is Newcombe's; with more it is Student's over the tasks, because runs of one task are alike. Where the tasks do
// not differ at all, Student's would be a point: then Newcombe's is taken with one pair a task.
func difference(perTask map[string][][2]*Row, does func(*Row) bool) (interval, string) {
	var diffs []float64
	var cells [4]float64 // both, only A, only B, none; a task counts one
	single := true
	for _, task := range slices.Sorted(maps.Keys(perTask)) {
		pairs := perTask[task]
		single = single && len(pairs) == 1
		sum := 0.0
		for _, p := range pairs {
			x, y := does(p[0]), does(p[1])
			sum += float64(b2i(x) - b2i(y))
			cells[2*b2i(!x)+b2i(!y)] += 1 / float64(len(pairs))
		}
		diffs = append(diffs, sum/float64(len(pairs)))
	}
	if !single {
		if i, ok := pairedT(diffs); ok {
			return interval{i.Mean, max(-1, i.Low), min(1, i.High)}, "Student's interval over tasks"
		}
	}
	i := newcombe(cells[0], cells[1], cells[2], cells[3])
	i.Mean = meanOf(diffs)
	return i, "Newcombe's interval for pairs"
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

// Write prints the comparison and says in words what can be said.
func (c *Comparison) Write(w io.Writer) error {
	pct := func(i interval) string {
		i = i.scale(100)
		return fmt.Sprintf("%+.1f points (95 %%: %+.1f to %+.1f)", i.Mean, i.Low, i.High)
	}
	times := func(i *interval) string {
		if i == nil {
			return "–"
		}
		if i.High == math.MaxFloat64 {
			return fmt.Sprintf("× %.2f (one task: no interval)", i.Mean)
		}
		return fmt.Sprintf("× %.2f (95 %%: %.2f to %.2f)", i.Mean, i.Low, i.High)
	}
	of := func(k int) string {
		return fmt.Sprintf("%d of %d (%.0f %%)", k, c.Pairs, 100*float64(k)/float64(c.Pairs))
	}
	green := func(i int) string {
		if c.Fails[i] == 0 {
			return "–"
		}
		return fmt.Sprintf("%.0f %% in %d", 100*c.Green[i], c.Fails[i])
	}
	fmt.Fprintf(w, "| | %s | %s | difference |\n|---|---|---|---|\n", c.A, c.B)
	fmt.Fprintf(w, "| solved | %s | %s | %s |\n", of(c.SolvedEach[0]), of(c.SolvedEach[1]), pct(c.Solved))
	fmt.Fprintf(w, "| solved at the first try | %s | %s | %s |\n", of(c.FirstEach[0]), of(c.FirstEach[1]), pct(c.First))
	fmt.Fprintf(w, "| calls per run | %.2f | %.2f | %s |\n", c.CallsEach[0], c.CallsEach[1], times(c.Calls))
	fmt.Fprintf(w, "| tokens out | | | %s |\n", times(c.Tokens))
	fmt.Fprintf(w, "| green tests of a FAIL | %s | %s | |\n\n", green(0), green(1))
	fmt.Fprintf(w, "%s of %s, paired by task and run", count(c.Pairs, "pair"), count(c.Tasks, "task"))
	if n := c.Alone[0] + c.Alone[1]; n > 0 {
		fmt.Fprintf(w, " (%s without a partner left out)", count(n, "run"))
	}
	_, err := fmt.Fprintf(w, ". Solved: %s; ratios: bootstrap over tasks.\n%s\n", c.How, c.verdict())
	return err
}

// verdict is what the data say, or that they do not.
func (c *Comparison) verdict() string {
	var out []string
	switch {
	case c.Solved.holds(0):
		out = append(out, fmt.Sprintf("These data cannot separate %s and %s in what is solved: the difference may be anything from %+.0f to %+.0f points.", c.A, c.B, 100*c.Solved.Low, 100*c.Solved.High))
	case c.Solved.Mean > 0:
		out = append(out, fmt.Sprintf("%s solves more than %s.", c.A, c.B))
	default:
		out = append(out, fmt.Sprintf("%s solves more than %s.", c.B, c.A))
	}
	switch {
	case c.Calls == nil:
	case c.Calls.Low == 1 && c.Calls.High == 1:
		out = append(out, "Both need the same calls.")
	case c.Calls.holds(1):
		out = append(out, "Nor in the calls they need.")
		if !c.Solved.holds(0) {
			out[len(out)-1] = "The calls they need cannot be told apart."
		}
	case c.Calls.Mean < 1:
		out = append(out, fmt.Sprintf("%s needs fewer calls.", c.A))
	default:
		out = append(out, fmt.Sprintf("%s needs fewer calls.", c.B))
	}
	return strings.Join(out, " ")
}

// CompareBy splits one file's rows by policy or model and compares every two, in order of their names.
func CompareBy(rows []*Row, by string) ([]*Comparison, error) {
	parts := map[string][]*Row{}
	for _, r := range rows {
		switch by {
		case "policy":
			parts[r.Policy] = append(parts[r.Policy], r)
		case "model":
			parts[r.Model] = append(parts[r.Model], r)
		default:
			return nil, fmt.Errorf("by: %q; it is policy or model", by)
		}
	}
	names := slices.Sorted(maps.Keys(parts))
	if by == "policy" { // the default is what the others are held against
		slices.SortStableFunc(names, func(a, b string) int { return cmp.Compare(b2i(b == "default"), b2i(a == "default")) })
	}
	if len(names) < 2 {
		return nil, fmt.Errorf("by %s: the rows hold one only (%s); two are compared", by, strings.Join(names, ""))
	}
	var out []*Comparison
	for i, a := range names {
		for _, b := range names[i+1:] {
			c, err := Compare(parts[a], parts[b], by, a, b)
			if err != nil {
				return nil, err
			}
			out = append(out, c)
		}
	}
	return out, nil
}
