package repo

// isNotDir: Windows says "does not exist" for a path below a file.
func isNotDir(error) bool { return false }
