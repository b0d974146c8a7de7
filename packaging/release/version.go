package release

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/tidwall/gjson"
)

// Version is X.Y.Z; pre-releases are not made.
type Version [3]int

// ParseVersion reads X.Y.Z.
func ParseVersion(s string) (Version, error) {
	var v Version
	parts := strings.Split(s, ".")
	for i := range v {
		n, err := -1, error(nil)
		if len(parts) == len(v) {
			n, err = strconv.Atoi(parts[i])
		}
		if err != nil || n < 0 || strconv.Itoa(n) != parts[i] {
			return Version{}, fmt.Errorf("%q is no version; give one like 1.2.3", s)
		}
		v[i] = n
	}
	return v, nil
}

func (v Version) String() string { return fmt.Sprintf("%d.%d.%d", v[0], v[1], v[2]) }

// Less tells whether v comes before w.
func (v Version) Less(w Version) bool {
	for i := range v {
		if v[i] != w[i] {
			return v[i] < w[i]
		}
	}
	return false
}

// versionFile is a file that names the version. line matches around it: its one group is the version. all says that
// the version stands in more places, such as addresses, and that nothing else in the file looks like it.
type versionFile struct {
	name string
	line *regexp.Regexp
	all  bool
}

// versionFiles are all of them; the first is what the client goes by.
var versionFiles = []versionFile{
	{name: manifest, line: regexp.MustCompile(`(?m)^  "version": "([^"]*)"`)},
	{name: "pkg/cli/serve.go", line: regexp.MustCompile(`(?m)^var version = "([^"]*)"`)},
	{name: "server.json", line: regexp.MustCompile(`(?m)^  "version": "([^"]*)"`), all: true},
}

const (
	manifest  = ".claude-plugin/plugin.json"
	changelog = "CHANGELOG.md"
)

// Version is the version that the plugin's manifest names.
func (p *Project) Version() (Version, error) {
	text, err := os.ReadFile(p.path(manifest))
	if err != nil {
		return Version{}, err
	}
	return manifestVersion(text)
}

func manifestVersion(text []byte) (Version, error) {
	v, err := ParseVersion(gjson.GetBytes(text, "version").Str)
	if err != nil {
		return Version{}, fmt.Errorf("%s: %w", manifest, err)
	}
	return v, nil
}

func (p *Project) setVersion(f versionFile, v Version) error {
	text, err := os.ReadFile(p.path(f.name))
	if err != nil {
		return err
	}
	at := f.line.FindSubmatchIndex(text)
	if at == nil {
		return fmt.Errorf("%s names no version (looked for %s)", f.name, f.line)
	}
	old := string(text[at[2]:at[3]])
	if old == v.String() {
		return nil
	}
	if f.all {
		text = bytes.ReplaceAll(text, []byte(old), []byte(v.String()))
	} else {
		text = bytes.Join([][]byte{text[:at[2]], text[at[3]:]}, []byte(v.String()))
	}
	return os.WriteFile(p.path(f.name), text, 0o644) //nolint:gosec // as git keeps it
}

// dateChangelog makes the heading of what is to come the heading of v, with the day. A heading of v that is there
// already stays as it is.
func (p *Project) dateChangelog(v Version, now time.Time) error {
	text, err := os.ReadFile(p.path(changelog))
	if errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("there is no %s; it must say what is new in %s", changelog, v)
	}
	if err != nil {
		return err
	}
	dated := regexp.MustCompile(`(?m)^## \[?` + regexp.QuoteMeta(v.String()) + `\]?[ \t(,:–—-]+\d{4}-\d\d-\d\d`)
	if dated.Match(text) {
		return nil
	}
	open := regexp.MustCompile(`(?mi)^## \[?(unreleased|` + regexp.QuoteMeta(v.String()) + `)\b.*$`)
	at := open.FindIndex(text)
	if at == nil {
		return fmt.Errorf("%s has no heading `## Unreleased` or `## %s`", changelog, v)
	}
	heading := fmt.Sprintf("## %s (%s)", v, now.Format(time.DateOnly))
	text = bytes.Join([][]byte{text[:at[0]], text[at[1]:]}, []byte(heading))
	return os.WriteFile(p.path(changelog), text, 0o644) //nolint:gosec // as git keeps it
}
