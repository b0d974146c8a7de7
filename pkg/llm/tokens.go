package llm

import (
	"math"
	"unicode"
	"unicode/utf8"
)

// The classes of text whose count decides how many tokens it makes.
const (
	cWord    = iota // runs of letters
	cLong           // letters of a run beyond the sixth
	cHump           // changes of case inside a run
	cAccent         // letters beyond ASCII: Cyrillic, Greek, accents
	cDigit          // digits
	cPunct          // punctuation; a run of one character counts less
	cLine           // runs of line ends
	cSpace          // runs of two or more blanks, and blanks before a digit
	cCJK            // Chinese, Japanese, Korean characters
	cOther          // other characters beyond ASCII
	cMessage        // turns: what the chat template adds
	cByte           // bytes; no class of its own, see tokenFit.PerByte
	nClasses
)

// features counts the classes in a text.
type features [nClasses]float64

// priorWeights are tokens per class as measured with a Qwen tokenizer over logs,
// code, prose and Chinese; a model's own are learned from there.
var priorWeights = features{1.01, 0.12, 0.45, 0.18, 1.28, 0.72, 0.3, 0.68, 0.62, 1.7, 12, 0}

// measure reads a text once.
func measure(text string) features {
	var f features
	f[cByte] = float64(len(text))
	run, blanks, lines, same := 0, 0, false, 0
	var prev rune
	for _, r := range text {
		letter := false
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= 0x80 && r != utf8.RuneError && isWordRune(r):
			letter = true
			if run == 0 {
				f[cWord]++
			} else if r <= 'Z' && r >= 'A' && prev >= 'a' && prev <= 'z' {
				f[cHump]++
			}
			if r >= 0x80 {
				f[cAccent]++
			}
			if run++; run > 6 {
				f[cLong]++
			}
		case r >= '0' && r <= '9':
			f[cDigit]++
			if blanks == 1 {
				f[cSpace]++
			}
		case r == '\n' || r == '\r':
			if !lines {
				f[cLine]++
			}
		case r == ' ' || r == '\t':
			if blanks == 1 {
				f[cSpace]++
			}
		case r < 0x80:
			if r != prev {
				f[cPunct]++
				same = 0
			} else if same++; same%16 == 0 {
				f[cPunct]++
			}
		case isCJK(r):
			f[cCJK]++
		default:
			f[cOther]++
		}
		if !letter {
			run = 0
		}
		lines = r == '\n' || r == '\r'
		if r == ' ' || r == '\t' {
			blanks++
		} else {
			blanks = 0
		}
		prev = r
	}
	return f
}

func isWordRune(r rune) bool { return r < 0x2000 && unicode.IsLetter(r) }

func isCJK(r rune) bool {
	return r >= 0x2e80 && r <= 0x9fff || r >= 0xac00 && r <= 0xd7af || r >= 0xf900 && r <= 0xfaff || r >= 0xff00 && r <= 0xffef || r >= 0x20000 && r <= 0x3ffff
}

func (f *features) add(g features) {
	for i := range f {
		f[i] += g[i]
	}
}

func (f features) dot(w features) float64 {
	s := 0.0
	for i := range f {
		s += f[i] * w[i]
	}
	return s
}

// Estimate counts tokens by content class alone, without knowing the model.
func Estimate(text string) int { return int(math.Ceil(measure(text).dot(priorWeights))) }
