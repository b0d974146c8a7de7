package setup

import (
	"context"
	"encoding/json"
	"math"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"legwork/pkg/claudecode"
	"legwork/pkg/config"
	"legwork/pkg/llm"
)

// Facts are what was found. They hold no secrets.
type Facts struct {
	Servers  []Server  `json:"servers"`
	Settings []Setting `json:"settings"` // those that the set-up asks about
	Warnings []string  `json:"warnings"` // of the settings
	Imports  []Import  `json:"imports"`  // settings of older tools
	Notes    []Note    `json:"notes"`    // the note for Claude
	NoteText string    `json:"note_text"`
	// BashOutput is BASH_MAX_OUTPUT_LENGTH in the user's settings of Claude Code; empty: its default of 30,000.
	BashOutput string `json:"bash_max_output_length"`
	Advice     string `json:"advice,omitempty"`
	Prefix     string `json:"-"`
}

// Server is one model server, configured or found on a usual port of this machine.
type Server struct {
	llm.EndpointStatus

	Configured bool
	// Measured by one short call; 0 when none was made.
	FirstTokenMS int64
	TokensPerSec float64
}

// MarshalJSON writes what a choice needs, and no more: a model that pays for every line reads it.
func (s Server) MarshalJSON() ([]byte, error) {
	type model struct {
		ID     string `json:"id"`
		Window int    `json:"window,omitempty"`
		Tools  *bool  `json:"tools,omitempty"` // absent: the server does not tell
		Loaded bool   `json:"loaded"`
		Remote string `json:"remote,omitempty"`
	}
	models := []model{}
	for _, m := range s.Models {
		if !m.Caps.Chat {
			continue
		}
		out := model{ID: m.ID, Window: m.Window, Loaded: m.Loaded, Remote: m.Remote}
		if m.Caps.Known {
			out.Tools = &m.Caps.Tools
		}
		models = append(models, out)
	}
	return json.Marshal(struct {
		Name         string      `json:"name"`
		BaseURL      string      `json:"base_url"`
		Backend      llm.Backend `json:"backend"`
		State        llm.State   `json:"state"`
		Detail       string      `json:"detail,omitempty"`
		Configured   bool        `json:"configured"`
		Slots        int         `json:"slots,omitempty"`
		FirstTokenMS int64       `json:"first_token_ms,omitempty"`
		TokensPerSec float64     `json:"tokens_per_s,omitempty"`
		Models       []model     `json:"chat_models"`
	}{s.Name, s.BaseURL, s.Backend, s.State, s.Detail, s.Configured, s.Slots.Total, s.FirstTokenMS, math.Round(s.TokensPerSec), models})
}

// Usable tells whether the server can be used as it is now, or soon.
func (s Server) Usable() bool {
	return s.State == llm.Up || s.State == llm.Sleeping || s.State == llm.Loading
}

// Setting is one setting with its origin.
type Setting struct {
	Key    string `json:"key"`
	Value  string `json:"value"`
	Origin string `json:"origin"`
}

// Import is a file of an older tool, and what would be taken over from it.
type Import struct {
	Path   string   `json:"path"`
	Format string   `json:"format"`
	Keys   []string `json:"settings"`
	Notes  []string `json:"notes"` // what is not taken over, and why
	New    bool     `json:"new"`   // something in it is not in force yet
}

// Deps are what Look needs.
type Deps struct {
	Config  *config.Config
	Options config.Options
	Models  *llm.Registry
	// Local is a registry of the usual local ports, which Models does not know once an endpoint is configured.
	Local  *llm.Registry
	Prefix string // how the client names our tools
	Env    []string
	Dir    string // the project
}

// asked are the settings that the set-up asks about.
var asked = []string{"defaults.model", "offload.model", "research.model", "delegate.model", "auto_use", "research.searxng_url"}

// advice is told while Claude Code's own limit is in force: it is the cheapest cure for lost ends of output.
const advice = `put "BASH_MAX_OUTPUT_LENGTH": "150000" under "env" in %s: without it Claude Code drops what a failing command prints beyond 30,000 characters, and the end is where the error stands`

// Look gathers the facts. It asks servers what they serve and makes no call to a model.
func Look(ctx context.Context, d Deps) (*Facts, error) {
	f := &Facts{Servers: []Server{}, Settings: []Setting{}, Warnings: []string{}, Imports: []Import{}, Prefix: d.Prefix}
	own, err := d.Models.Probe(ctx)
	if err != nil {
		return nil, err
	}
	local, err := d.Local.Probe(ctx)
	if err != nil {
		return nil, err
	}
	known := map[string]bool{}
	for _, st := range own {
		if !st.WellKnown {
			known[address(st.BaseURL)] = true
			if e, _ := d.Config.Endpoint(st.Name); st.State == llm.Refused && e.APIKeyEnv != "" && e.APIKey == "" {
				st.Detail += "; its key is in " + e.APIKeyEnv + ", which only the plugin's server is given: list_models shows whether it is right"
			}
			f.Servers = append(f.Servers, Server{EndpointStatus: st, Configured: true})
		}
	}
	for _, st := range local {
		if s := (Server{EndpointStatus: st}); !known[address(st.BaseURL)] && (s.Usable() || st.State == llm.Refused) {
			f.Servers = append(f.Servers, s)
		}
	}
	for _, e := range d.Config.View() {
		for _, key := range asked {
			if e.Key == key {
				f.Settings = append(f.Settings, Setting{e.Key, e.Value, e.Origin})
			}
		}
	}
	for _, w := range d.Config.Warnings {
		f.Warnings = append(f.Warnings, w.String())
	}
	f.imports(d)
	f.NoteText = Text(d.Config.AutoUse, d.Prefix)
	f.Notes = []Note{
		findNote(User, filepath.Join(claudecode.ConfigDir(d.Env), "CLAUDE.md"), f.NoteText),
		findNote(Project, filepath.Join(d.Config.Project.Root, "CLAUDE.md"), f.NoteText),
	}
	f.bash(d.Env)
	return f, nil
}

// imports lists the files of older tools in the user's own folders. A file in a project is nobody's to take over: it came
// with the repository.
func (f *Facts) imports(d Deps) {
	for _, path := range config.FindImports(d.Options) {
		if dir := filepath.Dir(path); dir == d.Config.Project.Root || dir == d.Options.Dir {
			continue
		}
		plan, err := config.Import(path)
		if err != nil {
			continue // a file of that name that is no settings file
		}
		im := Import{Path: path, Format: plan.Format, Keys: []string{}, Notes: append([]string{}, plan.Notes...)}
		for _, c := range plan.Changes {
			im.Keys = append(im.Keys, c.Key)
			im.New = im.New || !inForce(d.Config, c)
		}
		f.Imports = append(f.Imports, im)
	}
}

// bash reads Claude Code's limit for the output of a command.
func (f *Facts) bash(env []string) {
	path := filepath.Join(claudecode.ConfigDir(env), "settings.json")
	var s struct {
		Env map[string]json.RawMessage `json:"env"`
	}
	if b, err := os.ReadFile(path); err == nil {
		_ = json.Unmarshal(b, &s) // broken settings are Claude Code's to tell
	}
	f.BashOutput = strings.Trim(string(s.Env["BASH_MAX_OUTPUT_LENGTH"]), `"`)
	if f.BashOutput == "" {
		f.Advice = strings.ReplaceAll(advice, "%s", path)
	}
}

// address makes two spellings of one server equal: localhost is 127.0.0.1.
func address(base string) string {
	u, err := url.Parse(base)
	if err != nil {
		return base
	}
	host, port := u.Hostname(), u.Port()
	if host == "localhost" || host == "::1" || host == "0.0.0.0" {
		host = "127.0.0.1"
	}
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	return host + ":" + port
}
