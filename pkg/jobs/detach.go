package jobs

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"

	"legwork/pkg/proc"
)

// Detach starts a process that does the job's work and outlives this one: own session, no terminal, stdin null, what it
// prints in supervisor.log. The job is given to it; it has to Take it. dir is its working folder.
func (h *Handle) Detach(ctx context.Context, argv, env []string, dir string) error {
	out, err := os.OpenFile(h.Path(logName), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer out.Close()
	var cmd *exec.Cmd
	for _, attr := range detachments() {
		cmd = exec.Command(argv[0], argv[1:]...) //nolint:noctx,gosec // outlives every context; argv is our own program
		cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr, cmd.SysProcAttr = dir, env, out, out, attr
		if err = cmd.Start(); err == nil {
			break
		}
	}
	if err != nil {
		err = fmt.Errorf("start the process of job %s: %w", h.id, err)
		return errors.Join(err, h.Finish(End{State: Failed, Ending: "not_started", Error: err.Error()}))
	}
	id, ok := proc.Find(cmd.Process.Pid)
	go func() { _ = cmd.Wait() }() // it would stay a zombie of ours; how it ended stands in the record
	if !ok {
		return nil // ended already; the next look at the record tells
	}
	return h.Give(ctx, id)
}
