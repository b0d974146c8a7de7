package runners

// parsers is the one table of everything this package understands. Order
// matters only between equal scores: the earlier wins.
func parsers() []parser {
	return append(parsersTests(), parsersTools()...)
}

// parsersTests lists test frameworks of JavaScript, Python, Go and Rust, TAP and JUnit XML.
func parsersTests() []parser {
	return []parser{
		{name: "jest", kind: kindTests, marks: []string{`"numTotalTests":`}, sniff: sniffJSONReport(`"numTotalTests"`), parse: parseJestJSON},
		{name: "mocha", kind: kindTests, marks: []string{`"passes":`}, sniff: sniffJSONReport(`"stats": {`), parse: parseMochaJSON},
		{name: "playwright", kind: kindTests, marks: []string{`"unexpected":`}, sniff: sniffJSONReport(`"suites": [`), parse: parsePlaywrightJSON},
		{name: "jest", kind: kindTests, marks: []string{"Test Suites:", "PASS", "FAIL", "No tests found, exiting", "jest"}, sniff: sniffJest, parse: parseJest},
		{name: "vitest", kind: kindTests, marks: []string{"Test Files  ", "RUN ", "DEV ", "⎯⎯ Failed", "::error "}, sniff: sniffVitest, parse: parseVitest},
		{name: "pytest", kind: kindTests, marks: []string{"test session starts", " in ", "short test summary", "%]", "ERROR: ", "INTERNALERROR>", "error: ", "conftest"}, sniff: sniffPytest, parse: parsePytest},
		{name: "go-test", kind: kindTests, marks: []string{`"Action":"`}, sniff: sniffGoJSON, parse: parseGoJSON},
		{name: "go-test", kind: kindTests, marks: []string{"DONE ", "=== Failed"}, sniff: sniffGotestsum, parse: parseGotestsum},
		{name: "go-test", kind: kindTests, marks: []string{"ok  \t", "FAIL\t", "?   \t", "=== RUN", "--- PASS", "--- FAIL", "--- SKIP"}, sniff: sniffGoTest, parse: parseGoTest},
		{name: "junit-xml", kind: kindTests, marks: []string{"<testsuite"}, sniff: sniffJUnit, parse: parseJUnit},
		{name: "node-test", kind: kindTests, marks: []string{"ℹ ", "✖ ", "✔ "}, sniff: sniffNodeSpec, parse: parseNodeSpec},
		{name: "tap-stream", kind: kindTests, marks: []string{"TAP version 1", "ok ", "1.."}, sniff: sniffTAP, parse: parseTAP},
		{name: "node-test", kind: kindTests, sniff: sniffNodeDot, parse: parseNodeDot},
	}
}
