package runners

import "strings"

var (
	javaFrame   = lazy(`^\s*(?:at )?((?:[\w.$@-]*/)*)([\w.$<>]+)\.([\w$<>]+)\(([^():]+):(\d+)\)$`)
	javaThread  = lazy(`^Exception in thread "[^"]*" (.+)$`)
	javaCaused  = lazy(`^\s*(?:\[CIRCULAR REFERENCE: ?)?(Caused by|Suppressed): (.+)$`)
	javaMissing = lazy(`^Error: (Could not find or load main class .*|Main method not found in class .*|Unable to access jarfile .*)$`)
)

// javaForeign are packages of the language, its test frameworks and build tools.
var javaForeign = []string{
	"java.", "javax.", "jdk.", "sun.", "com.sun.", "junit.", "org.junit.", "org.opentest4j.", "org.hamcrest.", "org.assertj.",
	"org.mockito.", "org.testng.", "org.apache.maven.", "org.apache.tools.ant.", "org.gradle.", "worker.org.gradle.",
	"kotlin.", "kotlinx.", "scala.", "groovy.", "org.codehaus.groovy.", "com.google.common.truth.", "org.springframework.",
	"io.kotest.", "org.scalatest.", "org.spockframework.",
}

// javaFrameOf reads one stack frame; foreign says that it is not the project's.
func javaFrameOf(l string) (fr frame, class, method string, foreign, ok bool) {
	if !strings.Contains(l, "(") {
		return frame{}, "", "", false, false
	}
	m := javaFrame().FindStringSubmatch(l)
	if m == nil {
		return frame{}, "", "", false, false
	}
	foreign = strings.HasPrefix(m[1], "java.") || strings.HasPrefix(m[1], "jdk.")
	for _, p := range javaForeign {
		foreign = foreign || strings.HasPrefix(m[2], p)
	}
	return frame{m[4], atoi(m[5])}, m[2], m[3], foreign, true
}

// isJavaFrame also knows frames without a position ("Native Method", "Unknown Source").
func isJavaFrame(l string) bool {
	s := strings.TrimSpace(l)
	if strings.HasPrefix(s, "... ") && (strings.HasSuffix(s, " more") || strings.HasSuffix(s, " trimmed")) || s == "[...]" {
		return true
	}
	s, at := strings.CutPrefix(s, "at ")
	if !strings.HasSuffix(s, ")") {
		return at && strings.HasSuffix(s, "]") && strings.Contains(s, ".java:")
	}
	return strings.HasSuffix(s, "(Native Method)") || strings.HasSuffix(s, "(Unknown Source)") || javaFrame().MatchString(s)
}

// javaTrace takes an exception's text apart: message without frames, the first
// own frame of the outermost exception (of a cause, when that has none).
func javaTrace(lines []string) (fr frame, msg string) {
	var keep []string
	for _, l := range lines {
		if isJavaFrame(l) {
			if f, _, _, foreign, ok := javaFrameOf(l); ok && !foreign && fr.file == "" {
				fr = f
			}
			continue
		}
		keep = append(keep, strings.TrimRight(l, " "))
	}
	return fr, message(keep...)
}

func javaCrashParser() parser {
	return parser{
		name: "java", kind: kindCrash,
		marks: []string{"Exception in thread ", "Error: ", "# A fatal error has been detected by the Java", "java.lang."},
		sniff: func(t *Text) match {
			if lastMatch(t, javaThread()) >= 0 || lastMatch(t, javaMissing()) >= 0 || t.Has("# A fatal error has been detected by the Java") {
				return t.all(scoreLikely)
			}
			return match{}
		}, parse: javaParse,
	}
}

func javaParse(t *Text, f *finding) {
	for i := 0; i < t.Len(); i++ {
		l := t.lines[i]
		if m := javaThread().FindStringSubmatch(l); m != nil {
			body, next := t.block(i+1, func(l string) bool {
				return !isJavaFrame(l) && !javaCaused().MatchString(l) && !strings.HasPrefix(l, "\t")
			})
			fr, msg := javaTrace(append([]string{m[1]}, body...))
			f.fail(Failure{File: fr.file, Line: fr.line, Message: msg})
			f.crashed(t, next-1)
			i = next - 1
			continue
		}
		if m := javaMissing().FindStringSubmatch(l); m != nil {
			f.fail(Failure{Message: m[1]})
			f.crashed(t, t.Len()-1)
		}
		if strings.HasPrefix(l, "# A fatal error has been detected by the Java") {
			body, _ := t.block(i+1, func(l string) bool { return !strings.HasPrefix(l, "#") })
			for k, b := range body {
				body[k] = strings.TrimSpace(strings.TrimPrefix(b, "#"))
			}
			f.fail(Failure{Message: message(body[:min(len(body), 14)]...)})
			f.worse(StateDidNotFinish)
			return
		}
	}
}
