package config

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// reserved are variables of ours that are not settings.
var reserved = map[string]bool{
	"LEGWORK_CONFIG_HOME": true, "LEGWORK_STATE_HOME": true, "LEGWORK_LOCAL_SERVERS": true, // places and stand-ins
	"LEGWORK_BIN": true, // picks the binary
	"LEGWORK_RAW": true, // per-command opt-out of shrinking
}

// environment applies LEGWORK_<KEY>, the last layer. An empty variable counts as not set: plugin managers hand
// empty ones over for options nobody filled in.
func (m *merger) environment() {
	m.src, m.project = &source{}, nil
	var names []string
	for k, v := range m.env.vars {
		if strings.HasPrefix(k, "LEGWORK_") && v != "" && !reserved[k] && !isKeyVar(k) && !strings.HasPrefix(k, "LEGWORK_TEST_") {
			names = append(names, k)
		}
	}
	// The order of a process environment means nothing. Addresses come first, as in a file.
	slices.SortFunc(names, func(a, b string) int {
		return cmp.Or(cmp.Compare(m.schema.addressRank(a), m.schema.addressRank(b)), cmp.Compare(a, b))
	})
	for _, name := range names {
		m.variable(name, m.env.vars[name])
	}
}

// addressRank is 0 for a variable that sets an address, 1 for others.
func (s *tables) addressRank(name string) int {
	f := s.envs[name]
	if rest, ok := strings.CutPrefix(name, "LEGWORK_ENDPOINTS_"); ok && f == nil {
		f, _ = splitEntry(s.endpoint, rest)
	}
	if f != nil && f.creds != nil {
		return 0
	}
	return 1
}

func (m *merger) variable(name, value string) {
	o := Origin{Env: name}
	if f := m.schema.envs[name]; f != nil {
		m.fromEnv(reflect.ValueOf(m.cfg).Elem(), f, f.path, value, o)
		return
	}
	if rest, ok := strings.CutPrefix(name, "LEGWORK_ENDPOINTS_"); ok {
		if f, entry := splitEntry(m.schema.endpoint, rest); f != nil {
			e := m.envEndpoint(entry, o)
			m.fromEnv(reflect.ValueOf(e).Elem(), f, "endpoints."+e.Name+"."+f.key, value, o)
			return
		}
	}
	if rest, ok := strings.CutPrefix(name, "LEGWORK_MODELS_"); ok {
		if f, entry := splitEntry(m.schema.model, rest); f != nil {
			mod := m.envModel(entry, o)
			m.fromEnv(reflect.ValueOf(mod).Elem(), f, "models."+mod.Name+"."+f.key, value, o)
			return
		}
	}
	known := make([]string, 0, len(m.schema.envs))
	for k := range m.schema.envs {
		known = append(known, k)
	}
	slices.Sort(known)
	hint := ""
	if near := nearest(name, known); near != "" {
		hint = "; did you mean " + near + "?"
	}
	m.warn("", o, "unknown setting, not used%s", hint)
}

func (m *merger) fromEnv(root reflect.Value, f *field, path, value string, o Origin) {
	v, err := f.fromText(value)
	if err != nil {
		m.warn(path, o, "not used: %v", err)
		return
	}
	m.store(root, f, path, v, o)
}

// splitEntry takes GPU_BASE_URL apart into the field base_url and the name GPU.
func splitEntry(g *group, rest string) (*field, string) {
	for _, f := range g.fields {
		if name, ok := strings.CutSuffix(rest, "_"+envWord(f.key)); ok && name != "" {
			return f, name
		}
	}
	return nil, ""
}

// envEndpoint finds the endpoint a variable means, whatever the spelling of its name in files, or adds one.
func (m *merger) envEndpoint(name string, o Origin) *Endpoint {
	i := slices.IndexFunc(m.cfg.Endpoints, func(e Endpoint) bool { return envWord(e.Name) == name })
	if i < 0 {
		m.cfg.Endpoints = append(m.cfg.Endpoints, Endpoint{Name: strings.ToLower(name), Backend: "auto"})
		i = len(m.cfg.Endpoints) - 1
		m.cfg.origins["endpoints."+m.cfg.Endpoints[i].Name] = o
	}
	return &m.cfg.Endpoints[i]
}

func (m *merger) envModel(name string, o Origin) *Model {
	i := slices.IndexFunc(m.cfg.Models, func(e Model) bool { return envWord(e.Name) == name })
	if i < 0 {
		m.cfg.Models = append(m.cfg.Models, Model{Name: strings.ToLower(name)})
		i = len(m.cfg.Models) - 1
		m.cfg.origins["models."+m.cfg.Models[i].Name] = o
	}
	return &m.cfg.Models[i]
}

// KeyVariable is the variable that stands for the key which Claude Code keeps for the plugin; others for api_key_env add
// a word to it.
const KeyVariable = "LEGWORK_API_KEY"

// isKeyVar is true for the variables that api_key_env may name. No others: a key meant for another program must not
// be sent to a model server because a setting names it.
func isKeyVar(name string) bool {
	word, ok := strings.CutPrefix(name, KeyVariable)
	return ok && (word == "" || len(word) > 1 && word[0] == '_' && envWord(word) == word && word == strings.ToUpper(word))
}

func keyVarFrom(s string) (any, error) {
	if s = strings.TrimSpace(s); s != "" && !isKeyVar(s) {
		return nil, fmt.Errorf("%s is not the name of a variable for keys: %s, or that and a word, as in %s_GPU", clip(s), KeyVariable, KeyVariable)
	}
	return s, nil
}

// keysFromEnv fetches the keys that endpoints name by variable. A key of the endpoint's own wins; a variable that is not
// set here is no mistake, because only the server that Claude Code starts is given the plugin's.
func (m *merger) keysFromEnv() {
	for i := range m.cfg.Endpoints {
		e := &m.cfg.Endpoints[i]
		value := m.env.get(e.APIKeyEnv)
		if e.APIKeyEnv == "" || e.APIKey != "" || value == "" {
			continue
		}
		path, o := "endpoints."+e.Name+".api_key", Origin{Env: e.APIKeyEnv}
		key, err := secretFrom(value)
		if err != nil {
			m.warn(path, o, "not used: %v", err)
			continue
		}
		e.APIKey = key.(Secret)
		m.cfg.origins[path] = o
	}
}
