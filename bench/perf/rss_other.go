//go:build !linux

package main

import "os/exec"

// peakRSS is measured on Linux only.
func peakRSS(*exec.Cmd) float64 { return 0 }
