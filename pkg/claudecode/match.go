package claudecode

import (
	"path/filepath"
	"regexp"
	"strings"
)

// unknown stands in a command's text for what only the shell would know. No rule names it, but a * covers it.
const unknown = "\x00"

// matchCommand tells whether a Bash pattern covers a command: `npm run test:*` and `npm run test *` cover it with
// or without more words, a * elsewhere covers anything, and without one the text must be the same.
func matchCommand(pattern, text string) bool {
	text = strings.TrimSpace(text)
	pattern = strings.TrimSpace(pattern)
	prefix, open := strings.CutSuffix(pattern, ":*")
	if !open {
		prefix, open = strings.CutSuffix(pattern, " *")
	}
	if strings.Contains(prefix, "*") || (!open && strings.Contains(pattern, "*")) {
		exp := globText(prefix)
		if open {
			exp += `(?: .*)?`
		}
		re, err := regexp.Compile(`(?s)^` + exp + `$`)
		return err == nil && re.MatchString(text)
	}
	if open {
		return text == prefix || strings.HasPrefix(text, prefix+" ")
	}
	return text == pattern
}

func globText(pattern string) string {
	var exp strings.Builder
	for i := 0; i < len(pattern); i++ {
		switch c := pattern[i]; {
		case c == '\\' && i+1 < len(pattern):
			i++
			exp.WriteString(regexp.QuoteMeta(pattern[i : i+1]))
		case c == '*':
			exp.WriteString(`.*`)
		default:
			exp.WriteString(regexp.QuoteMeta(string(c)))
		}
	}
	return exp.String()
}

// pathPattern is a Read pattern, compiled. Patterns are gitignore's: //abs, ~/home, /from the settings file's
// project, ./here, and a name without a slash at any depth. What lies below a covered directory is covered.
type pathPattern struct {
	from byte // what it is relative to: 'r' the file system's root, 'h' home, 's' the settings' project, 'd' directory
	re   *regexp.Regexp
}

func compilePath(pattern string) *pathPattern {
	pattern = filepath.ToSlash(pattern)
	p := &pathPattern{}
	switch {
	case strings.HasPrefix(pattern, "//"):
		p.from, pattern = 'r', pattern[2:]
	case strings.HasPrefix(pattern, "~/"):
		p.from, pattern = 'h', pattern[2:]
	case strings.HasPrefix(pattern, "/"):
		p.from, pattern = 's', pattern[1:]
	default:
		p.from = 'd'
		if !strings.HasPrefix(pattern, "./") && !strings.Contains(strings.TrimSuffix(pattern, "/"), "/") {
			pattern = "**/" + pattern
		}
		pattern = strings.TrimPrefix(pattern, "./")
	}
	// The client ignores case on every system.
	exp := `(?i)^` + globPath(strings.TrimSuffix(pattern, "/")) + `(?:/.*)?$`
	var err error
	if p.re, err = regexp.Compile(exp); err != nil {
		return nil
	}
	return p
}

// matchPath tells whether a Read rule covers a path.
func (r *Rules) matchPath(rule Rule, cwd, path string) bool {
	if rule.pattern == "" {
		return true
	}
	p := rule.path
	if p == nil {
		return false
	}
	var bases []string
	switch p.from {
	case 'r':
		bases = []string{filepath.VolumeName(path) + string(filepath.Separator)}
	case 'h':
		bases = []string{r.home, realPath(r.home)}
	case 's':
		bases = []string{rule.base, r.root, cwd}
	default:
		// Relative to the working directory in the client. The session's directory is taken too: stricter, for
		// calls from a subdirectory.
		bases = []string{cwd, r.root}
	}
	for _, base := range bases {
		rel, err := filepath.Rel(base, path)
		if err == nil && p.re.MatchString(filepath.ToSlash(rel)) {
			return true
		}
	}
	return false
}

func globPath(pattern string) string {
	var exp strings.Builder
	for i := 0; i < len(pattern); i++ {
		rest := pattern[i:]
		switch {
		case strings.HasPrefix(rest, "**/"):
			exp.WriteString(`(?:.*/)?`)
			i += 2
		case rest == "/**": // the directory itself too: listing it tells what is in it
			exp.WriteString(`(?:/.*)?`)
			i += 2
		case strings.HasPrefix(rest, "**"):
			exp.WriteString(`.*`)
			i++
		case rest[0] == '*':
			exp.WriteString(`[^/]*`)
		case rest[0] == '?':
			exp.WriteString(`[^/]`)
		case rest[0] == '[' && strings.Contains(rest, "]"):
			end := strings.IndexByte(rest, ']')
			class := strings.ReplaceAll(rest[1:end], `\`, `\\`)
			if not, ok := strings.CutPrefix(class, "!"); ok {
				class = "^" + not
			}
			exp.WriteString("[" + class + "]")
			i += end
		case rest[0] == '\\' && len(rest) > 1:
			exp.WriteString(regexp.QuoteMeta(rest[1:2]))
			i++
		default:
			exp.WriteString(regexp.QuoteMeta(rest[:1]))
		}
	}
	return exp.String()
}
