package repo

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"legwork/pkg/fsx"
)

// Left is a worktree that nobody works in at the moment.
type Left struct {
	ID   string
	Home string // our folder for it
	Made time.Time
	Told bool // somebody was given its path
	// Work tells whether removing it would lose something; Why says why that is not known.
	Work bool
	Why  string
}

// Leftovers lists the worktrees whose owner is gone or has finished. It changes nothing.
func Leftovers(ctx context.Context, opt Options) ([]Left, error) {
	list, err := os.ReadDir(opt.treesDir())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var out []Left
	for _, e := range list {
		if !e.IsDir() || ctx.Err() != nil {
			continue
		}
		id := strings.TrimPrefix(e.Name(), trashPrefix)
		lock, err := fsx.TryLock(filepath.Join(opt.treesDir(), id+".lock"))
		if err != nil {
			continue // in use
		}
		out = append(out, opt.left(ctx, id, filepath.Join(opt.treesDir(), e.Name())))
		_ = lock.Unlock()
	}
	return out, ctx.Err()
}

// left looks at one of them.
func (o Options) left(ctx context.Context, id, home string) Left {
	l := Left{ID: id, Home: home}
	m, err := readMeta(home)
	if strings.HasPrefix(filepath.Base(home), trashPrefix) {
		return l // half removed
	}
	if err != nil {
		_, terr := os.Lstat(filepath.Join(home, treeName))
		l.Work, l.Why = terr == nil, "its record cannot be read"
		return l
	}
	l.Made, l.Told = m.Made, m.Told
	if !m.Ready {
		return l
	}
	t := &Tree{Home: home, Dir: filepath.Join(home, treeName), repo: &Repo{Top: m.Top, Common: m.Common, Head: m.Head, opt: o}, meta: m}
	if l.Work, err = t.hasWork(ctx); err != nil {
		l.Work, l.Why = true, err.Error()
	}
	return l
}

func readMeta(home string) (meta, error) {
	var m meta
	b, err := os.ReadFile(filepath.Join(home, metaName))
	if err == nil {
		err = json.Unmarshal(b, &m)
	}
	return m, err
}

// Discard removes a worktree with whatever is in it, because the user said so. fsx.ErrLocked while somebody works in it.
func Discard(ctx context.Context, opt Options, id string) error {
	home := filepath.Join(opt.treesDir(), filepath.Base(id))
	if _, err := os.Lstat(home); err != nil {
		return fmt.Errorf("%s: %w", home, ErrNoTree)
	}
	lock, err := fsx.TryLock(home + ".lock")
	if err != nil {
		return fmt.Errorf("worktree %s: %w", id, err)
	}
	m, err := readMeta(home)
	if err != nil {
		err = fsx.RemoveAll(home)
	} else {
		err = (&Repo{Top: m.Top, Common: m.Common, Head: m.Head, opt: opt}).remove(ctx, home, m)
	}
	return errors.Join(err, dropLock(lock, home))
}
