package runners

import "strings"

var (
	goCrashHead   = lazy(`^(?:panic: |fatal error: |runtime: goroutine stack exceeds |SIGQUIT: quit)(.*)$`)
	goCrashFrame  = lazy(`^\s+(\S.*\.(?:go|s)):(\d+)(?: \+0x[0-9a-f]+(?: fp=.*)?)?$`)
	rustCrashWord = lazy(`^thread '(.*?)'(?: \(\d+\))? panicked at (.*)$`)
	rustCrashAt   = lazy(`^\s+at (\S+):(\d+)(?::\d+)?$`)
	rustCrashOld  = lazy(`^'(.*)', (\S+?):(\d+):\d+$`)
)

func goCrashParser() parser {
	return parser{
		name: "go", kind: kindCrash, marks: []string{"goroutine ", "fatal error: ", "WARNING: DATA RACE", "panic: "},
		sniff: func(t *Text) match {
			if lastMatch(t, goCrashHead()) >= 0 && (t.FindPrefix("goroutine ", 0) >= 0 || t.FindPrefix("exit status ", 0) >= 0) || t.FindPrefix("WARNING: DATA RACE", 0) >= 0 {
				return t.all(scoreLikely + 5)
			}
			return match{}
		}, parse: goCrashParse,
	}
}

func goCrashParse(t *Text, f *finding) {
	for i := t.FindPrefix("WARNING: DATA RACE", 0); i >= 0; i = t.FindPrefix("WARNING: DATA RACE", i+1) {
		body, _ := t.block(i+1, func(l string) bool { return strings.HasPrefix(l, "=====") })
		fr := t.firstOwn(goCrashFrames(body))
		f.fail(Failure{File: fr.file, Line: fr.line, Message: message("data race", firstLine(body))})
		f.worse(StateFailed)
	}
	i := goCrashLine(t)
	if i < 0 {
		return
	}
	msg, _ := t.block(i, func(l string) bool {
		return strings.HasPrefix(l, "goroutine ") || strings.HasPrefix(l, "runtime stack:")
	})
	g := t.FindPrefix("goroutine ", i)
	var frames []frame
	end := i + len(msg)
	if g >= 0 {
		var body []string
		body, end = t.block(g+1, func(l string) bool { return strings.HasPrefix(l, "exit status ") })
		frames = goCrashFrames(body)
	}
	var keep []string
	for _, l := range msg {
		if !strings.HasPrefix(l, "\tpanic: ") && !strings.HasPrefix(l, "sp=") {
			keep = append(keep, l)
		}
	}
	fr := t.firstOwn(frames)
	f.fail(Failure{File: fr.file, Line: fr.line, Message: message(keep...)})
	f.crashed(t, end)
}

// goCrashLine is the first line of the panic that ended the program.
func goCrashLine(t *Text) int {
	for i, l := range t.lines {
		if goCrashHead().MatchString(l) {
			return i
		}
	}
	return -1
}

func goCrashFrames(lines []string) (out []frame) {
	for _, l := range lines {
		if m := goCrashFrame().FindStringSubmatch(l); m != nil {
			out = append(out, frame{m[1], atoi(m[2])})
		}
	}
	return out
}

func rustCrashParser() parser {
	return parser{
		name: "rust", kind: kindCrash, marks: []string{" panicked at ", "has overflowed its stack", "fatal runtime error:"},
		sniff: func(t *Text) match {
			if lastMatch(t, rustCrashWord()) >= 0 || t.Has("has overflowed its stack") || t.FindPrefix("fatal runtime error:", 0) >= 0 {
				return t.all(scoreLikely + 5)
			}
			return match{}
		}, parse: rustCrashParse,
	}
}

func rustCrashParse(t *Text, f *finding) {
	end := t.Len() - 1
	for i := 0; i < t.Len(); i++ {
		l := t.lines[i]
		if strings.Contains(l, "has overflowed its stack") || strings.HasPrefix(l, "fatal runtime error:") {
			f.fail(Failure{Message: l})
			continue
		}
		m := rustCrashWord().FindStringSubmatch(l)
		if m == nil {
			continue
		}
		x, next := rustCrashOne(t, i, m)
		f.fail(x)
		i = next - 1
		end = next
	}
	f.crashed(t, end)
}

// rustCrashOne reads one panic message with its backtrace.
func rustCrashOne(t *Text, i int, m []string) (Failure, int) {
	body, next := t.block(i+1, func(l string) bool {
		return rustCrashWord().MatchString(l) || strings.HasPrefix(l, "note: ") || strings.HasPrefix(l, "error: ") || strings.HasPrefix(l, "fatal runtime error")
	})
	var at frame
	var msg []string
	if o := rustCrashOld().FindStringSubmatch(m[2]); o != nil {
		at, msg = frame{o[2], atoi(o[3])}, []string{o[1]}
	} else if p, l, _, ok := splitPos(strings.TrimSuffix(m[2], ":")); ok {
		at = frame{p, l}
	}
	frames := []frame{at}
	trace := false
	for _, l := range body {
		if l == "stack backtrace:" {
			trace = true
		}
		if !trace {
			msg = append(msg, l)
			continue
		}
		if a := rustCrashAt().FindStringSubmatch(l); a != nil {
			frames = append(frames, frame{a[1], atoi(a[2])})
		}
	}
	fr := t.firstOwn(frames)
	return Failure{File: fr.file, Line: fr.line, Message: message(msg...)}, next
}
