package runners

import (
	"crypto/rand"
	"embed"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"
)

//go:embed probe
var probeFiles embed.FS

// Setup is what is known of a command before it runs.
type Setup struct {
	// Command is the shell command as the user wrote it; it is read, never changed.
	Command string
	// Dir is the working directory of the run.
	Dir string
	// Env is the whole environment the command will get.
	Env []string
	// Temp is an existing folder for reports; each run gets a new random folder in it.
	Temp string
	// Spare is such a folder too; it is taken when options cannot hold the path of Temp (a blank in it). "" is none.
	Spare string
	// Gate asks for certainty at the price of time: go test without its result
	// cache, start-up code that runs twice. Without it such channels are left out.
	Gate bool
}

// Channel is the side channels attached to one run: files that the runner
// writes while it works, through its environment alone. They are evidence
// against accidents (a process that ends early, a test set that is empty), not
// against malice: code under test can write them too.
type Channel struct {
	dir   string
	parts []part
	env   map[string]string
	setup Setup
	begun time.Time
	// sure says that the part being attached fits a program of the command for certain.
	sure bool
}

// part is one attached probe.
type part struct {
	name string
	// guard: the part knows only who ended the process, not what the tests did.
	guard bool
	file  string // where the report is
	read  func(c *Channel, p part) Evidence
	// sure: its runner is in the command for certain, not perhaps behind make or a script.
	sure bool
}

// Attach finds out what Setup.Command will run and prepares the channels that
// fit. It returns a Channel without parts, and no error, when nothing fits or
// everything that fits could break the command. The caller appends Env to the
// environment, runs the command, calls Read, then Close.
//
// For a gate, a command that hides what it starts (make, a script) gets the channels
// that do no harm where their runner is not there; Sure does not count them.
func Attach(s Setup) (*Channel, error) {
	c := &Channel{setup: s, env: map[string]string{}}
	progs := slices.DeleteFunc(programs(s.Command, s.Dir, 0), func(p program) bool { return p.hook })
	hidden := s.Gate && slices.ContainsFunc(progs, hides)
	var fit []probe
	for _, p := range probes() {
		if slices.ContainsFunc(progs, p.fits) || hidden && p.harmless {
			fit = append(fit, p)
		}
	}
	if len(fit) == 0 || runtime.GOOS == "windows" {
		return c, nil
	}
	var id [9]byte
	if _, err := rand.Read(id[:]); err != nil {
		return nil, fmt.Errorf("name a folder for test reports: %w", err)
	}
	// Options inside environment variables are split at blanks.
	const splits = " \t\n\"'\\,:"
	temp := s.Temp
	if strings.ContainsAny(temp, splits) {
		temp = s.Spare
	}
	if temp == "" || strings.ContainsAny(temp, splits) {
		return &Channel{setup: s}, nil
	}
	c.dir = filepath.Join(temp, "legwork-probe-"+hex.EncodeToString(id[:]))
	if err := os.Mkdir(c.dir, 0o700); err != nil {
		return nil, fmt.Errorf("make a folder for test reports: %w", err)
	}
	for _, p := range fit {
		c.sure = slices.ContainsFunc(progs, func(prog program) bool { return p.fits(prog) && (p.sure == nil || p.sure(prog)) })
		before := len(c.parts)
		if err := p.attach(c, progs); err != nil {
			_ = os.RemoveAll(c.dir)
			return nil, fmt.Errorf("attach %s: %w", p.name, err)
		}
		for i := before; i < len(c.parts); i++ {
			c.parts[i].sure = c.sure
		}
	}
	return c, nil
}

// Env is what the run's environment gets in addition ("KEY=value", sorted); an
// entry replaces the one of the same name. Nil when no channel is attached.
func (c *Channel) Env() []string {
	var out []string
	for k, v := range c.env {
		out = append(out, k+"="+v)
	}
	slices.Sort(out)
	return out
}

// Attached names the channels in use, for the user to see.
func (c *Channel) Attached() []string {
	var out []string
	for _, p := range c.parts {
		out = append(out, p.name)
	}
	return out
}

// Sure says that the command starts a runner whose channel is attached: a run that
// leaves no report did not get to its tests.
func (c *Channel) Sure() bool {
	return slices.ContainsFunc(c.parts, func(p part) bool { return p.sure && !p.guard })
}

// Close removes the reports.
func (c *Channel) Close() error {
	if c == nil || c.dir == "" {
		return nil
	}
	return os.RemoveAll(c.dir)
}

// lookup is the value a variable will have in the run.
func (c *Channel) lookup(key string) string {
	if v, ok := c.env[key]; ok {
		return v
	}
	for _, v := range slices.Backward(c.setup.Env) {
		if k, v, _ := strings.Cut(v, "="); k == key {
			return v
		}
	}
	return ""
}

// add appends words to an option variable, keeping what is there.
func (c *Channel) add(key, words string) {
	c.env[key] = strings.TrimSpace(c.lookup(key) + " " + words)
}

// prepend puts dir before a path list.
func (c *Channel) prepend(key, dir string) {
	if old := c.lookup(key); old != "" {
		dir += string(os.PathListSeparator) + old
	}
	c.env[key] = dir
}

// write puts a probe file into the run's folder; @REPORT@ and the other marks in
// it become quoted paths.
func (c *Channel) write(name string, marks map[string]string) (string, error) {
	b, err := probeFiles.ReadFile("probe/" + name)
	if err != nil {
		return "", err
	}
	text := string(b)
	for k, v := range marks {
		q, err := json.Marshal(v)
		if err != nil {
			return "", err
		}
		if v == "" {
			q = []byte(`""`)
		}
		text = strings.ReplaceAll(text, "@"+k+"@", string(q))
	}
	path := filepath.Join(c.dir, name)
	mode := os.FileMode(0o600)
	if strings.HasSuffix(name, ".sh") {
		mode = 0o700
	}
	return path, os.WriteFile(path, []byte(text), mode)
}

// report is the path of a report file in the run's folder.
func (c *Channel) report(name string) string { return filepath.Join(c.dir, name) }
