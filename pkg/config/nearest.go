package config

import (
	"slices"
	"strings"
)

// squash keeps letters and digits, in lower case.
func squash(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'A' && r <= 'Z':
			return r - 'A' + 'a'
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9':
			return r
		}
		return -1
	}, s)
}

// nearest returns the candidate that s was probably meant to be, or "".
func nearest(s string, candidates []string) string {
	key := squash(s)
	if len(key) > 64 {
		return ""
	}
	best, bestDist := "", len(key)/3+2
	for _, c := range candidates {
		d := distance(key, squash(c))
		if len(key) >= 3 && (strings.HasPrefix(squash(c), key) || strings.HasSuffix(squash(c), key)) {
			d = min(d, 1) // cut short: url for base_url
		}
		if d < bestDist {
			best, bestDist = c, d
		}
	}
	return best
}

// nearestKey looks for a key among its siblings first, then everywhere: num_ctx at the top level is llm.num_ctx.
// prefix is the dotted place where the unknown key stands, "" for the top.
func (s *tables) nearestKey(prefix, key string) string {
	if g := s.groupAt(prefix); g != nil {
		siblings := g.keys()
		if prefix == "" {
			siblings = s.topKeys()
		}
		if near := nearest(key, siblings); near != "" {
			return dotted(prefix, near)
		}
	}
	var leaves, paths []string
	for _, g := range s.sections {
		for _, f := range g.fields {
			leaves, paths = append(leaves, f.key), append(paths, f.path)
		}
	}
	if i := slices.Index(leaves, nearest(key, leaves)); i >= 0 {
		return paths[i]
	}
	return nearest(dotted(prefix, key), paths)
}

// groupAt returns the group at a dotted place, nil when there is none.
func (s *tables) groupAt(prefix string) *group {
	section, _, named := strings.Cut(prefix, ".")
	switch {
	case named && section == "endpoints":
		return s.endpoint
	case named && section == "models":
		return s.model
	}
	return s.bySect[prefix]
}

func (s *tables) topKeys() []string {
	keys := []string{"endpoints", "models"}
	for _, g := range s.sections {
		if g.key != "" {
			keys = append(keys, g.key)
		}
	}
	return append(keys, s.bySect[""].keys()...)
}

func dotted(prefix, key string) string {
	if prefix == "" {
		return key
	}
	return prefix + "." + key
}

// distance is the Levenshtein distance, a swap of two neighbours counted once.
func distance(a, b string) int {
	rows := [3][]int{make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)}
	for j := range rows[1] {
		rows[1][j] = j
	}
	for i := 1; i <= len(a); i++ {
		before, last, row := rows[0], rows[1], rows[2]
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		rows[0], rows[1], rows[2] = last, row, before
	}
	return rows[1][len(b)]
}
