// Command legwork hands bulk work to a model on the user's own hardware; see package cli.
package main

import (
	"os"

	"legwork/pkg/cli"
)

func main() {
	os.Exit(cli.Main(os.Args[1:], os.Environ(), os.Stdin, os.Stdout, os.Stderr))
}
