package delegate

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"legwork/pkg/llm/llmtest"
)

// A file stands where the target's folder must be: the passing candidate stays, and the reply says where and why.
func TestApplyErrorKeepsTheCandidate(t *testing.T) {
	t.Parallel()
	s := shellSite(t)
	put(t, s.dir, "check.sh", "grep -q right sub/out.txt\n")
	s.server = llmtest.NewLlamaServer(t, llmtest.Config{Answer: func(llmtest.Call) llmtest.Reply {
		put(t, s.dir, "sub", "the user's file of that name\n")
		return llmtest.Reply{Text: "```text\nright\n```"}
	}})
	res, err := s.run(Request{Targets: []string{"sub/out.txt"}, Test: "sh check.sh", Spec: "Write the word."})
	if err != nil {
		t.Fatal(err)
	}
	if res.Verdict != Pass || res.Applied || len(res.Candidate) != 1 || !strings.Contains(res.Text(), "passing file: "+res.Candidate[0]) || !strings.Contains(res.Text(), "\nnot applied: ") {
		t.Fatalf("%s", res.Text())
	}
	if b, err := os.ReadFile(res.Candidate[0]); err != nil || string(b) != "right\n" {
		t.Errorf("candidate: %q %v", b, err)
	}
}

// The user's file has two of three tests green, the best candidate one: it is not put in its place.
func TestApplyBestNeedsMoreGreenTests(t *testing.T) {
	t.Parallel()
	needs(t, "pytest")
	was := "def a():\n    return 1\n\n\ndef b():\n    return 2\n\n\ndef c():\n    return 0\n"
	s := newSite(t, map[string]string{
		"slug.py":      was,
		"test_slug.py": "import slug\n\n\ndef test_a():\n    assert slug.a() == 1\n\n\ndef test_b():\n    assert slug.b() == 2\n\n\ndef test_c():\n    assert slug.c() == 3\n",
	})
	worse := "def a():\n    return 1\n\n\ndef b():\n    return 0\n\n\ndef c():\n    return 9\n"
	s.answers("python", worse, worse)
	res, err := s.run(Request{Targets: []string{"slug.py"}, Test: "pytest -q test_slug.py", Spec: "c() returns 3.", Apply: ApplyBest})
	if err != nil {
		t.Fatal(err)
	}
	if res.Verdict != Fail || res.Applied || s.read("slug.py") != was || strings.Contains(res.Text(), "apply: best puts it in place") {
		t.Errorf("%s\n%s", res.Text(), s.read("slug.py"))
	}
}

// Bytes that are no UTF-8, and binary files, would come back as others.
func TestTargetIsNoText(t *testing.T) {
	t.Parallel()
	for name, data := range map[string]string{"latin.php": "<?php\nconst G = \"caf\xe9\";\n", "wide.txt": "a\x00b\x00"} {
		s := shellSite(t)
		put(t, s.dir, name, data)
		_, err := s.run(Request{Targets: []string{name}, Test: "sh check.sh"})
		if refused := (*RefusedError)(nil); !errors.As(err, &refused) || !strings.Contains(err.Error(), name+" is not UTF-8 text") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// What stopped the small model did not stop the call.
func TestEscalationDoesNotSayStopped(t *testing.T) {
	t.Parallel()
	s := shellSite(t)
	s.server = llmtest.NewVLLM(t, llmtest.Config{Models: []llmtest.Model{{ID: "small"}, {ID: "big"}}})
	s.settings = "delegate: {model: [small, big], sandbox: \"off\"}\n"
	s.answers("text", "wrong", "wrong", "right")
	res, err := s.run(shellTask)
	if err != nil {
		t.Fatal(err)
	}
	if res.Verdict != Pass || res.Model != "big" || res.Stopped != "" {
		t.Errorf("%s", res.Text())
	}
}

// A new file that begins with #! can be run; the user's own permissions stay.
func TestNewScriptIsExecutable(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("no permission bits")
	}
	needs(t, "bash")
	s := newSite(t, map[string]string{"check.sh": "[ \"$(./greet.sh Bob)\" = 'hi Bob' ]\n"})
	s.answers("sh", "#!/bin/sh\necho \"hi $1\"\n")
	res, err := s.run(Request{Targets: []string{"greet.sh"}, Test: "bash check.sh", Spec: "Greets."})
	if err != nil {
		t.Fatal(err)
	}
	st, err := os.Stat(filepath.Join(s.dir, "greet.sh"))
	if res.Verdict != Pass || err != nil || st.Mode().Perm() != 0o755 {
		t.Errorf("%v %v\n%s", st, err, res.Text())
	}
}

// Lines that look like a comment are no reason not to run an answer.
func TestChangeBehindAMark(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name, tag, target, answer string
		files                     map[string]string
		req                       Request
		tools                     []string
	}{
		{"a regular expression", "javascript", "host.js", "exports.host = (u) => u.replace(/^https?:\\/\\//, '').split('/')[0];\n", map[string]string{
			"host.js": "exports.host = (u) => u.replace(/^https?:\\/\\//, '');\n", "check.js": "if (require('./host.js').host('https://a.b/c') !== 'a.b') process.exit(1);\n",
		}, Request{Test: "node check.js"}, []string{"node"}},
		{"the number of arguments", "sh", "two.sh", "if [ $# -ne 2 ]; then exit 2; fi\n", map[string]string{"two.sh": "if [ $# -ne 1 ]; then exit 2; fi\n", "check.sh": "sh two.sh a b\n"}, Request{Test: "sh check.sh"}, nil},
		{"a directive", "go", "e.go", "package slug\n\nimport _ \"embed\"\n\n//go:embed d.txt\nvar Data string\n", map[string]string{
			"go.mod": "module example.com/slug\n\ngo 1.22\n", "d.txt": "hi", "e.go": "package slug\n\nimport _ \"embed\"\n\nvar Data string\n",
			"e_test.go": "package slug\n\nimport \"testing\"\n\nfunc TestData(t *testing.T) {\n\tif Data != \"hi\" {\n\t\tt.Fatal(Data)\n\t}\n}\n",
		}, Request{Test: "go test ./..."}, []string{"go"}},
	}
	for _, k := range cases {
		t.Run(k.name, func(t *testing.T) {
			t.Parallel()
			needs(t, append(k.tools, "sh")...)
			s := newSite(t, k.files)
			s.answers(k.tag, k.answer)
			k.req.Targets, k.req.Spec = []string{k.target}, "Do it."
			if res, err := s.run(k.req); err != nil || res.Verdict != Pass || s.read(k.target) != k.answer {
				t.Errorf("%v %v %q", err, res, s.read(k.target))
			}
		})
	}
}
