package claudecode

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// word is one word of a command: its text in the source, and its value as far as the text alone tells.
type word struct {
	src   string
	val   string // unknown parts are the unknown mark
	hard  bool   // holds something only the shell can know: $(…), ${…}, {a,b}, $'…'
	vars  bool   // holds plain variables
	other bool   // holds a variable other than HOME, or a HOME the script itself sets
	glob  bool   // holds an unquoted * ? [
	tilde bool   // begins with an unquoted ~
	// dollar: holds a $ that begins no variable
	dollar bool
}

// reader turns syntax into words. vars are the variables whose value is known, set those the script sets itself.
type reader struct {
	src  string
	vars map[string]string
	set  map[string]bool
}

func (rd reader) word(w *syntax.Word) word {
	out := word{src: rd.text(w)}
	var val strings.Builder
	for i, part := range w.Parts {
		rd.part(&out, &val, part, false, i == 0)
	}
	out.val = val.String()
	return out
}

// text is the source of a node.
func (rd reader) text(n *syntax.Word) string {
	if len(n.Parts) == 0 {
		return ""
	}
	from, to := int(n.Pos().Offset()), int(n.End().Offset())
	if from > to || to > len(rd.src) {
		return unknown
	}
	return rd.src[from:to]
}

func (rd reader) part(out *word, val *strings.Builder, part syntax.WordPart, quoted, first bool) {
	switch p := part.(type) {
	case *syntax.Lit:
		rd.literal(out, val, p.Value, quoted, first)
	case *syntax.SglQuoted:
		out.hard = out.hard || p.Dollar
		out.dollar = out.dollar || strings.Contains(p.Value, "$")
		val.WriteString(p.Value)
	case *syntax.DblQuoted:
		if p.Dollar {
			out.hard = true
		}
		for _, inner := range p.Parts {
			rd.part(out, val, inner, true, false)
		}
	case *syntax.ParamExp:
		known, ok := rd.vars[paramName(p)]
		out.other = out.other || paramName(p) != "HOME" || rd.set["HOME"]
		switch {
		case paramName(p) == "":
			out.hard = true
			val.WriteString(unknown)
		case ok:
			out.vars = true
			val.WriteString(known)
		default:
			out.vars = true
			val.WriteString(unknown)
		}
	default:
		out.hard = true
		val.WriteString(unknown)
	}
}

// paramName is the name in a plain $NAME, "" for every other expansion.
func paramName(p *syntax.ParamExp) string {
	plain := p.Short && !p.Excl && !p.Length && !p.Width && p.Index == nil && p.Slice == nil && p.Repl == nil && p.Exp == nil
	if !plain || p.Param == nil {
		return ""
	}
	return p.Param.Value
}

func (rd reader) literal(out *word, val *strings.Builder, s string, quoted, first bool) {
	if first && !quoted && strings.HasPrefix(s, "~") {
		out.tilde = true
	}
	brace := false
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c == '\\' && i+1 < len(s) {
			next := s[i+1]
			if !quoted || strings.IndexByte("\"\\$`\n", next) >= 0 {
				i++
				out.dollar = out.dollar || next == '$'
				out.hard = out.hard || (!quoted && (next == ' ' || next == '\t'))
				if next != '\n' { // a continued line
					val.WriteByte(next)
				}
				continue
			}
		}
		if c == '$' {
			out.dollar = true
			out.hard = out.hard || !quoted
		}
		if !quoted {
			switch c {
			case '*', '?', '[':
				out.glob = true
			case '{':
				brace = true
			case ',', '.':
				if brace && (c == ',' || strings.HasPrefix(s[i:], "..")) {
					out.hard = true
				}
			}
		}
		val.WriteByte(c)
	}
}

func values(words []word) []string {
	out := make([]string, len(words))
	for i, w := range words {
		out[i] = w.val
	}
	return out
}

// source is the words as written, single-spaced, the first one without its quotes.
func source(words []word) string {
	out := make([]string, len(words))
	for i, w := range words {
		out[i] = w.src
		if i == 0 {
			out[i] = w.val
		}
	}
	return strings.Join(out, " ")
}

func anyWord(words []word, is func(word) bool) bool {
	return slices.ContainsFunc(words, is)
}
