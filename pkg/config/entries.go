package config

import (
	"net/url"
	"reflect"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"
)

// endpoints merges the endpoints mapping of the current layer, per name and per field. The value of an entry may
// be a plain URL.
func (m *merger) endpoints(n *yaml.Node) {
	m.mapping("endpoints", n, func(key, value *yaml.Node) {
		path := "endpoints." + key.Value
		if _, err := nameFrom(key.Value); err != nil || key.Value == "" {
			m.warn("endpoints", m.at(key), "not used: a name must be one printable line of at most %d characters", maxName)
			return
		}
		i := m.findEndpoint(key.Value)
		if m.needsTrust() && i < 0 {
			m.refuse(path, key)
			return
		}
		if i < 0 {
			m.cfg.Endpoints = append(m.cfg.Endpoints, Endpoint{Name: key.Value, Backend: "auto"})
			i = len(m.cfg.Endpoints) - 1
			m.cfg.origins[path] = m.at(key)
		}
		e := &m.cfg.Endpoints[i]
		root := reflect.ValueOf(e).Elem()
		if v := deref(value); v.Kind == yaml.ScalarNode && v.Tag != "!!null" {
			m.field(root, m.schema.endpoint.byKey["base_url"], path+".base_url", v)
			return
		}
		m.addresses(root, m.schema.endpoint, path, value)
		m.entry(root, m.schema.endpoint, path, value)
	})
}

// addresses merges the addresses in a mapping before its other fields: when one
// moves to another host, what an earlier layer wanted sent there is dropped before
// this layer adds its own.
func (m *merger) addresses(root reflect.Value, g *group, path string, value *yaml.Node) {
	for _, f := range g.fields {
		if v := child(value, f.key); f.creds != nil && v != nil {
			m.field(root, f, dotted(path, f.key), v)
		}
	}
}

func (m *merger) models(n *yaml.Node) {
	if list := deref(n); list.Kind == yaml.SequenceNode { // just names
		for _, item := range list.Content {
			if item = deref(item); item.Kind == yaml.ScalarNode {
				m.model(item, &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!null"})
			} else {
				m.warn("models", m.at(item), "not used: a %s in a list of model names", nodeWord(item))
			}
		}
		return
	}
	m.mapping("models", n, m.model)
}

func (m *merger) model(key, value *yaml.Node) {
	path := "models." + key.Value
	if _, err := nameFrom(key.Value); err != nil || key.Value == "" {
		m.warn("models", m.at(key), "not used: a name must be one printable line of at most %d characters", maxName)
		return
	}
	i := m.findModel(key.Value)
	if i < 0 {
		m.cfg.Models = append(m.cfg.Models, Model{Name: key.Value})
		i = len(m.cfg.Models) - 1
		m.cfg.origins[path] = m.at(key)
	}
	m.entry(reflect.ValueOf(&m.cfg.Models[i]).Elem(), m.schema.model, path, value)
}

// entry merges the fields of one endpoint or model, but for addresses.
func (m *merger) entry(target reflect.Value, g *group, path string, value *yaml.Node) {
	m.mapping(path, value, func(k, v *yaml.Node) {
		switch f := g.byKey[k.Value]; {
		case f == nil:
			m.unknown(path, k)
		case f.creds == nil:
			m.field(target, f, path+"."+f.key, v)
		}
	})
}

// leave forgets what must not travel along when an address moves to another host.
func (m *merger) leave(root reflect.Value, f *field, path, address string, o Origin) {
	var left []string
	for _, c := range f.creds {
		target := root.FieldByIndex(c.index)
		if target.IsZero() {
			continue
		}
		target.SetZero()
		left = append(left, c.key)
		own := strings.TrimSuffix(path, f.key) + c.key
		for k := range m.cfg.origins {
			if k == own || strings.HasPrefix(k, own+".") {
				delete(m.cfg.origins, k)
			}
		}
	}
	if left != nil && address != "" {
		m.warn(path, o, "moves to another host, so %s of the earlier layers are not sent there; set them again beside it if they belong to the new host", strings.Join(left, ", "))
	}
}

// sameHost is true when a credential meant for the first address may be sent to
// the second. Of a list of addresses the first one counts.
func sameHost(a, b string) bool {
	ua, errA := url.Parse(firstAddress(a))
	ub, errB := url.Parse(firstAddress(b))
	if errA != nil || errB != nil {
		return false
	}
	return strings.EqualFold(ua.Hostname(), ub.Hostname()) && (ua.Scheme == ub.Scheme || ub.Scheme == "https")
}

func firstAddress(list string) string {
	one, _, _ := strings.Cut(list, ",")
	return strings.TrimSpace(one)
}

// SearchHeaders are the headers to send to one SearXNG instance. They hold a
// password as a rule, so only the host of the first address gets them: a list
// is mostly an own instance and public ones to fall back on.
func (r Research) SearchHeaders(base string) map[string]string {
	out := map[string]string{}
	if r.SearxngURL != "" && sameHost(r.SearxngURL, base) {
		for name, value := range r.SearxngHeaders {
			out[name] = value.Reveal()
		}
	}
	return out
}

// child returns the value of a key in a mapping, nil when it is not there.
func child(n *yaml.Node, key string) *yaml.Node {
	var found *yaml.Node
	for k, v := range pairs(deref(n)) {
		if k.Value == key {
			found = v
		}
	}
	return found
}

func (m *merger) findEndpoint(name string) int {
	return slices.IndexFunc(m.cfg.Endpoints, func(e Endpoint) bool { return e.Name == name })
}

func (m *merger) findModel(name string) int {
	return slices.IndexFunc(m.cfg.Models, func(e Model) bool { return e.Name == name })
}

// finish checks what only the whole shows.
func (m *merger) finish() {
	m.cfg.Endpoints = slices.DeleteFunc(m.cfg.Endpoints, func(e Endpoint) bool {
		if e.BaseURL != "" {
			return false
		}
		path := "endpoints." + e.Name
		m.warn(path, m.cfg.origins[path], "not used: it has no valid base_url")
		return true
	})
	m.keysFromEnv()
	var names []string
	for _, e := range m.cfg.Servers() {
		names = append(names, e.Name)
	}
	for i := range m.cfg.Models {
		mod := &m.cfg.Models[i]
		if mod.Endpoint == "" || slices.Contains(names, mod.Endpoint) {
			continue
		}
		path := "models." + mod.Name + ".endpoint"
		hint := "known: " + strings.Join(names, ", ")
		if near := nearest(mod.Endpoint, names); near != "" {
			hint = "did you mean " + near + "?"
		}
		m.warn(path, m.cfg.origins[path], "not used: no endpoint is called %s; %s", clip(mod.Endpoint), hint)
		mod.Endpoint = ""
	}
	if m.dropped > 0 {
		m.cfg.Warnings = append(m.cfg.Warnings, Warning{Text: "further warnings are not listed; correct these first"})
	}
}

// wellKnown are the ports local servers listen on when nobody tells them otherwise.
func wellKnown() []Endpoint {
	return []Endpoint{
		{Name: "ollama", BaseURL: "http://127.0.0.1:11434", Backend: "ollama"},
		{Name: "llama.cpp", BaseURL: "http://127.0.0.1:8080", Backend: "auto"},
		{Name: "lmstudio", BaseURL: "http://127.0.0.1:1234", Backend: "auto"},
		{Name: "vllm", BaseURL: "http://127.0.0.1:8000", Backend: "auto"},
	}
}

// Servers returns the configured endpoints, or the well-known local ports when none is configured.
func (c *Config) Servers() []Endpoint {
	if len(c.Endpoints) > 0 {
		return c.Endpoints
	}
	return wellKnown()
}

// Endpoint returns the server of that name, as listed by [Config.Servers].
func (c *Config) Endpoint(name string) (Endpoint, bool) {
	for _, e := range c.Servers() {
		if e.Name == name {
			return e, true
		}
	}
	return Endpoint{}, false
}

// Model returns what is configured for a model name.
func (c *Config) Model(name string) (Model, bool) {
	for _, m := range c.Models {
		if m.Name == name {
			return m, true
		}
	}
	return Model{}, false
}
