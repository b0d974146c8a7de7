package config

import (
	"reflect"
	"strings"
	"sync"
)

// kind is what a value may look like.
type kind int

const (
	kindText kind = iota
	kindName      // one printable line, for names that end up in messages
	kindNumber
	kindDecimal
	kindBool
	kindDuration
	kindBytes
	kindList
	kindPaths // a list of relative paths
	kindSecret
	kindSecrets // a map of secrets
	kindURL
	kindURLs // several, in one text
	kindBackend
	kindKeepAlive
	kindKeyVar // name of a variable with a key
)

var kindNames = [...]string{"text", "text", "number", "number", "yes/no", "duration", "size", "list", "list", "secret", "map", "URL", "URLs", "text", "duration", "text"}

// field is one key of the schema, made from a struct field and its tags.
type field struct {
	key   string // leaf, e.g. command_timeout
	path  string // dotted, e.g. offload.command_timeout, endpoints.<name>.base_url
	doc   string
	def   string // default as text
	enum  []string
	min   string
	max   string
	kind  kind
	tune  bool // a project may set it without trust
	index []int
	creds []*field // of an address: what is sent there and must not travel to another host
}

// group is a mapping with fixed keys: a section, an endpoint or a model.
type group struct {
	key    string
	short  string // field that a plain scalar in place of the mapping sets
	fields []*field
	byKey  map[string]*field
}

func (g *group) keys() []string {
	keys := make([]string, 0, len(g.fields))
	for _, f := range g.fields {
		keys = append(keys, f.key)
	}
	return keys
}

// tables is the whole schema, derived from the tags of [Config] so that keys, types, defaults and documentation
// live in one place.
type tables struct {
	sections []*group // in order; the group with key "" holds the top-level scalars and lists
	bySect   map[string]*group
	endpoint *group
	model    *group
	envs     map[string]*field // by variable name, sections only
	defaults Config
}

var schema = sync.OnceValue(buildSchema)

func buildSchema() *tables {
	s := &tables{bySect: map[string]*group{}, envs: map[string]*field{}}
	s.endpoint = newGroup("endpoints.<name>", reflect.TypeFor[Endpoint]())
	s.model = newGroup("models.<name>", reflect.TypeFor[Model]())
	top := &group{byKey: map[string]*field{}}
	cfg := reflect.TypeFor[Config]()
	for i := range cfg.NumField() {
		sf := cfg.Field(i)
		key := sf.Tag.Get("cfg")
		switch {
		case key == "":
			continue
		case sf.Type.Kind() == reflect.Struct:
			g := newGroup(key, sf.Type)
			g.short = sf.Tag.Get("short")
			for _, f := range g.fields {
				f.index = append([]int{i}, f.index...)
			}
			s.sections = append(s.sections, g)
			s.bySect[key] = g
		default:
			f := newField(sf, "")
			top.fields = append(top.fields, f)
			top.byKey[f.key] = f
		}
	}
	s.sections = append(s.sections, top)
	s.bySect[""] = top
	root := reflect.ValueOf(&s.defaults).Elem()
	for _, g := range s.sections {
		for _, f := range g.fields {
			s.envs[envName(f.path)] = f
			setDefault(root, f)
		}
	}
	return s
}

func newGroup(key string, t reflect.Type) *group {
	g := &group{key: key, byKey: map[string]*field{}}
	for sf := range t.Fields() {
		if sf.Tag.Get("cfg") == "" {
			continue
		}
		f := newField(sf, key+".")
		g.fields = append(g.fields, f)
		g.byKey[f.key] = f
	}
	for sf := range t.Fields() {
		for _, key := range strings.FieldsFunc(sf.Tag.Get("creds"), func(r rune) bool { return r == ',' }) {
			f := g.byKey[sf.Tag.Get("cfg")]
			f.creds = append(f.creds, g.byKey[key])
		}
	}
	return g
}

func newField(sf reflect.StructField, prefix string) *field {
	f := &field{
		key:   sf.Tag.Get("cfg"),
		doc:   sf.Tag.Get("doc"),
		def:   sf.Tag.Get("default"),
		min:   sf.Tag.Get("min"),
		max:   sf.Tag.Get("max"),
		tune:  sf.Tag.Get("tune") != "",
		index: sf.Index,
		kind:  kindOf(sf),
	}
	f.path = prefix + f.key
	if e := sf.Tag.Get("enum"); e != "" {
		f.enum = strings.Split(e, ",")
	}
	return f
}

var taggedKinds = map[string]kind{"url": kindURL, "urls": kindURLs, "backend": kindBackend, "keepalive": kindKeepAlive, "keyvar": kindKeyVar, "relpaths": kindPaths}

func kindOf(sf reflect.StructField) kind {
	if k, ok := taggedKinds[sf.Tag.Get("kind")]; ok {
		return k
	}
	switch sf.Type.String() {
	case "config.Secret":
		return kindSecret
	case "map[string]config.Secret":
		return kindSecrets
	case "config.Bytes":
		return kindBytes
	case "time.Duration":
		return kindDuration
	case "[]string":
		return kindList
	case "int":
		return kindNumber
	case "float64":
		return kindDecimal
	case "bool":
		return kindBool
	}
	if sf.Tag.Get("tune") != "" {
		return kindName // what an untrusted project may set ends up in replies: keep it to one line
	}
	return kindText
}

// setDefault fills a field from its tag. A tag that does not parse is a mistake in this package that every test
// would meet, so it panics.
func setDefault(root reflect.Value, f *field) {
	if f.def == "" {
		return
	}
	v, err := f.fromText(f.def)
	if err != nil {
		panic("config: default of " + f.path + ": " + err.Error())
	}
	root.FieldByIndex(f.index).Set(reflect.ValueOf(v))
}

// envName is LEGWORK_ and the key in capitals, everything but letters and digits as underscore.
func envName(key string) string {
	return "LEGWORK_" + envWord(key)
}

func envWord(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z':
			return r - 'a' + 'A'
		case r >= 'A' && r <= 'Z', r >= '0' && r <= '9':
			return r
		}
		return '_'
	}, s)
}

// Setting describes one key of the schema.
type Setting struct {
	Key     string // dotted, with <name> for endpoints and models
	Type    string // number, duration, size, yes/no, text, URL, list, map or secret
	Default string
	Env     string   // name of the variable that sets it
	Values  []string // allowed words, if any
	Trust   bool     // a project must be trusted to set it
	Doc     string   // one line
}

// Reference lists every key of the schema in order: endpoints, models, then the sections.
func Reference() []Setting {
	s := schema()
	var out []Setting
	for _, g := range append([]*group{s.endpoint, s.model}, s.sections...) {
		for _, f := range g.fields {
			env := strings.ReplaceAll(f.path, "<name>", "NAME")
			out = append(out, Setting{
				Key: f.path, Type: kindNames[f.kind], Default: f.def, Env: envName(env),
				Values: f.enum, Trust: !f.tune, Doc: f.doc,
			})
		}
	}
	return out
}
