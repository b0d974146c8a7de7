package runners

import "sync"

// marks finds which of many literals occur in a text in one pass (Aho-Corasick
// over byte classes). Looking for some four hundred literals one by one would
// read the text four hundred times.
type marks struct {
	classes [256]uint8
	width   int32
	next    []int32 // state*width + class → state
	hits    [][]int32
}

// marksWorth is the size of a text from which building the automaton pays, in bytes.
const marksWorth = 64 << 10

// tableMarks is the automaton of all parsers' marks, built at the first use; the
// parser's number in the table is what a hit yields.
var tableMarks = sync.OnceValue(func() *marks {
	var words []string
	var owner []int32
	for i, p := range parsers() {
		for _, m := range p.marks {
			words = append(words, m)
			owner = append(owner, int32(i))
		}
	}
	return newMarks(words, owner)
})

func newMarks(words []string, owner []int32) *marks {
	m := &marks{width: 1}
	for _, w := range words {
		for i := range len(w) {
			if m.classes[w[i]] == 0 && m.width < 255 {
				m.classes[w[i]] = uint8(m.width)
				m.width++
			}
		}
	}
	states := 1
	for _, w := range words {
		states += len(w)
	}
	m.next = make([]int32, 0, states*int(m.width))
	m.grow()
	for k, w := range words {
		s := int32(0)
		for i := range len(w) {
			at := s*m.width + int32(m.classes[w[i]])
			if m.next[at] == 0 {
				m.next[at] = m.grow()
			}
			s = m.next[at]
		}
		m.hits[s] = append(m.hits[s], owner[k])
	}
	m.link()
	return m
}

// grow adds a state and returns its number.
func (m *marks) grow() int32 {
	m.next = m.next[:len(m.next)+int(m.width)]
	m.hits = append(m.hits, nil)
	return int32(len(m.hits) - 1)
}

// link turns the tree of words into an automaton: missing steps go where the
// longest suffix that is a word's beginning would go.
func (m *marks) link() {
	fail := make([]int32, len(m.hits))
	var queue []int32
	for c := range m.width {
		if s := m.next[c]; s != 0 {
			queue = append(queue, s)
		}
	}
	for len(queue) > 0 {
		s := queue[0]
		queue = queue[1:]
		m.hits[s] = append(m.hits[s], m.hits[fail[s]]...)
		for c := range m.width {
			at := s*m.width + c
			back := m.next[fail[s]*m.width+c]
			if to := m.next[at]; to != 0 {
				fail[to] = back
				queue = append(queue, to)
			} else {
				m.next[at] = back
			}
		}
	}
}

// find reports for each owner whether one of its words occurs in s.
func (m *marks) find(s string, owners int) []bool {
	found := make([]bool, owners)
	state := int32(0)
	for i := range len(s) {
		state = m.next[state*m.width+int32(m.classes[s[i]])]
		if h := m.hits[state]; h != nil {
			for _, o := range h {
				found[o] = true
			}
		}
	}
	return found
}
