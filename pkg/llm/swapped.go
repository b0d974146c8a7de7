package llm

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"unicode"
)

// answered names the model that gave an answer, and says so when it is another
// than the one asked for: a server that holds one model answers with it whatever
// is asked, so after a restart with another one on the same port every call
// would go on under the old name.
//
// The name in a reply alone proves nothing: gateways answer under the name the
// model has behind them, with a date appended, as a path. So the server is asked
// again what it serves; as long as it still lists what was asked for, another
// name is a rename. Only a server without aliases of its own that names another
// model of its own list has taken that one.
func (c *call) answered(ctx context.Context, s *server, b Backend, asked, said string) (model, swapped string) {
	if said == "" || sameName(asked, said) || s.renames(asked, said) {
		return asked, ""
	}
	c.r.forget(s.Name)
	sts, err := c.r.probeSome(ctx, s.Name)
	known := err == nil && len(sts) == 1 && (sts[0].State == Up || sts[0].State == Sleeping)
	var m, other *Model
	if known {
		b = sts[0].Backend
		m, other = named(sts[0].Models, asked), named(sts[0].Models, said)
	}
	gateway := b == OpenAI || b == Anthropic
	took := m != nil && other != nil && m.differs(other) && (!gateway || s.holdsOnly(said))
	switch {
	case !known && gateway:
		return asked, "" // a rename, most likely; asked again with the next answer
	case m != nil && !took:
		s.rename(asked, said)
		return asked, ""
	}
	if model = printable(said); other != nil {
		model = other.ID
	}
	c.r.log.Warn("another model answered than was asked for", "endpoint", s.Name, "asked", asked, "answered", model)
	return model, fmt.Sprintf("asked for %s, %s answered: %s serves another model now, or took one by itself", asked, model, s.Name)
}

// sameName compares letters and digits, with and without path, organisation and
// file ending.
func sameName(a, b string) bool {
	for _, x := range []string{a, baseName(a)} {
		for _, y := range []string{b, baseName(b)} {
			if l := letters(x); l != "" && l == letters(y) {
				return true
			}
		}
	}
	return false
}

// named finds a model by its id, else by another of its names.
func named(models []Model, name string) *Model {
	for _, same := range []func(Model) bool{
		func(m Model) bool { return m.ID == name },
		func(m Model) bool { return slices.Contains(m.Aliases, name) },
		func(m Model) bool {
			return slices.ContainsFunc(append([]string{m.ID, m.root}, m.Aliases...), func(n string) bool { return sameName(n, name) })
		},
	} {
		if i := slices.IndexFunc(models, same); i >= 0 {
			return &models[i]
		}
	}
	return nil
}

// differs tells two entries of a list apart. vLLM lists one model under each of
// its names.
func (m *Model) differs(o *Model) bool {
	return m.ID != o.ID && (m.root == "" || m.root != o.root)
}

// holdsOnly is true when the server's list, without what the user's notes add, is
// this one model.
func (s *server) holdsOnly(name string) bool {
	s.learned.mu.Lock()
	defer s.learned.mu.Unlock()
	p := s.learned.probed
	return p != nil && len(p.Models) == 1 && named(p.Models, name) != nil
}

func (s *server) renames(asked, said string) bool {
	s.learned.mu.Lock()
	defer s.learned.mu.Unlock()
	return s.learned.renamed[[2]string{asked, said}]
}

// rename remembers a name, so that a gateway is not asked for its list with
// every answer.
func (s *server) rename(asked, said string) {
	s.learned.mu.Lock()
	defer s.learned.mu.Unlock()
	if s.learned.renamed == nil || len(s.learned.renamed) >= maxRenamed {
		s.learned.renamed = map[[2]string]bool{}
	}
	s.learned.renamed[[2]string{asked, said}] = true
}

// maxRenamed bounds what a server that makes up names can have us keep.
const maxRenamed = 256

// printable makes a short line of a name that a server made.
func printable(s string) string {
	s = strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return -1
	}, s)
	if r := []rune(s); len(r) > 200 {
		s = string(r[:200]) + "…"
	}
	return s
}
