package config

import (
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"reflect"
	"strings"

	"gopkg.in/yaml.v3"
)

// Plan is what an import would set.
type Plan struct {
	Path    string
	Format  string // localagents or local-llm-worker
	Changes []Change
	Notes   []string // what is not taken over, and why
}

// Import reads the configuration of an older tool: a models.yaml of localagents (with its models.local.yaml), or
// the JSON file of local-llm-worker. Nothing is written; pass Changes to [Apply].
func Import(path string) (Plan, error) {
	src, err := readSource(path)
	switch {
	case err != nil:
		return Plan{}, fmt.Errorf("importing: %w", err)
	case src == nil:
		return Plan{}, fmt.Errorf("importing %s: %w", path, fs.ErrNotExist)
	case src.root == nil:
		return Plan{}, fmt.Errorf("importing %s: the file holds no settings", path)
	}
	if child(src.root, "endpoints") != nil || child(src.root, "models") != nil {
		return importModels(src)
	}
	return importWorker(src)
}

// FindImports lists the files of older tools in the places those tools use.
func FindImports(opts Options) []string {
	lay, err := newLayout(opts)
	if err != nil {
		return nil
	}
	config := lay.env.absolute("XDG_CONFIG_HOME")
	if config == "" {
		config = filepath.Join(lay.env.home(), ".config")
	}
	var found []string
	for _, path := range []string{
		filepath.Join(config, "localagents", "models.yaml"),
		filepath.Join(lay.env.home(), ".config", "localagents", "models.yaml"),
		filepath.Join(lay.dir, modelsName),
		filepath.Join(config, "local-llm-worker", "config.json"),
		filepath.Join(lay.root, ".local-llm-worker.json"),
	} {
		st, err := os.Stat(path)
		if err != nil || !st.Mode().IsRegular() || (len(found) > 0 && found[len(found)-1] == path) {
			continue
		}
		found = append(found, path)
	}
	return found
}

// importModels reads a models.yaml as what it is, a file of our schema, and turns everything it sets into
// changes.
func importModels(src *source) (Plan, error) {
	layers := []layer{{source: src}}
	ext := filepath.Ext(src.path)
	side, err := readSource(strings.TrimSuffix(src.path, ext) + ".local" + ext)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return Plan{}, fmt.Errorf("importing: %w", err)
	}
	if side != nil {
		layers = append(layers, layer{source: side})
	}
	cfg := merge(layout{env: environment{}}, layers)
	plan := Plan{Path: src.path, Format: "localagents"}
	for _, w := range cfg.Warnings {
		plan.Notes = append(plan.Notes, w.String())
	}
	for _, e := range cfg.Endpoints {
		plan.Changes = append(plan.Changes, Change{Key: "endpoints." + e.Name, Value: endpointValues(e)})
	}
	for _, m := range cfg.Models {
		plan.Changes = append(plan.Changes, Change{Key: "models." + m.Name, Value: modelValues(m)})
	}
	root := reflect.ValueOf(cfg).Elem()
	for _, g := range schema().sections {
		for _, f := range g.fields {
			if _, set := cfg.origins[f.path]; set {
				plan.Changes = append(plan.Changes, Change{Key: f.path, Value: root.FieldByIndex(f.index).Interface()})
			}
		}
	}
	return plan, nil
}

// workerKeys says where the settings of local-llm-worker went. An empty key is explained by note.
var workerKeys = []struct {
	old, key, unit, note string
}{
	{old: "model", key: "defaults.model"},
	{old: "offload_model", key: "offload.model"},
	{old: "delegate_model", key: "delegate.model"},
	{old: "research_model", key: "research.model"},
	{old: "search_url", key: "research.searxng_url"},
	{old: "research_sources", key: "research.sources"},
	{old: "page_timeout_ms", key: "research.page_timeout", unit: "ms"},
	{old: "num_ctx", key: "llm.num_ctx"},
	{old: "max_tokens", key: "llm.answer_tokens"},
	{old: "keep_alive", key: "llm.keep_alive"},
	{old: "concurrency", key: "llm.concurrency"},
	{old: "test_timeout_ms", key: "delegate.test_timeout", unit: "ms"},
	{old: "test_timeout_ms", key: "offload.command_timeout", unit: "ms"},
	{old: "max_attempts", key: "delegate.attempts"},
	{old: "link_dirs", key: "delegate.link_dirs"},
	{old: "auto_use", key: "auto_use"},
	{old: "timeout_ms", note: "limits count silence here, not total time: see llm.first_byte_timeout and llm.idle_timeout"},
	{old: "allow_private_urls", note: "private hosts are named one by one here: see research.allow_hosts"},
}

// workerEndpoint are the keys that describe the one backend of local-llm-worker.
var workerEndpoint = map[string]string{"base_url": "base_url", "api": "backend", "api_key": "api_key", "headers": "headers"}

// importWorker maps the flat keys of local-llm-worker. Keys are compared by letters and digits, so that baseUrl
// is base_url.
func importWorker(src *source) (Plan, error) {
	plan := Plan{Path: src.path, Format: "local-llm-worker"}
	endpoint := map[string]any{}
	known := 0
	for k, v := range pairs(src.root) {
		v = deref(v)
		if v.Kind == yaml.ScalarNode && v.Tag == "!!null" {
			continue
		}
		switch used, note := plan.takeWorkerKey(k.Value, v, endpoint); {
		case used && note != "":
			plan.Notes = append(plan.Notes, fmt.Sprintf("%s is not taken over: %s", clip2(k.Value), note))
			known++
		case used:
			known++
		default:
			plan.Notes = append(plan.Notes, fmt.Sprintf("%s:%d: unknown key %s, not taken over", src.path, k.Line, clip(k.Value)))
		}
	}
	if known == 0 {
		return Plan{}, fmt.Errorf("importing %s: neither a models.yaml of localagents (endpoints, models, defaults) nor a config.json of local-llm-worker (base_url, model, num_ctx, …)", src.path)
	}
	if len(endpoint) > 0 {
		if endpoint["base_url"] == nil {
			endpoint["base_url"] = "http://localhost:11434" // the older tool's default
		}
		name := EndpointName(fmt.Sprint(endpoint["base_url"]))
		plan.Changes = append([]Change{{Key: "endpoints." + name, Value: endpoint}}, plan.Changes...)
	}
	return plan, nil
}

// takeWorkerKey takes one key over and reports whether it is known; note says why a known one is left out.
func (p *Plan) takeWorkerKey(key string, v *yaml.Node, endpoint map[string]any) (known bool, note string) {
	for old, ours := range workerEndpoint {
		if squash(old) == squash(key) {
			value, err := checkedValue(schema().endpoint.byKey[ours], v, "")
			if err != nil {
				return true, err.Error()
			}
			endpoint[ours] = value
			return true, ""
		}
	}
	if squash(key) == "logpath" {
		if v.Value == "" {
			p.Changes = append(p.Changes, Change{Key: "store.ledger", Value: false})
			return true, ""
		}
		return true, "the run log has its own place here"
	}
	for _, w := range workerKeys {
		if squash(w.old) != squash(key) {
			continue
		}
		known = true
		if w.key == "" {
			return true, w.note
		}
		_, _, f, _ := schema().resolve(w.key)
		if f.kind == kindName && v.Value == "" {
			continue // "" is the default of a name
		}
		value, err := checkedValue(f, v, w.unit)
		if err != nil {
			return true, err.Error()
		}
		p.Changes = append(p.Changes, Change{Key: w.key, Value: value})
	}
	return known, note
}

// checkedValue reads a value of an older file as the type our field has.
func checkedValue(f *field, v *yaml.Node, unit string) (any, error) {
	if unit != "" && v.Kind == yaml.ScalarNode {
		with := *v
		with.Value, with.Tag = v.Value+unit, "!!str"
		v = &with
	}
	return f.fromNode(v)
}

// EndpointName makes a short name from an address: the first label of a host name, "local" for this machine.
func EndpointName(base string) string {
	u, err := url.Parse(base)
	if err != nil {
		return "imported"
	}
	host := u.Hostname()
	switch {
	case host == "localhost" || strings.HasPrefix(host, "127.") || host == "::1":
		return "local"
	case strings.Trim(host, "0123456789.:abcdef") == "": // an address, not a name
		return strings.NewReplacer(".", "-", ":", "-").Replace(host)
	}
	name, _, _ := strings.Cut(host, ".")
	return name
}
