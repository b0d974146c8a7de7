//go:build unix

package cli

import (
	"os"
	"syscall"
)

func stopSignals() []os.Signal { return []os.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP} }
