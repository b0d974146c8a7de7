package claudecode

import (
	"path/filepath"
	"regexp"
	"runtime"
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

// matchPath tells whether a Read pattern covers a path. Patterns are gitignore's: //abs, ~/home, /from the settings
// file's project, ./here, and a name without a slash at any depth. What lies below a covered directory is covered.
func (r *Rules) matchPath(rule Rule, cwd, path string) bool {
	pattern := filepath.ToSlash(rule.pattern)
	if pattern == "" {
		return true
	}
	var bases []string
	switch {
	case strings.HasPrefix(pattern, "//"):
		bases, pattern = []string{"/"}, pattern[2:]
	case strings.HasPrefix(pattern, "~/"):
		bases, pattern = []string{r.home, realPath(r.home)}, pattern[2:]
	case strings.HasPrefix(pattern, "/"):
		bases, pattern = []string{rule.base, r.root, cwd}, pattern[1:]
	default:
		// Relative to the working directory in the client. The session's directory is taken too: stricter, for
		// calls from a subdirectory.
		bases = []string{cwd, r.root}
		if !strings.HasPrefix(pattern, "./") && !strings.Contains(strings.TrimSuffix(pattern, "/"), "/") {
			pattern = "**/" + pattern
		}
		pattern = strings.TrimPrefix(pattern, "./")
	}
	exp := `^` + globPath(strings.TrimSuffix(pattern, "/")) + `(?:/.*)?$`
	if runtime.GOOS == "windows" || runtime.GOOS == "darwin" {
		exp = `(?i)` + exp
	}
	re, err := regexp.Compile(exp)
	if err != nil {
		return false
	}
	for _, base := range bases {
		rel, err := filepath.Rel(base, path)
		if err == nil && re.MatchString(filepath.ToSlash(rel)) {
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
			exp.WriteString("[" + strings.Replace(regexp.QuoteMeta(rest[1:end]), `!`, `^`, 1) + "]")
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
