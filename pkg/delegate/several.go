package delegate

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// How surely a block is told to be a target's, from not at all to its path in the line above.
const (
	unnamed   = iota
	byComment // its first line is a comment with nothing but the path
	byBase    // the line above or the fence names the file
	byPath    // the line above or the fence names the whole path
)

// pickSeveral finds the files of an answer for several targets. A file that only mentions another one, as in
// an import, is not named by that.
func (c *call) pickSeveral(list []block) (files map[string]string, why string) {
	list = slices.DeleteFunc(slices.Clone(list), func(b block) bool { return strings.TrimSpace(b.text) == "" })
	owners := make([]int, len(list))
	free := 0
	chosen := map[int]int{} // target to block
	sure := map[int]int{}   // target to how surely
	for n, b := range list {
		i, how := c.owner(b)
		owners[n] = i
		if how == unnamed {
			free++
			continue
		}
		old, ok := chosen[i]
		switch {
		case !ok || how > sure[i]:
			chosen[i], sure[i] = n, how
		case how == sure[i] && b.text != list[old].text:
			// The later one is a correction, or an example of use, which is much shorter.
			if 3*len(b.text) > len(list[old].text) {
				chosen[i] = n
			}
		}
	}
	c.chooseInOrder(list, owners, free, chosen)
	files = map[string]string{}
	for i, rel := range c.res.Targets {
		switch n, ok := chosen[i]; {
		case ok:
			files[rel] = dropPathComment(c.langs[i], list[n].text, rel)
		case !c.before[i].Exists:
			return nil, fmt.Sprintf("no block for %s; give every file in a block of its own, its path in the line above", rel)
		default:
			files[rel] = string(c.before[i].Data) // a target that needs no change
		}
	}
	return files, ""
}

// chooseInOrder gives the blocks that name no file to the targets that none names, when there are as many of
// the one as of the other: the targets were asked for in this order, and the gate decides.
func (c *call) chooseInOrder(list []block, owners []int, free int, chosen map[int]int) {
	var open []int
	for i := range c.res.Targets {
		if _, ok := chosen[i]; !ok {
			open = append(open, i)
		}
	}
	if free == 0 || free != len(open) {
		return
	}
	for n := range list {
		if owners[n] < 0 {
			chosen[open[0]] = n
			open = open[1:]
		}
	}
}

// owner is the target that a block is named for, and how surely; -1 when it names none, or several alike.
func (c *call) owner(b block) (target, how int) {
	target = -1
	head := b.info + " " + b.before
	for i, rel := range c.res.Targets {
		h := unnamed
		switch {
		case mentions(head, rel):
			h = byPath
		case uniqueBase(c.res.Targets, rel) && mentions(head, path.Base(rel)):
			h = byBase
		case dropPathComment(c.langs[i], b.text, rel) != b.text && (uniqueBase(c.res.Targets, rel) || mentions(firstLine(b.text), rel)):
			h = byComment
		}
		switch {
		case h > how:
			target, how = i, h
		case h == how && h != unnamed:
			target = -1
		}
	}
	if target < 0 {
		return -1, unnamed
	}
	return target, how
}

// mentions says that a text holds a file's name as a whole: not as the end or the beginning of another name.
func mentions(text, name string) bool {
	for from := 0; ; {
		at := strings.Index(text[from:], name)
		if at < 0 {
			return false
		}
		at += from
		before, _ := utf8.DecodeLastRuneInString(text[:at])
		after, _ := utf8.DecodeRuneInString(text[at+len(name):])
		if !nameRune(before) && !nameRune(after) {
			return true
		}
		from = at + 1
	}
}

func nameRune(r rune) bool {
	return r != utf8.RuneError && (unicode.IsLetter(r) || unicode.IsDigit(r) || r == '_' || r == '-')
}

func uniqueBase(all []string, rel string) bool {
	n := 0
	for _, t := range all {
		if path.Base(t) == path.Base(rel) {
			n++
		}
	}
	return n == 1
}

func firstLine(s string) string { line, _, _ := strings.Cut(s, "\n"); return line }
