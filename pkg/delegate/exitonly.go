package delegate

import (
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"legwork/pkg/runners"
)

// A gate of which nothing but the exit code is known takes every early end with code 0 for a pass.

// byHand says that the command is nothing but files given to an interpreter that call their tests themselves: no
// runner is there that could name them.
func (c *call) byHand() bool {
	progs := runners.Programs(c.req.Test, c.req.Dir)
	return len(progs) > 0 && !slices.ContainsFunc(progs, func(p runners.Program) bool {
		if (p.Name != "python" && p.Name != "node") || len(p.Args) == 0 || strings.HasPrefix(p.Args[0], "-") {
			return true
		}
		b, err := os.ReadFile(filepath.Join(p.Dir, p.Args[0]))
		return err != nil || regexp.MustCompile(`\b(?:unittest|pytest|doctest|nose|node:test|mocha|jest|vitest|tape|tap|ava|uvu|jasmine|child_process|subprocess)\b|require\(['"]test['"]\)`).Match(b)
	})
}

// endings are what ends a process, or keeps it from failing, when the file is loaded: by family or
// extension, matched against the code without comments; the first of each pair with strings blanked out too.
func endings() map[string][2]string {
	return map[string][2]string{
		"shell":      {`(?m)^(?:exit\b|exec\s+[^\d<>&\s])`, `(?m)^trap\b[^\n]*\bexit\b`},
		"python":     {`(?m)^(?:sys\.exit\(|os\._exit\(|exit\(|quit\(|raise SystemExit\b)|\batexit\.register\([^\n]*_exit\b`, ``},
		"javascript": {`(?m)^process\.(?:exit|reallyExit)\(|\bprocess\.exitCode\s*=\s*0`, `\bprocess\.(?:on|once|addListener|prepend(?:Once)?Listener)\(\s*['"` + "`" + `](?:uncaughtException|unhandledRejection)\b|\bsetUncaughtExceptionCaptureCallback\(`},
		"ruby":       {`(?m)^(?:exit!?(?:\s|\(|$)|Process\.exit|Kernel\.exit|at_exit\b[^\n]*\bexit)`, ``},
		"php":        {`(?m)^(?:exit|die)\b`, ``},
		"go":         {`\bfunc init\(\)\s*\{[^}]*\bos\.Exit\(`, ``},
		".pl":        {`(?m)^exit\b`, ``},
		".pm":        {`(?m)^exit\b`, ``},
		".lua":       {`(?m)^os\.exit\(`, ``},
	}
}

// inside are ends with code 0, or with one that is not written out, anywhere in a file: by family. Where tests have
// names, yet no runner counts them, an end inside a test would hide the others.
func inside() map[string]string {
	return map[string]string{
		"python":     `(?m)(?:^|[^\w])(?:\w+\.)?_?(?:exit|quit)\(\s*(?:[^1-9"'\s-]|$)|\braise\s+SystemExit\b(?:\(\s*[^1-9"'\s-]|\s*$)`,
		"javascript": `(?m)\bprocess\.(?:exit|reallyExit)\(\s*(?:[^1-9\s]|$)`,
	}
}

// ends finds what in a candidate ends the process when a test loads it; "" when nothing does, when the file did so
// before, or when the test starts it as a program of its own, whose end is its own.
func (c *call) ends(i int, text string) string {
	l := c.langs[i]
	forms, ok := endings()[l.family()]
	if !ok {
		forms = endings()[path.Ext(c.res.Targets[i])]
	}
	list := forms[:]
	if c.test.named {
		list = append(list, inside()[l.family()])
	}
	for k, form := range list {
		if form == "" {
			continue
		}
		look := func(text string) string {
			text = stripComments(l, text)
			if k != 1 {
				text = blankStrings(l, text)
			}
			if k == 2 && l.family() == "python" {
				text, _, _ = strings.Cut(text, "\nif __name__ ==") // not loaded then
			}
			return strings.TrimSpace(regexp.MustCompile(form).FindString(text))
		}
		found := look(text)
		if found == "" || c.before[i].Exists && look(string(c.before[i].Data)) != "" || c.started(c.res.Targets[i]) {
			continue
		}
		return found
	}
	return ""
}

// blankStrings takes the text out of string literals; line numbers stay.
func blankStrings(l language, text string) string {
	var b strings.Builder
	scan(l, text, func(piece string, kind byte) {
		if kind == 's' {
			piece = `""` + strings.Repeat("\n", strings.Count(piece, "\n"))
		}
		b.WriteString(piece)
	})
	return b.String()
}

// started says that the tests start the file as a program and never load it: each line that names it does so with its
// extension and without a word that loads.
func (c *call) started(rel string) bool {
	base := path.Base(rel)
	stem := regexp.MustCompile(`\b` + regexp.QuoteMeta(strings.TrimSuffix(base, path.Ext(base))) + `\b`)
	loads := regexp.MustCompile(`(?:^|[;&|({\s])(?:\.|source|import|from|require\w*|include\w*|load\w*|use)[\s('"]`)
	found := false
	texts := []string{c.req.Test}
	for _, t := range c.test.texts {
		texts = append(texts, t)
	}
	for _, t := range texts {
		for line := range strings.SplitSeq(t, "\n") {
			if !stem.MatchString(line) {
				continue
			}
			if loads.MatchString(line) {
				return false
			}
			found = found || strings.Contains(line, base)
		}
	}
	return found
}

// namedItself says that the command has the file's own name in it, not only a folder above it.
func (c *call) namedItself(rel string) bool {
	for w := range strings.FieldsSeq(c.req.Test) {
		w, _, _ = strings.Cut(strings.Trim(w, `"'`), "::")
		if got, err := c.repo.Rel(c.req.Dir, w); err == nil && got == rel {
			return true
		}
	}
	return false
}
