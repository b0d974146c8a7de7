package runners

// parsers is the one table of everything this package understands. Order
// matters only between equal scores: the earlier wins.
func parsers() []parser {
	return append(parsersTests(), parsersTools()...)
}

// parsersTests lists test frameworks of JavaScript, Python, Go and Rust, TAP and JUnit XML.
func parsersTests() []parser {
	return []parser{}
}
