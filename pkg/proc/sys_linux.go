package proc

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// osState is what Linux needs beyond os/exec: the names of the output pipes, as /proc shows them.
type osState struct{ pipes []string }

func setAttributes(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL}
}

// awaitOS returns when the child has ended and leaves it a zombie, so that its number stays taken.
func (p *Process) awaitOS() {
	for {
		err := unix.Waitid(unix.P_PID, p.id.PID, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if !errors.Is(err, unix.EINTR) {
			return
		}
	}
}

// table lists all processes from /proc.
func table() []entry {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	names, _ := dir.Readdirnames(-1)
	_ = dir.Close()
	out := make([]entry, 0, len(names))
	buf := make([]byte, 1024)
	for _, name := range names {
		if name[0] < '0' || name[0] > '9' {
			continue
		}
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		if e, ok := readStat(pid, buf); ok {
			out = append(out, e)
		}
	}
	return out
}

// readStat parses /proc/PID/stat. The name in it may hold spaces and brackets, so fields count from the last bracket.
func readStat(pid int, buf []byte) (entry, bool) {
	const (
		state, ppid, pgrp, session, starttime = 0, 1, 2, 3, 19 // fields 3, 4, 5, 6, 22 of proc(5)
	)
	fd, err := unix.Open("/proc/"+strconv.Itoa(pid)+"/stat", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return entry{}, false
	}
	n, err := unix.Read(fd, buf)
	_ = unix.Close(fd)
	if err != nil || n <= 0 {
		return entry{}, false
	}
	_, rest, ok := bytes.Cut(buf[bytes.LastIndexByte(buf[:n], ')')+1:n], []byte(" "))
	f := strings.Fields(string(rest))
	if !ok || len(f) <= starttime {
		return entry{}, false
	}
	e := entry{id: Identity{PID: pid}, zombie: f[state] == "Z" || f[state] == "X"}
	e.ppid, _ = strconv.Atoi(f[ppid])
	e.pgrp, _ = strconv.Atoi(f[pgrp])
	e.sess, _ = strconv.Atoi(f[session])
	e.id.Start, err = strconv.ParseUint(f[starttime], 10, 64)
	return e, err == nil
}

func startTime(pid int) (uint64, bool) {
	e, ok := readStat(pid, make([]byte, 1024))
	return e.id.Start, ok && !e.zombie
}

// callMark is the value of our mark in the environment of pid; nil when there is none or it is not ours to read.
func callMark(pid int) []byte {
	env, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/environ")
	if err != nil {
		return nil
	}
	for kv := range bytes.SplitSeq(env, []byte{0}) {
		if value, ok := bytes.CutPrefix(kv, []byte(markName+"=")); ok {
			return value
		}
	}
	return nil
}

// holdsOutput tells whether pid has one of the call's output pipes open.
func holdsOutput(pid int, st osState) bool {
	dir := "/proc/" + strconv.Itoa(pid) + "/fd"
	fds, err := os.ReadDir(dir)
	if err != nil {
		return false
	}
	for _, fd := range fds {
		link, err := os.Readlink(dir + "/" + fd.Name())
		if err != nil {
			continue
		}
		if slices.Contains(st.pipes, link) {
			return true
		}
	}
	return false
}

// notePipes remembers the output pipes by name.
func (p *Process) notePipes() {
	for _, pump := range p.out.pumps {
		info, err := pump.r.Stat() // not Fd(): that would make the pipe blocking and deadlines useless
		if err != nil {
			continue
		}
		if st, ok := info.Sys().(*syscall.Stat_t); ok {
			p.os.pipes = append(p.os.pipes, "pipe:["+strconv.FormatUint(st.Ino, 10)+"]")
		}
	}
}
