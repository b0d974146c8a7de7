package clean

import (
	"regexp"
	"strings"
	"sync"
)

// maxBlock is more lines than any key has.
const maxBlock = 300

// lineHead is what programs put before a line they show: a number or a file with a number (grep, cat -n), a sign of a
// diff, a quote.
const lineHead = `(?:[\w./\\-]*[:-][0-9]+[:-]|\s*[0-9]+[:\t→-]|[-+>|])?`

type blockForms struct{ begin, end, code, body, header, run *regexp.Regexp }

var blockForm = sync.OnceValue(func() blockForms {
	return blockForms{
		begin:  regexp.MustCompile(`-----BEGIN [A-Z ]*PRIVATE KEY-----`),
		end:    regexp.MustCompile(`-----END [A-Z ]*PRIVATE KEY-----`),
		code:   regexp.MustCompile(`[(){};]|\s:?=\s`),
		body:   regexp.MustCompile(`(?:^|[\s"'|:>→+-])([A-Za-z0-9+/]{40,}={0,2})|^` + lineHead + `[\s"']*([A-Za-z0-9+/]{2,}={0,2})(?:\\n)?["'+, ]*$`),
		header: regexp.MustCompile(`^` + lineHead + `\s*(?:Proc-Type|DEK-Info|Comment|Version)\b|^` + lineHead + `\W*$`),
		run:    regexp.MustCompile(`(\b|\\[nr])[A-Za-z0-9+/]{16,}={0,2}`),
	}
})

// keyBlock follows a private key over its lines.
type keyBlock struct{ left int } // lines that may still come; 0: outside

// opens tells whether a line begins a key that goes on in the next one.
func (k *keyBlock) opens(line string) bool {
	if !strings.Contains(line, "PRIVATE KEY-----") {
		return false
	}
	re := blockForm()
	at := re.begin.FindAllStringIndex(line, -1)
	if at == nil || re.end.MatchString(line[at[len(at)-1][1]:]) {
		return false
	}
	k.left = maxBlock
	return true
}

// line masks a line of a private key; one that is no part of it ends the block (source code that
// compares with the first line of a key goes on with something else).
func (k *keyBlock) line(line string) string {
	k.left--
	re := blockForm()
	switch {
	case strings.Contains(line, "-----END"):
		k.left = 0
	case re.header.MatchString(line):
	default:
		i := re.body.FindStringSubmatchIndex(line)
		if i == nil {
			k.left = 0
			break
		}
		return line[:max(i[2], i[4])] + Masked
	}
	return line
}

// maskBlocks hides the private keys of a text, whole ones and those whose end is missing.
func maskBlocks(text string) string {
	if !strings.Contains(text, "PRIVATE KEY-----") {
		return text
	}
	re := blockForm()
	var b strings.Builder
	for {
		begin := re.begin.FindStringIndex(text)
		if begin == nil {
			break
		}
		b.WriteString(text[:begin[1]])
		text = text[begin[1]:]
		// Between the two ends of a key there is no program text.
		if end := re.end.FindStringIndex(text); end != nil && !re.code.MatchString(text[:end[0]]) {
			if strings.TrimSpace(text[:end[0]]) != "" {
				b.WriteString(Masked)
			}
			b.WriteString(text[end[0]:end[1]])
			text = text[end[1]:]
			continue
		}
		text = maskOpen(&b, text)
	}
	b.WriteString(text)
	return b.String()
}

// maskOpen writes what follows the first line of a key, up to where it ends, and returns the rest.
func maskOpen(b *strings.Builder, text string) (rest string) {
	tail, rest, more := strings.Cut(text, "\n")
	if at := blockForm().begin.FindStringIndex(tail); at != nil { // another one on the same line
		b.WriteString(blockForm().run.ReplaceAllString(tail[:at[0]], "${1}"+Masked))
		return text[at[0]:]
	}
	b.WriteString(blockForm().run.ReplaceAllString(tail, "${1}"+Masked))
	if more {
		b.WriteByte('\n')
	}
	k := keyBlock{maxBlock}
	for k.left > 0 && rest != "" && !strings.Contains(firstLine(rest), "-----BEGIN") {
		line, after, ended := strings.Cut(rest, "\n")
		masked := k.line(line)
		if k.left == 0 {
			break
		}
		b.WriteString(masked)
		if rest = after; ended {
			b.WriteByte('\n')
		}
	}
	return rest
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return line
}
