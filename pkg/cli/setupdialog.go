package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	"legwork/pkg/config"
	"legwork/pkg/doctor"
	"legwork/pkg/llm"
	"legwork/pkg/setup"
)

// dialog asks questions on a terminal, one line each.
type dialog struct {
	in  *lines
	out io.Writer
}

// lines hands over what is typed, so that Ctrl-C ends a question that nobody answers.
type lines struct{ typed chan string }

// newLines begins to read. The reader ends with its input or with the process: a read from a terminal cannot be called
// back.
func newLines(r io.Reader) *lines {
	l := &lines{typed: make(chan string)}
	go func() {
		defer close(l.typed)
		for s := bufio.NewScanner(r); s.Scan(); {
			l.typed <- strings.TrimSpace(s.Text())
		}
	}()
	return l
}

// errNoAnswer ends a dialog whose input ended.
var errNoAnswer = errors.New("setup: the input ended; nothing was written")

func (d *dialog) say(format string, args ...any) { fmt.Fprintf(d.out, format+"\n", args...) }

// ask returns the answer to a question, def when it is an empty line.
func (d *dialog) ask(ctx context.Context, question, def string) (string, error) {
	if def != "" {
		question += " [" + def + "]"
	}
	fmt.Fprint(d.out, question+": ")
	select {
	case <-ctx.Done():
		fmt.Fprintln(d.out)
		return "", fmt.Errorf("setup: interrupted, nothing was written: %w", ctx.Err())
	case text, ok := <-d.in.typed:
		switch {
		case !ok:
			return "", errNoAnswer
		case text == "":
			return def, nil
		}
		return text, nil
	}
}

// yes asks for a plain yes; anything else is no.
func (d *dialog) yes(ctx context.Context, question string) (bool, error) {
	text, err := d.ask(ctx, question+" (y/N)", "")
	return slices.Contains([]string{"y", "yes"}, strings.ToLower(text)), err
}

// setupDialog goes through the choices, shows what would be written, and writes it after a yes. Until then nothing is
// written, so Ctrl-C at any question leaves all as it was.
func (a *app) setupDialog(ctx context.Context, d *dialog, cfg *config.Config, f *setup.Facts) error {
	d.say("%s", a.redact(factsText(f)))
	var c setup.Choices
	steps := []func(context.Context, *dialog, *config.Config, *setup.Facts, *setup.Choices) error{
		a.askImports, a.askServers, a.askModels, a.askAutoUse, a.askSearch, a.askNote,
	}
	for _, step := range steps {
		if err := step(ctx, d, cfg, f, &c); err != nil {
			return err
		}
	}
	if f.Advice != "" {
		d.say("\nadvice: %s", f.Advice)
	}
	plan, err := setup.MakePlan(cfg, f, c)
	if err != nil {
		return &exitError{exitUsage, fmt.Errorf("setup: %w", err)}
	}
	d.say("\nThis would be written:\n%s", strings.TrimRight(a.redact(planText(plan)), "\n"))
	var done *setup.Done
	if !plan.Empty() {
		ok, err := d.yes(ctx, "Write it?")
		if err != nil {
			return err
		}
		if !ok {
			d.say("nothing was written")
			return nil
		}
		written, err := setup.Apply(ctx, a.options(), plan)
		if err != nil {
			return &exitError{exitUsage, fmt.Errorf("setup: %w", err)}
		}
		done = &written
		d.say("%s", strings.TrimRight(a.redact(doneText(*done)), "\n"))
	}
	d.say("\nchecking everything")
	report, err := a.checkup(ctx, false)
	if err == nil {
		d.say("%s", a.redact(report.Text()))
	}
	return err
}

// factsText shows what was found.
func factsText(f *setup.Facts) string {
	var b strings.Builder
	if len(f.Servers) == 0 {
		b.WriteString("No model server was found. offload and research work without one (built-in reader); delegate and run_agent need one.\n")
	}
	for _, s := range f.Servers {
		fmt.Fprintf(&b, "%s  %s  %s  %s", s.Name, s.BaseURL, s.Backend, s.State)
		if !s.Configured {
			b.WriteString("  (found on this machine)")
		}
		if s.TokensPerSec > 0 {
			fmt.Fprintf(&b, "  first token %d ms, %.0f tokens/s", s.FirstTokenMS, s.TokensPerSec)
		}
		if s.Detail != "" {
			b.WriteString("  " + s.Detail)
		}
		b.WriteString("\n")
		for _, m := range s.Models {
			b.WriteString("  " + modelLine(m) + "\n")
		}
	}
	for _, w := range f.Warnings {
		b.WriteString("warning: " + w + "\n")
	}
	return strings.TrimRight(b.String(), "\n")
}

func modelLine(m llm.Model) string {
	if !m.Caps.Chat {
		return m.ID + "  not for chat"
	}
	text := m.ID
	if m.Window > 0 {
		text += fmt.Sprintf("  window %d", m.Window)
	}
	if m.Caps.Known {
		text += map[bool]string{true: "  tools", false: "  no tools"}[m.Caps.Tools]
	}
	if m.Remote != "" {
		text += "  runs on " + m.Remote
	}
	return text
}

func (a *app) askImports(ctx context.Context, d *dialog, _ *config.Config, f *setup.Facts, c *setup.Choices) error {
	for _, im := range f.Imports {
		if !im.New {
			continue
		}
		d.say("\n%s holds settings of %s: %s", im.Path, im.Format, strings.Join(im.Keys, ", "))
		for _, n := range im.Notes {
			d.say("  not taken over: %s", a.redact(n))
		}
		ok, err := d.yes(ctx, "Take them over?")
		if err != nil {
			return err
		}
		if ok {
			c.Imports = append(c.Imports, im.Path)
		}
	}
	return nil
}

func (a *app) askServers(ctx context.Context, d *dialog, cfg *config.Config, f *setup.Facts, c *setup.Choices) error {
	found := func(s setup.Server) bool { return !s.Configured && s.Usable() }
	if len(cfg.Endpoints) > 0 && slices.ContainsFunc(f.Servers, found) { // without any endpoint they are used as they are
		ok, err := d.yes(ctx, "\nSome servers of this machine are not in your settings. Add them?")
		if err != nil {
			return err
		}
		if c.Adopt = ok; !ok {
			f.Servers = slices.DeleteFunc(f.Servers, found)
		}
	}
	for _, s := range f.Servers {
		if s.State != llm.Refused || !s.Configured {
			continue
		}
		ok, err := d.yes(ctx, "\n"+s.Name+" wants an API key. Send it the one that Claude Code keeps (/plugin configure, option api_key)?")
		if err != nil {
			return err
		}
		if ok {
			c.Settings = append(c.Settings, config.Change{Key: "endpoints." + s.Name + ".api_key_env", Value: config.KeyVariable})
		}
	}
	for {
		base, err := d.ask(ctx, "\nAddress of another model server, or Enter for none", "")
		if err != nil || base == "" {
			return err
		}
		if !strings.Contains(base, "://") {
			base = "http://" + base
		}
		name, err := d.ask(ctx, "What to call it", config.EndpointName(base))
		if err != nil {
			return err
		}
		st, err := a.tryServer(ctx, name, base)
		if err != nil {
			d.say("%v", err)
			continue
		}
		d.say("%s  %s  %s", st.Backend, st.State, a.redact(st.Detail))
		ok := st.State == llm.Up || st.State == llm.Sleeping || st.State == llm.Loading
		if !ok {
			if ok, err = d.yes(ctx, "Add it all the same?"); err != nil {
				return err
			}
		}
		if ok {
			c.Settings = append(c.Settings, config.Change{Key: "endpoints." + name, Value: map[string]any{"base_url": base}})
			f.Servers = append(f.Servers, setup.Server{EndpointStatus: st, Configured: true})
			for _, m := range st.Models {
				d.say("  %s", modelLine(m))
			}
		}
	}
}

// tryServer looks what answers at an address that is not configured yet.
func (a *app) tryServer(ctx context.Context, name, base string) (llm.EndpointStatus, error) {
	reg := llm.New(llm.Settings{Endpoints: []llm.Endpoint{{Name: name, BaseURL: base, Backend: llm.Auto}}}, llm.Options{Logger: a.log})
	sts, err := reg.Probe(ctx)
	if err != nil || len(sts) == 0 {
		return llm.EndpointStatus{}, err
	}
	return sts[0], nil
}

// askModels asks for the models where there is something to choose.
func (a *app) askModels(ctx context.Context, d *dialog, cfg *config.Config, f *setup.Facts, c *setup.Choices) error {
	var names []string
	for _, s := range f.Servers {
		for _, m := range s.Models {
			if m.Caps.Chat && !slices.Contains(names, m.ID) {
				names = append(names, m.ID)
			}
		}
	}
	if len(names) < 2 {
		return nil // the only one there is needs no choice
	}
	d.say("")
	for i, n := range names {
		d.say("%2d  %s", i+1, n)
	}
	now := map[string]string{
		"defaults.model": cfg.Defaults.Model, "offload.model": cfg.Offload.Model, "research.model": cfg.Research.Model, "delegate.model": strings.Join(cfg.Delegate.Model, ","),
	}
	for i, m := range modelFlags {
		question := "Number or name of the " + m.doc
		if i > 0 {
			question += " (none: as above)"
		}
		text, err := d.ask(ctx, question, firstWord(now[m.key], none))
		if err != nil {
			return err
		}
		if n, err := strconv.Atoi(text); err == nil && n >= 1 && n <= len(names) {
			text = names[n-1]
		}
		switch {
		case text == none && now[m.key] != "":
			c.Settings = append(c.Settings, config.Change{Key: m.key, Unset: true})
		case text != none && text != now[m.key]:
			c.Settings = append(c.Settings, config.Change{Key: m.key, Value: text})
		}
	}
	return nil
}

func firstWord(words ...string) string {
	for _, w := range words {
		if w != "" {
			return w
		}
	}
	return ""
}

func (a *app) askAutoUse(ctx context.Context, d *dialog, cfg *config.Config, _ *setup.Facts, c *setup.Choices) error {
	now := firstWord(strings.Join(cfg.AutoUse, ","), none)
	for {
		text, err := d.ask(ctx, "\nTools Claude may use on its own (offload, offload_files, research, delegate, run_agent, local_complete; none)", now)
		if err != nil || text == now {
			return err
		}
		ch := config.Change{Key: "auto_use", Value: text}
		if text == none {
			ch.Value = []string{}
		}
		if err := config.Check(ch); err != nil {
			d.say("%v", err)
			continue
		}
		c.Settings = append(c.Settings, ch)
		return nil
	}
}

func (a *app) askSearch(ctx context.Context, d *dialog, cfg *config.Config, _ *setup.Facts, c *setup.Choices) error {
	for {
		now := firstWord(cfg.Research.SearxngURL, none)
		text, err := d.ask(ctx, "\nAddress of a SearXNG for research; none: it reads given pages only", now)
		if err != nil || text == now {
			return err
		}
		if text == none {
			c.Settings = append(c.Settings, config.Change{Key: "research.searxng_url", Unset: true})
			return nil
		}
		found := doctor.SearXNG(ctx, text, cfg.Research.SearchHeaders(text))
		d.say("%s: %s", found.Status, found.Text)
		if found.Status == doctor.Fail {
			d.say("  → %s", found.Fix)
			if ok, err := d.yes(ctx, "Set it all the same?"); err != nil {
				return err
			} else if !ok {
				continue
			}
		}
		c.Settings = append(c.Settings, config.Change{Key: "research.searxng_url", Value: text})
		return nil
	}
}

func (a *app) askNote(ctx context.Context, d *dialog, _ *config.Config, f *setup.Facts, c *setup.Choices) error {
	for _, n := range f.Notes {
		switch n.State {
		case setup.Current:
			d.say("\nThe note for Claude stands in %s.", n.Path)
			return nil
		case setup.Old:
			ok, err := d.yes(ctx, "\nThe note for Claude in "+n.Path+" is of another version. Bring it up to date?")
			if ok {
				c.Note = n.Place
			}
			return err
		}
	}
	d.say("\nA note in CLAUDE.md helps Claude to think of the local model:\n\n%s", f.NoteText)
	for _, n := range f.Notes {
		if n.State == setup.Damaged {
			d.say("%s cannot take it: %s", n.Path, n.Why)
		}
	}
	text, err := d.ask(ctx, "Put it into "+f.Notes[0].Path+" (user), "+f.Notes[1].Path+" (project), or nowhere (none)", none)
	if err == nil && (text == string(setup.User) || text == string(setup.Project)) {
		c.Note = setup.Place(text)
	}
	return err
}

// isTerminalInput tells whether somebody can type.
func isTerminalInput(r io.Reader) bool {
	f, ok := r.(*os.File)
	return ok && isTerminal(f)
}
