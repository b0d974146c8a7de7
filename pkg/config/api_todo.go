package config

import "context"

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
func Load(opts Options) (*Config, error) { return &Config{}, nil }

// Servers returns the configured endpoints, or the well-known local ports when none is configured.
func (c *Config) Servers() []Endpoint { return c.Endpoints }

// Origin returns where the value of a dotted key came from.
func (c *Config) Origin(key string) Origin { return c.origins[key] }

// Redact removes every secret value of this configuration from text.
func (c *Config) Redact(text string) string { return text }

type redactor struct{}

// Bytes is a size. It prints as 500MB, 1.5GiB, 12B.
type Bytes int64

// Entry is one line of the settings view. Value is masked where it is secret.
type Entry struct {
	Key     string `json:"key"`
	Value   string `json:"value"`
	Origin  string `json:"origin"`
	Default bool   `json:"default,omitempty"` // true when no layer set it
}

// View lists every key with its value and origin: settings in schema order, then endpoints and models.
func (c *Config) View() []Entry { return nil }

// Setting describes one key of the schema.
type Setting struct {
	Key     string // dotted, with <name> for endpoints and models
	Type    string // number, duration, size, yes/no, text, list, map, secret, or the allowed words
	Default string
	Env     string   // name of the variable that sets it
	Values  []string // allowed words, if any
	Trust   bool     // a project must be trusted to set it
	Doc     string   // one line
}

// Reference lists every key of the schema, in order, for the documentation.
func Reference() []Setting { return nil }

// Scope says whose sidecar a change is written to.
type Scope string

// The two scopes. An empty scope means ScopeUser.
const (
	ScopeUser    Scope = "user"
	ScopeProject Scope = "project"
)

// Change sets one key, or removes it from the sidecar when Unset is true.
type Change struct {
	Key   string
	Value any // text as typed on a command line, or a decoded JSON value
	Unset bool
}

// Applied is the result of a change.
type Applied struct {
	File     string   // the sidecar that was written
	Keys     []string // what changed
	Warnings []string // e.g. that a later layer still wins
}

// Apply checks all changes against the schema and writes them to the sidecar of the scope, or writes nothing.
func Apply(ctx context.Context, opts Options, scope Scope, changes []Change) (Applied, error) {
	return Applied{}, nil
}

// RegisterEndpoint writes an endpoint to the sidecar; fields left zero keep what is there.
func RegisterEndpoint(ctx context.Context, opts Options, scope Scope, e Endpoint) (Applied, error) {
	return Applied{}, nil
}

// RegisterModel writes a model to the sidecar; fields left zero keep what is there.
func RegisterModel(ctx context.Context, opts Options, scope Scope, m Model) (Applied, error) {
	return Applied{}, nil
}

// Trust lets the project files, as they are now, set everything. A file that changes loses it.
func Trust(ctx context.Context, opts Options) ([]ProjectFile, error) { return nil, nil }

// Revoke takes the trust of the project files back and reports whether there was any.
func Revoke(ctx context.Context, opts Options) (bool, error) { return false, nil }

// Plan is what an import would set.
type Plan struct {
	Format  string // what the file was recognised as
	Changes []Change
	Notes   []string // what is not taken over, and why
}

// Import reads the configuration of an older tool. Nothing is written; pass Changes to Apply.
func Import(path string) (Plan, error) { return Plan{}, nil }

// ConfigHome is the directory of the user's files: $LEGWORK_CONFIG_HOME, else legwork in the XDG
// configuration directory (%AppData% on Windows).
func ConfigHome(env []string) (string, error) { return "", nil }

// StateHome is the directory of ledger, raw output, jobs and caches: $LEGWORK_STATE_HOME, else legwork in the
// XDG state directory (%LocalAppData% on Windows).
func StateHome(env []string) (string, error) { return "", nil }
