package repo

import (
	"os"
	"os/exec"
	"syscall"
)

// makeLink makes a symbolic link, or a junction where the user may not make links: junctions need no right.
func makeLink(from, to string) error {
	if err := os.Symlink(from, to); err == nil {
		return nil
	}
	cmd := exec.Command("cmd.exe") //nolint:noctx // an instant built-in of the shell
	cmd.SysProcAttr = &syscall.SysProcAttr{CmdLine: `cmd.exe /d /c mklink /J "` + to + `" "` + from + `"`, HideWindow: true}
	return cmd.Run()
}
