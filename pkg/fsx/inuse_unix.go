//go:build !windows

package fsx

func inUse(error) bool { return false }
