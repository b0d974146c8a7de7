package runners

import (
	"strings"
	"testing"
)

func TestMarksFindOverlappingWords(t *testing.T) {
	t.Parallel()
	words := []string{"he", "she", "hers", "his", "x — y"}
	m := newMarks(words, []int32{0, 1, 2, 3, 4})
	for _, text := range []string{"ushers", "his x — y", "nothing", ""} {
		got := m.find(text, len(words))
		for i := range words {
			if exp := strings.Contains(text, words[i]); got[i] != exp {
				t.Errorf("%q: word %q found %v", text, words[i], got[i])
			}
		}
	}
}

// The automaton of all parsers agrees with looking for every mark.
func TestMarksOfTheTable(t *testing.T) {
	t.Parallel()
	table := parsers()
	for _, p := range table {
		for _, mark := range p.marks {
			found := tableMarks().find("some text "+mark+" more", len(table))
			for i, q := range table {
				want := false
				for _, other := range q.marks {
					want = want || strings.Contains("some text "+mark+" more", other)
				}
				if found[i] != want {
					t.Errorf("mark %q: entry %d (%s) found %v, want %v", mark, i, q.name, found[i], want)
				}
			}
		}
	}
}

func BenchmarkTableMarks(b *testing.B) {
	for b.Loop() {
		var words []string
		var owner []int32
		for i, p := range parsers() {
			for _, m := range p.marks {
				words = append(words, m)
				owner = append(owner, int32(i))
			}
		}
		newMarks(words, owner)
	}
}

func BenchmarkParseSmall(b *testing.B) {
	data := []byte("F\n======================================================================\nFAIL: t (m.C.t)\n----------------------------------------------------------------------\nTraceback (most recent call last):\n  File \"a.py\", line 1, in t\nE: x\n\n----------------------------------------------------------------------\nRan 1 test in 0.1s\n\nFAILED (failures=1)\n")
	for b.Loop() {
		Parse(data, Hint{})
	}
}
