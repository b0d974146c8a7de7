package main

import (
	"fmt"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
)

// gobench is a row read off a Go benchmark.
type gobench struct {
	row
	pkg, name string // package directory and benchmark, sub-benchmark included
	metric    string // ns/op, MB/s, or a metric of the benchmark's own
	scale     float64
	minus     string // benchmark of the same package whose value is subtracted
	times     string // -benchtime
}

const million = 1e6

var models = section{"Models", func(l *lab) ([]row, error) {
	return l.gobenches(
		gobench{row{what: "probe of 8 endpoints, half of them dead", limit: 2600, unit: "ms"}, "llm", "BenchmarkProbe8HalfDead", "ns/op", 1 / million, "", "5x"},
		gobench{row{what: "a call over its raw HTTP exchange, 76 kB prompt", limit: 2, unit: "ms"}, "llm", "BenchmarkOverhead/Chat", "ns/op", 1 / million, "BenchmarkOverhead/raw", "200x"},
		gobench{row{what: "taking and giving back a slot", limit: 2, unit: "ms"}, "llm", "BenchmarkSlot", "ns/op", 1 / million, "", "200x"},
	)
}}

var reading = section{"Reading output", func(l *lab) ([]row, error) {
	return l.gobenches(
		gobench{row{what: "clean, plain text", limit: 100, unit: "MB/s", atLeast: true}, "clean", "BenchmarkPlain", "MB/s", 1, "", "20x"},
		gobench{row{what: "parse, a test log of any size", limit: 100, unit: "MB/s", atLeast: true}, "runners", "BenchmarkScanner", "MB/s", 1, "", "3x"},
		gobench{row{what: "scan and rank for a question", limit: 100, unit: "MB/s", atLeast: true}, "digest", "BenchmarkScanSelect", "MB/s", 1, "", "3x"},
	)
}}

var pages = section{"Pages", func(l *lab) ([]row, error) {
	return l.gobenches(
		gobench{row{what: "5 pages, instant model, over the slowest page", limit: 150, unit: "ms"}, "research", "BenchmarkOverhead", "ms-over-slowest", 1, "", "5x"},
	)
}}

var shimRows = section{"Shim", func(l *lab) ([]row, error) {
	return l.gobenches(
		gobench{row{what: "added to a 100 kB request, median", limit: 1000, unit: "µs"}, "shim", "BenchmarkRequest100KB", "µs-shim-adds", 1, "", "200x"},
		gobench{row{what: "added to a streamed event", limit: 50, unit: "µs"}, "shim", "BenchmarkPerEvent", "µs-shim-adds/event", 1, "", "50x"},
		gobench{row{what: "memory held for requests in flight", limit: 4, unit: "× the request"}, "shim", "BenchmarkHeld", "x-request", 1, "", "5x"},
	)
}}

var delegateRows = section{"Delegate", func(l *lab) ([]row, error) {
	return l.gobenches(
		gobench{row{what: "a call less model and test, 50 files", limit: 150, unit: "ms"}, "delegate", "BenchmarkOverhead/50", "overhead-ms/op", 1, "", "5x"},
		gobench{row{what: "a call less model and test, 20,000 files", limit: 1.5, unit: "× git worktree add + remove"}, "delegate", "BenchmarkOverhead/20000", "x-git", 1, "", "3x"},
	)
}}

var benchRows = section{"The bench itself", func(l *lab) ([]row, error) {
	return l.gobenches(
		gobench{row{what: "`bench table` over 10,000 rows, Markdown and page", limit: 1000, unit: "ms"}, "bench", "BenchmarkTable", "ns/op", 1 / million, "", "5x"},
		gobench{row{what: "a run of `bench run` outside model and test", limit: 300, unit: "ms"}, "bench", "BenchmarkBenchOverhead", "overhead-ms", 1, "", "10x"},
	)
}}

// gobenches runs each benchmark once and turns its metric into a row.
func (l *lab) gobenches(list ...gobench) ([]row, error) {
	var rows []row
	for _, g := range list {
		got, err := l.gobench(g.pkg, g.name, g.metric, g.times)
		if err != nil {
			return nil, err
		}
		if g.minus != "" {
			base, err := l.gobench(g.pkg, g.minus, g.metric, g.times)
			if err != nil {
				return nil, err
			}
			got -= base
		}
		g.how = fmt.Sprintf("`%s` of pkg/%s", strings.TrimPrefix(g.name, "Benchmark"), g.pkg)
		g.got = got * g.scale
		rows = append(rows, g.row)
	}
	return rows, nil
}

var benchLine = regexp.MustCompile(`(?m)^(Benchmark\S+?)(?:-\d+)?\s+\d+\s+(.*)$`)

func (l *lab) gobench(pkg, name, metric, times string) (float64, error) {
	pattern := "^" + strings.ReplaceAll(regexp.QuoteMeta(name), "/", "$/^") + "$"
	cmd := exec.Command("go", "test", "-run", "^$", "-bench", pattern, "-benchtime", times, "./pkg/"+pkg) //nolint:noctx // ends by itself
	cmd.Dir = l.repo
	out, err := cmd.CombinedOutput()
	if err != nil {
		return 0, fmt.Errorf("%s: %w\n%s", name, err, out)
	}
	for _, m := range benchLine.FindAllStringSubmatch(string(out), -1) {
		if m[1] != name {
			continue
		}
		f := strings.Fields(m[2])
		for i := 0; i+1 < len(f); i += 2 {
			if f[i+1] == metric {
				return strconv.ParseFloat(f[i], 64)
			}
		}
	}
	return 0, fmt.Errorf("%s reports no %s:\n%s", name, metric, out)
}
