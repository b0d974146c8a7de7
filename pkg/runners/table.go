package runners

// parsers is the one table of everything this package understands. Order
// matters only between equal scores: the earlier wins.
func parsers() []parser {
	return append(parsersTests(), parsersTools()...)
}

// parsersTests lists test frameworks of JavaScript, Python, Go and Rust, TAP and JUnit XML.
func parsersTests() []parser {
	return []parser{
		{name: "jest", kind: kindTests, reports: []string{"jest", "vitest"}, marks: []string{`"numTotalTests":`}, sniff: sniffJSONReport(`"numTotalTests"`), parse: parseJestJSON},
		{name: "mocha", kind: kindTests, reports: []string{"mocha"}, marks: []string{`"passes":`}, sniff: sniffJSONReport(`"stats": {`), parse: parseMochaJSON},
		{name: "playwright", kind: kindTests, reports: []string{"playwright"}, marks: []string{`"unexpected":`}, sniff: sniffJSONReport(`"suites": [`), parse: parsePlaywrightJSON},
		{name: "jest", kind: kindTests, marks: []string{"Test Suites:", "PASS", "FAIL", "No tests found, exiting", "jest", "process.exit called with", "● "}, sniff: sniffJest, parse: parseJest},
		{name: "vitest", kind: kindTests, marks: []string{"Test Files  ", "RUN ", "DEV ", "⎯⎯ Failed", "::error "}, sniff: sniffVitest, parse: parseVitest},
		{name: "pytest", kind: kindTests, marks: []string{"test session starts", " in ", "short test summary", "%]", "ERROR: ", "INTERNALERROR>", "error: ", "conftest"}, sniff: sniffPytest, parse: parsePytest},
		{name: "go-test", kind: kindTests, marks: []string{`"Action":"`}, sniff: sniffGoJSON, parse: parseGoJSON},
		{name: "go-test", kind: kindTests, marks: []string{"DONE ", "=== Failed"}, own: lazy(`^(?: ?[✓✖∅] |=== |DONE |PASS |FAIL|EMPTY |SKIP |ok |--- )`), sniff: sniffGotestsum, parse: parseGotestsum},
		{name: "go-test", kind: kindTests, marks: []string{"ok  \t", "FAIL\t", "?   \t", "=== RUN", "--- PASS", "--- FAIL", "--- SKIP"}, sniff: sniffGoTest, parse: parseGoTest},
		{name: "cargo-test", kind: kindTests, marks: []string{`{ "type": "suite"`}, sniff: sniffLibtestJSON, parse: parseLibtestJSON},
		{name: "cargo-nextest", kind: kindTests, marks: []string{"Summary [", "Nextest run ID", " PASS ["}, sniff: sniffNextest, parse: parseNextest},
		{name: "cargo-test", kind: kindTests, marks: []string{"test result: ", "running ", "Doc-tests", "could not compile", "test failed, to rerun"}, sniff: sniffCargo, parse: parseCargo},
		{name: "unittest", kind: kindTests, marks: []string{"Ran ", ") ... "}, sniff: sniffUnittest, parse: parseUnittest},
		{name: "bun", kind: kindTests, marks: []string{"bun test v", "across ", "matched 0 tests"}, own: lazy(`^(?:bun test v|\((?:pass|fail|skip|todo)\) |\s*\d+ (?:pass|fail)$|Ran \d)`), sniff: sniffBun, parse: parseBun},
		{name: "deno", kind: kindTests, marks: []string{" passed", "running ", "error: "}, own: lazy(`^(?:Check |running \d|.* \.\.\. |(?:ok|FAILED) \| )`), sniff: sniffDeno, parse: parseDeno},
		{name: "playwright", kind: kindTests, marks: []string{"Running ", "No tests found", "playwright", " › "}, sniff: sniffPlaywright, parse: parsePlaywright},
		{name: "jasmine", kind: kindTests, marks: []string{" spec", "Randomized with seed", "jasmine"}, sniff: sniffJasmine, parse: parseJasmine},
		{name: "uvu", kind: kindTests, marks: []string{"  Total:     ", "node_modules/uvu/"}, sniff: sniffUvu, parse: parseUvu},
		{name: "ava", kind: kindTests, marks: []string{"  ─", "✘ ", "node_modules/ava/", "  ✔ "}, sniff: sniffAva, parse: parseAva},
		{name: "mocha", kind: kindTests, marks: []string{" passing (", "node_modules/mocha/", "No test files found", "    ✔ ", "    ✓ "}, sniff: sniffMocha, parse: parseMocha},
		{name: "junit-xml", kind: kindTests, reports: []string{"*"}, marks: []string{"<testsuite"}, sniff: sniffJUnit, parse: parseJUnit},
		{name: "node-test", kind: kindTests, marks: []string{"ℹ ", "✖ ", "✔ ", "Could not find '"}, sniff: sniffNodeSpec, parse: parseNodeSpec},
		{name: "tap-stream", kind: kindTests, marks: []string{"TAP version 1", "ok ", "1.."}, sniff: sniffTAP, parse: parseTAP},
		{name: "node-test", kind: kindTests, sniff: sniffNodeDot, parse: parseNodeDot},
		{name: "node", kind: kindBuild, marks: []string{"SyntaxError", "Cannot find ", "ERR_MODULE_NOT_FOUND", "require is not defined"}, sniff: sniffNodeLoad, parse: parseNodeLoad},
		{name: "npm", kind: kindWrapper, marks: []string{"npm error ", "npm ERR! ", "ERR_PNPM_", "no test specified", " not found.", "No module named ", " ERROR  "}, sniff: sniffNPM, parse: parseNPM},
	}
}
