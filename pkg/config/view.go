package config

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"
)

// String is file:line, the name of a variable, or "built-in".
func (o Origin) String() string {
	switch {
	case o.Env != "":
		return o.Env
	case o.File != "" && o.Line > 0:
		return fmt.Sprintf("%s:%d", o.File, o.Line)
	case o.File != "":
		return o.File
	}
	return "built-in"
}

// String is the whole warning on one line.
func (w Warning) String() string {
	parts := []string{w.Text}
	if w.Key != "" {
		parts = []string{w.Key, w.Text}
	}
	text := strings.Join(parts, ": ")
	if w.Origin == (Origin{}) {
		return text
	}
	return w.Origin.String() + ": " + text
}

// Origin returns where the value of a dotted key came from, the zero Origin for a built-in default.
func (c *Config) Origin(key string) Origin { return c.origins[key] }

// Entry is one line of the settings view. Value is masked where it is secret.
type Entry struct {
	Key     string `json:"key"`
	Value   string `json:"value"`
	Origin  string `json:"origin"`
	Default bool   `json:"default,omitempty"` // no layer set it
	Doc     string `json:"doc,omitempty"`
}

// View lists every setting with its value and origin: what is set of endpoints and models first, then all
// sections in schema order.
func (c *Config) View() []Entry {
	s := schema()
	var out []Entry
	for _, e := range c.Endpoints {
		out = c.viewEntry(out, s.endpoint, "endpoints."+e.Name, reflect.ValueOf(e))
	}
	for _, m := range c.Models {
		out = c.viewEntry(out, s.model, "models."+m.Name, reflect.ValueOf(m))
	}
	root := reflect.ValueOf(c).Elem()
	for _, g := range s.sections {
		for _, f := range g.fields {
			o, set := c.origins[f.path]
			out = append(out, Entry{Key: f.path, Value: show(root.FieldByIndex(f.index)), Origin: o.String(), Default: !set, Doc: f.doc})
		}
	}
	return out
}

func (c *Config) viewEntry(out []Entry, g *group, path string, v reflect.Value) []Entry {
	before := len(out)
	for _, f := range g.fields {
		key := path + "." + f.key
		o, set := c.origins[key]
		if !set {
			continue
		}
		value := v.FieldByIndex(f.index)
		if f.kind != kindSecrets {
			out = append(out, Entry{Key: key, Value: show(value), Origin: o.String(), Doc: f.doc})
			continue
		}
		for _, k := range sortedKeys(value.Interface().(map[string]Secret)) {
			out = append(out, Entry{Key: key + "." + k, Value: masked, Origin: c.origins[key+"."+k].String(), Doc: f.doc})
		}
	}
	if len(out) == before { // a model may be just its name
		out = append(out, Entry{Key: path, Origin: c.origins[path].String()})
	}
	return out
}

func show(v reflect.Value) string {
	switch x := v.Interface().(type) {
	case []string:
		return strings.Join(x, ", ")
	case time.Duration:
		return formatDuration(x)
	case map[string]Secret:
		if len(x) == 0 {
			return ""
		}
		return strings.Join(sortedKeys(x), ", ") + " " + masked
	default:
		return fmt.Sprint(x) // a Secret masks itself
	}
}

// formatDuration is 10m instead of 10m0s, and 7d instead of 168h0m0s.
func formatDuration(d time.Duration) string {
	const day = 24 * time.Hour
	if d >= 2*day && d%day == 0 {
		return fmt.Sprintf("%dd", d/day)
	}
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

func (c *Config) findEndpoint(name string) int {
	return slices.IndexFunc(c.Endpoints, func(e Endpoint) bool { return e.Name == name })
}
