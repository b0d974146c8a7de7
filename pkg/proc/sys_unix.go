//go:build linux || darwin

package proc

import (
	"bytes"
	"os"
	"os/exec"
	"slices"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// entry is one line of the process table.
type entry struct {
	id               Identity
	ppid, pgrp, sess int
	zombie           bool
}

func shellCommand(line string) *exec.Cmd {
	return &exec.Cmd{Path: "/bin/sh", Args: []string{"sh", "-c", line}}
}

func (p *Process) startOS() error { return p.cmd.Start() }

// waitOS collects the status; the error repeats what ProcessState says.
func (p *Process) waitOS() { _ = p.cmd.Wait() }

func (p *Process) closeOS() {}

// signal sends one step of the stop sequence to the group and to the strays.
func (p *Process) signal(step stopSignal, strays []Identity) {
	sig := syscall.SIGTERM
	if step == stopInterrupt {
		sig = syscall.SIGINT
	}
	p.signalGroup(sig)
	for _, id := range strays {
		_ = kill(id, sig)
	}
}

// killNow must stay free of anything that can wait: a signal handler calls it.
func (p *Process) killNow() { p.signalGroup(syscall.SIGKILL) }

func (p *Process) signalGroup(sig syscall.Signal) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.reaped {
		_ = syscall.Kill(-p.id.PID, sig) // no such process: it is over
	}
}

// strays are the child's descendants outside its group, found while the tree is still whole.
func (p *Process) strays() []Identity {
	all := table()
	var out []Identity
	for _, e := range all {
		if !p.mine(e) && p.younger(e) && (descends(e, p.id.PID, all) || marked(e.id.PID, p.mark)) {
			out = append(out, e.id)
		}
	}
	return out
}

// killAll kills group and strays, and again what was forked meanwhile.
func (p *Process) killAll(strays []Identity) {
	p.signalGroup(syscall.SIGKILL)
	for _, id := range strays {
		_ = kill(id, syscall.SIGKILL)
	}
}

// sweep kills what the ended main process left: members of its group and session always; processes that moved to a
// session of their own when the call was stopped, or when they hold its output. Others are daemons, counted.
func (p *Process) sweep(held, stopped bool) (killed, daemons int) {
	seen := map[Identity]bool{} // a killed process stays in the table for a moment
	for end := time.Now().Add(killWait); ; {
		before := len(seen)
		daemons = 0
		for _, e := range table() {
			if e.zombie || !p.younger(e) || e.id.PID == p.id.PID {
				continue
			}
			switch {
			case p.mine(e):
			case !marked(e.id.PID, p.mark):
				continue
			case stopped, held && holdsOutput(e.id.PID, p.os):
			default:
				daemons++
				continue
			}
			if !seen[e.id] && kill(e.id, syscall.SIGKILL) == nil {
				seen[e.id] = true
			}
		}
		if len(seen) == before || time.Now().After(end) { // nothing was forked meanwhile, or it never stops
			return len(seen), daemons
		}
	}
}

func (p *Process) groupLives() bool {
	return slices.ContainsFunc(table(), func(e entry) bool { return !e.zombie && p.mine(e) && p.younger(e) })
}

func (p *Process) mine(e entry) bool    { return e.pgrp == p.id.PID || e.sess == p.id.PID }
func (p *Process) younger(e entry) bool { return e.id.Start >= p.id.Start }

// descends follows the parents of e up to pid.
func descends(e entry, pid int, all []entry) bool {
	for range all {
		if e.ppid == pid {
			return true
		}
		i := slices.IndexFunc(all, func(up entry) bool { return up.id.PID == e.ppid })
		if i < 0 {
			return false
		}
		e = all[i]
	}
	return false
}

// marked tells whether the process was started with mark in its environment.
func marked(pid int, mark string) bool {
	return bytes.Contains(callMark(pid), []byte(mark))
}

// kill signals exactly this process, not a later one with its pid.
func kill(id Identity, sig syscall.Signal) error {
	if id.PID <= 1 || id.PID == os.Getpid() || !Alive(id) {
		return syscall.ESRCH
	}
	return syscall.Kill(id.PID, sig)
}

func killTree(id Identity) (int, error) {
	seen := map[Identity]bool{} // a killed process stays in the table for a moment
	for end := time.Now().Add(killWait); ; {
		before := len(seen)
		for _, target := range treeOf(id) {
			if !seen[target] && kill(target, syscall.SIGKILL) == nil {
				seen[target] = true
			}
		}
		if len(seen) == before || time.Now().After(end) { // nothing was forked meanwhile, or it never stops
			return len(seen), nil
		}
	}
}

// treeOf lists what KillTree kills.
func treeOf(id Identity) []Identity {
	// A number is not given away while a session or group bears it, so with another owner nothing of id is left.
	if now, ok := Find(id.PID); ok && now != id {
		return nil
	}
	all := table()
	alive := Alive(id)
	mark := callMark(id.PID)
	if !alive {
		mark = nil
	}
	var out []Identity
	for _, e := range all {
		member := e.id.Start >= id.Start && (e.pgrp == id.PID || e.sess == id.PID)
		switch {
		case e.zombie:
		case alive && (e.id == id || member || descends(e, id.PID, all)):
			out = append(out, e.id)
		case alive && len(mark) > 0 && bytes.Equal(callMark(e.id.PID), mark):
			out = append(out, e.id)
		case !alive && member && len(callMark(e.id.PID)) > 0:
			out = append(out, e.id)
		}
	}
	return out
}

// killMarked is the second half of Group.Kill: what left its group but carries one of the marks.
func killMarked(marks []string) {
	if len(marks) == 0 {
		return
	}
	for _, e := range table() {
		if slices.ContainsFunc(marks, func(m string) bool { return marked(e.id.PID, m) }) {
			_ = kill(e.id, syscall.SIGKILL)
		}
	}
}

func status(state *os.ProcessState) (code int, signal string) {
	ws, ok := state.Sys().(syscall.WaitStatus)
	if ok && ws.Signaled() {
		n := int(ws.Signal())
		return codeSignalBase + n, signalName(n)
	}
	return state.ExitCode(), ""
}

func signalName(n int) string {
	return unix.SignalName(syscall.Signal(n))
}
