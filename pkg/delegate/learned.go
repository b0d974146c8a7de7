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

// plainMore is how many further calls a plain loop of three tries makes when its first answer fails: the second
// always, the third nearly always, for a repair seldom succeeds.
const plainMore = 1.9

// record is what became of a model's calls, by which further turns are paced.
type record struct {
	Calls  int `json:"calls"`  // calls of delegate whose first answer came
	Failed int `json:"failed"` // of these, how many whose first answer, as the model gave it, did not pass
	Turns  int `json:"turns"`  // turns after the first
	Passes int `json:"passes"` // calls that these turns brought to a pass
}

// credit is how many turns are left to spend, so that all the calls of the model stay below a share of what a
// plain loop would have made; below zero it is overdrawn.
func (r record) credit(share float64) float64 {
	return share*(float64(r.Calls)+plainMore*float64(r.Failed)) - float64(r.Calls) - float64(r.Turns)
}

// with is the record once a call that goes on now is counted.
func (r record) with(p *plan) record {
	r.Calls++
	r.Failed++
	r.Turns += p.asked - 1
	return r
}

func (c *call) recordsPath() string { return filepath.Join(c.StateDir, "cache", "pace.json") }

// records reads what was learned of all models; a damaged file counts as nothing learned.
func (c *call) records() map[string]record {
	out := map[string]record{}
	b, err := os.ReadFile(c.recordsPath())
	if err == nil && json.Unmarshal(b, &out) != nil {
		return map[string]record{}
	}
	return out
}

// learn adds how one call went. What cannot be written is only not learned.
func (c *call) learn(ctx context.Context, model string, one record) {
	err := c.addRecord(ctx, model, one)
	if err != nil && !errors.Is(err, fs.ErrExist) {
		c.Logger.Warn("record of turns", "err", err)
	}
}

func (c *call) addRecord(ctx context.Context, model string, one record) error {
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
	all[model] = record{Calls: r.Calls + one.Calls, Failed: r.Failed + one.Failed, Turns: r.Turns + one.Turns, Passes: r.Passes + one.Passes}
	b, err := json.Marshal(all)
	if err != nil {
		return err
	}
	return fsx.WriteFile(c.recordsPath(), b, 0o600)
}
