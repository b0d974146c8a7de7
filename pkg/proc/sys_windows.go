package proc

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"unsafe"

	"golang.org/x/sys/windows"
)

// osState is the job object: closing its last handle kills every process in it, so the children end with us however
// we end.
type osState struct{ job windows.Handle }

// shellCommand hands the line to cmd.exe as it is: cmd does not parse arguments the way other programs do.
func shellCommand(line string) *exec.Cmd {
	path := os.Getenv("ComSpec")
	if path == "" {
		path = filepath.Join(os.Getenv("SystemRoot"), "System32", "cmd.exe")
	}
	return &exec.Cmd{Path: path, SysProcAttr: &syscall.SysProcAttr{CmdLine: `cmd.exe /d /s /c "` + line + `"`}}
}

// setAttributes starts the child suspended: it must be in its job before it can start another process.
func setAttributes(cmd *exec.Cmd) {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.HideWindow = true
	cmd.SysProcAttr.CreationFlags = windows.CREATE_NEW_PROCESS_GROUP | windows.CREATE_SUSPENDED
}

func (p *Process) startOS() error {
	job, err := newJob()
	if err != nil {
		return err
	}
	if err := p.cmd.Start(); err != nil {
		_ = windows.CloseHandle(job)
		return err
	}
	p.os.job = job
	if err := adopt(job, p.cmd.Process.Pid); err != nil {
		_ = p.cmd.Process.Kill()
		_ = p.cmd.Wait()
		_ = windows.CloseHandle(job)
		return err
	}
	return nil
}

func newJob() (windows.Handle, error) {
	job, err := windows.CreateJobObject(nil, nil)
	if err != nil {
		return 0, fmt.Errorf("create job object: %w", err)
	}
	info := windows.JOBOBJECT_EXTENDED_LIMIT_INFORMATION{}
	info.BasicLimitInformation.LimitFlags = windows.JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE
	_, err = windows.SetInformationJobObject(job, windows.JobObjectExtendedLimitInformation,
		uintptr(unsafe.Pointer(&info)), uint32(unsafe.Sizeof(info)))
	if err != nil {
		_ = windows.CloseHandle(job)
		return 0, fmt.Errorf("set up job object: %w", err)
	}
	return job, nil
}

// adopt puts the suspended child into the job and lets it run.
func adopt(job windows.Handle, pid int) error {
	h, err := windows.OpenProcess(windows.PROCESS_SET_QUOTA|windows.PROCESS_TERMINATE, false, uint32(pid))
	if err != nil {
		return fmt.Errorf("open child: %w", err)
	}
	defer func() { _ = windows.CloseHandle(h) }()
	if err := windows.AssignProcessToJobObject(job, h); err != nil {
		return fmt.Errorf("put child into job: %w", err)
	}
	return resume(uint32(pid))
}

// resume wakes the child's only thread; os/exec does not hand out the thread it created.
func resume(pid uint32) error {
	snap, err := windows.CreateToolhelp32Snapshot(windows.TH32CS_SNAPTHREAD, 0)
	if err != nil {
		return fmt.Errorf("list threads: %w", err)
	}
	defer func() { _ = windows.CloseHandle(snap) }()
	e := windows.ThreadEntry32{Size: uint32(unsafe.Sizeof(windows.ThreadEntry32{}))}
	for err = windows.Thread32First(snap, &e); err == nil; err = windows.Thread32Next(snap, &e) {
		if e.OwnerProcessID != pid {
			continue
		}
		h, err := windows.OpenThread(windows.THREAD_SUSPEND_RESUME, false, e.ThreadID)
		if err != nil {
			return fmt.Errorf("open child's thread: %w", err)
		}
		_, err = windows.ResumeThread(h)
		_ = windows.CloseHandle(h)
		if err != nil {
			return fmt.Errorf("resume child: %w", err)
		}
		return nil
	}
	return fmt.Errorf("resume child: no thread found: %w", err)
}

func (p *Process) awaitOS() { _ = p.cmd.Wait() }
func (p *Process) waitOS()  {}

func (p *Process) closeOS() { _ = windows.CloseHandle(p.os.job) }

// signal sends Ctrl-Break, the only request to end that reaches a group; programs without a console ignore it.
func (p *Process) signal(stopSignal, []Identity) {
	_ = windows.GenerateConsoleCtrlEvent(windows.CTRL_BREAK_EVENT, uint32(p.id.PID))
}

func (p *Process) killNow() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.reaped {
		_ = windows.TerminateJobObject(p.os.job, 1)
	}
}

func (p *Process) strays() []Identity { return nil }
func (p *Process) killAll([]Identity) { p.killNow() }
func (p *Process) notePipes()         {}
func (p *Process) groupLives() bool   { return p.active() > 0 }
func killMarked([]string)             {}

func signalName(int) string { return "" }

// status names the crashes that take the place of signals.
func status(s *os.ProcessState) (code int, signal string) {
	crashes := map[uint32]string{
		0xC0000005: "ACCESS_VIOLATION", 0xC0000017: "NO_MEMORY", 0xC000001D: "ILLEGAL_INSTRUCTION",
		0xC0000094: "INTEGER_DIVIDE_BY_ZERO", 0xC00000FD: "STACK_OVERFLOW", 0xC0000135: "DLL_NOT_FOUND",
		0xC000013A: "CTRL_C", 0xC0000374: "HEAP_CORRUPTION", 0xC0000409: "STACK_BUFFER_OVERRUN",
	}
	return s.ExitCode(), crashes[uint32(s.ExitCode())]
}

// sweep kills what is still in the job; nothing can leave it.
func (p *Process) sweep(_, _ bool) (killed, daemons int) {
	killed = p.active()
	if killed > 0 {
		p.killNow()
	}
	return killed, 0
}

// active is the number of living processes in the job.
func (p *Process) active() int {
	var info struct {
		TotalUserTime, TotalKernelTime, PeriodUserTime, PeriodKernelTime      int64
		PageFaults, TotalProcesses, ActiveProcesses, TotalTerminatedProcesses uint32
	}
	const basicAccounting = 1
	err := windows.QueryInformationJobObject(p.os.job, basicAccounting,
		uintptr(unsafe.Pointer(&info)), uint32(unsafe.Sizeof(info)), nil)
	if err != nil {
		return 0
	}
	return int(info.ActiveProcesses)
}

func startTime(pid int) (uint64, bool) {
	h, err := windows.OpenProcess(windows.PROCESS_QUERY_LIMITED_INFORMATION|windows.SYNCHRONIZE, false, uint32(pid))
	if err != nil {
		return 0, false
	}
	defer func() { _ = windows.CloseHandle(h) }()
	if ev, err := windows.WaitForSingleObject(h, 0); err != nil || ev == windows.WAIT_OBJECT_0 {
		return 0, false // ended, but somebody holds a handle
	}
	var created, exited, kernel, user windows.Filetime
	if err := windows.GetProcessTimes(h, &created, &exited, &kernel, &user); err != nil {
		return 0, false
	}
	return uint64(created.HighDateTime)<<32 | uint64(created.LowDateTime), true
}

// killTree ends id and everything started by it, parents first so that nothing new is started.
func killTree(id Identity) (int, error) {
	if !Alive(id) {
		return 0, nil // its job object died with the process that held it
	}
	children, err := childrenByParent()
	if err != nil {
		return 0, err
	}
	n := 0
	queue := []Identity{id}
	for len(queue) > 0 {
		parent := queue[0]
		queue = queue[1:]
		for _, pid := range children[parent.PID] {
			// A parent's number is reused too: a child older than its parent is somebody else's.
			if child, ok := Find(pid); ok && child.Start >= parent.Start && pid != os.Getpid() {
				queue = append(queue, child)
			}
		}
		if terminate(parent) {
			n++
		}
	}
	return n, nil
}

func terminate(id Identity) bool {
	h, err := windows.OpenProcess(windows.PROCESS_TERMINATE, false, uint32(id.PID))
	if err != nil {
		return false
	}
	defer func() { _ = windows.CloseHandle(h) }()
	return Alive(id) && windows.TerminateProcess(h, 1) == nil
}

func childrenByParent() (map[int][]int, error) {
	snap, err := windows.CreateToolhelp32Snapshot(windows.TH32CS_SNAPPROCESS, 0)
	if err != nil {
		return nil, fmt.Errorf("list processes: %w", err)
	}
	defer func() { _ = windows.CloseHandle(snap) }()
	out := map[int][]int{}
	e := windows.ProcessEntry32{Size: uint32(unsafe.Sizeof(windows.ProcessEntry32{}))}
	for err = windows.Process32First(snap, &e); err == nil; err = windows.Process32Next(snap, &e) {
		out[int(e.ParentProcessID)] = append(out[int(e.ParentProcessID)], int(e.ProcessID))
	}
	return out, nil
}
