package llm

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"legwork/pkg/fsx"
)

// slotTable shares each server's slots among all processes of this machine.
//
// A call draws a ticket: a file with the next number in the server's folder,
// kept locked until the call ends. It runs when fewer live tickets than slots
// are in front of it. So the order is that of arrival, there is no second file
// for the slot itself, and what a dead process leaves behind is an unlocked
// file that whoever sees it removes.
//
// Nobody ever gets in front of a ticket, so a waiter only watches those that
// were there when it came.
type slotTable struct {
	dir string // state directory

	mu    sync.Mutex
	mine  map[string]bool          // paths of tickets held by this process
	freed map[string]chan struct{} // server key → closed when one of ours is given back
	gates map[string]*sync.Mutex   // server key → drawing a ticket, within this process
}

// Waiters look again this often for tickets of other processes; every
// staleEvery-th look also tests whether their owners still live.
const (
	slotPoll   = 25 * time.Millisecond
	staleEvery = 10
)

// defaultSlots holds where neither the user nor the server says how many.
const defaultSlots = 4

func slotTotal(cfg *Settings, s *server, told int) int {
	return cmp.Or(s.Concurrency, cfg.Concurrency, told, defaultSlots)
}

type ticket struct {
	t    *slotTable
	key  string
	path string
	lock *fsx.FileLock
	once sync.Once
}

func newSlotTable(stateDir string) *slotTable {
	return &slotTable{dir: stateDir, mine: map[string]bool{}, freed: map[string]chan struct{}{}, gates: map[string]*sync.Mutex{}}
}

// folder returns where the tickets of a server lie, and makes it.
func (t *slotTable) folder(key string) (string, error) {
	dir := filepath.Join(t.dir, "slots", key)
	err := os.MkdirAll(dir, 0o700)
	if err == nil || t.dir == "" {
		return dir, err
	}
	// A read-only home must not stop the work: the machine's temporary folder is shared as well.
	dir = filepath.Join(os.TempDir(), fmt.Sprintf("legwork-slots-%d", os.Getuid()), key)
	return dir, os.MkdirAll(dir, 0o700)
}

// acquire waits for one of total slots. onWait is told how many waiting calls
// are in front whenever that changes, and every beatEvery; it is not called when
// there is no wait.
func (t *slotTable) acquire(ctx context.Context, key string, total int, onWait func(ahead int)) (*ticket, error) {
	tk, ahead, err := t.draw(ctx, key)
	if err != nil {
		return nil, err
	}
	told, last := -1, time.Now()
	for look := 0; ; look++ {
		freed := t.freedChan(key)
		ahead = slices.DeleteFunc(ahead, func(p string) bool { return !t.alive(p, look%staleEvery == 0) })
		if len(ahead) < total {
			return tk, nil
		}
		if n := len(ahead) - total; onWait != nil && (n != told || time.Since(last) >= beatEvery) {
			onWait(n)
			told, last = n, time.Now()
		}
		timer := time.NewTimer(slotPoll)
		select {
		case <-freed:
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			tk.release()
			return nil, ctx.Err()
		}
		timer.Stop()
	}
}

// draw takes the next number and lists the tickets in front of it.
func (t *slotTable) draw(ctx context.Context, key string) (*ticket, []string, error) {
	gate := t.gate(key)
	gate.Lock()
	defer gate.Unlock()
	dir, err := t.folder(key)
	if err != nil {
		return nil, nil, fmt.Errorf("slots of this machine: %w", err)
	}
	// Number and lock are taken under one lock, so nobody sees a live ticket unlocked.
	queue, err := fsx.Lock(ctx, filepath.Join(dir, "queue.lock"))
	if err != nil {
		return nil, nil, err
	}
	defer func() { _ = queue.Unlock() }()
	ahead := tickets(dir)
	next := 1
	if len(ahead) > 0 {
		next = number(ahead[len(ahead)-1]) + 1
	}
	path, lock, err := newTicket(dir, next)
	if err != nil {
		return nil, nil, fmt.Errorf("slots of this machine: %w", err)
	}
	t.mu.Lock()
	t.mine[path] = true
	t.mu.Unlock()
	return &ticket{t: t, key: key, path: path, lock: lock}, ahead, nil
}

// newTicket creates and locks a ticket. Somebody who counts tickets may look at
// it in the moment between and take it for a dead one: then another is made.
func newTicket(dir string, n int) (path string, lock *fsx.FileLock, err error) {
	for range 100 {
		path = filepath.Join(dir, fmt.Sprintf("%010d-%d-%s.ticket", n, os.Getpid(), rand.Text()[:8]))
		lock, err = fsx.TryLock(path)
		if errors.Is(err, fsx.ErrLocked) {
			continue
		}
		if err != nil {
			return "", nil, err
		}
		if _, err = os.Lstat(path); err == nil {
			return path, lock, nil
		}
		_ = lock.Unlock()
	}
	return "", nil, err
}

func (t *slotTable) gate(key string) *sync.Mutex {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.gates[key] == nil {
		t.gates[key] = &sync.Mutex{}
	}
	return t.gates[key]
}

func (t *slotTable) freedChan(key string) chan struct{} {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.freed[key] == nil {
		t.freed[key] = make(chan struct{})
	}
	return t.freed[key]
}

// release gives the slot back. It may be called more than once.
func (k *ticket) release() {
	k.once.Do(func() {
		discard(k.path, k.lock)
		k.t.mu.Lock()
		defer k.t.mu.Unlock()
		delete(k.t.mine, k.path)
		if c := k.t.freed[k.key]; c != nil {
			close(c)
			delete(k.t.freed, k.key)
		}
	})
}

// alive says whether a ticket is still held; test also finds dead owners.
func (t *slotTable) alive(path string, test bool) bool {
	t.mu.Lock()
	own := t.mine[path]
	t.mu.Unlock()
	if own {
		return true
	}
	if _, err := os.Lstat(path); err != nil {
		return false
	}
	if !test {
		return true
	}
	lock, err := fsx.TryLock(path)
	if err != nil {
		return true
	}
	discard(path, lock)
	return false
}

// discard removes a ticket while its lock is held, so that nobody's new lock on
// it can be lost. Windows removes no open file: there it goes after unlocking.
func discard(path string, lock *fsx.FileLock) {
	err := os.Remove(path)
	_ = lock.Unlock()
	if err != nil {
		_ = os.Remove(path)
	}
}

// held counts the live tickets of a server, and how many are other processes'.
// Waiting ones count too: they say how long the queue is.
func (t *slotTable) held(key string) (all, others int) {
	dir := filepath.Join(t.dir, "slots", key)
	for _, p := range tickets(dir) {
		if t.alive(p, true) {
			all++
			if owner(p) != os.Getpid() {
				others++
			}
		}
	}
	return all, others
}

// tickets lists the tickets of a folder in order.
func tickets(dir string) []string {
	entries, err := os.ReadDir(dir) // sorted, and the numbers have leading zeros
	if err != nil {
		return nil
	}
	var out []string
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), ".ticket") {
			out = append(out, filepath.Join(dir, e.Name()))
		}
	}
	return out
}

func number(path string) int {
	n, _, _ := strings.Cut(filepath.Base(path), "-")
	v, err := strconv.Atoi(n)
	if err != nil {
		return 0
	}
	return v
}

func owner(path string) int {
	f := strings.Split(filepath.Base(path), "-")
	if len(f) < 3 {
		return 0
	}
	v, err := strconv.Atoi(f[1])
	if err != nil {
		return 0
	}
	return v
}
