package delegate

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"legwork/pkg/fsx"
)

// Further turns are given up when at least enoughTurns of them were seen and fewer than one in worthwhile led
// to a pass; every exploreEvery-th call tries all the same, so that a better server or model is noticed.
const (
	enoughTurns  = 8
	worthwhile   = 10
	exploreEvery = 5
)

// record is what became of a model's turns after the first.
type record struct {
	Turns  int `json:"turns"`
	Passes int `json:"passes"`
	Calls  int `json:"calls"` // calls that could have had further turns
}

// hopeless says that another turn is not worth its tokens.
func (r record) hopeless() bool {
	return r.Turns >= enoughTurns && r.Passes*worthwhile < r.Turns && r.Calls%exploreEvery != 0
}

func (c *call) recordsPath() string { return filepath.Join(c.StateDir, "cache", "turns.json") }

// records reads what was learned of all models; a damaged file counts as nothing learned.
func (c *call) records() map[string]record {
	out := map[string]record{}
	b, err := os.ReadFile(c.recordsPath())
	if err == nil && json.Unmarshal(b, &out) != nil {
		return map[string]record{}
	}
	return out
}

// learnTurns adds how one call's further turns ended. What cannot be written is only not learned.
func (c *call) learnTurns(ctx context.Context, model string, turns int, passed bool) {
	err := c.addTurns(ctx, model, turns, passed)
	if err != nil && !errors.Is(err, fs.ErrExist) {
		c.Logger.Warn("record of turns", "err", err)
	}
}

func (c *call) addTurns(ctx context.Context, model string, turns int, passed bool) error {
	if err := os.MkdirAll(filepath.Dir(c.recordsPath()), 0o700); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
	defer cancel()
	lock, err := fsx.Lock(ctx, c.recordsPath()+".lock")
	if err != nil {
		return err
	}
	defer func() { _ = lock.Unlock() }()
	all := c.records()
	r := all[model]
	r.Turns += turns
	r.Calls++
	if passed {
		r.Passes++
	}
	all[model] = r
	b, err := json.Marshal(all)
	if err != nil {
		return err
	}
	return fsx.WriteFile(c.recordsPath(), b, 0o600)
}
