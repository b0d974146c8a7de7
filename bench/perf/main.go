// Command perf measures what legwork promises about speed and size, and prints it as tables.
//
//	go run ./bench/perf [-write FILE] [-only REGEXP] [-runs N]
//
// A promise is one row: what, how it was measured, the limit, the value. Nothing is asserted here; a row
// over its limit says so and the exit code is 1.
package main

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"time"
)

// row is one measured promise.
type row struct {
	what, how  string
	limit, got float64 // in unit
	unit       string
	atLeast    bool // the value must be at least the limit
	note       string
}

func (r row) ok() bool {
	if r.atLeast {
		return r.got >= r.limit
	}
	return r.got <= r.limit
}

// section is a group of rows, measured together.
type section struct {
	name string
	run  func(*lab) ([]row, error)
}

var sections = []section{
	{"Start, stop and size", startAndStop},
	{"Sizes of the binaries", binarySizes},
	{"A command that prints 500 MB", bigOutput},
	{"Reading a large log", readingSpeed},
	{"What is read", readerQuality},
	{"What the hooks add to a Bash call", hookRows},
	models, reading, pages, delegateRows, shimRows, ledgerRows, benchRows,
}

// lab holds what all measurements need.
type lab struct {
	dir, bin, repo string
	runs           int
}

func main() {
	write := flag.String("write", "", "also write the tables to this file")
	only := flag.String("only", "", "run sections whose name matches this regular expression")
	runs := flag.Int("runs", 21, "repetitions of each timed measurement")
	flag.Parse()
	if err := run(*write, *only, *runs); err != nil {
		fmt.Fprintln(os.Stderr, "perf:", err)
		os.Exit(1)
	}
}

func run(write, only string, runs int) error {
	want, err := regexp.Compile("(?i)" + only)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "legwork-perf-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	repo, err := os.Getwd()
	if err != nil {
		return err
	}
	l := &lab{dir: dir, bin: filepath.Join(dir, "legwork"), repo: repo, runs: runs}
	if err := l.build(l.bin); err != nil {
		return err
	}
	var out strings.Builder
	fmt.Fprintf(&out, "# Performance\n\nMeasured %s with `make bench` on %s.\n", time.Now().Format("2006-01-02"), machine())
	missed := 0
	for _, s := range sections {
		if !want.MatchString(s.name) {
			continue
		}
		fmt.Fprintln(os.Stderr, "measuring:", s.name)
		rows, err := s.run(l)
		if err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
		text, bad := table(s.name, rows)
		missed += bad
		out.WriteString(text)
		fmt.Print(text)
	}
	if write != "" {
		if err := os.WriteFile(write, []byte(out.String()), 0o644); err != nil { //nolint:gosec // a published table
			return err
		}
	}
	if missed > 0 {
		return fmt.Errorf("%d rows are over their limit", missed)
	}
	return nil
}

func table(name string, rows []row) (text string, missed int) {
	var b strings.Builder
	fmt.Fprintf(&b, "\n## %s\n\n| what | how | limit | measured | |\n|---|---|---|---|---|\n", name)
	for _, r := range rows {
		sign, verdict := "≤", "ok"
		if r.atLeast {
			sign = "≥"
		}
		if !r.ok() {
			verdict = "**missed**"
			missed++
		}
		if r.note != "" {
			verdict += " · " + r.note
		}
		fmt.Fprintf(&b, "| %s | %s | %s %s %s | %s %s | %s |\n", r.what, r.how, sign, number(r.limit), r.unit, number(r.got), r.unit, verdict)
	}
	return b.String(), missed
}

func number(f float64) string {
	s := fmt.Sprintf("%.2f", f)
	return strings.TrimSuffix(strings.TrimRight(s, "0"), ".")
}

func machine() string {
	cpu := runtime.GOARCH
	if b, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		if m := regexp.MustCompile(`model name\s*: (.*)`).FindSubmatch(b); m != nil {
			cpu = string(m[1])
		}
	}
	return fmt.Sprintf("%s/%s, %d cores (%s), %s", runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), cpu, runtime.Version())
}

// build makes a release-like binary.
func (l *lab) build(to string, env ...string) error {
	flags, err := os.ReadFile(filepath.Join(l.repo, "buildflags"))
	if err != nil {
		return err
	}
	args := append([]string{"build", "-trimpath", "-buildvcs=false", "-ldflags", "-s -w -funcalign=4"}, strings.Fields(string(flags))...)
	cmd := exec.Command("go", append(args, "-o", to, "./cmd/legwork")...) //nolint:noctx // ends by itself
	cmd.Env = append(os.Environ(), append([]string{"CGO_ENABLED=0"}, env...)...)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("go build: %w\n%s", err, out)
	}
	return nil
}

// env is a scrubbed environment with a home of its own.
func (l *lab) env() []string {
	return []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + l.dir, "XDG_CACHE_HOME=" + filepath.Join(l.dir, "cache"),
		"LEGWORK_CONFIG_HOME=" + filepath.Join(l.dir, "config"), "LEGWORK_STATE_HOME=" + filepath.Join(l.dir, "state"),
	}
}

// median of durations, in milliseconds.
func median(d []time.Duration) float64 {
	slices.Sort(d)
	return float64(d[len(d)/2].Microseconds()) / 1000
}
