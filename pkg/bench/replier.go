package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"time"

	"legwork/pkg/config"
	"legwork/pkg/offload"
	"legwork/pkg/proc"
)

// Replier gives the replies of `legwork offload` about recorded runs, without a model.
type Replier struct {
	dir  string
	deps offload.Deps
}

// NewReplier keeps its state in dir.
func NewReplier(dir string) (*Replier, error) {
	env := []string{"LEGWORK_CONFIG_HOME=" + dir, "LEGWORK_STATE_HOME=" + dir, "PATH=" + os.Getenv("PATH")}
	cfg, err := config.Load(config.Options{Dir: dir, Env: env})
	if err != nil {
		return nil, err
	}
	return &Replier{dir, offload.Deps{Config: cfg, StateDir: dir, Env: env, Children: &proc.Group{}}}, nil
}

// Reply is what legwork prints about a command with this output and exit code, asked which test fails and
// why. The output is put where kept output lies and asked about there. known tells whether a parser
// recognised it.
func (r *Replier) Reply(ctx context.Context, command string, out []byte, exit int) (text string, known bool, err error) {
	const id = "raaaaaaa"
	e := offload.Entry{
		ID: id, Command: command, Dir: "/tmp/proj", Started: time.Now(), Exit: exit,
		Ending: fmt.Sprintf("exit %d", exit), Bytes: int64(len(out)),
	}
	b, err := json.Marshal(e)
	if err != nil {
		return "", false, err
	}
	store := filepath.Join(r.dir, "raw")
	err = errors.Join(os.MkdirAll(store, 0o700), os.WriteFile(filepath.Join(store, id+".out"), out, 0o600), os.WriteFile(filepath.Join(store, id+".json"), b, 0o600))
	if err != nil {
		return "", false, err
	}
	res, err := offload.Run(ctx, r.deps, offload.Request{Question: "which test fails, and why?", Raw: id, Dir: e.Dir})
	if err != nil {
		return "", false, err
	}
	return res.Text(), res.Run != nil, nil
}

// FailingReplies are the sizes, in tokens of 4 bytes and in order, of the replies to the failing runs of a
// corpus (see ScoreRunners).
func (r *Replier) FailingReplies(ctx context.Context, fsys fs.FS) ([]int, error) {
	names, err := fs.Glob(fsys, "*.json")
	if err != nil {
		return nil, err
	}
	var sizes []int
	for _, n := range names {
		raw, err := fs.ReadFile(fsys, n)
		if err != nil {
			return nil, err
		}
		var rec record
		if err := json.Unmarshal(raw, &rec); err != nil {
			return nil, fmt.Errorf("%s: %w", n, err)
		}
		if rec.Truth.State != "failed" || rec.ExitCode == nil {
			continue
		}
		out, err := readOutput(fsys, strings.TrimSuffix(n, ".json"))
		if err != nil {
			return nil, err
		}
		text, _, err := r.Reply(ctx, rec.Command, out, *rec.ExitCode)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", n, err)
		}
		sizes = append(sizes, (len(text)+3)/4)
	}
	sort.Ints(sizes)
	return slices.Clip(sizes), nil
}
