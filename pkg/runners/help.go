package runners

import (
	"strconv"
	"strings"
)

// maxMessage is how much of one message is kept, in bytes; lines are never cut
// below maxMessageLine. What is cut is marked with its size.
const (
	maxMessage     = 4000
	maxMessageLine = 1000
)

// foreignParts mark paths that are not the project's own: dependencies, the
// language's library, the runtime.
var foreignParts = []string{
	"node_modules/", "node:", "/internal/modules/", "internal/process/", "site-packages/", "dist-packages/",
	"/usr/lib/", "/usr/local/lib/", "/usr/share/", "/usr/include/", "/usr/local/go/", "/libexec/src/", "/rustc/", "/.cargo/registry/",
	"/.rustup/", "/go/pkg/mod/", "/gems/", "vendor/bundle/", "/vendor/phpunit/", "vendor/autoload.php", "<frozen ", "<anonymous>", "<internal:", "<string>", "/lib/ruby/", "/lib/python", "/.npm/",
	"ext:core/", "ext:cli/", "https://deno.land/", "jar:file:", "native:",
	"/node_guard.cjs", "/mocha_hooks.cjs", "legwork_pytest_probe", // our own probes, see channel.go
	"/build/deps/", "/hostedtoolcache/", "/.bun/install/",
}

// foreign reports whether path belongs to a dependency or the runtime.
func foreign(path string) bool {
	p := strings.ReplaceAll(path, "\\", "/")
	for _, part := range foreignParts {
		if strings.Contains(p, part) {
			return true
		}
	}
	return false
}

// cleanPath makes a printed path comparable: file:// dropped, made relative to
// dir when it is below it, a leading "./" dropped, query strings of bundlers cut.
func cleanPath(path, dir string) string {
	path = strings.TrimPrefix(path, "file://")
	if i := strings.IndexAny(path, "?"); i > 0 {
		path = path[:i]
	}
	if dir != "" {
		d := strings.TrimSuffix(dir, "/") + "/"
		path = strings.TrimPrefix(path, d)
	}
	return strings.TrimPrefix(path, "./")
}

// splitPos splits "path:line:col" or "path:line"; col is 0 when absent. ok is
// false when no line number ends the string. Windows drive letters survive.
func splitPos(s string) (path string, line, col int, ok bool) {
	path, last, ok := cutNum(s)
	if !ok {
		return s, 0, 0, false
	}
	if p, l, ok2 := cutNum(path); ok2 {
		return p, l, last, p != ""
	}
	return path, last, 0, path != ""
}

// cutNum cuts a final ":123".
func cutNum(s string) (string, int, bool) {
	i := strings.LastIndexByte(s, ':')
	if i < 0 || i == len(s)-1 || len(s)-i > 10 {
		return s, 0, false
	}
	n, err := strconv.Atoi(s[i+1:])
	if err != nil || n < 0 {
		return s, 0, false
	}
	return s[:i], n, true
}

// atoi reads a number that is known to be digits (commas and underscores as
// thousands separators allowed); anything else is 0.
func atoi(s string) int {
	n := 0
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c >= '0' && c <= '9':
			if n > 1<<50 {
				return n
			}
			n = n*10 + int(c-'0')
		case c == ',' || c == '_':
		default:
			return n
		}
	}
	return n
}

// leadingInt reads the number at the start of s and returns the rest; ok is
// false when s does not start with a digit.
func leadingInt(s string) (n int, rest string, ok bool) {
	i := 0
	for i < len(s) && s[i] >= '0' && s[i] <= '9' {
		i++
	}
	if i == 0 || i > 15 {
		return 0, s, false
	}
	return atoi(s[:i]), s[i:], true
}

// indent is the number of leading blanks (a tab counts 1).
func indent(s string) int {
	return len(s) - len(strings.TrimLeft(s, " \t"))
}

// dedent removes the common indentation of lines, blank lines at both ends and
// trailing blanks.
func dedent(lines []string) []string {
	for len(lines) > 0 && strings.TrimSpace(lines[0]) == "" {
		lines = lines[1:]
	}
	for len(lines) > 0 && strings.TrimSpace(lines[len(lines)-1]) == "" {
		lines = lines[:len(lines)-1]
	}
	low := -1
	for _, l := range lines {
		if strings.TrimSpace(l) == "" {
			continue
		}
		if n := indent(l); low < 0 || n < low {
			low = n
		}
	}
	out := make([]string, len(lines))
	for i, l := range lines {
		if low > 0 && len(l) >= low && indent(l) >= low {
			l = l[low:]
		}
		out[i] = strings.TrimRight(l, " \t")
	}
	return out
}

// message joins lines to a Failure's message: dedented, blank runs folded, long
// lines and long messages cut with the size of the cut stated.
func message(lines ...string) string {
	lines = dedent(lines)
	var b strings.Builder
	blank := false
	for i, l := range lines {
		if strings.TrimSpace(l) == "" {
			blank = true
			continue
		}
		if b.Len() > 0 {
			b.WriteByte('\n')
			if blank {
				b.WriteByte('\n')
			}
		}
		blank = false
		if b.Len() > maxMessage {
			b.WriteString("[" + strconv.Itoa(len(lines)-i) + " more lines]")
			break
		}
		b.WriteString(cutLine(l, maxMessageLine))
	}
	return b.String()
}

// plural says "1 line" or "3 lines".
func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return strconv.Itoa(n) + " " + what + "s"
}

// cutLine shortens l to about limit bytes at a rune boundary, keeping both ends
// and stating how many bytes are gone.
func cutLine(l string, limit int) string {
	if len(l) <= limit+40 {
		return l
	}
	head, tail := limit*3/4, limit/4
	for head > 0 && l[head]&0xC0 == 0x80 {
		head--
	}
	cut := len(l) - tail
	for cut < len(l) && l[cut]&0xC0 == 0x80 {
		cut++
	}
	return l[:head] + "[… " + strconv.Itoa(cut-head) + " bytes …]" + l[cut:]
}
