package digest

import "bytes"

// fieldKind tells what a number in a line measures.
type fieldKind uint8

const (
	fieldPlain    fieldKind = iota // a number with a label or none
	fieldDuration                  // in seconds
	fieldSize                      // in bytes
	fieldPercent
)

// field is a number found in a line. The slices are parts of the line.
type field struct {
	kind  fieldKind
	value float64
	raw   []byte // as written, with its unit
	label []byte // the word in front of it
	next  []byte // the word behind a number without a unit ("14 skipped")
}

// wordHash is the stem hash of a word in any case.
func wordHash(w []byte) uint64 {
	var buf [maxToken]byte
	n := copy(buf[:], w)
	for i, c := range buf[:n] {
		buf[i] = fold(c)
	}
	return stemmedHash(buf[:n])
}

// units by their lower-case spelling; a factor of 0 is never used.
func unitOf(u []byte) (fieldKind, float64) {
	switch string(u) {
	case "ns", "nsec":
		return fieldDuration, 1e-9
	case "us", "µs", "μs", "usec":
		return fieldDuration, 1e-6
	case "ms", "msec", "msecs", "millis", "milliseconds":
		return fieldDuration, 1e-3
	case "s", "sec", "secs", "second", "seconds":
		return fieldDuration, 1
	case "min", "mins", "minute", "minutes":
		return fieldDuration, 60
	case "h", "hour", "hours", "hrs":
		return fieldDuration, 3600
	case "b", "byte", "bytes":
		return fieldSize, 1
	case "k", "kb", "kib":
		return fieldSize, 1 << 10
	case "m", "mb", "mib":
		return fieldSize, 1 << 20
	case "g", "gb", "gib":
		return fieldSize, 1 << 30
	case "t", "tb", "tib":
		return fieldSize, 1 << 40
	case "%":
		return fieldPercent, 1
	}
	return fieldPlain, 1
}

// labels that give a number without a unit its kind.
var labelKinds = map[string]struct {
	kind   fieldKind
	factor float64
}{
	"elapsed": {fieldDuration, 1}, "duration": {fieldDuration, 1}, "took": {fieldDuration, 1}, "latency": {fieldDuration, 1},
	"seconds": {fieldDuration, 1}, "ms": {fieldDuration, 1e-3}, "millis": {fieldDuration, 1e-3}, "time": {fieldDuration, 1},
	"size": {fieldSize, 1}, "bytes": {fieldSize, 1}, "length": {fieldSize, 1}, "len": {fieldSize, 1},
}

// eachField calls fn with the numbers of line that may be measurements: not those of its timestamp, nor
// parts of names, addresses, versions and clock times.
func eachField(line []byte, fn func(field)) {
	start := fieldStart(line)
	for i := start; i < len(line); i++ {
		if line[i]-'0' > 9 {
			continue
		}
		j := numberEnd(line, i)
		if !partOfName(line, i, j) {
			if f, ok := readField(line, i, j); ok {
				fn(f)
			}
		}
		for j < len(line) && classes[line[j]] != clsSep { // the rest of the word
			j++
		}
		i = j
	}
}

// numberEnd is the end of the number at i, decimals and thousands ("1,234,567.8") included.
func numberEnd(line []byte, i int) int {
	j := i
	for j < len(line) {
		switch {
		case line[j]-'0' <= 9, line[j] == '.' && j+1 < len(line) && line[j+1]-'0' <= 9:
			j++
		case line[j] == ',' && j-i <= 3 && thousandsAt(line, j), line[j] == ',' && j > i+3 && line[j-4] == ',' && thousandsAt(line, j):
			j += 4
		default:
			return j
		}
	}
	return j
}

// thousandsAt is true for a comma followed by exactly three digits.
func thousandsAt(line []byte, i int) bool {
	return i+3 < len(line) && line[i+1]-'0' <= 9 && line[i+2]-'0' <= 9 && line[i+3]-'0' <= 9 && (i+4 == len(line) || line[i+4]-'0' > 9)
}

// fieldStart is behind the timestamp and a leading "[1.234s]".
func fieldStart(line []byte) int {
	n := stampEnd(line)
	if n < len(line) && line[n] == '[' {
		if k := bytes.IndexByte(line[n:], ']'); k > 0 && k < 16 && n == 0 {
			n = k + 1
		}
	}
	return n
}

// partOfName is true for the digits at i:j of an identifier, address, version or time of day.
func partOfName(line []byte, i, j int) bool {
	if bytes.Count(line[i:j], []byte(".")) > 1 {
		return true
	}
	if i > 0 {
		switch c := line[i-1]; {
		case classes[c] != clsSep, c == '_', c == '/', c == '@', c == '#', c == '.':
			return true
		case c == ':' && i > 1 && line[i-2]-'0' <= 9, c == '-' && i > 1 && classes[line[i-2]] != clsSep:
			return true
		}
	}
	if j+1 < len(line) {
		switch c := line[j]; {
		case c == ':' && line[j+1]-'0' <= 9, c == '-' && line[j+1]-'0' <= 9, c == '/' && classes[line[j+1]] == clsDigit, c == '_':
			return true
		}
	}
	return false
}

// readField reads the number at i:j with its unit and label.
func readField(line []byte, i, j int) (field, bool) {
	k := j
	if k < len(line) && line[k] == ' ' {
		k++
	}
	e := k
	for e < len(line) && e-k < 13 && (classes[line[e]] == clsLower || classes[line[e]] == clsUpper) {
		e++
	}
	if e == k && e < len(line) && line[e] == '%' {
		e++
	}
	f := field{value: number(line[i:j]), raw: line[i:j], label: labelBefore(line, i), next: wordAfter(line, j)}
	if e == k+1 && k == j && line[k] == 'b' { // the end of a hexadecimal id; bytes are "B"
		return f, false
	}
	var buf [13]byte
	n := copy(buf[:], line[k:e])
	for x, c := range buf[:n] {
		buf[x] = fold(c)
	}
	if kind, factor := unitOf(buf[:n]); kind != fieldPlain {
		f.kind, f.value, f.raw = kind, f.value*factor, line[i:e]
		return f, true
	}
	if e > j && k == j { // glued to letters that are no unit: "3rd", "64bit"
		return f, false
	}
	switch {
	case accessLogSize(line, i):
		f.kind = fieldSize
	case i > 0 && line[i-1] == '<' && j < len(line) && line[j] == '>': // strace -T
		f.kind = fieldDuration
	default:
		n := copy(buf[:], f.label)
		for x, c := range buf[:n] {
			buf[x] = fold(c)
		}
		if lk, ok := labelKinds[string(buf[:n])]; ok {
			f.kind, f.value = lk.kind, f.value*lk.factor
		}
	}
	return f, true
}

// number is the value of digits with decimals and thousands.
func number(b []byte) float64 {
	v, scale := 0.0, 0.0
	for _, c := range b {
		switch {
		case c == '.':
			scale = 1
		case c != ',':
			v = v*10 + float64(c-'0')
			scale *= 10
		}
	}
	if scale > 1 {
		v /= scale
	}
	return v
}

// labelBefore is the word in front of position i, at most three separators away.
func labelBefore(line []byte, i int) []byte {
	e := i
	for k := 0; k < 3 && e > 0 && classes[line[e-1]] == clsSep; k++ {
		if c := line[e-1]; c == ',' || c == ';' || c == ')' || c == '}' {
			return nil
		}
		e--
	}
	s := e
	for s > 0 && e-s < maxToken && (classes[line[s-1]] == clsLower || classes[line[s-1]] == clsUpper) {
		s--
	}
	return line[s:e]
}

// wordAfter is the word behind position j, one blank away.
func wordAfter(line []byte, j int) []byte {
	if j+1 >= len(line) || line[j] != ' ' {
		return nil
	}
	e := j + 1
	for e < len(line) && e-j < maxToken && (classes[line[e]] == clsLower || classes[line[e]] == clsUpper) {
		e++
	}
	return line[j+1 : e]
}

// accessLogSize is true for the number behind the status in an access log: `"GET / HTTP/1.1" 200 5120`.
func accessLogSize(line []byte, i int) bool {
	return i > 6 && line[i-1] == ' ' && line[i-5] == ' ' && line[i-6] == '"' &&
		line[i-4]-'1' < 5 && line[i-3]-'0' <= 9 && line[i-2]-'0' <= 9
}
