package digest

// clipHead copies at most n bytes of b.
func clipHead(b []byte, n int) string {
	if len(b) <= n {
		return string(b)
	}
	for n > 0 && b[n]&0xc0 == 0x80 {
		n--
	}
	return string(b[:n])
}

// containsFold looks for a lower-case needle in any case. A needle that starts or ends with a digit
// does not match inside a longer number.
func containsFold(text []byte, needle string) bool {
	n := len(needle)
	for i := 0; i+n <= len(text); i++ {
		c := text[i]
		if c >= 'A' && c <= 'Z' {
			c |= 0x20
		}
		if c != needle[0] {
			continue
		}
		k := 1
		for k < n && fold(text[i+k]) == needle[k] {
			k++
		}
		if k == n && edge(text, i-1, needle[0]) && edge(text, i+n, needle[n-1]) {
			return true
		}
	}
	return false
}

func fold(c byte) byte {
	if c >= 'A' && c <= 'Z' {
		return c | 0x20
	}
	return c
}

// edge is false when the byte at i would go on with the number that c belongs to.
func edge(text []byte, i int, c byte) bool {
	return c-'0' > 9 || i < 0 || i >= len(text) || text[i]-'0' > 9
}
