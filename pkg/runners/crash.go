package runners

import "strings"

// logGoesOn is how many lines after a crash show that a text, of which neither
// command nor exit code is known, is a log and not the output of what died.
const logGoesOn = 50

// crashed sets the state of a program that died; at is the last line of the
// trace. With exit code 0 a trace in the middle of the text is a log entry that
// proves nothing, one at the end means that the code was lost on the way. In a log
// file it is an entry too: who writes on has not died.
func (f *finding) crashed(t *Text, at int) {
	if _, known := t.Exit(); !known && t.Hint.Command == "" && !t.ExitBad() && t.Len()-at > logGoesOn {
		if f.State == "" {
			f.State = StateUnknown
		}
		const note = "a crash stands in the text, which goes on after it"
		if n := len(f.Notes); n == 0 || f.Notes[n-1] != note {
			f.note(note)
		}
		return
	}
	if t.ExitOK() {
		rest := 0
		for i := at + 1; i < t.Len() && rest <= 2; i++ {
			if !blank(t.lines[i]) {
				rest++
			}
		}
		if rest > 2 {
			if f.State == "" {
				f.State = StateUnknown
			}
			const note = "a stack trace stands in the text, the run went on and ended with exit code 0"
			if n := len(f.Notes); n == 0 || f.Notes[n-1] != note {
				f.note(note)
			}
			return
		}
		f.note("exit code 0, but the text ends with a crash: the code was lost on the way")
	}
	f.worse(StateDidNotFinish)
}

func crashParsers() []parser {
	return []parser{
		sanitizerParser(), valgrindParser(), goCrashParser(), rustCrashParser(), pythonCrashParser(), nodeCrashParser(),
		javaCrashParser(), rubyCrashParser(), phpCrashParser(), dotnetCrashParser(), elixirCrashParser(), perlCrashParser(), tclCrashParser(), nativeCrashParser(),
	}
}

var (
	pyCrashFrame = lazy(`^\s+File "(.+?)", line (\d+)(?:,? in (.+))?$`)
	pyCrashError = lazy(`^([A-Za-z_][\w.]*(?:Error|Exception|Warning|Exit|Interrupt|Group|Timeout|Expired|StopIteration|[A-Z]\w*))(?:: (.*))?$`)
)

func pythonCrashParser() parser {
	return parser{
		name: "python", kind: kindCrash, marks: []string{"Traceback (most recent call last)", "Fatal Python error:", "SyntaxError: ", "IndentationError: ", "TabError: ", "can't open file", "No module named", "Exception Group Traceback"},
		sniff: func(t *Text) match {
			switch {
			case t.FindPrefix("Traceback (most recent call last):", 0) >= 0, t.FindPrefix("Fatal Python error:", 0) >= 0:
				return t.all(scoreLikely)
			case t.FindPrefix("  + Exception Group Traceback (most recent call last):", 0) >= 0:
				return t.all(scoreLikely)
			case pythonSyntax(t) >= 0, pythonStart(t) >= 0:
				return t.all(scoreLikely)
			}
			return match{}
		}, parse: pythonParse,
	}
}

// pythonSyntax is the line of a syntax error that has no traceback.
func pythonSyntax(t *Text) int {
	for i, l := range t.lines {
		if strings.HasPrefix(l, "SyntaxError: ") || strings.HasPrefix(l, "IndentationError: ") || strings.HasPrefix(l, "TabError: ") {
			return i
		}
	}
	return -1
}

// pythonStart is the line in which the interpreter says that it cannot begin.
func pythonStart(t *Text) int {
	for i, l := range t.lines {
		name, rest, ok := strings.Cut(l, ": ")
		if ok && strings.Contains(name, "python") && (strings.HasPrefix(rest, "can't open file") || strings.HasPrefix(rest, "No module named") || strings.HasPrefix(rest, "Error while finding module")) {
			return i
		}
	}
	return -1
}

func pythonParse(t *Text, f *finding) {
	if i := t.LastPrefix("Fatal Python error:"); i >= 0 {
		body, end := t.block(i+1, func(l string) bool { return false })
		f.fail(pythonFailure(t, []string{strings.TrimPrefix(t.Line(i), "Fatal Python error: ")}, pyCrashFrames(body), false))
		f.crashed(t, end-1)
		return
	}
	i := t.LastPrefix("Traceback (most recent call last):")
	if g := t.FindPrefix("  + Exception Group Traceback", 0); g >= 0 && i < g {
		pythonGroup(t, g, f)
		return
	}
	if i < 0 {
		if s := pythonSyntax(t); s >= 0 {
			pythonSyntaxError(t, max(s-4, 0), s, f)
			return
		}
		f.fail(Failure{Message: t.Line(pythonStart(t))})
		f.worse(StateDidNotFinish)
		return
	}
	body, _ := t.block(i+1, func(l string) bool { return l != "" && l[0] != ' ' })
	end := i + 1 + len(body)
	msg, _ := t.block(end, blank)
	if s := firstLine(msg); strings.HasPrefix(s, "SyntaxError: ") || strings.HasPrefix(s, "IndentationError: ") || strings.HasPrefix(s, "TabError: ") {
		pythonSyntaxError(t, i, end, f)
		return
	}
	if !t.ExitBad() || len(msg) > 12 || end+len(msg) != t.Len() {
		msg = msg[:pyMessageLen(msg)]
	}
	f.fail(pythonFailure(t, msg, pyCrashFrames(body), true))
	if p := t.Line(i - 1); strings.HasPrefix(p, "Exception in thread ") || strings.HasPrefix(p, "Exception ignored in") {
		f.worse(StateFailed) // the program itself goes on
		return
	}
	f.crashed(t, end+len(msg)-1)
}

// pythonGroup reads the tree of an exception group: the outer frames, and the
// first line of each exception.
func pythonGroup(t *Text, g int, f *finding) {
	var frames []frame
	var msg []string
	end := g
	for i := g + 1; i < t.Len(); i++ {
		l := t.lines[i]
		if !strings.HasPrefix(l, " ") {
			break
		}
		end = i
		s := strings.TrimLeft(l, " |+-")
		if m := pyCrashFrame().FindStringSubmatch("  " + s); m != nil {
			if len(msg) == 0 {
				frames = append(frames, frame{m[1], atoi(m[2])})
			}
			continue
		}
		if pyCrashError().MatchString(s) {
			msg = append(msg, s)
		}
	}
	f.fail(pythonFailure(t, msg, frames, true))
	f.crashed(t, end)
}

// pyMessageLen says how many of the lines after the frames are the message: the
// first always; more only when they do not look like the program going on.
func pyMessageLen(msg []string) int {
	n := min(len(msg), 1)
	for n < len(msg) && n < 12 && (strings.HasPrefix(msg[n], " ") || strings.HasPrefix(msg[n], "\t") || strings.HasSuffix(msg[0], ":")) {
		n++
	}
	return n
}

// pythonFailure takes the innermost own frame; the last of frames is innermost
// when lastFirst is set.
func pythonFailure(t *Text, msg []string, frames []frame, innermostLast bool) Failure {
	if innermostLast {
		for i, j := 0, len(frames)-1; i < j; i, j = i+1, j-1 {
			frames[i], frames[j] = frames[j], frames[i]
		}
	}
	fr := t.firstOwn(frames)
	return Failure{File: fr.file, Line: fr.line, Message: message(msg...)}
}

func pyCrashFrames(lines []string) (out []frame) {
	for _, l := range lines {
		if m := pyCrashFrame().FindStringSubmatch(l); m != nil {
			out = append(out, frame{m[1], atoi(m[2])})
		}
	}
	return out
}

func pythonSyntaxError(t *Text, from, at int, f *finding) {
	frames := pyCrashFrames(t.lines[from:at])
	e := BuildError{Message: t.Line(at)}
	if n := len(frames); n > 0 {
		e.File, e.Line = t.path(frames[n-1].file), frames[n-1].line
	}
	f.build(e)
	f.worse(StateBuildFailed)
}

var (
	nodeCrashHead  = lazy(`^((?:file://)?/\S.*?|[A-Za-z]:\\.*?|node:\S+|\[eval\]):(\d+)$`)
	nodeProperty   = lazy(`^\s+[a-z]\w*: .*,?$`)
	nodeCrashFrame = lazy(`^\s+at (?:.*? \()?((?:file://)?[^()\s]+?):(\d+):(\d+)\)?(?: \{)?$`)
	nodeCrashEnd   = lazy(`^Node\.js v\d`)
)

func nodeCrashParser() parser {
	return parser{
		name: "node", kind: kindCrash,
		marks: []string{"\nNode.js v", "FATAL ERROR: ", "    at ", "error: Uncaught", "Uncaught "},
		sniff: func(t *Text) match {
			switch {
			case lastMatch(t, nodeCrashEnd()) >= 0, t.Has("FATAL ERROR: ") && t.HasAny("JavaScript heap out of memory", "----- Native stack trace"):
				return t.all(scoreSure)
			case t.FindPrefix("error: Uncaught", 0) >= 0:
				return t.all(scoreLikely)
			case nodeBareStack(t) >= 0:
				return t.all(scoreWeak + 20)
			}
			return match{}
		}, parse: nodeCrashParse,
	}
}

// nodeBareStack is the line of the last "Error: …" that JavaScript frames follow.
func nodeBareStack(t *Text) int {
	for i := t.Len() - 1; i > 0; i-- {
		if strings.HasPrefix(t.lines[i], "    at ") && nodeCrashFrame().MatchString(t.lines[i]) {
			for i > 0 && strings.HasPrefix(t.lines[i], "    at ") {
				i--
			}
			if !blank(t.lines[i]) {
				return i
			}
		}
	}
	return -1
}

func nodeCrashParse(t *Text, f *finding) {
	if i := t.Find("FATAL ERROR: ", 0); i >= 0 {
		l := t.Line(i)
		f.fail(Failure{Message: l[strings.Index(l, "FATAL ERROR: "):]})
		f.worse(StateDidNotFinish)
		return
	}
	end := lastMatch(t, nodeCrashEnd())
	bare := end < 0
	if bare {
		end = t.Len()
	}
	start, head := nodeCrashStart(t, end)
	if bare && start >= 0 { // no closing line: the trace ends with its last frame
		for end = start + 1; end < t.Len() && (strings.HasPrefix(t.Line(end), " ") || t.Line(end) == "}" || nodeTraceGoesOn(t, end)); end++ {
		}
	}
	if start < 0 {
		return
	}
	msg, frames := nodeCrashTrace(t.lines[start:end])
	own := t.firstOwn(frames)
	first := firstLine(msg)
	if own.file == "" && strings.HasPrefix(first, "SyntaxError") && head.file != "" && !foreign(head.file) {
		f.build(BuildError{File: t.path(head.file), Line: head.line, Message: first})
		f.worse(StateBuildFailed)
		return
	}
	if own.file == "" && head.file != "" && !foreign(head.file) {
		own = frame{t.path(head.file), head.line}
	}
	f.fail(Failure{File: own.file, Line: own.line, Message: message(msg...)})
	f.crashed(t, end)
}

// nodeTraceGoesOn says that message lines and then frames follow line i.
func nodeTraceGoesOn(t *Text, i int) bool {
	for j := i; j < i+12; j++ {
		if nodeCrashFrame().MatchString(t.Line(j)) {
			return true
		}
	}
	return false
}

// nodeCrashStart finds where the message begins: after the quoted source line and its
// caret, or at the line before the frames.
func nodeCrashStart(t *Text, end int) (int, frame) {
	for i := end - 1; i >= 0; i-- {
		m := nodeCrashHead().FindStringSubmatch(t.lines[i])
		if m == nil {
			continue
		}
		head := frame{m[1], atoi(m[2])}
		for j := i + 1; j < min(i+8, end); j++ {
			if strings.Trim(t.lines[j], " ^~\t") == "" && strings.Contains(t.lines[j], "^") {
				j++
				for j < end && blank(t.lines[j]) {
					j++
				}
				return j, head
			}
		}
		return i + 1, head
	}
	if i := t.FindPrefix("error: Uncaught", 0); i >= 0 {
		return i, frame{}
	}
	return nodeBareStack(t), frame{}
}

// nodeCrashTrace splits message and frames; a cause keeps its first line.
func nodeCrashTrace(lines []string) (msg []string, frames []frame) {
	for _, l := range lines {
		s := strings.TrimSpace(l)
		switch {
		case strings.HasPrefix(s, "at "):
			if m := nodeCrashFrame().FindStringSubmatch(l); m != nil {
				frames = append(frames, frame{m[1], atoi(m[2])})
			}
		case strings.HasPrefix(s, "... ") && strings.Contains(s, " matching cause"), s == "}", s == "Require stack:",
			strings.HasPrefix(s, "requireStack:"), strings.HasPrefix(s, "(Use `node --trace"):
		case strings.HasPrefix(s, "Node.js v"):
			return msg, frames
		case len(frames) > 0 && nodeProperty().MatchString(l):
		default:
			msg = append(msg, l)
		}
	}
	return msg, frames
}
