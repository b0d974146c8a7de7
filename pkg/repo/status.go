package repo

import (
	"bytes"
	"context"
	"fmt"
	"strings"
)

// entry is one path of git's status.
type entry struct {
	path      string
	untracked bool
	dir       bool   // a nested repository: listed as a folder, never entered
	submodule bool   // a gitlink
	unmerged  bool   // in conflict
	staged    bool   // the index differs from HEAD
	mode, id  string // of the index, when staged; mode 000000: removed from it
}

// status lists what differs from HEAD in dir's working tree and index, ignored files left out. With
// write, git may refresh the index; the user's own index is never touched.
func (r *Repo) status(ctx context.Context, dir string, write bool) ([]entry, error) {
	return r.statusOf(ctx, dir, write)
}

// statusOf is status with options of git's own before the command.
func (r *Repo) statusOf(ctx context.Context, dir string, write bool, options ...string) ([]entry, error) {
	args := []string{"status", "--porcelain=v2", "-z", "--untracked-files=all", "--no-renames", "--ignore-submodules=dirty"}
	if !write {
		args = append([]string{"--no-optional-locks"}, args...)
	}
	out, err := r.git(ctx, dir, nil, append(options, args...)...)
	if err != nil {
		return nil, err
	}
	return parseStatus(out)
}

// parseStatus reads `git status --porcelain=v2 -z --no-renames`.
func parseStatus(out []byte) ([]entry, error) {
	var list []entry
	for rec := range bytes.SplitSeq(out, []byte{0}) {
		if len(rec) < 2 {
			continue
		}
		line := string(rec)
		switch line[0] {
		case '?':
			path := line[2:]
			list = append(list, entry{path: strings.TrimSuffix(path, "/"), untracked: true, dir: strings.HasSuffix(path, "/")})
		case '1': // 1 XY sub mH mI mW hH hI path
			f := strings.SplitN(line, " ", 9)
			if len(f) != 9 || len(f[1]) != 2 {
				return nil, fmt.Errorf("git status: unexpected line %q", line)
			}
			list = append(list, entry{
				path: f[8], submodule: f[2][0] == 'S', staged: f[1][0] != '.', mode: f[4], id: f[7],
			})
		case 'u': // u XY sub m1 m2 m3 mW h1 h2 h3 path
			f := strings.SplitN(line, " ", 11)
			if len(f) != 11 {
				return nil, fmt.Errorf("git status: unexpected line %q", line)
			}
			list = append(list, entry{path: f[10], unmerged: true, submodule: f[2][0] == 'S'})
		case '#', '!':
		default:
			return nil, fmt.Errorf("git status: unexpected line %q", line)
		}
	}
	return list, nil
}

// stagedIndex makes the input of `git update-index -z --index-info` that gives another index the same
// staged state; nil when nothing is staged.
func stagedIndex(list []entry) []byte {
	var b bytes.Buffer
	for _, e := range list {
		switch {
		case !e.staged || e.unmerged || e.submodule:
		case e.mode == "000000":
			fmt.Fprintf(&b, "0 %s\t%s\x00", strings.Repeat("0", len(e.id)), e.path)
		default:
			fmt.Fprintf(&b, "%s %s\t%s\x00", e.mode, e.id, e.path)
		}
	}
	return b.Bytes()
}
