package llm

// Limits of what counts as an endless cycle: the same text again and again,
// byte for byte, over at least loopBytes and loopTimes. A real table repeats its
// shape, not its bytes; a block of equal rows stays well below loopBytes.
const (
	loopBytes = 4096
	loopTimes = 8
	loopTail  = 16 << 10 // longest stretch looked at, so the longest cycle is loopTail/loopTimes
	loopEvery = 1024     // bytes between two looks
)

// sameChunks is how many equal pieces in a row make a server (Ollama: 30) end
// the answer without saying so.
const sameChunks = 25

// loopWatch watches a growing text for an endless cycle.
type loopWatch struct {
	tail   []byte
	unseen int

	last string
	same int
}

// add takes the next piece and reports whether the text has run into a cycle.
func (w *loopWatch) add(piece string) bool {
	if piece == w.last {
		w.same++
	} else {
		w.last, w.same = piece, 1
	}
	w.tail = append(w.tail, piece...)
	w.unseen += len(piece)
	if w.unseen < loopEvery {
		return false
	}
	w.unseen = 0
	if extra := len(w.tail) - loopTail; extra > 0 {
		w.tail = append(w.tail[:0], w.tail[extra:]...)
	}
	return cyclic(w.tail)
}

// stuck reports a run of equal pieces at the end.
func (w *loopWatch) stuck() bool { return w.same >= sameChunks }

// cyclic reports whether some end of text of at least loopBytes is one short
// text repeated at least loopTimes. It computes the border of every suffix
// (Knuth-Morris-Pratt on the reversed text): length minus border is the period.
func cyclic(text []byte) bool {
	n := len(text)
	at := func(i int) byte { return text[n-1-i] }
	border := make([]int, n)
	for i := 1; i < n; i++ {
		k := border[i-1]
		for k > 0 && at(i) != at(k) {
			k = border[k-1]
		}
		if at(i) == at(k) {
			k++
		}
		border[i] = k
		size := i + 1
		if size >= loopBytes && (size-k)*loopTimes <= size {
			return true
		}
	}
	return false
}
