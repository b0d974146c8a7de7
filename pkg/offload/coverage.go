package offload

import (
	"fmt"
	"slices"
	"sort"
	"strings"

	"legwork/pkg/digest"
)

// Coverage says what was looked at, and by whom. Every line is scanned: cleaned, counted, parsed and
// ranked by code.
type Coverage struct {
	Lines       int       `json:"lines"` // of the material
	Bytes       int64     `json:"bytes"`
	LinesRead   int       `json:"lines_read"`     // given to the model
	Read        []Stretch `json:"read,omitempty"` // which ones
	LinesFolded int       `json:"lines_folded"`   // within Read, but only counted: like at least 12 others of the part
	LinesShown  int       `json:"lines_shown"`    // printed in the reply
	Chunks      int       `json:"chunks"`         // parts that the model was to read in a call each
	ModelFailed int       `json:"chunks_failed"`  // parts it gave no answer for
	BytesBad    int64     `json:"bytes_bad"`      // not valid text, shown as �
	LinesCut    int       `json:"lines_cut"`      // given to the model in part
	BytesCut    int64     `json:"bytes_cut"`      // missing from those
	BytesOmit   int64     `json:"bytes_omitted"`  // of the output, over the store's cap: not scanned either

	spans []Span // read, in lines of the joined material
}

// Stretch is a range of lines of one file, both included.
type Stretch struct {
	File string `json:"file"`
	From int    `json:"from"`
	To   int    `json:"to"`
}

// read notes lines given to the model.
func (c *Coverage) read(from, to int) { c.spans = append(c.spans, Span{from, to}) }

func (c *Coverage) readChunk(ch digest.Chunk) {
	c.read(ch.From, ch.To)
	c.LinesFolded += ch.Folded
}

// settle adds up what was read. A line that was split between two parts counts once.
func (c *Coverage) settle(m *material) {
	sort.SliceStable(c.spans, func(i, j int) bool { return c.spans[i].From < c.spans[j].From })
	c.LinesRead, c.Read = 0, nil
	upto := 0 // lines up to here are counted
	for _, s := range c.spans {
		from := max(s.From, upto+1)
		if s.To < from {
			continue
		}
		c.LinesRead += s.To - from + 1
		upto = s.To
		for from <= s.To {
			file, first, left := m.stretch(from)
			n := min(s.To-from, left)
			if k := len(c.Read) - 1; k >= 0 && c.Read[k].File == file && c.Read[k].To == first-1 {
				c.Read[k].To = first + n
			} else {
				c.Read = append(c.Read, Stretch{file, first, first + n})
			}
			from += n + 1
		}
	}
	c.LinesRead -= min(c.LinesFolded, c.LinesRead)
}

// stretch locates line n of the joined text, and says how many lines of the same file follow it.
func (m *material) stretch(n int) (file string, line, left int) {
	file, line = m.locate(n)
	for _, p := range slices.Backward(m.parts) {
		if p.first > 0 && n >= p.first {
			return file, line, max(p.first+p.lines-1-n, 0)
		}
	}
	return file, line, 1 << 30
}

// maxStretches is how many stretches of lines are named in a reply; --json has them all.
const maxStretches = 4

// String is the statement of the first line.
func (c *Coverage) String() string {
	all := fmt.Sprintf("%s (%s)", plural(c.Lines, "line"), size(c.Bytes))
	var s string
	switch {
	case c.LinesRead == 0:
		s = all + " scanned"
	case c.LinesRead == c.Lines:
		s = "all " + all + " read"
	case c.LinesRead+c.LinesFolded == c.Lines:
		s = fmt.Sprintf("%s of %s read, the rest like them and only counted", grouped(c.LinesRead), all)
	default:
		s = fmt.Sprintf("%s of %s read (%s), the rest only scanned", grouped(c.LinesRead), all, c.which())
		if c.LinesFolded > 0 {
			s += fmt.Sprintf(", %s like others only counted", grouped(c.LinesFolded))
		}
	}
	if c.Chunks > 1 {
		s += fmt.Sprintf(" in %d parts", c.Chunks)
	}
	if c.BytesCut > 0 {
		s += fmt.Sprintf(", %s shortened by %s", plural(c.LinesCut, "line"), size(c.BytesCut))
	}
	if c.BytesOmit > 0 {
		s += fmt.Sprintf(", %s in the middle not kept", size(c.BytesOmit))
	}
	if c.BytesBad > 0 {
		s += fmt.Sprintf(", %s not text", size(c.BytesBad))
	}
	return s
}

// which names the longest stretches that were read, in their order.
func (c *Coverage) which() string {
	top := slices.Clone(c.Read)
	sort.SliceStable(top, func(i, j int) bool { return top[i].To-top[i].From > top[j].To-top[j].From })
	top = top[:min(len(top), maxStretches)]
	files := map[string]bool{}
	for _, s := range c.Read {
		files[s.File] = true
	}
	var out []string
	for _, s := range c.Read {
		if !slices.Contains(top, s) {
			continue
		}
		text := fmt.Sprintf("L%d–%d", s.From, s.To)
		if s.From == s.To {
			text = fmt.Sprintf("L%d", s.From)
		}
		if len(files) > 1 {
			text = s.File + " " + text
		}
		out = append(out, text)
	}
	if n := len(c.Read) - len(out); n > 0 {
		out = append(out, fmt.Sprintf("%d more", n))
	}
	return strings.Join(out, ", ")
}
