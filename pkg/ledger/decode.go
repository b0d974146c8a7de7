package ledger

import (
	"encoding/json"
	"math"
)

// decoder turns a line into a Run. It is written by hand because a ledger has a million lines and encoding/json
// takes four times the time that reading it may take; the words that come again in every line are kept once.
// What it accepts and yields is what encoding/json does, which a test holds it to.
type decoder struct {
	words map[string]string
	buf   []byte
	pos   int

	job, session, raw string // of the last lines: they are not among the words, which they would soon fill
}

// maxWords bounds the kept words.
const maxWords = 4096

func newDecoder() *decoder { return &decoder{words: map[string]string{}} }

// decode fills run from one JSON object and reports whether the line is one, with a time and a tool.
func (d *decoder) decode(line []byte, run *Run) bool {
	*run = Run{}
	d.buf, d.pos = line, 0
	if !d.byte('{') {
		return false
	}
	d.space()
	if d.byte('}') {
		return false
	}
	for {
		d.space()
		key, ok := d.text()
		d.space()
		if !ok || !d.byte(':') {
			return false
		}
		d.space()
		if !d.field(key, run) {
			return false
		}
		d.space()
		if d.byte(',') {
			continue
		}
		if !d.byte('}') {
			return false
		}
		d.space()
		return d.pos == len(d.buf) && !run.TS.IsZero() && run.Tool != ""
	}
}

// field reads one value into the field of that name. Unknown fields are skipped: a newer legwork may have
// written them.
func (d *decoder) field(key []byte, run *Run) bool {
	switch string(key) {
	case "ts":
		s, ok := d.text()
		if !ok {
			return false
		}
		return run.TS.UnmarshalText(s) == nil
	case "tool":
		return d.word(&run.Tool)
	case "model":
		return d.word(&run.Model)
	case "endpoint":
		return d.word(&run.Endpoint)
	case "ok":
		return d.truth(&run.OK)
	case "outcome":
		return d.word(&run.Outcome)
	case "attempts":
		var n int64
		ok := d.number(&n)
		run.Attempts = int(n)
		return ok
	case "in_tok":
		return d.number(&run.InTok)
	case "out_tok":
		return d.number(&run.OutTok)
	case "cached_tok":
		return d.number(&run.CachedTok)
	case "claude_tok_in":
		return d.number(&run.ClaudeTokIn)
	case "claude_tok_out":
		return d.number(&run.ClaudeTokOut)
	case "base_tok":
		return d.number(&run.BaseTok)
	case "base_out":
		return d.number(&run.BaseOut)
	case "raw_bytes":
		return d.number(&run.RawBytes)
	case "ms":
		return d.number(&run.MS)
	case "job":
		return d.unique(&run.Job, &d.job)
	case "project":
		return d.word(&run.Project)
	case "session":
		return d.unique(&run.Session, &d.session)
	case "rule":
		return d.word(&run.Rule)
	case "raw":
		return d.unique(&run.Raw, &d.raw)
	}
	return d.skip()
}

func (d *decoder) space() {
	for d.pos < len(d.buf) && (d.buf[d.pos] == ' ' || d.buf[d.pos] == '\t') {
		d.pos++
	}
}

func (d *decoder) byte(b byte) bool {
	if d.pos < len(d.buf) && d.buf[d.pos] == b {
		d.pos++
		return true
	}
	return false
}

// text reads a string. Without escapes it is a part of the line; the rare rest is left to encoding/json.
func (d *decoder) text() ([]byte, bool) {
	if !d.byte('"') {
		return nil, false
	}
	start, escaped := d.pos, false
	for ; d.pos < len(d.buf); d.pos++ {
		switch c := d.buf[d.pos]; {
		case c == '\\':
			escaped = true
			d.pos++
		case c < ' ':
			return nil, false
		case c == '"':
			raw := d.buf[start:d.pos]
			d.pos++
			if !escaped {
				return raw, true
			}
			var s string
			err := json.Unmarshal(d.buf[start-1:d.pos], &s)
			return []byte(s), err == nil
		}
	}
	return nil, false
}

func (d *decoder) word(to *string) bool {
	s, ok := d.text()
	if !ok {
		return false
	}
	w, known := d.words[string(s)]
	if !known {
		w = string(s)
		if len(d.words) < maxWords {
			d.words[w] = w
		}
	}
	*to = w
	return true
}

// unique reads a text that comes in a few lines at most, which mostly follow each other.
func (d *decoder) unique(to, last *string) bool {
	s, ok := d.text()
	if !ok {
		return false
	}
	if string(s) != *last {
		*last = string(s)
	}
	*to = *last
	return true
}

func (d *decoder) truth(to *bool) bool {
	switch {
	case d.literal("true"):
		*to = true
		return true
	case d.literal("false"):
		*to = false
		return true
	}
	return false
}

func (d *decoder) literal(s string) bool {
	if len(d.buf)-d.pos >= len(s) && string(d.buf[d.pos:d.pos+len(s)]) == s {
		d.pos += len(s)
		return true
	}
	return false
}

// number reads a whole number. One with a fraction, an exponent or beyond 64 bits is no number of ours.
func (d *decoder) number(to *int64) bool {
	neg := d.byte('-')
	start := d.pos
	var n int64
	for d.pos < len(d.buf) && d.buf[d.pos] >= '0' && d.buf[d.pos] <= '9' {
		c := int64(d.buf[d.pos] - '0')
		if n > (math.MaxInt64-c)/10 {
			return false
		}
		n = n*10 + c
		d.pos++
	}
	if d.pos == start || (d.buf[start] == '0' && d.pos > start+1) {
		return false
	}
	if neg {
		n = -n
	}
	*to = n
	return true
}

// skip passes over any value.
func (d *decoder) skip() bool {
	start, depth := d.pos, 0
	for d.pos < len(d.buf) {
		switch c := d.buf[d.pos]; c {
		case '"':
			first := d.pos == start
			if _, ok := d.text(); !ok || depth == 0 {
				return ok && first
			}
			continue
		case '{', '[':
			depth++
		case '}', ']':
			if depth == 0 {
				return d.pos > start && json.Valid(d.buf[start:d.pos])
			}
			if depth--; depth == 0 {
				d.pos++
				return json.Valid(d.buf[start:d.pos])
			}
		case ',':
			if depth == 0 {
				return json.Valid(d.buf[start:d.pos])
			}
		}
		d.pos++
	}
	return false
}
