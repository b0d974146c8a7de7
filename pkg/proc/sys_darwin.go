package proc

import (
	"bytes"
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"
)

const zombieState = 5 // SZOMB of sys/proc.h

// osState is empty: macOS has no parent-death signal and shows no pipes by name.
type osState struct{}

func setAttributes(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
}

// awaitOS reaps at once: there is no portable way to wait and keep the zombie.
func (p *Process) awaitOS() { _ = p.cmd.Wait() }

func table() []entry {
	all, err := unix.SysctlKinfoProcSlice("kern.proc.all")
	if err != nil {
		return nil
	}
	out := make([]entry, 0, len(all))
	for i := range all {
		out = append(out, toEntry(&all[i]))
	}
	return out
}

func toEntry(k *unix.KinfoProc) entry {
	pid := int(k.Proc.P_pid)
	sess, err := unix.Getsid(pid)
	if err != nil {
		sess = 0
	}
	return entry{
		id:   Identity{PID: pid, Start: uint64(k.Proc.P_starttime.Sec)*1e6 + uint64(k.Proc.P_starttime.Usec)},
		ppid: int(k.Eproc.Ppid), pgrp: int(k.Eproc.Pgid), sess: sess, zombie: k.Proc.P_stat == zombieState,
	}
}

func startTime(pid int) (uint64, bool) {
	k, err := unix.SysctlKinfoProc("kern.proc.pid", pid)
	if err != nil || int(k.Proc.P_pid) != pid {
		return 0, false
	}
	e := toEntry(k)
	return e.id.Start, !e.zombie
}

// callMark is the value of our mark in the environment of pid; nil when there is none or it is not ours to read.
func callMark(pid int) []byte {
	args, err := unix.SysctlRaw("kern.procargs2", pid)
	if err != nil {
		return nil
	}
	for kv := range bytes.SplitSeq(args, []byte{0}) {
		if value, ok := bytes.CutPrefix(kv, []byte(markName+"=")); ok {
			return value
		}
	}
	return nil
}

// holdsOutput cannot be known; asked only when somebody does hold it, the answer is yes for every stray of the call.
func holdsOutput(int, osState) bool { return true }

func (p *Process) notePipes() {}
