package llm

import (
	"regexp"
	"strings"
	"sync"
)

// reasoningTags are the marks models put around what they think.
var reasoningTags = [][2]string{
	{"<think>", "</think>"},
	{"<thinking>", "</thinking>"},
	{"<thought>", "</thought>"},
	{"<reasoning>", "</reasoning>"},
	{"<seed:think>", "</seed:think>"},
	{"[THINK]", "[/THINK]"},
}

// splitReasoning parts a whole reply into reasoning and answer. Reasoning is
// only what stands at the start: a leading region, closed or not, or everything
// before a closing tag whose opening one was part of the prompt. Tags anywhere
// else, in code or quoted, are content and survive byte for byte.
func splitReasoning(text string) (reasoning, answer string) {
	lead := strings.TrimLeft(text, " \t\r\n")
	for _, tag := range reasoningTags {
		if strings.HasPrefix(lead, tag[0]) {
			return leadingRegion(lead, tag[0], tag[1])
		}
	}
	for _, tag := range reasoningTags {
		if i := orphanEnd(text, tag[0], tag[1]); i >= 0 {
			return strings.TrimSpace(text[:i]), trimLead(text[i+len(tag[1]):])
		}
	}
	return "", text
}

// leadingRegion cuts a region at the start of text. Regions inside it count,
// quoted tags do not. When the marks do not balance the first closing one ends
// it, since models open twice and close once; without any, all is reasoning.
func leadingRegion(text, open, end string) (reasoning, answer string) {
	cut := func(i int) (string, string) {
		return strings.TrimSpace(text[len(open):i]), trimLead(text[i+len(end):])
	}
	first, depth, at := -1, 1, len(open)
	for {
		c := strings.Index(text[at:], end)
		if c < 0 {
			break
		}
		if o := strings.Index(text[at:], open); o >= 0 && o < c {
			if !quoted(text[:at+o], text[at+o+len(open):]) {
				depth++
			}
			at += o + len(open)
			continue
		}
		if pos := at + c; !quoted(text[:pos], text[pos+len(end):]) {
			if first < 0 {
				first = pos
			}
			if depth--; depth == 0 {
				return cut(pos)
			}
		}
		at += c + len(end)
	}
	if first < 0 {
		first = strings.Index(text, end)
	}
	if first < 0 {
		return strings.TrimSpace(text[len(open):]), ""
	}
	return cut(first)
}

// orphanEnd finds a closing tag that ends reasoning whose start is not in the
// text; -1 when there is none or when it may be content: inside a code fence or
// quotes, mentioned in a sentence, or with an opening tag before it.
func orphanEnd(text, open, end string) int {
	i := strings.Index(text, end)
	if i < 0 || strings.Contains(text[:i], open) {
		return -1
	}
	before, after := text[:i], text[i+len(end):]
	if inFence(before) || quoted(before, after) {
		return -1
	}
	// " </think> " within a line is a sentence about the tag.
	if strings.HasSuffix(before, " ") && after != "" && after[0] != '\n' && after[0] != '\r' {
		return -1
	}
	return i
}

var fenceLine = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile("(?m)^[ \t]*(`{3,}|~{3,})") })

func inFence(before string) bool { return len(fenceLine().FindAllString(before, -1))%2 == 1 }

// quoted says whether the place between before and after lies in quotes or
// backticks: directly, or inside a code span of the same line.
func quoted(before, after string) bool {
	if before != "" && after != "" && strings.ContainsAny(before[len(before)-1:], "`\"'") && strings.ContainsAny(after[:1], "`\"'\\") {
		return true
	}
	line := before[strings.LastIndexByte(before, '\n')+1:]
	rest, _, _ := strings.Cut(after, "\n")
	return strings.Count(line, "`")%2 == 1 && strings.Contains(rest, "`")
}

// trimLead drops the blank lines that models put between reasoning and answer,
// but not the indentation of the answer's first line.
func trimLead(s string) string {
	if strings.TrimSpace(s) == "" {
		return ""
	}
	if !strings.HasPrefix(strings.TrimLeft(s, " \t\r"), "\n") {
		return strings.TrimLeft(s, " ")
	}
	for {
		line, rest, ok := strings.Cut(s, "\n")
		if !ok || strings.TrimSpace(line) != "" {
			return s
		}
		s = rest
	}
}
