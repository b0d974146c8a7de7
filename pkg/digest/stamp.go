package digest

import "bytes"

// maxStampFields is how many blank-separated fields a timestamp has at most.
const maxStampFields = 5

// stampEnd is where the date and time at the start of a line end, 0 when there is none. It is no parser:
// it takes the leading fields that look like parts of a timestamp.
func stampEnd(line []byte) int {
	end, i, word, dated := 0, 0, false, false
	for k := range maxStampFields {
		for i < len(line) && line[i] == ' ' {
			i++
		}
		j := i
		for j < len(line) && line[j] != ' ' && j-i < 40 {
			j++
		}
		f := trimMarks(line[i:j])
		switch {
		case len(f) == 3 && isDateWord(f):
			word, dated = true, true
		case end > 0 && (string(f) == "UTC" || len(f) == 5 && (f[0] == '+' || f[0] == '-') && isDigits(string(f[1:]))): // a time zone ends it
			return j
		case end > 0 && dated && len(f) == 4 && isDigits(string(f)) && (f[0] == '1' || f[0] == '2'): // the year behind the clock
			return j
		case stampField(f, word), k == 0 && shortDate(f) && clockNext(line[j:]):
			word = false
		default:
			return end
		}
		end, i = j, j
	}
	return end
}

// trimMarks takes brackets, quotes and punctuation off both ends.
func trimMarks(b []byte) []byte {
	for len(b) > 0 && classes[b[0]] == clsSep && b[0] != '+' && b[0] != '-' {
		b = b[1:]
	}
	for len(b) > 0 && classes[b[len(b)-1]] == clsSep {
		b = b[:len(b)-1]
	}
	return b
}

// stampField is true for 10:11:12, 2025-03-04, 2025-03-04T10:11:12.5Z, 04/Mar/2025:10:11:12, an epoch of
// nine digits or more, and for a day or year next to the name of a month.
func stampField(f []byte, afterWord bool) bool {
	digits, marks, clock := 0, 0, false
	for i, c := range f {
		switch {
		case c-'0' <= 9:
			digits++
		case c == ':':
			clock = clock || i > 0 && i+1 < len(f) && f[i-1]-'0' <= 9 && f[i+1]-'0' <= 9
		case c == '-' || c == '.' || c == '/':
			marks++
		case c == 'T' || c == 'Z' || c == '+' || c == ',':
		case c == '/' || i >= 3 && f[i-1] == '/' || marks == 1 && i >= 3 && i < 6: // the month of 04/Mar/2025
		default:
			return false
		}
	}
	switch {
	case digits == 0:
		return false
	case clock && digits >= 3, marks >= 2 && digits >= 6:
		return true
	case marks == 0 && digits == len(f):
		return digits >= 9 || afterWord && digits <= 4
	}
	return marks == 1 && digits >= 12 // an epoch with a fraction
}

// shortDate is 07.26, 03-17 or 7/3.
func shortDate(f []byte) bool {
	i := bytes.IndexAny(f, ".-/")
	return i > 0 && i < 3 && len(f) <= 5 && len(f) > i+1 && isDigits(string(f[:i])) && isDigits(string(f[i+1:]))
}

// clockNext is true when the next field has a time of day.
func clockNext(b []byte) bool {
	b = bytes.TrimLeft(b, " ")
	i := bytes.IndexByte(b, ':')
	return i > 0 && i < 4 && b[i-1]-'0' <= 9
}
