package bench

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// plainTask is a small task that needs node.
const plainTask = `kind: function
tier: 1
targets: [add.js]
test_command: node --test add.test.js
test_files: [add.test.js]
needs: [node]
spec: module.exports = { add }; add(a, b) returns the sum. Texts that hold a number count as that number.
properties:
  - add(a, b) equals add(b, a)
-- repo/add.test.js --
const test = require('node:test');
const assert = require('node:assert');
const { add } = require('./add.js');
test('adds numbers', () => assert.strictEqual(add(19, 23), 42));
test('takes texts', () => assert.strictEqual(add('1901', 1), 1902));
-- gold/add.js --
module.exports = { add: (a, b) => Number(a) + Number(b) };
-- wrong/plus/add.js --
module.exports = { add: (a, b) => a + b };
-- wrong/minus/add.js --
module.exports = { add: (a, b) => a - b };
`

func mustTask(t testing.TB, name, text string) *Task {
	t.Helper()
	k, err := ParseTask(name, []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func TestParseTask(t *testing.T) {
	t.Parallel()
	k := mustTask(t, "add", plainTask)
	if k.Kind != "function" || len(k.Wrong) != 2 || k.Gold["add.js"] == "" || len(k.Hash) != 16 || k.Properties[0] != "add(a, b) equals add(b, a)" {
		t.Errorf("%+v", k)
	}
	if again := mustTask(t, "add", strings.ReplaceAll(plainTask, "\n", "\r\n")); again.Hash != k.Hash || again.Gold["add.js"] != k.Gold["add.js"] {
		t.Error("the line endings of the checkout change the task")
	}
	if other := mustTask(t, "add", plainTask+"\n"); other.Hash == k.Hash {
		t.Error("a change is not seen")
	}
	for _, c := range []struct{ old, new, want string }{
		{"tier: 1", "tier: 4", "tier: 4; it is 1 to 3"},
		{"tier: 1", "level: 1", "field level not found"},
		{"kind: function", "kind: edit", "no target is in repo/"},
		{"kind: function", "kind: poem", `kind: "poem"; it is one of function`},
		{"targets: [add.js]", "targets: []", "targets: none"},
		{"targets: [add.js]", "targets: [add.js, sub.js]", "gold/sub.js is missing"},
		{"-- gold/add.js --", "-- gold/sum.js --", "gold/add.js is missing"},
		{"-- gold/add.js --", "-- golden/add.js --", "it is repo/PATH, gold/PATH or wrong/NAME/PATH"},
		{"-- wrong/minus/add.js --", "-- wrong/plus/add.js --", "is there twice"},
		{"-- wrong/minus/add.js --", "-- wrong/minus/sub.js --", "it is no target"},
		{"-- wrong/minus/add.js --", "-- wrong/minus/../add.js --", "the path is not one inside"},
		{"test_files: [add.test.js]", "test_files: [test.js]", "test.js is not among"},
		{"spec: module.exports = { add }; add(a, b) returns the sum. Texts that hold a number count as that number.", "spec: ''", "spec: missing"},
	} {
		_, err := ParseTask("add", []byte(strings.Replace(plainTask, c.old, c.new, 1)))
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.HasPrefix(err.Error(), "add: ") {
			t.Errorf("%s → %s: %v, want %s", c.old, c.new, err, c.want)
		}
	}
	text, _, _ := strings.Cut(plainTask, "-- wrong/")
	if _, err := ParseTask("add", []byte(text)); err == nil || !strings.Contains(err.Error(), "no wrong/") {
		t.Errorf("without wrong answers: %v", err)
	}
}

func TestPick(t *testing.T) {
	t.Parallel()
	all := []*Task{{Name: "a1", Kind: "go", Tier: 1}, {Name: "a2", Kind: "go", Tier: 3}, {Name: "b1", Kind: "parser", Tier: 1}}
	for _, c := range []struct {
		choices []string
		want    string
	}{
		{nil, "a1 a2 b1"},
		{[]string{"a*"}, "a1 a2"},
		{[]string{"a1,b1"}, "a1 b1"},
		{[]string{"kind=go", "tier=1"}, "a1"},
		{[]string{"tier=1,tier=3", "a*"}, "a1 a2"},
	} {
		got, err := pick(all, c.choices)
		var names []string
		for _, k := range got {
			names = append(names, k.Name)
		}
		if err != nil || strings.Join(names, " ") != c.want {
			t.Errorf("%v: %v %v", c.choices, names, err)
		}
	}
	for _, bad := range []string{"size=3", "zzz", "[", "tier=2"} {
		if _, err := pick(all, []string{bad}); err == nil {
			t.Errorf("%s: no error", bad)
		}
	}
}

// shipped is the folder of the tasks of the published tables, more that of the further ones.
var (
	shipped = filepath.Join("..", "..", "bench", "tasks")
	more    = filepath.Join("..", "..", "bench", "more")
)

// The shipped tasks: at least three of every kind in the tables, every tier, all well-formed.
func TestShippedTasks(t *testing.T) {
	t.Parallel()
	tasks, err := LoadTasks(shipped, nil)
	if err != nil {
		t.Fatal(err)
	}
	further, err := LoadTasks(more, nil)
	if err != nil {
		t.Fatal(err)
	}
	kinds, tiers := map[string]int{}, map[int]int{}
	for _, k := range further {
		tiers[k.Tier]++
		if len(k.Wrong) < 3 {
			t.Errorf("%s: %d wrong answers", k.Name, len(k.Wrong))
		}
	}
	for _, k := range tasks {
		kinds[k.Kind]++
		tiers[k.Tier]++
		if len(k.Wrong) < 3 {
			t.Errorf("%s: %d wrong answers", k.Name, len(k.Wrong))
		}
	}
	for _, kind := range TaskKinds() {
		if kinds[kind] < 3 {
			t.Errorf("%d tasks of kind %s", kinds[kind], kind)
		}
	}
	for tier := range maxTier {
		if tiers[tier+1] < 5 {
			t.Errorf("%d tasks of tier %d", tiers[tier+1], tier+1)
		}
	}
}

func TestLeaks(t *testing.T) {
	t.Parallel()
	k := mustTask(t, "add", plainTask)
	ask := "Write the file add.js. " + k.Spec
	if got := k.leaks([]string{ask}, "", noResult); len(got) > 0 {
		t.Errorf("nothing leaked, but: %v", got)
	}
	for _, text := range []string{
		"test('adds numbers', () => assert.strictEqual(add(19, 23), 42));", // a line
		"it adds numbers", // a literal
		"const { add } = require('./add.js');",
	} {
		if got := k.leaks([]string{ask, ask + "\n" + text}, "", noResult); len(got) == 0 || !strings.HasPrefix(got[0], "request 2: ") {
			t.Errorf("%s: %v", text, got)
		}
	}
	if got := k.leaks([]string{"const test = require('node:test');"}, "const test = require('node:test');\n", noResult); slices.ContainsFunc(got, func(l string) bool { return strings.Contains(l, "node:test") }) {
		t.Errorf("the model's own line: %v", got)
	}
}

func TestReadTasksFolder(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if _, err := LoadTasks(dir, nil); err == nil || !strings.Contains(err.Error(), "holds no tasks") {
		t.Errorf("empty folder: %v", err)
	}
	if err := os.WriteFile(filepath.Join(dir, "add.txtar"), []byte(plainTask), 0o600); err != nil {
		t.Fatal(err)
	}
	tasks, err := LoadTasks(dir, []string{"ad?"})
	if err != nil || len(tasks) != 1 || tasks[0].Name != "add" {
		t.Errorf("%v %v", tasks, err)
	}
}
