package proc

import (
	"fmt"
	"strings"
	"time"
)

const (
	codeNotExecutable = 126
	codeNotFound      = 127
	codeSignalBase    = 128
)

// String is the outcome in words, as it stands in the first line of a reply: "exit 0", "exit 1",
// "exit 127 (command not found)", "killed by SIGKILL", "timed out after 10m", "cancelled".
func (e Exit) String() string {
	var s string
	switch {
	case e.TimedOut:
		s = "timed out after " + short(e.Timeout)
	case e.Cancelled:
		s = "cancelled"
	case e.Signal != "":
		s = "killed by " + e.Signal
	default:
		s = fmt.Sprintf("exit %d%s", e.Code, e.meaning())
	}
	return s
}

// Notes are the facts beside the status that a reader must know, each a short phrase; none for a plain end.
func (e Exit) Notes() []string {
	var notes []string
	if e.Background {
		notes = append(notes, "background processes left by the command were ended")
	}
	if e.Held {
		notes = append(notes, "a process that could not be ended still holds the output")
	}
	if e.Daemons > 0 {
		notes = append(notes, fmt.Sprintf("%d detached daemon(s) started by the command stay", e.Daemons))
	}
	if e.OutputErr != nil {
		notes = append(notes, "output is incomplete: "+e.OutputErr.Error())
	}
	return notes
}

// meaning explains the statuses by which shells report what happened to a command inside them.
func (e Exit) meaning() string {
	switch {
	case e.Code == codeNotFound:
		return " (command not found)"
	case e.Code == codeNotExecutable:
		return " (found, but cannot be executed)"
	case e.shell && e.Code > codeSignalBase:
		if name := signalName(e.Code - codeSignalBase); name != "" {
			return " (128+" + name + ": a command in it was killed)"
		}
	}
	return ""
}

// short prints 10m instead of 10m0s.
func short(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}
