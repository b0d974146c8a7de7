package delegate

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"legwork/pkg/config"
	"legwork/pkg/llm"
	"legwork/pkg/llm/llmtest"
	"legwork/pkg/proc"
)

// Environment of TestLiveCompare: how often each task is done, and where the raw results go (appended).
const (
	runsEnv = "LEGWORK_TEST_RUNS"
	rawEnv  = "LEGWORK_TEST_RAW"
)

// liveTask is one file of testdata/tasks: what to write, and the test that decides.
type liveTask struct {
	name, level, target, test, spec string
	properties                      []string
	files                           map[string]string
}

func liveTasks(t *testing.T) []liveTask {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join("testdata", "tasks", "*.txtar"))
	if err != nil || len(paths) == 0 {
		t.Fatal("no tasks", err)
	}
	var out []liveTask
	for _, p := range paths {
		ar, err := txtar.ParseFile(p)
		if err != nil {
			t.Fatal(err)
		}
		k := liveTask{name: strings.TrimSuffix(filepath.Base(p), ".txtar"), files: map[string]string{}}
		for line := range strings.SplitSeq(string(ar.Comment), "\n") {
			key, value, _ := strings.Cut(line, ": ")
			switch key {
			case "level":
				k.level = value
			case "target":
				k.target = value
			case "test":
				k.test = value
			case "spec":
				k.spec = value
			case "property":
				k.properties = append(k.properties, value)
			}
		}
		for _, f := range ar.Files {
			k.files[f.Name] = string(f.Data)
		}
		out = append(out, k)
	}
	return out
}

// liveRun is one line of the raw results.
type liveRun struct {
	Task    string `json:"task"`
	Level   string `json:"level"`
	Run     int    `json:"run"`
	Policy  string `json:"policy"`
	Pass    bool   `json:"pass"`
	Verdict string `json:"verdict"`
	Outcome string `json:"outcome"`
	Calls   int    `json:"calls"`
	Green   int    `json:"green"`
	Total   int    `json:"total"`
	OutTok  int    `json:"out_tok"`
	MS      int64  `json:"ms"`
	Model   string `json:"model"`
}

// TestLiveCompare puts the default policy beside a plain repair loop (one conversation, temperature 0.2,
// three tries) with a real model, turn by turn in one run, and prints the table.
func TestLiveCompare(t *testing.T) {
	model := llmtest.RealModel(t)
	needs(t, "node", "pytest")
	runs := 3
	if s := os.Getenv(runsEnv); s != "" {
		n, err := strconv.Atoi(s)
		if err != nil {
			t.Fatal(err)
		}
		runs = n
	}
	server := llmtest.StartLlamaServer(t, model, "-np", "1", "-c", "8192")
	home := t.TempDir()
	var all []liveRun
	for run := range runs {
		for _, k := range liveTasks(t) {
			for _, policy := range []string{"default", "classic"} {
				r := k.do(t, server.URL, filepath.Join(home, policy), policy)
				r.Run = run
				all = append(all, r)
				keepRaw(t, r)
			}
		}
	}
	t.Log("\n" + liveTable(all))
}

// do carries out one task under one policy; state is kept over tasks, as it is in real use.
func (k liveTask) do(t *testing.T, url, home, policy string) liveRun {
	t.Helper()
	s := newSite(t, k.files)
	put(t, home, "config/config.yaml", "endpoints:\n  local: {base_url: "+url+"}\ndelegate: {sandbox: \"off\", policy: "+policy+"}\n")
	env := append(slices.Clone(s.env), "LEGWORK_CONFIG_HOME="+filepath.Join(home, "config"))
	cfg, err := config.Load(config.Options{Dir: s.dir, Env: env})
	if err != nil {
		t.Fatal(err)
	}
	state := filepath.Join(home, "state")
	res, err := Run(t.Context(), Deps{
		Config: cfg, Models: llm.New(llm.FromConfig(cfg), llm.Options{StateDir: state}), StateDir: state, Env: env, Children: &proc.Group{},
	}, Request{Spec: k.spec, Targets: []string{k.target}, Test: k.test, Properties: k.properties, Dir: s.dir})
	if err != nil {
		t.Fatalf("%s: %v", k.name, err)
	}
	t.Logf("%s, %s: %s", k.name, policy, strings.SplitN(res.Text(), "\n", 2)[0])
	return liveRun{
		Task: k.name, Level: k.level, Policy: policy, Pass: res.Verdict == Pass, Verdict: res.Verdict, Outcome: res.Outcome, Calls: res.Calls,
		Green: res.Green, Total: res.Total, OutTok: res.OutTok, MS: res.MS, Model: res.Model,
	}
}

func keepRaw(t *testing.T, r liveRun) {
	t.Helper()
	path := os.Getenv(rawEnv)
	if path == "" {
		return
	}
	b, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Write(append(b, '\n')); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}

// liveTable is the comparison by level, with the paired difference of solved tasks and its 95 % interval
// (bootstrap over tasks).
func liveTable(all []liveRun) string {
	var b strings.Builder
	b.WriteString("| level | policy | n | solved | calls a task | tokens out a task | green share of a FAIL |\n|---|---|---|---|---|---|---|\n")
	for _, level := range []string{"easy", "middling", ""} {
		for _, policy := range []string{"default", "classic"} {
			n, solved, calls, tok, fails := 0, 0, 0, 0, 0
			share := 0.0
			for _, r := range all {
				if r.Policy != policy || level != "" && r.Level != level {
					continue
				}
				n++
				calls += r.Calls
				tok += r.OutTok
				if r.Pass {
					solved++
				} else if r.Total > 0 {
					fails++
					share += float64(r.Green) / float64(r.Total)
				}
			}
			name := level
			if name == "" {
				name = "all"
			}
			d := float64(max(n, 1))
			fmt.Fprintf(&b, "| %s | %s | %d | %d (%.0f %%) | %.2f | %.0f | %.0f %% |\n", name, policy, n, solved, 100*float64(solved)/d, float64(calls)/d, float64(tok)/d,
				100*share/float64(max(fails, 1)))
		}
	}
	mean, low, high := paired(all)
	fmt.Fprintf(&b, "\nsolved, default less classic, paired by task: %+.1f points (95 %%: %+.1f to %+.1f)\n", mean, low, high)
	return b.String()
}

// paired is the mean difference in percent points and its interval.
func paired(all []liveRun) (mean, low, high float64) {
	diff, n := map[string]float64{}, map[string]float64{}
	for _, r := range all {
		v := 0.0
		if r.Pass {
			v = 100
		}
		if r.Policy == "classic" {
			v = -v
		}
		diff[r.Task] += v
		n[r.Task] += 0.5
	}
	tasks := slices.Sorted(maps.Keys(diff))
	if len(tasks) == 0 {
		return 0, 0, 0
	}
	var means []float64
	rng := rand.New(rand.NewPCG(1, 2)) // the same interval for the same results
	for range 2000 {
		sum := 0.0
		for range tasks {
			k := tasks[rng.IntN(len(tasks))]
			sum += diff[k] / n[k]
		}
		means = append(means, sum/float64(len(tasks)))
	}
	for _, k := range tasks {
		mean += diff[k] / n[k] / float64(len(tasks))
	}
	slices.Sort(means)
	return mean, means[len(means)*25/1000], means[len(means)*975/1000]
}

// The tasks are sound: a test that is red without the file, and for the right reason.
func TestLiveTasksAreGates(t *testing.T) {
	t.Parallel()
	needs(t, "node", "pytest")
	for _, k := range liveTasks(t) {
		t.Run(k.name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, k.files)
			s.answers("", "nothing", "nothing")
			res, err := s.run(Request{Spec: k.spec, Targets: []string{k.target}, Test: k.test})
			if err != nil || res.Verdict != Fail || res.Gate != GateNames {
				t.Fatalf("%v %v", err, res)
			}
		})
	}
}
