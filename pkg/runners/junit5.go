package runners

import (
	"strings"
)

var (
	junit5Row    = lazy(`^\[ +(\d+) (containers|tests) (found|skipped|started|aborted|successful|failed) +\]$`)
	junit5Source = lazy(`^    (Method|Class|File)Source \[(.*)\]$`)
	junit5Node   = lazy(`^([│├└─╷+'|\- ]*)([^│├└─╷+'|\- ].*?)(?: (✔|✘|↷|■|\[OK\]|\[X\]|\[S\]|\[A\]))(?: (.*))?$`)
	junit5Attr   = lazy(`(\w+) = '([^']*)'`)
)

func junit5Parser() parser {
	return parser{
		name: "junit5", kind: kindTests,
		marks: []string{"Test run finished after ", "JUnit Jupiter", "JUnit Vintage", "Thanks for using JUnit", "Test plan execution started", "Test execution started", "[engine:"},
		sniff: func(t *Text) match {
			switch {
			case t.FindPrefix("Test run finished after ", 0) >= 0:
				return t.all(scoreCertain)
			case t.FindPrefix("Thanks for using JUnit", 0) >= 0, t.FindPrefix("Test plan execution started", 0) >= 0,
				t.FindPrefix("Test execution started", 0) >= 0, t.HasAny("─ JUnit Jupiter", "-- JUnit Jupiter"):
				return t.all(scoreSure)
			}
			return match{}
		}, parse: junit5Parse,
	}
}

func junit5Parse(t *Text, f *finding) {
	sum := t.LastPrefix("Test run finished after ")
	junit5Failures(t, sum, f)
	if sum < 0 {
		f.State = StateDidNotFinish
		f.note("no summary: the run ended before JUnit did")
		return
	}
	n := map[string]int{}
	for i := sum + 1; i < t.Len(); i++ {
		if m := junit5Row().FindStringSubmatch(strings.TrimSpace(t.lines[i])); m != nil {
			n[m[2]+" "+m[3]] = atoi(m[1])
		}
	}
	if _, ok := n["tests failed"]; !ok {
		f.State = StateDidNotFinish
		return
	}
	skipped := n["tests skipped"] + n["tests aborted"]
	if lost := n["tests found"] - n["tests skipped"] - n["tests started"]; n["containers skipped"] > 0 && lost > 0 {
		skipped += lost // a skipped container does not report its tests
	}
	f.Tests = Counts{Passed: new(n["tests successful"]), Failed: new(n["tests failed"]), Skipped: new(skipped), Todo: new(0)}
	switch {
	case n["tests failed"] > 0 || n["containers failed"] > 0:
		f.State = StateFailed
	case n["tests successful"] == 0:
		f.State = StateNoTests
	default:
		f.State = StatePassed
	}
}

// junit5Failures reads the "Failures (n):" list before the summary.
func junit5Failures(t *Text, sum int, f *finding) {
	start := t.LastPrefix("Failures (")
	if start < 0 || sum >= 0 && start > sum {
		junit5Details(t, f)
		return
	}
	paths := junit5Paths(t, start)
	for i := start + 1; i < t.Len() && (sum < 0 || i < sum); i++ {
		l := t.lines[i]
		if len(l) < 3 || l[:2] != "  " || l[2] == ' ' {
			continue
		}
		body, next := t.block(i+1, func(l string) bool {
			return len(l) > 2 && l[:2] == "  " && l[2] != ' ' && l[2] != '\t' || strings.HasPrefix(l, "Test run finished after ")
		})
		i = next - 1
		junit5Add(t, f, l[2:], body, paths)
	}
}

func junit5Add(t *Text, f *finding, path string, body []string, paths map[string]string) {
	kind, class, method := "", "", ""
	if len(body) > 0 {
		if m := junit5Source().FindStringSubmatch(body[0]); m != nil {
			kind, body = m[1], body[1:]
			for _, a := range junit5Attr().FindAllStringSubmatch(m[2], -1) {
				switch a[1] {
				case "className":
					class = a[2]
				case "methodName":
					method = a[2]
				}
			}
		}
	}
	for j, b := range body {
		if s, ok := strings.CutPrefix(b, "    => "); ok {
			body[j] = s
		}
	}
	fr, msg := javaTrace(body)
	if own := junit5Own(body, class, method); own.file != "" {
		fr = own
	}
	id, ok := paths[path]
	if !ok {
		_, rest, _ := strings.Cut(path, ":") // the engine's name
		id = strings.ReplaceAll(strings.ReplaceAll(rest, ": ", "\x00"), ":", " > ")
		id = strings.ReplaceAll(id, "\x00", ": ") // a colon inside a name is mostly followed by a blank
	}
	if kind == "Class" {
		f.suite(SuiteFailure{Kind: SuiteHook, Name: id, File: fr.file, Line: fr.line, Message: msg})
		return
	}
	f.fail(Failure{ID: id, File: fr.file, Line: fr.line, Message: msg})
}

// junit5Own is the frame of the test method itself, if the trace shows it.
func junit5Own(body []string, class, method string) frame {
	for _, l := range body {
		if fr, c, m, _, ok := javaFrameOf(l); ok && c == class && m == method {
			return fr
		}
	}
	return frame{}
}

// junit5Paths maps "Engine:Class:name", as the failure list prints it, to the
// path in the tree: names may hold colons themselves.
func junit5Paths(t *Text, before int) map[string]string {
	out := map[string]string{}
	type level struct {
		depth int
		name  string
	}
	var stack []level
	for i := range before {
		l := t.lines[i]
		if !strings.ContainsAny(l, "✔✘↷■[") {
			continue
		}
		m := junit5Node().FindStringSubmatch(l)
		if m == nil || m[1] == "" {
			continue
		}
		depth := len([]rune(m[1]))
		for len(stack) > 0 && stack[len(stack)-1].depth >= depth {
			stack = stack[:len(stack)-1]
		}
		stack = append(stack, level{depth, m[2]})
		var names []string
		for _, s := range stack {
			names = append(names, s.name)
		}
		if len(names) > 1 {
			out[strings.Join(names, ":")] = strings.Join(names[1:], " > ")
		}
	}
	return out
}

var (
	junit5Event  = lazy(`^(Started|Finished|Skipped|Registered): +(.*) \((\[engine:.*\])\)$`)
	junit5Feed   = lazy(`^(.+) :: FAILED$`)
	junit5Branch = lazy(`^(?:│  )*├─ (.*)$`)
)

// junit5Details reads the flat and the verbose form, which have no list of
// failures: names come by unique id, exceptions where they happen.
func junit5Details(t *Text, f *finding) {
	names := map[string]string{}
	uid, tree := "", []string(nil)
	for i := 0; i < t.Len(); i++ {
		l := t.lines[i]
		if m := junit5Event().FindStringSubmatch(l); m != nil {
			uid, names[m[3]] = m[3], m[2]
			continue
		}
		if m := junit5Branch().FindStringSubmatch(l); m != nil {
			depth := strings.Count(l[:len(l)-len(m[1])], "│")
			tree = append(tree[:min(depth, len(tree))], m[1])
			continue
		}
		if m := junit5Feed().FindStringSubmatch(l); m != nil { // --details=testfeed
			uid, tree = "", strings.Split(m[1], " > ")
			l = "=> Exception: " + strings.TrimSpace(t.Line(i+1))
			i++
		}
		_, msg, ok := strings.Cut(l, "=> Exception: ")
		if !ok {
			if _, msg, ok = strings.Cut(l, "    caught: "); !ok {
				continue
			}
		}
		body, next := t.block(i+1, func(l string) bool {
			s := strings.TrimLeft(l, " │")
			return !strings.HasPrefix(s, "\t") && !strings.HasPrefix(s, "Caused by: ") && !isJavaFrame(s)
		})
		for j := range body {
			body[j] = strings.TrimLeft(body[j], " │")
		}
		i = next - 1
		fr, text := javaTrace(append([]string{msg}, body...))
		x := Failure{File: fr.file, Line: fr.line, Message: text}
		if len(tree) > 1 {
			x.ID = strings.Join(tree[1:], " > ")
		}
		junit5Named(f, uid, names, x)
	}
}

// junit5Named adds x under the display names along its unique id.
func junit5Named(f *finding, uid string, names map[string]string, x Failure) {
	var path []string
	parts := strings.Split(uid, "]/[")
	for k := 1; k < len(parts); k++ {
		prefix := strings.Join(parts[:k+1], "]/[")
		if !strings.HasSuffix(prefix, "]") {
			prefix += "]"
		}
		if n, ok := names[prefix]; ok {
			path = append(path, n)
		}
	}
	if len(path) > 0 {
		x.ID = strings.Join(path, " > ")
	}
	if strings.HasPrefix(parts[len(parts)-1], "class:") || strings.HasPrefix(parts[len(parts)-1], "nested-class:") {
		f.suite(SuiteFailure{Kind: SuiteHook, Name: x.ID, File: x.File, Line: x.Line, Message: x.Message})
		return
	}
	f.fail(x)
}
