package release

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// prebuilt is where the binaries are, with SHA256SUMS and SOURCE beside them.
const prebuilt = "bin/prebuilt"

// Record is bin/prebuilt/SOURCE: what the binaries were made from.
type Record struct {
	Version Version
	Commit  string // 40 hex digits
	Go      string // the toolchain, like go1.26.8
	Sources string // HashSources of the commit
}

func (r Record) String() string {
	return fmt.Sprintf("version %s\ncommit %s\ngo %s\nsources %s\n", r.Version, r.Commit, r.Go, r.Sources)
}

var recordForm = regexp.MustCompile(`^version (\S+)\ncommit ([0-9a-f]{40})\ngo (go\d\S*)\nsources ([0-9a-f]{64})\n$`)

// Record reads bin/prebuilt/SOURCE. The error is os.ErrNotExist when there are no binaries.
func (p *Project) Record() (Record, error) {
	text, err := os.ReadFile(p.path(prebuilt + "/SOURCE"))
	if err != nil {
		return Record{}, err
	}
	m := recordForm.FindStringSubmatch(string(text))
	if m == nil {
		return Record{}, fmt.Errorf("%s/SOURCE is not as `make release` writes it", prebuilt)
	}
	v, err := ParseVersion(m[1])
	return Record{Version: v, Commit: m[2], Go: m[3], Sources: m[4]}, err
}

// Sums checks bin/prebuilt/SHA256SUMS: it lists every target's binary and no other file, and each is what it says.
func (p *Project) Sums() error {
	text, err := os.ReadFile(p.path(prebuilt + "/SHA256SUMS"))
	if err != nil {
		return err
	}
	want := map[string]string{}
	for line := range strings.Lines(string(text)) {
		sum, name, ok := strings.Cut(strings.TrimRight(line, "\r\n"), "  ")
		if !ok {
			return fmt.Errorf("%s/SHA256SUMS has a line of another form: %q", prebuilt, line)
		}
		want[name] = sum
	}
	for _, t := range AllTargets {
		sum, _, err := hashFile(p.path(prebuilt + "/" + t.File()))
		if err != nil {
			return err
		}
		if sum != want[t.File()] {
			return fmt.Errorf("%s/%s has the checksum %s, SHA256SUMS says %q", prebuilt, t.File(), sum, want[t.File()])
		}
		delete(want, t.File())
	}
	for name := range want {
		return fmt.Errorf("%s/SHA256SUMS names %s, which is no binary of ours", prebuilt, name)
	}
	return p.onlyOurs()
}

// onlyOurs refuses files in bin/prebuilt that nobody built: they would be installed with the rest.
func (p *Project) onlyOurs() error {
	have, err := filepath.Glob(p.path(prebuilt + "/*"))
	if err != nil {
		return err
	}
	for _, path := range have {
		name := filepath.Base(path)
		ours := name == "SHA256SUMS" || name == "SOURCE" ||
			slices.ContainsFunc(AllTargets, func(t Target) bool { return t.File() == name })
		if !ours {
			return fmt.Errorf("%s/%s does not belong there", prebuilt, name)
		}
	}
	return nil
}
