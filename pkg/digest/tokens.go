package digest

// density estimates bytes per token from the make-up of a sample. The vocabularies of code models
// spend a token on every digit and on nearly every punctuation mark, and one on about five letters, so
// a log full of timestamps costs 2.3 bytes a token where prose costs over 4.
type density struct{ bytes, tokens int }

func (d *density) sample(b []byte) {
	d.bytes += len(b)
	d.tokens += estimate(b)
}

// estimate counts the tokens of b, roughly.
func estimate(b []byte) int {
	tokens := 0
	for i := 0; i < len(b); {
		switch classes[b[i]] {
		case clsDigit:
			tokens++
			i++
		case clsSep:
			if b[i] == ' ' || b[i] == '\t' { // one blank belongs to the next word, a run is one token
				j := i + 1
				for j < len(b) && (b[j] == ' ' || b[j] == '\t') {
					j++
				}
				if j-i > 1 {
					tokens++
				}
				i = j
				continue
			}
			j := i + 1
			for j < len(b) && b[j] == b[i] {
				j++
			}
			tokens++
			i = j
		default:
			j := wordEnd(b, i)
			if b[i] >= 0x80 {
				tokens += (j - i + 2) / 3
			} else {
				tokens += 1 + (j-i-1)/7
			}
			i = j
		}
	}
	return tokens
}

// BytesPerToken estimates how many bytes of this text make one token, between 1.5 and 5.
func (d *Doc) BytesPerToken() float64 {
	if d.density.tokens == 0 {
		return 3
	}
	return min(5, max(1.5, float64(d.density.bytes)/float64(d.density.tokens)))
}

// Tokens estimates the tokens of the whole text.
func (d *Doc) Tokens() int { return int(float64(d.bytes) / d.BytesPerToken()) }
