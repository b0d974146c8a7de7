package runners

import (
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// readJest reads the JSON reports of jest, which vitest writes too, one for each run.
// The hook notes that a runner began; one without a report did not end.
func readJest(c *Channel, p part) Evidence {
	e := Evidence{Channel: p.name}
	begun := 0
	for _, v := range events(c.report("node.jsonl")) {
		if v.Kind == "start" {
			begun++
		}
	}
	e.Started = begun > 0
	files, _ := filepath.Glob(p.file + ".*") // the pattern is well formed
	for _, f := range files {
		var rep struct {
			Total       *int `json:"numTotalTests"`
			TestResults []struct {
				Name       string `json:"name"`
				Assertions []struct {
					Ancestors []string `json:"ancestorTitles"`
					Title     string   `json:"title"`
					Status    string   `json:"status"`
				} `json:"assertionResults"`
			} `json:"testResults"`
		}
		b, err := os.ReadFile(f)
		if err != nil || json.Unmarshal(b, &rep) != nil || rep.Total == nil {
			continue
		}
		begun--
		e.Started, e.Planned = true, new(val(e.Planned)+*rep.Total)
		if e.Passed == nil {
			e.Passed = []string{}
		}
		for _, f := range rep.TestResults {
			for _, a := range f.Assertions {
				id := strings.Join(append(a.Ancestors, a.Title), " > ")
				switch a.Status {
				case "passed":
					e.Passed = append(e.Passed, id)
				case "failed":
					e.Failed = append(e.Failed, id)
				default:
					e.Skipped = append(e.Skipped, id)
				}
			}
			if len(f.Assertions) == 0 {
				e.Empty = append(e.Empty, c.rel(f.Name))
			}
		}
	}
	e.Finished = e.Planned != nil && begun <= 0
	return e
}

// readGtest reads one report for each run of a googletest program; a program that
// ends early leaves none.
func readGtest(_ *Channel, p part) Evidence {
	e := Evidence{Channel: p.name}
	files, _ := filepath.Glob(filepath.Join(p.file, "*.json")) // the pattern is well formed
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			continue
		}
		var rep struct {
			Tests  int
			Suites []struct {
				Name  string
				Tests []struct {
					Name, Status, Result string
					Failures             []struct{}
				} `json:"testsuite"`
			} `json:"testsuites"`
		}
		e.Started, e.Finished = true, true
		if json.Unmarshal(b, &rep) != nil {
			e.Finished = false
			continue
		}
		for _, s := range rep.Suites {
			for _, t := range s.Tests {
				id := s.Name + "." + t.Name
				switch {
				case len(t.Failures) > 0:
					e.Failed = append(e.Failed, id)
				case t.Status == "RUN" && t.Result == "COMPLETED":
					e.Passed = append(e.Passed, id)
				default:
					e.Skipped = append(e.Skipped, id)
				}
			}
		}
	}
	return e
}

// readProve reads the raw TAP that prove keeps of each file.
func readProve(_ *Channel, p part) Evidence {
	e := Evidence{Channel: p.name}
	err := filepath.WalkDir(p.file, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(path) //nolint:gosec // G122: the folder is ours, made for this run alone
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(p.file, path) // path is below p.file
		e.Started = true
		planned, ran := -1, 0
		for l := range strings.SplitSeq(string(b), "\n") {
			if n, ok := strings.CutPrefix(l, "1.."); ok {
				planned = atoi(n)
				continue
			}
			rest, ok := strings.CutPrefix(strings.TrimPrefix(l, "not "), "ok ")
			if !ok {
				continue
			}
			ran++
			name, directive, _ := strings.Cut(rest, " # ")
			number, title, _ := strings.Cut(name, " ")
			id := strings.TrimSpace(filepath.ToSlash(rel) + " " + number + " " + strings.TrimPrefix(title, "- "))
			switch word := strings.ToUpper(directive); {
			case strings.HasPrefix(word, "SKIP") || strings.HasPrefix(word, "TODO"):
				e.Skipped = append(e.Skipped, id)
			case strings.HasPrefix(l, "not "):
				e.Failed = append(e.Failed, id)
			default:
				e.Passed = append(e.Passed, id)
			}
		}
		if planned < 0 || ran < planned {
			e.Lost = append(e.Lost, filepath.ToSlash(rel))
		}
		return nil
	})
	e.Finished = err == nil && e.Started && len(e.Lost) == 0
	return e
}

// readCtest reads ctest's own log: it holds the whole output of every test, so
// that a googletest program which stops inside a test is seen although its exit
// code 0 makes ctest call it passed.
func readCtest(c *Channel, p part) Evidence {
	e := Evidence{Channel: p.name}
	st, err := os.Stat(p.file)
	if err != nil || st.ModTime().Before(c.begun.Add(-2*time.Second)) {
		return e
	}
	b, err := os.ReadFile(p.file)
	if err != nil {
		return e
	}
	e.Started = true
	name, output := "", []string(nil)
	for l := range strings.SplitSeq(string(b), "\n") {
		switch {
		case strings.Contains(l, " Testing: "):
			_, name, _ = strings.Cut(l, " Testing: ")
			output = nil
		case l == "Test Passed.":
			e.Passed = append(e.Passed, name)
			if ctestLost(output) {
				e.Lost = append(e.Lost, name)
			}
		case strings.HasPrefix(l, "Test Failed.") || strings.HasPrefix(l, "Test Timeout."):
			e.Failed = append(e.Failed, name)
		case strings.HasPrefix(l, "End testing: "):
			e.Finished = true
		default:
			output = append(output, l)
		}
	}
	e.Finished = e.Finished && len(e.Lost) == 0
	return e
}
