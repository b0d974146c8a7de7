package clean

import (
	"bytes"
	"errors"
	"io"
	"strings"
)

// Reader passes r on, line for line, with the keys masked whose shape cannot be mistaken: values of the
// environment, keys with a telling beginning, and the lines of private key blocks. What a text says in
// words ("password = …") is left to Mask on the lines that are shown, which costs too much for all of a
// large text. The number of lines stays. A nil *Secrets passes everything on unchanged.
func (s *Secrets) Reader(r io.Reader) io.Reader {
	if s == nil {
		return r
	}
	m := &maskReader{s: s, r: r, buf: make([]byte, 0, maskBlock)}
	for _, v := range s.values {
		m.signs.add(v)
	}
	for _, h := range strongHints {
		m.signs.add(h)
	}
	return m
}

// maskBlock is how much text is looked at together; a longer line is masked piece by piece.
const maskBlock = 256 << 10

// strongHints are the beginnings of keys that are rare in other text.
var strongHints = []string{
	"PRIVATE KEY-----", "AKIA", "ASIA", "ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_", "glpat-", "sk-", "k_live_", "k_test_",
	"xox", "AIza", "npm_", "pypi-", "hf_", "eyJ",
}

type maskReader struct {
	s     *Secrets
	r     io.Reader
	signs signs
	buf   []byte // read and not passed on yet
	out   []byte // ready to be passed on
	made  bytes.Buffer
	used  int // bytes of buf that out stands for
	block keyBlock
	err   error
}

func (m *maskReader) Read(p []byte) (int, error) {
	for len(m.out) == 0 {
		m.buf = m.buf[:copy(m.buf, m.buf[m.used:])]
		m.used = 0
		if len(m.buf) == 0 && m.err != nil {
			return 0, m.err
		}
		m.fill()
	}
	n := copy(p, m.out)
	m.out = m.out[n:]
	return n, nil
}

// fill reads up to a line end, or as much as the block holds, and masks it.
func (m *maskReader) fill() {
	end := bytes.LastIndexByte(m.buf, '\n')
	for end < 0 && m.err == nil && len(m.buf) < cap(m.buf) {
		n, err := m.r.Read(m.buf[len(m.buf):cap(m.buf)])
		fresh := m.buf[len(m.buf) : len(m.buf)+n]
		if i := bytes.LastIndexByte(fresh, '\n'); i >= 0 {
			end = len(m.buf) + i
		}
		m.buf = m.buf[:len(m.buf)+n]
		if err != nil {
			m.err = err
			if !errors.Is(err, io.EOF) {
				break
			}
		}
	}
	m.used = end + 1
	if end < 0 || (m.err != nil && len(m.buf) < cap(m.buf)) {
		m.used = len(m.buf)
	}
	m.out = m.mask(m.buf[:m.used])
}

// signs finds out in one quick pass whether any of several words stands in a text. Of each word two
// neighbouring pairs of letters are marked, so that looking at every second pair of the text is enough.
type signs struct {
	pairs [1 << 16]uint16 // by two letters: 0, or where in lists the words are that may stand there
	lists [][]sign
}

type sign struct {
	word []byte
	at   int // of the pair in it
}

// add takes a word of at least three bytes.
func (g *signs) add(word string) {
	at, best := 0, 1<<30
	for k := 0; k+2 < len(word); k++ {
		if c := common(word[k]) + 2*common(word[k+1]) + common(word[k+2]); c < best {
			at, best = k, c
		}
	}
	for _, k := range [...]int{at, at + 1} {
		list := &g.pairs[int(word[k])<<8|int(word[k+1])]
		if *list == 0 {
			g.lists = append(g.lists, nil)
			*list = uint16(len(g.lists))
		}
		g.lists[*list-1] = append(g.lists[*list-1], sign{[]byte(word), k})
	}
}

// common is roughly how often a byte stands in logs.
func common(c byte) int {
	switch {
	case strings.IndexByte("etaoinsr ", c) >= 0:
		return 8
	case c >= 'a' && c <= 'z', c >= '0' && c <= '9':
		return 4
	}
	return 1
}

func (g *signs) in(b []byte) bool {
	for i := 0; i+1 < len(b); i += 2 {
		list := g.pairs[int(b[i])<<8|int(b[i+1])]
		if list == 0 {
			continue
		}
		for _, w := range g.lists[list-1] {
			if from := i - w.at; from >= 0 && bytes.HasPrefix(b[from:], w.word) {
				return true
			}
		}
	}
	return false
}

func (m *maskReader) mask(b []byte) []byte {
	if m.block.left == 0 && !m.signs.in(b) {
		return b
	}
	m.made.Reset()
	for line := range bytes.Lines(b) {
		text, ended := bytes.CutSuffix(line, []byte("\n"))
		switch {
		case m.block.left > 0:
			m.made.WriteString(m.block.line(string(text)))
		case m.signs.in(text):
			m.made.WriteString(m.s.Mask(string(text)))
			m.block.opens(string(text))
		default:
			m.made.Write(text)
		}
		if ended {
			m.made.WriteByte('\n')
		}
	}
	return m.made.Bytes()
}
