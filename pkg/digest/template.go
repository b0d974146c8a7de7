package digest

// inRun marks bytes that belong to one masked unit: words, numbers, ids, paths, times.
type runTable [256]bool

func newInRun() *runTable {
	var t runTable
	for c := range 256 {
		t[c] = classes[c] != clsSep
	}
	for _, c := range "_.:/-@+%~\\" {
		t[c] = true
	}
	return &t
}

var inRun = newInRun()

// templateHash is equal for lines that differ only in numbers, ids, times, paths and blanks: every run
// with a digit, every path and every month or day name in front of a number counts as the same.
func templateHash(line []byte) uint64 { return maskedHash(line, len(line)) }

// openingRuns is how many runs make the opening of a line.
const openingRuns = 7

// openingHash is equal for lines whose beginnings have the same template: one message with lists of
// different lengths, or with different names late in the line.
func openingHash(line []byte) uint64 { return maskedHash(line, openingRuns) }

// maskedHash looks at the first runs runs of line.
func maskedHash(line []byte, runs int) uint64 {
	h := uint64(fnvStart)
	for i := 0; i < len(line) && runs > 0; {
		c := line[i]
		if !inRun[c] {
			if c == ' ' || c == '\t' {
				i++
				continue
			}
			h = (h ^ uint64(c)) * fnvPrime
			i++
			continue
		}
		runs--
		r, digit, slash := uint64(fnvStart), false, 0
		j := i
		for ; j < len(line) && inRun[line[j]]; j++ {
			c := line[j]
			digit = digit || c-'0' < 10
			if c == '/' || c == '\\' {
				slash++
			}
			r = step(r, c)
		}
		switch {
		case digit, slash > 1, j-i == 3 && isDateWord(line[i:j]) && i < 48:
			h = (h ^ 0x1f) * fnvPrime
		default:
			h = (h ^ mix(r)) * fnvPrime
		}
		i = j
	}
	return h
}

// isDateWord is true for Jan … Dec and Mon … Sun.
func isDateWord(w []byte) bool {
	switch string(w) {
	case "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
		"Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun":
		return true
	}
	return false
}

// template is what is remembered of lines that read the same.
type template struct {
	count       int
	first, last int   // line numbers
	severity    uint8 // see severity
}

// maxTemplates bounds the table (about 12 MiB). Later kinds of lines count as seen once, which ranks
// them as rare; the first lines of a text decide what is common in it.
const maxTemplates = 1 << 17

// templateTable maps template hashes to templates; open addressing because the built-in map costs
// twice the time here, in the hottest loop of the package.
type templateTable struct {
	keys []uint64
	idx  []int32
	list []template
}

func newTemplateTable() *templateTable {
	return &templateTable{keys: make([]uint64, 1<<10), idx: make([]int32, 1<<10)}
}

// slot is where h is, or would be.
func (t *templateTable) slot(h uint64) int {
	mask := uint64(len(t.keys) - 1)
	i := (h ^ h>>29) & mask
	for t.keys[i] != 0 && t.keys[i] != h {
		i = (i + 1) & mask
	}
	return int(i)
}

// get is nil when h is not in the table.
func (t *templateTable) get(h uint64) *template {
	if s := t.slot(h | 1); t.keys[s] != 0 {
		return &t.list[t.idx[s]]
	}
	return nil
}

// add counts a line of template h and tells whether it is the first.
func (t *templateTable) add(h uint64, line int) (*template, bool) {
	s := t.slot(h | 1)
	if t.keys[s] != 0 {
		e := &t.list[t.idx[s]]
		e.count++
		e.last = line
		return e, false
	}
	if len(t.list) >= maxTemplates {
		return nil, false
	}
	if len(t.list)*2 >= len(t.keys) {
		t.grow()
		s = t.slot(h | 1)
	}
	t.keys[s], t.idx[s] = h|1, int32(len(t.list))
	t.list = append(t.list, template{count: 1, first: line, last: line})
	return &t.list[len(t.list)-1], true
}

func (t *templateTable) grow() {
	old, oldIdx := t.keys, t.idx
	t.keys, t.idx = make([]uint64, len(old)*4), make([]int32, len(old)*4)
	for i, k := range old {
		if k != 0 {
			s := t.slot(k)
			t.keys[s], t.idx[s] = k, oldIdx[i]
		}
	}
}
