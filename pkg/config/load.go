package config

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"

	"gopkg.in/yaml.v3"
)

// Options says for whom and where the configuration is read.
type Options struct {
	// Dir is the working directory; the project is found from it. Empty means the process's own.
	Dir string
	// Env is the environment as KEY=value. Nil means the process's own.
	Env []string
	// File replaces the project's hand-written file (--config). The user named it, so it is trusted.
	File string
}

// Load reads all layers. The error names file and line when a file is not YAML or cannot be read; the returned
// configuration is nil then.
func Load(opts Options) (*Config, error) {
	lay, err := newLayout(opts)
	if err != nil {
		return nil, err
	}
	layers, err := readLayers(lay)
	if err != nil {
		return nil, err
	}
	return merge(lay, layers), nil
}

// layer is one file with what it is allowed to do.
type layer struct {
	*source
	project *ProjectFile // nil for files of the user
}

// readLayers reads the files that exist, lowest layer first.
func readLayers(lay layout) ([]layer, error) {
	var layers []layer
	if lay.home != "" {
		for _, path := range []string{lay.userFile(), lay.userSidecar()} {
			src, err := readSource(path)
			if err != nil {
				return nil, fmt.Errorf("reading the configuration: %w", err)
			}
			if src != nil {
				layers = append(layers, layer{source: src})
			}
		}
	}
	files, err := projectSources(lay)
	if err != nil {
		return nil, fmt.Errorf("reading the configuration of the project: %w", err)
	}
	var trusted trustList
	for _, src := range files {
		file := &ProjectFile{Path: src.path, Trusted: src.path == lay.named}
		if !file.Trusted {
			if trusted == nil {
				trusted = readTrust(lay)
			}
			file.Trusted = trusted.covers(src)
		}
		layers = append(layers, layer{source: src, project: file})
	}
	return layers, nil
}

// projectSources reads the hand-written file of the project and the sidecar, as far as they exist.
func projectSources(lay layout) ([]*source, error) {
	var files []*source
	hand, err := handWritten(lay)
	if err != nil {
		return nil, err
	}
	if hand != nil {
		files = append(files, hand)
	}
	side, err := readSource(lay.sidecar())
	if err != nil {
		return nil, err
	}
	if side != nil {
		files = append(files, side)
	}
	return files, nil
}

func handWritten(lay layout) (*source, error) {
	if lay.named != "" {
		src, err := readSource(lay.named)
		if err == nil && src == nil {
			err = fmt.Errorf("%s: %w", lay.named, fs.ErrNotExist)
		}
		return src, err
	}
	src, err := readSource(filepath.Join(lay.root, projectName))
	if err != nil || src != nil {
		return src, err
	}
	return modelsFile(filepath.Join(lay.dir, modelsName))
}

var endpointsLine = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?m)^endpoints[ \t]*:`) })

// modelsFile reads a models.yaml when it is one of ours. The name is common and means other things elsewhere
// (dbt, agent frameworks), so a file without endpoints is none of our business, not even when it is broken.
func modelsFile(path string) (*source, error) {
	if st, err := os.Stat(path); err != nil || !st.Mode().IsRegular() || st.Size() > maxFile {
		return nil, nil
	}
	data, err := readRegular(path)
	if err != nil || !endpointsLine().Match(data) {
		return nil, nil
	}
	return parseSource(path, data)
}

// merge applies the layers to the defaults. It cannot fail: what is wrong becomes a warning.
func merge(lay layout, layers []layer) *Config {
	s := schema()
	cfg := s.defaults
	for _, f := range s.lists() { // the defaults are shared by all callers, their slices must not be
		v := reflect.ValueOf(&cfg).Elem().FieldByIndex(f.index)
		v.Set(reflect.ValueOf(slices.Clone(v.Interface().([]string))))
	}
	cfg.origins = map[string]Origin{}
	cfg.UserFile, cfg.UserSidecar = lay.userFile(), lay.userSidecar()
	cfg.Project = Project{Root: lay.root, Sidecar: lay.sidecar()}
	m := &merger{schema: s, cfg: &cfg, env: lay.env}
	if lay.userErr != nil {
		m.warn("", Origin{}, "the user's settings are not read: %v", lay.userErr)
	}
	for _, l := range layers {
		m.file(l)
		if l.project != nil {
			cfg.Project.Files = append(cfg.Project.Files, *l.project)
		}
	}
	m.environment()
	m.finish()
	cfg.redact = sync.OnceValue(func() *strings.Replacer { return newRedactor(&cfg) })
	return &cfg
}

func (s *tables) lists() []*field {
	var out []*field
	for _, g := range s.sections {
		for _, f := range g.fields {
			if f.kind == kindList || f.kind == kindPaths {
				out = append(out, f)
			}
		}
	}
	return out
}

// merger applies one layer after the other. The current one is in src and project.
type merger struct {
	schema  *tables
	cfg     *Config
	src     *source
	project *ProjectFile
	env     environment
	dropped int // warnings over the limit
}

// maxWarnings keeps a hostile or completely foreign file from flooding replies.
const maxWarnings = 100

func (m *merger) warn(key string, o Origin, format string, args ...any) {
	if len(m.cfg.Warnings) >= maxWarnings {
		m.dropped++
		return
	}
	m.cfg.Warnings = append(m.cfg.Warnings, Warning{Key: clip2(key), Origin: o, Text: fmt.Sprintf(format, args...)})
}

func (m *merger) at(n *yaml.Node) Origin { return Origin{File: m.src.path, Line: n.Line} }

// needsTrust is true while the current layer is a project file that is not trusted.
func (m *merger) needsTrust() bool { return m.project != nil && !m.project.Trusted }

// refuse records a key that the current file may not set yet.
func (m *merger) refuse(key string, n *yaml.Node) {
	m.project.Ignored = append(m.project.Ignored, key)
	m.warn(key, m.at(n), "not used: this project may not set it until you run `legwork trust` there")
}

func (m *merger) file(l layer) {
	m.src, m.project = l.source, l.project
	if l.extra {
		m.warn("", Origin{File: l.path}, "only the first document of the file is read")
	}
	if l.root == nil {
		return
	}
	m.mapping("", l.root, func(key, value *yaml.Node) {
		switch key.Value {
		case "endpoints":
			m.endpoints(value)
		case "models":
			m.models(value)
		default:
			m.section(key, value)
		}
	})
}

// mapping calls fn for every key of a mapping, after telling of keys that are there twice. A null is an empty
// mapping.
func (m *merger) mapping(place string, n *yaml.Node, fn func(key, value *yaml.Node)) {
	n = deref(n)
	if n.Kind == yaml.ScalarNode && n.Tag == "!!null" {
		return
	}
	if n.Kind != yaml.MappingNode {
		m.warn(place, m.at(n), "not used: a %s, where a mapping (key: value) is wanted", nodeWord(n))
		return
	}
	for _, k := range duplicates(n) {
		m.warn(dotted(place, k.Value), m.at(k), "written twice in one mapping; the later one is used")
	}
	for k, v := range pairs(n) {
		if k.Kind != yaml.ScalarNode {
			m.warn(place, m.at(k), "not used: a %s as key, where a plain word is wanted", nodeWord(k))
			continue
		}
		fn(k, v)
	}
}

func (m *merger) section(key, value *yaml.Node) {
	if f := m.schema.bySect[""].byKey[key.Value]; f != nil {
		m.field(reflect.ValueOf(m.cfg).Elem(), f, f.path, value)
		return
	}
	g := m.schema.bySect[key.Value]
	if g == nil || g.key == "" {
		m.unknown("", key)
		return
	}
	if v := deref(value); g.short != "" && v.Kind == yaml.ScalarNode && v.Tag != "!!null" {
		f := g.byKey[g.short]
		m.field(reflect.ValueOf(m.cfg).Elem(), f, f.path, value)
		return
	}
	m.addresses(reflect.ValueOf(m.cfg).Elem(), g, g.key, value)
	m.mapping(g.key, value, func(k, v *yaml.Node) {
		if f := g.byKey[k.Value]; f != nil && f.creds != nil {
			return // merged already
		} else if f != nil {
			m.field(reflect.ValueOf(m.cfg).Elem(), f, f.path, v)
		} else if !m.legacy(g.key, k, v) {
			m.unknown(g.key, k)
		}
	})
}

func (m *merger) unknown(place string, key *yaml.Node) {
	hint := ""
	if near := m.schema.nearestKey(place, key.Value); near != "" {
		hint = "; did you mean " + near + "?"
	}
	m.warn(dotted(place, key.Value), m.at(key), "unknown key, not used%s", hint)
}

// field sets one value from YAML, unless trust or the value itself forbids.
func (m *merger) field(root reflect.Value, f *field, path string, n *yaml.Node) bool {
	if m.needsTrust() && !f.tune {
		m.refuse(path, n)
		return false
	}
	v, err := f.fromNode(n)
	if errors.Is(err, errUnset) {
		return false
	}
	if err != nil {
		m.warn(path, m.at(n), "not used: %v", err)
		return false
	}
	m.store(root, f, path, v, m.at(n))
	return true
}

// store sets a checked value and notes where it came from. Maps of secrets are merged key by key.
func (m *merger) store(root reflect.Value, f *field, path string, v any, o Origin) {
	target := root.FieldByIndex(f.index)
	if f.kind != kindSecrets {
		old := target.String()
		target.Set(reflect.ValueOf(v))
		m.cfg.origins[path] = o
		if f.creds != nil && old != "" && !sameHost(old, target.String()) {
			m.leave(root, f, path, target.String(), o)
		}
		return
	}
	old, _ := reflect.TypeAssert[map[string]Secret](target)
	added := v.(map[string]Secret)
	merged := make(map[string]Secret, len(old)+len(added))
	maps.Copy(merged, old)
	maps.Copy(merged, added)
	for k := range added {
		m.cfg.origins[path+"."+k] = o
	}
	target.Set(reflect.ValueOf(merged))
	m.cfg.origins[path] = o
}

// legacyKeys are keys of older tools whose meaning is plain: the value is used under its new name.
var legacyKeys = map[string]struct{ section, key, unit string }{
	"defaults.timeout_s":       {"defaults", "timeout", "s"},
	"defaults.probe_timeout_s": {"llm", "probe_timeout", "s"},
}

// legacy reads a key of an older tool and reports whether it was one.
func (m *merger) legacy(place string, key, value *yaml.Node) bool {
	l, ok := legacyKeys[dotted(place, key.Value)]
	if !ok {
		return false
	}
	f := m.schema.bySect[l.section].byKey[l.key]
	if v := deref(value); v.Kind == yaml.ScalarNode && v.Tag != "!!null" {
		with := *v
		with.Value, with.Tag = v.Value+l.unit, "!!str"
		value = &with
	}
	m.field(reflect.ValueOf(m.cfg).Elem(), f, f.path, value)
	return true
}
