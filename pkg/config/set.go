package config

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"
)

// Scope says whose sidecar a change is written to.
type Scope string

// The two scopes. An empty scope means ScopeUser.
const (
	ScopeUser    Scope = "user"
	ScopeProject Scope = "project"
)

// ErrUntrusted is returned for a change that a project may only hold once the user trusts it.
var ErrUntrusted = errors.New("the project is not trusted")

// Change sets one key, or removes it from the sidecar when Unset is true or Value is nil.
type Change struct {
	// Key is dotted: offload.model, endpoints.gpu.base_url, endpoints.gpu.headers.X-Team. A whole entry
	// (endpoints.gpu) can be set to a mapping of its fields, or unset.
	Key string
	// Value is text as typed on a command line, a decoded JSON value, or a [Secret].
	Value any
	Unset bool
}

// Applied is the result of a change.
type Applied struct {
	File     string   // the sidecar; "" when nothing had to be written
	Keys     []string // what changed, sorted
	Warnings []string // e.g. that a later layer still wins
}

// edit is one checked change: a path of YAML keys and the node that belongs there (nil to remove it).
type edit struct {
	path  []string
	field *field // nil for a whole entry
	node  *yaml.Node
}

func (e edit) key() string { return strings.Join(e.path, ".") }

// Apply checks all changes against the schema and writes them to the sidecar of the scope, or writes nothing.
// Other keys and comments of the sidecar stay. The next [Load] sees the change.
func Apply(ctx context.Context, opts Options, scope Scope, changes []Change) (Applied, error) {
	var edits []edit
	for _, c := range changes {
		e, err := schema().check(c)
		if err != nil {
			return Applied{}, err
		}
		edits = append(edits, e...)
	}
	return write(ctx, opts, scope, edits)
}

// Check tells whether a change would be taken, without writing anything.
func Check(c Change) error {
	_, err := schema().check(c)
	return err
}

// RegisterEndpoint writes an endpoint to the sidecar; fields left zero keep what is there. A new one needs a
// BaseURL.
func RegisterEndpoint(ctx context.Context, opts Options, scope Scope, e Endpoint) (Applied, error) {
	if e.BaseURL == "" {
		if cfg, err := Load(opts); err == nil && cfg.findEndpoint(e.Name) < 0 {
			return Applied{}, fmt.Errorf("endpoint %s is new: it needs a base_url such as http://127.0.0.1:8080", clip(e.Name))
		}
	}
	edits, err := schema().entryEdits("endpoints", e.Name, endpointValues(e))
	if err != nil {
		return Applied{}, err
	}
	return write(ctx, opts, scope, edits)
}

// RegisterModel writes a model to the sidecar; fields left zero keep what is there.
func RegisterModel(ctx context.Context, opts Options, scope Scope, mod Model) (Applied, error) {
	edits, err := schema().entryEdits("models", mod.Name, modelValues(mod))
	if err != nil {
		return Applied{}, err
	}
	return write(ctx, opts, scope, edits)
}

func endpointValues(e Endpoint) map[string]any {
	v := map[string]any{
		"base_url": e.BaseURL, "backend": e.Backend, "host": e.Host, "notes": e.Notes, "api_key": e.APIKey, "api_key_env": e.APIKeyEnv,
		"headers": e.Headers, "env": e.Env, "concurrency": e.Concurrency,
	}
	return dropZero(v)
}

func modelValues(m Model) map[string]any {
	v := map[string]any{
		"notes": m.Notes, "host": m.Host, "served_name": m.ServedName, "endpoint": m.Endpoint,
		"context": m.Context, "bring_up": m.BringUp, "policy": m.Policy,
	}
	return dropZero(v)
}

func dropZero(v map[string]any) map[string]any {
	for k, x := range v {
		switch t := x.(type) {
		case string:
			if t == "" {
				delete(v, k)
			}
		case Secret:
			if t == "" {
				delete(v, k)
			}
		case int:
			if t == 0 {
				delete(v, k)
			}
		case map[string]Secret:
			if len(t) == 0 {
				delete(v, k)
			}
		}
	}
	return v
}

// check turns one change into edits, with an error that names the key, what is wrong and what would work.
func (s *tables) check(c Change) ([]edit, error) {
	unset := c.Unset || c.Value == nil
	section, name, f, sub := s.resolve(c.Key)
	switch {
	case f == nil && name != "":
		if unset {
			return []edit{{path: []string{section, name}}}, nil
		}
		values, ok := c.Value.(map[string]any)
		if !ok {
			if url, isText := c.Value.(string); isText && section == "endpoints" {
				values, ok = map[string]any{"base_url": url}, true
			}
		}
		if !ok {
			return nil, fmt.Errorf("%s: want a mapping of fields: %s", c.Key, strings.Join(s.groupAt(section+"."+name).keys(), ", "))
		}
		return s.entryEdits(section, name, values)
	case f == nil:
		return nil, s.unknownKey(c.Key)
	}
	path := []string{section, name, f.key, sub}
	path = slices.DeleteFunc(path, func(p string) bool { return p == "" })
	if unset {
		return []edit{{path: path, field: f}}, nil
	}
	checked := f
	if sub != "" { // one header of headers
		checked = &field{key: sub, kind: kindSecret}
	}
	node, err := checked.nodeFor(c.Value)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", c.Key, err)
	}
	return []edit{{path: path, field: f, node: node}}, nil
}

func (s *tables) unknownKey(key string) error {
	place, leaf := "", key
	if i := strings.LastIndexByte(key, '.'); i >= 0 {
		place, leaf = key[:i], key[i+1:]
	}
	if key == "endpoints" || key == "models" {
		g := s.groupAt(key + ".x")
		return fmt.Errorf("%s is no single setting; set %s.<name>.<field>, with one of the fields %s", key, key, strings.Join(g.keys(), ", "))
	}
	if g := s.bySect[key]; g != nil && key != "" {
		return fmt.Errorf("%s is a section; set one of its keys: %s.%s", key, key, strings.Join(g.keys(), ", "))
	}
	if near := s.nearestKey(place, leaf); near != "" {
		return fmt.Errorf("there is no setting %s; did you mean %s?", clip(key), near)
	}
	known := s.topKeys()
	if g := s.groupAt(place); g != nil && place != "" {
		known = g.keys()
	}
	return fmt.Errorf("there is no setting %s; known here: %s", clip(key), strings.Join(known, ", "))
}

// resolve finds what a dotted key means. Names of endpoints and models may hold dots themselves, so the field is
// looked for from the end. For an entry as a whole, f is nil and name is set.
func (s *tables) resolve(key string) (section, name string, f *field, sub string) {
	section, rest, named := strings.Cut(key, ".")
	if section != "endpoints" && section != "models" {
		if !named {
			return "", "", s.bySect[""].byKey[section], ""
		}
		if g := s.bySect[section]; g != nil && section != "" {
			return section, "", g.byKey[rest], ""
		}
		return section, "", nil, ""
	}
	g := s.groupAt(section + ".x")
	if rest == "" {
		return section, "", nil, ""
	}
	for _, m := range g.fields {
		if m.kind != kindSecrets {
			continue
		}
		if n, k, ok := strings.Cut(rest, "."+m.key+"."); ok && n != "" && k != "" {
			return section, n, m, k
		}
	}
	if i := strings.LastIndexByte(rest, '.'); i > 0 {
		if f := g.byKey[rest[i+1:]]; f != nil {
			return section, rest[:i], f, ""
		}
		// endpoints.gpu.base_ulr is a slip, not an endpoint of that name.
		if nearest(rest[i+1:], g.keys()) != "" {
			return section, "", nil, ""
		}
	}
	return section, rest, nil, ""
}

// entryEdits checks the fields of one endpoint or model.
func (s *tables) entryEdits(section, name string, values map[string]any) ([]edit, error) {
	if _, err := nameFrom(name); err != nil || strings.TrimSpace(name) != name || name == "" {
		return nil, fmt.Errorf("%s: %s is not a name: one printable line of at most %d characters", section, clip(name), maxName)
	}
	g := s.groupAt(section + "." + name)
	var edits []edit
	for key, value := range values {
		f := g.byKey[key]
		if f == nil {
			return nil, s.unknownKey(section + "." + name + "." + key)
		}
		e := edit{path: []string{section, name, key}, field: f}
		if value != nil {
			node, err := f.nodeFor(value)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", e.key(), err)
			}
			e.node = node
		}
		edits = append(edits, e)
	}
	if len(edits) == 0 { // a model may be just its name
		edits = append(edits, edit{path: []string{section, name}, node: &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}})
	}
	sort.SliceStable(edits, func(i, j int) bool { return fieldOrder(g, edits[i]) < fieldOrder(g, edits[j]) })
	return edits, nil
}

func fieldOrder(g *group, e edit) int { return slices.Index(g.fields, e.field) }

// nodeFor checks a value and gives it the form in which it is written.
func (f *field) nodeFor(value any) (*yaml.Node, error) {
	in, err := plainNode(value)
	if err != nil {
		return nil, err
	}
	v, err := f.fromNode(in)
	if err != nil {
		return nil, err
	}
	switch v := v.(type) {
	case int:
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!int", Value: strconv.Itoa(v)}, nil
	case float64:
		n := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!int", Value: strconv.FormatFloat(v, 'f', -1, 64)}
		if v != math.Trunc(v) {
			n.Tag = "!!float"
		}
		return n, nil
	case bool:
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!bool", Value: strconv.FormatBool(v)}, nil
	case []string:
		list := &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq", Style: yaml.FlowStyle}
		for _, it := range v {
			list.Content = append(list.Content, text(it))
		}
		return list, nil
	case map[string]Secret:
		m := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
		for _, k := range sortedKeys(v) {
			m.Content = append(m.Content, text(k), text(v[k].Reveal()))
		}
		return m, nil
	case Secret:
		return text(v.Reveal()), nil
	case string:
		return text(v), nil
	}
	return text(strings.TrimSpace(in.Value)), nil // durations and sizes as they were written
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// plainNode turns a value from a command line, JSON or our own types into YAML.
func plainNode(value any) (*yaml.Node, error) {
	switch v := value.(type) {
	case string:
		return text(v), nil
	case Secret:
		return text(v.Reveal()), nil
	case json.Number:
		return text(v.String()), nil
	case float64:
		return text(strconv.FormatFloat(v, 'f', -1, 64)), nil
	case bool, int, int64, Bytes:
		return text(fmt.Sprint(v)), nil
	case fmt.Stringer: // durations
		return text(v.String()), nil
	case []string:
		return listNode(len(v), func(i int) any { return v[i] })
	case []any:
		return listNode(len(v), func(i int) any { return v[i] })
	case map[string]Secret:
		return mapNode(sortedKeys(v), func(k string) any { return v[k] })
	case map[string]string:
		return mapNode(sortedKeys(v), func(k string) any { return v[k] })
	case map[string]any:
		return mapNode(sortedKeys(v), func(k string) any { return v[k] })
	}
	return nil, fmt.Errorf("a value of type %T is not supported", value)
}

func listNode(n int, item func(int) any) (*yaml.Node, error) {
	out := &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq"}
	for i := range n {
		c, err := plainNode(item(i))
		if err != nil {
			return nil, err
		}
		out.Content = append(out.Content, c)
	}
	return out, nil
}

func mapNode(keys []string, value func(string) any) (*yaml.Node, error) {
	out := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
	for _, k := range keys {
		c, err := plainNode(value(k))
		if err != nil {
			return nil, err
		}
		out.Content = append(out.Content, text(k), c)
	}
	return out, nil
}

func text(s string) *yaml.Node {
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: s}
}

// write applies checked edits to the sidecar of the scope, under the lock.
func write(ctx context.Context, opts Options, scope Scope, edits []edit) (Applied, error) {
	lay, err := newLayout(opts)
	if err != nil {
		return Applied{}, err
	}
	path, err := lay.sidecarOf(scope)
	if err != nil {
		return Applied{}, err
	}
	unlock, err := lockWrites(ctx, lay)
	if err != nil {
		return Applied{}, err
	}
	defer unlock()
	trust, err := mayWrite(lay, scope, edits)
	if err != nil {
		return Applied{}, err
	}
	side, err := openSidecar(path)
	if err != nil {
		return Applied{}, err
	}
	out := Applied{}
	before, known, err := side.addresses(lay)
	if err != nil {
		return Applied{}, err
	}
	for _, e := range edits {
		if side.apply(e) {
			out.Keys = append(out.Keys, e.key())
		}
	}
	slices.Sort(out.Keys)
	after, _, err := side.addresses(lay)
	if err != nil {
		return Applied{}, err
	}
	if out.Warnings, err = side.leave(lay, moved(before, after, known), edits); err != nil {
		return Applied{}, err
	}
	if len(out.Keys) > 0 {
		data, err := side.save()
		if err != nil {
			return Applied{}, err
		}
		out.File = path
		if trust {
			err = editTrust(lay, func(list trustList) error {
				key, err := trustKey(path)
				list[key] = digest(data)
				return err
			})
			if err != nil {
				return out, fmt.Errorf("the setting is written, but trusting it failed: %w", err)
			}
		}
	}
	out.Warnings = append(out.Warnings, effect(opts, path, edits)...)
	return out, nil
}

func (l layout) sidecarOf(scope Scope) (string, error) {
	switch scope {
	case ScopeUser, "":
		if l.userErr != nil {
			return "", l.userErr
		}
		return l.userSidecar(), nil
	case ScopeProject:
		// A repository could carry a link here that points at any file of the user.
		if st, err := os.Lstat(l.sidecar()); err == nil && !st.Mode().IsRegular() {
			return "", fmt.Errorf("%s is not a plain file; it is not written", l.sidecar())
		}
		return l.sidecar(), nil
	}
	return "", fmt.Errorf("scope %s is neither user nor project", clip(string(scope)))
}

// mayWrite guards the project scope: what needs trust can only go where trust is, or where nothing is that the
// user did not make. It reports whether the new sidecar is to be trusted.
func mayWrite(lay layout, scope Scope, edits []edit) (trust bool, err error) {
	if scope != ScopeProject {
		return false, nil
	}
	files, err := projectSources(lay)
	if err != nil {
		return false, err
	}
	trusted, list := true, readTrust(lay)
	for _, src := range files {
		trusted = trusted && (src.path == lay.named || list.covers(src))
	}
	if trusted {
		return lay.userErr == nil, nil
	}
	for _, e := range edits {
		if e.node != nil && (e.field == nil && e.path[0] == "endpoints" || e.field != nil && !e.field.tune) {
			return false, fmt.Errorf("%s: %w: run `legwork trust` in %s first, or use scope user", e.key(), ErrUntrusted, lay.root)
		}
	}
	return false, nil
}

// effect tells what keeps a written value from being used.
func effect(opts Options, sidecar string, edits []edit) []string {
	cfg, err := Load(opts)
	if err != nil {
		return []string{"the configuration as a whole cannot be read: " + err.Error()}
	}
	var out []string
	for _, e := range edits {
		o := cfg.Origin(e.key())
		own := filepath.Clean(o.File) == filepath.Clean(sidecar)
		switch {
		case e.node != nil && !own && o != (Origin{}):
			out = append(out, fmt.Sprintf("%s: the value in %s wins", e.key(), o))
		case e.node == nil && !own && o != (Origin{}):
			out = append(out, fmt.Sprintf("%s is still set in %s", e.key(), o))
		}
	}
	return out
}
