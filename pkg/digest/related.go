package digest

import (
	_ "embed"
	"strings"
	"sync"
)

// relatedText holds words that people and programs use for the same thing; related.txt says how it is
// written.
//
//go:embed related.txt
var relatedText string

const (
	nearWeight = 0.8 // abbreviations and spellings of one word
	kinWeight  = 0.5 // related words
)

// kin is a word or phrase that may stand for another.
type kin struct {
	words  []string // more than one: a phrase
	weight float64
}

// relatedTable maps a stem, or the stems of a phrase joined by "_", to its kin. It is made at the
// first question, in about a millisecond or two.
var relatedTable = sync.OnceValue(func() map[string][]kin {
	table := map[string][]kin{}
	for line := range strings.Lines(relatedText) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		weight := kinWeight
		if line[0] == '=' {
			weight, line = nearWeight, line[1:]
		}
		heads, tail, oneWay := strings.Cut(line, "|")
		from := strings.Fields(heads)
		to := append(strings.Fields(tail), from...)
		if !oneWay {
			to = from
		}
		for _, h := range from {
			key := stemKey(h)
			for _, w := range to {
				if w != h {
					table[key] = append(table[key], kin{strings.Split(w, "_"), weight})
				}
			}
		}
	}
	return table
})

// stemKey stems each word of a phrase joined by "_".
func stemKey(w string) string {
	parts := strings.Split(lower(w), "_")
	for i, p := range parts {
		parts[i] = stemString(p)
	}
	return strings.Join(parts, "_")
}

func stemString(w string) string {
	b := []byte(w)
	if len(b) < 4 {
		return w
	}
	return string(b[:stem(b)])
}

// Related returns the single words that people and programs use for the same thing
// as word; nil when none are known.
func Related(word string) (out []string) {
	for _, k := range relatedTable()[stemKey(word)] {
		if len(k.words) == 1 {
			out = append(out, k.words[0])
		}
	}
	return out
}
