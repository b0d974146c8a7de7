package runners

import "strings"

// normalise makes text plain: escape codes out, CRLF to LF, the last frame of
// lines redrawn with CR.
func normalise(text []byte) string {
	s := string(text)
	if strings.IndexByte(s, 0x1b) < 0 && strings.IndexByte(s, '\r') < 0 {
		return s
	}
	s = stripEscapes(s)
	if strings.IndexByte(s, '\r') < 0 {
		return s
	}
	lines := strings.Split(s, "\n")
	for i, l := range lines {
		l = strings.TrimRight(l, "\r")
		if j := strings.LastIndexByte(l, '\r'); j >= 0 {
			l = l[j+1:]
		}
		lines[i] = l
	}
	return strings.Join(lines, "\n")
}

// stripEscapes removes CSI, OSC and two-byte escape sequences.
func stripEscapes(s string) string {
	var b strings.Builder
	b.Grow(len(s))
	for i := 0; i < len(s); {
		j := strings.IndexByte(s[i:], 0x1b)
		if j < 0 {
			b.WriteString(s[i:])
			break
		}
		b.WriteString(s[i : i+j])
		i += j + 1
		if i >= len(s) {
			break
		}
		switch s[i] {
		case '[':
			i++
			for i < len(s) && (s[i] < 0x40 || s[i] > 0x7e) && s[i] != '\n' {
				i++
			}
			i++
		case ']', 'P', '_', '^':
			i++
			for i < len(s) && s[i] != 0x07 && s[i] != 0x1b && s[i] != '\n' {
				i++
			}
			if i < len(s) && s[i] == 0x07 {
				i++
			} else if i+1 < len(s) && s[i] == 0x1b && s[i+1] == '\\' {
				i += 2
			}
		case '(', ')', '#', '%':
			i += 2
		default:
			i++
		}
		i = min(i, len(s))
	}
	return b.String()
}
