package runners

// parsersTools lists compilers, linters, crashes and the other languages' test frameworks.
func parsersTools() []parser {
	return []parser{}
}
