package digest

import "math/bits"

// Byte classes of the tokenizer. Bytes above 0x7f count as lower-case letters, so words of any
// language written with spaces stay whole.
const (
	clsSep = iota
	clsLower
	clsUpper
	clsDigit
)

// classes maps a byte to its class.
type classTable [256]uint8

func newClasses() *classTable {
	var t classTable
	for c := range 256 {
		switch {
		case c >= 'a' && c <= 'z', c >= 0x80:
			t[c] = clsLower
		case c >= 'A' && c <= 'Z':
			t[c] = clsUpper
		case c >= '0' && c <= '9':
			t[c] = clsDigit
		}
	}
	return &t
}

var classes = newClasses()

const (
	fnvStart = 14695981039346656037
	fnvPrime = 1099511628211
	maxToken = 32 // bytes of a word that count
)

// step takes one more byte into a hash. A rotation and an exclusive or take half the time of the
// multiplication of FNV, which every byte of a text would wait for; twelve letters never collide, since
// only their low five bits differ. mix spreads the result once, at the end of a word.
func step(h uint64, c byte) uint64 { return bits.RotateLeft64(h, 5) ^ uint64(c) }

func mix(h uint64) uint64 {
	h *= 0x9e3779b97f4a7c15
	return h ^ h>>29
}

// tokenizer turns a line into hashes of its stemmed words. camelCase, snake_case, dotted names and
// letter/digit borders are split. The lowest bit of a hash is set for a run of digits.
type tokenizer struct {
	hashes []uint64
	buf    [maxToken]byte
	// stems remembers the last words by their hash before stemming: most words of a log are the same few.
	stems [2048]struct{ word, stem uint64 }
}

// run fills t.hashes with the words of line, in order.
func (t *tokenizer) run(line []byte) {
	t.hashes = t.hashes[:0]
	for i := 0; i < len(line); {
		switch classes[line[i]] {
		case clsSep:
			i++
		case clsDigit:
			h := uint64(fnvStart)
			for i < len(line) && classes[line[i]] == clsDigit {
				h = step(h, line[i])
				i++
			}
			t.hashes = append(t.hashes, mix(h)<<1|1)
		default:
			j := wordEnd(line, i)
			t.hashes = append(t.hashes, t.word(line[i:j]))
			i = j
		}
	}
}

// wordEnd is the end of the word that starts at i: lower-case run, Capitalised word or CAPITALS.
func wordEnd(b []byte, i int) int {
	j := i
	for j < len(b) && classes[b[j]] == clsUpper {
		j++
	}
	if j-i > 1 { // CAPITALS, or an acronym glued to a Capitalised word ("HTTPServer")
		switch {
		case j == len(b) || classes[b[j]] != clsLower:
			return j
		case pluralOfAcronym(b, j):
			return j + 1
		}
		return j - 1
	}
	for j < len(b) && classes[b[j]] == clsLower {
		j++
	}
	return j
}

// pluralOfAcronym is true at the s of "URLs".
func pluralOfAcronym(b []byte, j int) bool {
	return b[j] == 's' && (j+1 == len(b) || classes[b[j+1]] != clsLower)
}

func (t *tokenizer) word(w []byte) uint64 {
	n := min(len(w), maxToken)
	h := uint64(fnvStart)
	for k, c := range w[:n] {
		if c-'A' < 26 {
			c |= 0x20
		}
		t.buf[k] = c
		h = step(h, c)
	}
	h = mix(h)
	if n < 4 {
		return h << 1
	}
	slot := &t.stems[h>>53]
	if slot.word != h {
		slot.word, slot.stem = h, stemmedHash(t.buf[:n])
	}
	return slot.stem
}

// stemmedHash stems w, a lower-case word, in place.
func stemmedHash(w []byte) uint64 {
	h := uint64(fnvStart)
	for _, c := range w[:stem(w)] {
		h = step(h, c)
	}
	return mix(h) << 1
}

// stemHash is the hash that run gives for one lower-case word or number.
func stemHash(w string) uint64 {
	b := []byte(w[:min(len(w), maxToken)])
	if isDigits(w) {
		h := uint64(fnvStart)
		for i := range len(w) {
			h = step(h, w[i])
		}
		return mix(h)<<1 | 1
	}
	return stemmedHash(b)
}

// pairHash identifies two words that follow each other.
func pairHash(a, b uint64) uint64 { return (a*31 ^ b) * fnvPrime &^ 1 }

// words gives the lower-case words of s, unstemmed, split as run splits.
func words(s string) []string {
	var out []string
	b := []byte(s)
	for i := 0; i < len(b); {
		switch classes[b[i]] {
		case clsSep:
			i++
		case clsDigit:
			j := i
			for j < len(b) && classes[b[j]] == clsDigit {
				j++
			}
			out = append(out, s[i:j])
			i = j
		default:
			j := wordEnd(b, i)
			out = append(out, lower(s[i:j]))
			i = j
		}
	}
	return out
}

// lower is ASCII lower case; other letters keep their case, as in run.
func lower(s string) string {
	b := []byte(s)
	for i, c := range b {
		if c >= 'A' && c <= 'Z' {
			b[i] = c | 0x20
		}
	}
	return string(b)
}
