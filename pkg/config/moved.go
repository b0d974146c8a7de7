package config

import (
	"fmt"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"
)

// address is one address that credentials are kept for.
type address struct {
	path  []string // of YAML keys
	field *field
	value string // "" where none is in force
}

// addresses are the addresses in force up to and including the sidecar as it stands
// now: what it holds is sent to those, whichever file they are written in. known
// is false when another file cannot be read.
func (s *sidecar) addresses(lay layout) (out map[string]address, known bool, err error) {
	cfg, known, err := s.inForce(lay)
	if err != nil {
		return nil, false, err
	}
	out = map[string]address{}
	add := func(f *field, value string, path ...string) {
		out[strings.Join(path, ".")] = address{path, f, value}
	}
	tab := schema()
	for _, e := range cfg.Endpoints {
		add(tab.endpoint.byKey["base_url"], e.BaseURL, "endpoints", e.Name, "base_url")
	}
	add(tab.bySect["research"].byKey["searxng_url"], cfg.Research.SearxngURL, "research", "searxng_url")
	return out, known, nil
}

// inForce is what the sidecar as it stands now and the files below it make.
func (s *sidecar) inForce(lay layout) (cfg *Config, known bool, err error) {
	data, err := s.render()
	if err != nil {
		return nil, false, err
	}
	src, err := parseSource(s.path, data)
	if err != nil {
		return nil, false, err
	}
	layers, err := readLayers(lay)
	known = err == nil
	own := layer{source: src}
	if s.path == lay.sidecar() {
		own.project = &ProjectFile{Path: s.path, Trusted: true}
	}
	layers = slices.DeleteFunc(layers, func(l layer) bool {
		return l.path == s.path || own.project == nil && l.project != nil // later layers are not its business
	})
	lay.env.vars = nil
	return merge(lay, append(layers, own)), known, nil
}

// moved are the addresses that went to another host, or away.
func moved(before, after map[string]address, known bool) []address {
	var out []address
	keys := append(sortedKeys(before), sortedKeys(after)...)
	slices.Sort(keys)
	for _, key := range slices.Compact(keys) {
		old, now := before[key], after[key]
		switch {
		case old.value == now.value, old.value == "" && known, old.value != "" && now.value != "" && sameHost(old.value, now.value):
		case now.field == nil:
			old.value = ""
			out = append(out, old)
		default:
			out = append(out, now)
		}
	}
	return out
}

// leave removes from the sidecar what was sent to addresses that moved, unless the
// same edits set it anew. What a hand-written file wants sent along cannot be
// removed, so that is an error.
func (s *sidecar) leave(lay layout, gone []address, edits []edit) (warnings []string, err error) {
	if len(gone) == 0 {
		return nil, nil
	}
	for _, a := range gone {
		for _, c := range a.field.creds {
			for _, path := range s.notSetAnew(append(a.parent(), c.key), edits) {
				if remove(s.doc.Content[0], path[0], path[1:]) {
					warnings = append(warnings, strings.Join(path, ".")+" was removed: it belonged to the host that "+a.key()+" leaves; set it again if it belongs to the new one")
				}
			}
		}
	}
	cfg, _, err := s.inForce(lay)
	if err != nil {
		return nil, err
	}
	for _, a := range gone {
		for _, c := range a.field.creds {
			own := strings.Join(append(a.parent(), c.key), ".")
			for _, key := range sortedKeys(cfg.origins) {
				o := cfg.origins[key]
				if a.value != "" && (key == own || strings.HasPrefix(key, own+".")) && o.File != s.path && o.File != cfg.origins[a.key()].File {
					return nil, fmt.Errorf("%s: %s in %s is meant for the host it leaves and would be sent to the new one; take it out there, or write the new address beside it", a.key(), key, o)
				}
			}
		}
	}
	return warnings, nil
}

func (a address) key() string { return strings.Join(a.path, ".") }

// parent is the path of the mapping that the address stands in.
func (a address) parent() []string { return slices.Clone(a.path[:len(a.path)-1]) }

// notSetAnew lists what the sidecar holds at a path beyond what the edits set: the
// whole, or of a map that got single new entries the others.
func (s *sidecar) notSetAnew(path []string, edits []edit) [][]string {
	var fresh []string
	for _, e := range edits {
		if e.node == nil || len(e.path) < len(path) || !slices.Equal(e.path[:len(path)], path) {
			continue
		}
		if len(e.path) == len(path) {
			return nil
		}
		fresh = append(fresh, e.path[len(path)])
	}
	if fresh == nil {
		return [][]string{path}
	}
	n := s.doc.Content[0]
	for _, key := range path {
		if n = child(n, key); n == nil {
			return nil
		}
	}
	var out [][]string
	for k := range pairs(deref(n)) {
		if k.Kind == yaml.ScalarNode && !slices.Contains(fresh, k.Value) {
			out = append(out, append(slices.Clone(path), k.Value))
		}
	}
	return out
}
