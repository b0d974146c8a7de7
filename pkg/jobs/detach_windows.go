package jobs

import (
	"os/exec"
	"syscall"

	"golang.org/x/sys/windows"
)

// detach leaves the console and the job object of the parent, where that allows it.
func detach(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{
		CreationFlags: windows.CREATE_NEW_PROCESS_GROUP | windows.DETACHED_PROCESS | windows.CREATE_BREAKAWAY_FROM_JOB,
	}
}
