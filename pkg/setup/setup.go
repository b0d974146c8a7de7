// Package setup gets legwork ready on a machine and takes it away again: it collects what is there (model servers,
// settings of older tools, the note in CLAUDE.md), turns the user's choices into a plan that can be shown, and carries a
// plan out.
//
// The story: Look gathers the facts. The caller asks the user (or takes flags) and fills Choices. MakePlan compares them
// with what is in force and says what would be written, nothing else. Apply writes it: all settings in one go, then the
// note.
//
// Rules: nothing is written before Apply. What is set already is no change, so a second run has nothing to do.
// Hand-written settings are never touched (config.Apply writes the sidecar). In CLAUDE.md only what stands between our
// marks is ours.
//
// Pitfall: as soon as one endpoint is configured, the well-known local ports are not looked at any more. A plan that adds
// the first endpoint therefore adds the local servers that were found as well.
package setup

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"legwork/pkg/config"
	"legwork/pkg/fsx"
)

// Choices are what the user wants. The zero value changes nothing.
type Choices struct {
	Settings []config.Change // in the user's sidecar
	// Adopt writes the local servers that were found without being configured.
	Adopt   bool
	Imports []string // files of older tools to take over
	// Note says where the note for Claude goes; RemoveNote takes it away everywhere.
	Note       Place
	RemoveNote bool
}

// Empty tells whether nothing was chosen.
func (c Choices) Empty() bool {
	return len(c.Settings) == 0 && !c.Adopt && len(c.Imports) == 0 && c.Note == "" && !c.RemoveNote
}

// Plan is what would be written.
type Plan struct {
	Changes []config.Change `json:"-"`
	Edits   []Edit          `json:"-"`
	// Lines say it, one change each, without secrets.
	Lines []string `json:"changes"`
	Notes []string `json:"notes"` // what is left out, and why
}

// Empty tells whether there is nothing to write.
func (p *Plan) Empty() bool { return len(p.Changes) == 0 && len(p.Edits) == 0 }

// Done is what was written.
type Done struct {
	Files    []string `json:"files"`
	Keys     []string `json:"keys"`
	Warnings []string `json:"warnings"`
}

// MakePlan compares the choices with what is in force. autoUse in the choices decides the wording of the note.
func MakePlan(cfg *config.Config, f *Facts, c Choices) (*Plan, error) {
	p := &Plan{Lines: []string{}, Notes: []string{}}
	for _, file := range c.Imports {
		imported, err := config.Import(file)
		if err != nil {
			return nil, err
		}
		for _, note := range imported.Notes {
			p.Notes = append(p.Notes, file+": "+note)
		}
		p.take(cfg, imported.Changes, "from "+file)
	}
	if c.Adopt || addsEndpoint(cfg, append(slices.Clone(p.Changes), c.Settings...)) {
		for _, s := range f.Servers {
			if !s.Configured && s.Usable() {
				p.take(cfg, []config.Change{{Key: "endpoints." + s.Name, Value: map[string]any{"base_url": s.BaseURL, "backend": string(s.Backend)}}}, "found on this machine")
			}
		}
	}
	p.take(cfg, c.Settings, "")
	return p, p.note(cfg, f, c)
}

// addsEndpoint tells whether the first endpoint of a configuration is among the changes.
func addsEndpoint(cfg *config.Config, changes []config.Change) bool {
	return len(cfg.Endpoints) == 0 && slices.ContainsFunc(changes, func(c config.Change) bool {
		return strings.HasPrefix(c.Key, "endpoints.") && !c.Unset
	})
}

// take adds the changes that are not in force already.
func (p *Plan) take(cfg *config.Config, changes []config.Change, why string) {
	for _, c := range changes {
		if inForce(cfg, c) {
			continue
		}
		p.Changes = slices.DeleteFunc(p.Changes, func(old config.Change) bool { return old.Key == c.Key })
		p.Changes = append(p.Changes, c)
		line := c.Key + ": " + shown(c)
		if why != "" {
			line += " (" + why + ")"
		}
		p.Lines = slices.DeleteFunc(p.Lines, func(old string) bool { return strings.HasPrefix(old, c.Key+": ") })
		p.Lines = append(p.Lines, line)
	}
}

// shown is the value of a change for a person. Of an entry only its address is told: the rest may be secret.
func shown(c config.Change) string {
	switch v := c.Value.(type) {
	case nil:
		return "back to the built-in value"
	case map[string]any:
		var keys []string
		for k := range v {
			if k != "base_url" {
				keys = append(keys, k)
			}
		}
		slices.Sort(keys)
		text := strings.Join(keys, ", ")
		if base, ok := v["base_url"]; ok {
			text = strings.TrimSuffix(fmt.Sprintf("%s, with %s", publicURL(fmt.Sprint(base)), text), ", with ")
		}
		return text
	case []string:
		return strings.Join(v, ", ")
	default:
		return fmt.Sprint(v) // a Secret masks itself
	}
}

func publicURL(s string) string {
	if u, err := url.Parse(s); err == nil {
		return u.Redacted()
	}
	return "an address"
}

// inForce tells whether a change would change nothing.
func inForce(cfg *config.Config, c config.Change) bool {
	if c.Unset || c.Value == nil {
		return cfg.Origin(c.Key) == (config.Origin{})
	}
	if fields, ok := c.Value.(map[string]any); ok {
		for k, v := range fields {
			if !inForce(cfg, config.Change{Key: c.Key + "." + k, Value: v}) {
				return false
			}
		}
		return cfg.Origin(c.Key) != (config.Origin{})
	}
	switch v := c.Value.(type) {
	case config.Secret:
		return secretAt(cfg, c.Key) == v
	case map[string]config.Secret:
		for name, value := range v {
			if secretAt(cfg, c.Key+"."+name) != value {
				return false
			}
		}
		return true
	}
	for _, e := range cfg.View() {
		if e.Key == c.Key {
			return plain(e.Value) == plain(shown(c))
		}
	}
	return false
}

// secretAt is the secret in force at a key; the view masks them.
func secretAt(cfg *config.Config, key string) config.Secret {
	switch key {
	case "research.brave_api_key":
		return cfg.Research.BraveAPIKey
	case "research.tavily_api_key":
		return cfg.Research.TavilyAPIKey
	}
	if name, ok := strings.CutPrefix(key, "research.searxng_headers."); ok {
		return cfg.Research.SearxngHeaders[name]
	}
	for _, e := range cfg.Endpoints {
		field, ok := strings.CutPrefix(key, "endpoints."+e.Name+".")
		if !ok {
			continue
		}
		if field == "api_key" {
			return e.APIKey
		}
		if name, ok := strings.CutPrefix(field, "headers."); ok {
			return e.Headers[name]
		}
		if name, ok := strings.CutPrefix(field, "env."); ok {
			return e.Env[name]
		}
	}
	return ""
}

// plain makes the ways to write one value equal: blanks behind commas, 10m0s for 10m.
func plain(s string) string {
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	return strings.ReplaceAll(s, ", ", ",")
}

// note plans what happens to the note in CLAUDE.md.
func (p *Plan) note(cfg *config.Config, f *Facts, c Choices) error {
	if c.RemoveNote {
		for i, n := range f.Notes {
			if slices.ContainsFunc(f.Notes[:i], n.sameFile) {
				continue
			}
			e, err := n.remove()
			if err != nil {
				return err
			}
			if e != nil {
				p.edit(*e, "remove the note from "+n.Path)
			}
		}
		return nil
	}
	if c.Note == "" {
		return nil
	}
	tools := cfg.AutoUse
	for _, ch := range p.Changes {
		if ch.Key == "auto_use" && ch.Value != nil {
			tools = strings.FieldsFunc(shown(ch), func(r rune) bool { return r == ',' || r == ' ' })
		}
	}
	i := slices.IndexFunc(f.Notes, func(n Note) bool { return n.Place == c.Note })
	if i < 0 {
		return fmt.Errorf("the note can go to %s or %s, not to %q", User, Project, c.Note)
	}
	e, err := f.Notes[i].insert(Text(tools, f.Prefix))
	if err != nil {
		return err
	}
	if e == nil {
		return nil
	}
	what := "add the note to "
	if f.Notes[i].State != Absent {
		what = "update the note in "
	}
	p.edit(*e, what+e.Path)
	return nil
}

func (p *Plan) edit(e Edit, line string) {
	p.Edits = append(p.Edits, e)
	p.Lines = append(p.Lines, line)
}

// ErrChanged says that a file is not what it was when the plan was made.
var ErrChanged = errors.New("it was changed meanwhile, so nothing was written to it; run the set-up again")

// Apply carries a plan out. It cannot be interrupted half-way: ctx is looked at before the first write only.
func Apply(ctx context.Context, opts config.Options, p *Plan) (Done, error) {
	done := Done{Files: []string{}, Keys: []string{}, Warnings: []string{}}
	if err := ctx.Err(); err != nil {
		return done, err
	}
	ctx = context.WithoutCancel(ctx)
	for _, e := range p.Edits {
		if err := e.check(); err != nil {
			return done, err
		}
	}
	if len(p.Changes) > 0 {
		applied, err := config.Apply(ctx, opts, config.ScopeUser, p.Changes)
		if err != nil {
			return done, err
		}
		done.Keys = append(done.Keys, applied.Keys...)
		done.Warnings = append(done.Warnings, applied.Warnings...)
		if applied.File != "" {
			done.Files = append(done.Files, applied.File)
		}
	}
	for _, e := range p.Edits {
		if err := e.write(); err != nil {
			return done, err
		}
		done.Files = append(done.Files, e.Path)
	}
	return done, nil
}

// write replaces the file, or removes it when nothing of ours or the user's is left in it.
func (e Edit) write() error {
	if err := e.check(); err != nil {
		return err
	}
	if e.Delete {
		return os.Remove(e.Path)
	}
	if err := os.MkdirAll(filepath.Dir(e.Path), 0o700); err != nil {
		return err
	}
	return fsx.WriteFile(e.Path, e.After, 0)
}
