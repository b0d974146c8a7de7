package config

import (
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
	cfg, tab := merge(lay, append(layers, own)), schema()
	out = map[string]address{}
	add := func(f *field, value string, path ...string) {
		out[strings.Join(path, ".")] = address{path, f, value}
	}
	for _, e := range cfg.Endpoints {
		add(tab.endpoint.byKey["base_url"], e.BaseURL, "endpoints", e.Name, "base_url")
	}
	add(tab.bySect["research"].byKey["searxng_url"], cfg.Research.SearxngURL, "research", "searxng_url")
	return out, known, nil
}

// leave removes from the sidecar what was sent to addresses that its edits moved to
// another host or took away, unless the same edits set it anew.
func (s *sidecar) leave(before, after map[string]address, known bool, edits []edit) []string {
	var out []string
	keys := append(sortedKeys(before), sortedKeys(after)...)
	slices.Sort(keys)
	for _, key := range slices.Compact(keys) {
		old, now := before[key], after[key]
		if old.value == now.value || old.value == "" && known || old.value != "" && now.value != "" && sameHost(old.value, now.value) {
			continue
		}
		at := old
		if old.field == nil {
			at = now
		}
		for _, c := range at.field.creds {
			path := append(slices.Clone(at.path[:len(at.path)-1]), c.key)
			for _, gone := range s.notSetAnew(path, edits) {
				if remove(s.doc.Content[0], gone[0], gone[1:]) {
					out = append(out, strings.Join(gone, ".")+" was removed: it belonged to the host that "+key+" leaves; set it again if it belongs to the new one")
				}
			}
		}
	}
	return out
}

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
