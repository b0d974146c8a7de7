package runners

import "strings"

var (
	assertGlibc = lazy("^(?:\\S+: )?(\\S+?):(\\d+): (?:(.+): )?(Assertion [`'](.*)' failed\\.?.*)$")
	assertMac   = lazy(`^Assertion failed: \((.*)\), function (\S+), file (.+?), line (\d+)\.$`)
	assertMusl  = lazy(`^Assertion failed: (.*) \((.+?): (\S+): (\d+)\)$`)
	assertMsvc  = lazy(`^Assertion failed: (.*), file (.+?), line (\d+)$`)
	// killedLine is what a shell says of a child that died of a signal.
	killedLine = lazy(`^(?:(\S+): line (\d+): +\d+ |\[\d+\][ +-]+\d* *)?(Segmentation fault|Aborted|Killed|Bus error|Illegal instruction|Floating point exception|Terminated|Trace/breakpoint trap|Abort trap: 6|Segmentation fault: 11|Killed: 9|Terminated: 15)(?: +\(core dumped\))?(?: +(.*))?$`)
	// killedWords are what killedLine looks for.
	killedWords = []string{"Segmentation fault", "Aborted", "Killed", "Bus error", "Illegal instruction", "Floating point exception", "Terminated", "Trace/breakpoint trap", "Abort trap"}
	// nativeWords begin lines that only a dying process prints.
	nativeWords = []string{
		"terminate called after throwing an instance of ", "terminate called without an active exception", "libc++abi: terminating", "pure virtual method called",
		"*** stack smashing detected ***", "double free or corruption", "free(): ", "malloc(): ", "munmap_chunk(): ", "corrupted size vs. prev_size", "corrupted double-linked list",
		"realloc(): ", "*** buffer overflow detected ***", "Out of memory", "Cannot allocate memory", "Fatal glibc error",
	}
)

// nativeAssert reads the message of a failed assert().
func nativeAssert(t *Text, l string) (Failure, bool) {
	if !strings.Contains(l, "Assertion ") {
		return Failure{}, false
	}
	if m := assertGlibc().FindStringSubmatch(l); m != nil {
		return Failure{File: t.path(m[1]), Line: atoi(m[2]), Message: m[4]}, true
	}
	if m := assertMac().FindStringSubmatch(l); m != nil {
		return Failure{File: t.path(m[3]), Line: atoi(m[4]), Message: "Assertion failed: " + m[1]}, true
	}
	if m := assertMusl().FindStringSubmatch(l); m != nil {
		return Failure{File: t.path(m[2]), Line: atoi(m[4]), Message: "Assertion failed: " + m[1]}, true
	}
	if m := assertMsvc().FindStringSubmatch(l); m != nil {
		return Failure{File: t.path(m[2]), Line: atoi(m[3]), Message: "Assertion failed: " + m[1]}, true
	}
	return Failure{}, false
}

func nativeCrashParser() parser {
	return parser{
		name: "native", kind: kindCrash, marks: append(append([]string{"Assertion "}, killedWords...), nativeWords...),
		sniff: func(t *Text) match {
			if t.ExitOK() {
				return match{}
			}
			for _, l := range t.lines {
				if _, _, ok := nativeDeath(t, l); ok {
					return t.all(scoreWeak + 25)
				}
			}
			return match{}
		},
		parse: func(t *Text, f *finding) {
			last := 0
			for i, l := range t.lines {
				x, strong, ok := nativeDeath(t, l)
				if ok {
					last = i
				}
				if !ok || !strong && len(f.Failures) > 0 {
					continue
				}
				if what := strings.TrimSpace(t.Line(i + 1)); strings.HasPrefix(what, "what(): ") {
					x.Message += "\n" + what
				}
				f.fail(x)
			}
			f.crashed(t, last)
		},
	}
}

// nativeDeath reads a line that a dying process, or the shell that saw it die,
// prints; strong tells the cause and not only the signal.
func nativeDeath(t *Text, l string) (x Failure, strong, ok bool) {
	if x, ok := nativeAssert(t, l); ok {
		return x, true, true
	}
	for _, w := range nativeWords {
		if strings.HasPrefix(l, w) {
			return Failure{Message: l}, true, true
		}
	}
	if l == "" || l[0] == ' ' || !containsAny(l, killedWords) {
		return x, false, false
	}
	if m := killedLine().FindStringSubmatch(l); m != nil && (m[4] == "" || m[1] != "") {
		x := Failure{Message: strings.TrimSpace(m[3] + " " + m[4])}
		if m[1] != "" {
			x.File, x.Line = t.path(m[1]), atoi(m[2])
		}
		return x, false, true
	}
	return x, false, false
}

func containsAny(s string, words []string) bool {
	for _, w := range words {
		if strings.Contains(s, w) {
			return true
		}
	}
	return false
}
