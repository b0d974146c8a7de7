package jobs

import (
	"syscall"

	"golang.org/x/sys/windows"
)

// detachments are the ways to start a process that outlives this one, the best first: without our console and out of
// our job object, where that object allows it.
func detachments() []*syscall.SysProcAttr {
	const own = windows.CREATE_NEW_PROCESS_GROUP | windows.DETACHED_PROCESS
	return []*syscall.SysProcAttr{{CreationFlags: own | windows.CREATE_BREAKAWAY_FROM_JOB}, {CreationFlags: own}}
}
