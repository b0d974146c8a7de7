package bench

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/rogpeppe/go-internal/txtar"
	"gopkg.in/yaml.v3"
)

// Task is one file of a set: what a model shall write, the hidden test that decides, and answers that are
// known to be right and wrong.
type Task struct {
	Name       string   `yaml:"-"`
	Kind       string   `yaml:"kind"` // one of TaskKinds
	Tier       int      `yaml:"tier"` // 1 very easy, 2 middling, 3 hard
	Targets    []string `yaml:"targets"`
	Test       string   `yaml:"test_command"`
	TestFiles  []string `yaml:"test_files"`
	Spec       string   `yaml:"spec"`
	Properties []string `yaml:"properties"`
	Context    string   `yaml:"context"`
	Needs      []string `yaml:"needs"` // programs on PATH

	Repo  map[string]string            `yaml:"-"` // what is committed before the work begins, hidden tests included
	Gold  map[string]string            `yaml:"-"` // the targets, right
	Wrong map[string]map[string]string `yaml:"-"` // by name: plausible, and wrong
	Hash  string                       `yaml:"-"` // of the whole file, line endings aside
}

// TaskKinds are the kinds of tasks.
func TaskKinds() []string {
	return []string{"function", "parser", "stateful", "edit", "pytest", "underspecified", "go", "multifile"}
}

// maxTier is the hardest.
const maxTier = 3

// ParseTask reads one task: YAML, then a txtar archive of repo/PATH, gold/PATH and wrong/NAME/PATH. A wrong
// answer that leaves out one of several targets has the right one there.
func ParseTask(name string, data []byte) (*Task, error) {
	data = bytes.ReplaceAll(data, []byte("\r\n"), []byte("\n"))
	sum := sha256.Sum256(data)
	t := &Task{
		Name: name, Hash: hex.EncodeToString(sum[:])[:16],
		Repo: map[string]string{}, Gold: map[string]string{}, Wrong: map[string]map[string]string{},
	}
	ar := txtar.Parse(data)
	dec := yaml.NewDecoder(bytes.NewReader(ar.Comment))
	dec.KnownFields(true)
	if err := dec.Decode(t); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if err := dec.Decode(new(any)); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%s: something follows the first YAML document", name)
	}
	for _, f := range ar.Files {
		if err := t.file(f.Name, string(f.Data)); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	if err := t.check(); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return t, nil
}

// file sorts one file of the archive into its place.
func (t *Task) file(name, text string) error {
	top, rest, _ := strings.Cut(name, "/")
	into := t.Repo
	switch top {
	case "repo":
	case "gold":
		into = t.Gold
	case "wrong":
		var which string
		which, rest, _ = strings.Cut(rest, "/")
		if t.Wrong[which] == nil {
			t.Wrong[which] = map[string]string{}
		}
		into = t.Wrong[which]
	default:
		return fmt.Errorf("file %q: it is repo/PATH, gold/PATH or wrong/NAME/PATH", name)
	}
	if !filepath.IsLocal(filepath.FromSlash(rest)) || path.Clean(rest) != rest || rest == "." {
		return fmt.Errorf("file %q: the path is not one inside a folder", name)
	}
	if _, twice := into[rest]; twice {
		return fmt.Errorf("file %q is there twice", name)
	}
	into[rest] = text
	return nil
}

// check refuses what cannot be a task.
func (t *Task) check() error {
	switch {
	case !slices.Contains(TaskKinds(), t.Kind):
		return fmt.Errorf("kind: %q; it is one of %s", t.Kind, strings.Join(TaskKinds(), ", "))
	case t.Tier < 1 || t.Tier > maxTier:
		return fmt.Errorf("tier: %d; it is 1 to %d", t.Tier, maxTier)
	case len(t.Targets) == 0:
		return errors.New("targets: none")
	case t.Test == "":
		return errors.New("test_command: missing")
	case len(t.TestFiles) == 0:
		return errors.New("test_files: none")
	case strings.TrimSpace(t.Spec) == "":
		return errors.New("spec: missing")
	case len(t.Wrong) == 0:
		return errors.New("no wrong/NAME/PATH: a gate that nothing wrong was tried on proves nothing")
	}
	for _, f := range t.TestFiles {
		if _, ok := t.Repo[f]; !ok {
			return fmt.Errorf("test_files: %s is not among the files of repo/", f)
		}
	}
	old := false
	for _, target := range t.Targets {
		if _, ok := t.Gold[target]; !ok {
			return fmt.Errorf("gold/%s is missing", target)
		}
		_, there := t.Repo[target]
		old = old || there
	}
	if t.Kind == "edit" && !old {
		return errors.New("kind edit, but no target is in repo/")
	}
	for name, files := range t.answers() {
		for f := range files {
			if !slices.Contains(t.Targets, f) {
				return fmt.Errorf("%s/%s: it is no target", name, f)
			}
		}
	}
	return nil
}

// answers are all known answers by their folder.
func (t *Task) answers() map[string]map[string]string {
	all := map[string]map[string]string{"gold": t.Gold}
	for name, files := range t.Wrong {
		all["wrong/"+name] = files
	}
	return all
}

// wrong is a wrong answer with all targets.
func (t *Task) wrong(name string) map[string]string {
	files := maps.Clone(t.Gold)
	maps.Copy(files, t.Wrong[name])
	return files
}

// LoadTasks reads all tasks of a folder, by name, that the choices allow (see pick). None is an error.
func LoadTasks(dir string, choices []string) ([]*Task, error) {
	paths, err := filepath.Glob(filepath.Join(dir, "*.txtar"))
	if err != nil {
		return nil, err
	}
	var all []*Task
	for _, p := range paths {
		b, err := os.ReadFile(p)
		if err != nil {
			return nil, err
		}
		t, err := ParseTask(strings.TrimSuffix(filepath.Base(p), ".txtar"), b)
		if err != nil {
			return nil, err
		}
		all = append(all, t)
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("%s holds no tasks (NAME.txtar)", dir)
	}
	return pick(all, choices)
}

// pick keeps the tasks that the choices allow: globs of names, kind=KIND, tier=TIER, several with commas
// between. Of each sort one must fit.
func pick(all []*Task, choices []string) ([]*Task, error) {
	sorts := map[string][]string{}
	for _, list := range choices {
		for c := range strings.SplitSeq(list, ",") {
			key, value, ok := strings.Cut(c, "=")
			if !ok {
				key, value = "name", c
			}
			if !slices.Contains([]string{"name", "kind", "tier"}, key) {
				return nil, fmt.Errorf("tasks: %q; it is a glob of names, kind=KIND or tier=TIER", c)
			}
			if _, err := path.Match(value, ""); err != nil {
				return nil, fmt.Errorf("tasks: %q: %w", c, err)
			}
			sorts[key] = append(sorts[key], value)
		}
	}
	var out []*Task
	for _, t := range all {
		fits := true
		for key, values := range sorts {
			own := map[string]string{"name": t.Name, "kind": t.Kind, "tier": strconv.Itoa(t.Tier)}[key]
			fits = fits && slices.ContainsFunc(values, func(glob string) bool { ok, _ := path.Match(glob, own); return ok })
		}
		if fits {
			out = append(out, t)
		}
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("tasks: none of %d fits %s", len(all), strings.Join(choices, ", "))
	}
	return out, nil
}

// PickRows keeps the rows of tasks that the choices allow, as LoadTasks does.
func PickRows(rows []*Row, choices []string) ([]*Row, error) {
	if len(choices) == 0 {
		return rows, nil
	}
	fits := map[*Task]*Row{}
	var all []*Task
	for _, r := range rows {
		t := &Task{Name: r.Task, Kind: r.Kind, Tier: r.Tier}
		fits[t] = r
		all = append(all, t)
	}
	picked, err := pick(all, choices)
	var out []*Row
	for _, t := range picked {
		out = append(out, fits[t])
	}
	return out, err
}
