package llm

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

// listMost is how many names a message lists.
const listMost = 12

// advice says what would help when no model was found.
func advice(cfg *Settings, sts []EndpointStatus, w resolved, all []candidate) string {
	var parts []string
	for _, c := range all {
		t := matchOne(w.name, *c.m)
		switch {
		case w.name == "" || t == tierNone || t > tierEqual:
		case c.m.Caps.Embedding && !c.m.Caps.Chat:
			parts = append(parts, fmt.Sprintf("%s on %s is an embedding or rerank model", c.m.ID, c.st.Name))
		case !c.m.Caps.Chat:
			parts = append(parts, fmt.Sprintf("%s on %s is no chat model", c.m.ID, c.st.Name))
		case c.m.Remote != "":
			parts = append(parts, fmt.Sprintf("%s on %s runs on %s: name it exactly to use it", c.m.ID, c.st.Name, c.m.Remote))
		case w.Tools && !c.m.Caps.Tools || w.Vision && !c.m.Caps.Vision:
			parts = append(parts, fmt.Sprintf("%s on %s cannot do what this needs (tools or images)", c.m.ID, c.st.Name))
		}
	}
	if w.noted {
		parts = append(parts, "start it: "+startWords(w.note))
	}
	if served := servedList(all); served != "" {
		parts = append(parts, "served now: "+served)
	}
	if w.name == "" && len(all) > 0 {
		parts = append(parts, "name one, or set defaults.model")
	}
	if ports := tried(sts); ports != "" && len(all) == 0 {
		parts = append(parts, ports)
	}
	for _, st := range sts {
		if st.State != Up && st.State != Sleeping && !st.absent() {
			s := fmt.Sprintf("%s (%s) is %s", st.Name, st.BaseURL, st.State)
			if st.Detail != "" {
				s += ": " + st.Detail
			}
			if st.Host != "" || st.Notes != "" {
				s += " [" + strings.Trim(st.Host+", "+st.Notes, ", ") + "]"
			}
			parts = append(parts, s)
		}
	}
	if len(all) == 0 && !w.noted {
		parts = append(parts, startAny(cfg))
	}
	return strings.Join(parts, "; ")
}

func startAny(cfg *Settings) string {
	for _, n := range cfg.Models {
		if n.BringUp != "" {
			return "start " + n.Name + ": " + startWords(n)
		}
	}
	return "start a server (for example `llama-server -m MODEL.gguf --port 8080` or `ollama serve`) or register one with its base_url"
}

// startWords says how the user starts a model; legwork never does.
func startWords(n ModelNote) string {
	var parts []string
	if n.BringUp != "" {
		parts = append(parts, "`"+n.BringUp+"`")
	}
	if n.Host != "" {
		parts = append(parts, "on "+n.Host)
	}
	if n.Endpoint != "" {
		parts = append(parts, "as endpoint "+n.Endpoint)
	}
	if n.Notes != "" {
		parts = append(parts, "("+n.Notes+")")
	}
	if len(parts) == 0 {
		return n.Name + " on any of your endpoints"
	}
	return strings.Join(parts, " ")
}

func servedList(all []candidate) string {
	var out []string
	for i, c := range all {
		if i == listMost {
			out = append(out, fmt.Sprintf("and %d more", len(all)-i))
			break
		}
		s := c.m.ID + " (" + c.st.Name + ")"
		if !c.m.Caps.Chat {
			s = c.m.ID + " (" + c.st.Name + ", not for chat)"
		}
		out = append(out, s)
	}
	return strings.Join(out, ", ")
}

// RequestModel gives the words with which to ask the user for a model: what to
// start, where, and what to do then. why may be empty. It starts nothing.
func (r *Registry) RequestModel(ctx context.Context, name, why string) (string, error) {
	choice, err := r.Choose(ctx, Want{Model: name})
	var none *NoModelError
	switch {
	case err == nil:
		return fmt.Sprintf("%s is served by %s now: nothing to start.", choice.Model, choice.Endpoint), nil
	case !errors.As(err, &none):
		return "", err
	}
	cfg, _ := r.snapshot()
	var b strings.Builder
	fmt.Fprintf(&b, "Please start the model %s", name)
	if why != "" {
		b.WriteString(" (" + strings.TrimRight(why, ".") + ")")
	}
	b.WriteString(".\n")
	if n, ok := noteNamed(cfg, name); ok {
		b.WriteString("How: " + startWords(n) + "\n")
	} else {
		b.WriteString("There is no note on how to start it; `models:` in the settings can hold one (host, notes, bring_up).\n")
	}
	if len(none.Ambiguous) > 0 {
		b.WriteString("Several served models resemble that name: " + strings.Join(none.Ambiguous, ", ") + "\n")
	}
	for _, st := range none.Endpoints {
		if st.absent() {
			continue
		}
		fmt.Fprintf(&b, "- %s (%s): %s", st.Name, st.BaseURL, st.State)
		if st.Detail != "" {
			b.WriteString(", " + st.Detail)
		}
		if st.Host != "" {
			b.WriteString(" [" + st.Host + "]")
		}
		b.WriteString("\n")
	}
	b.WriteString("It is found by itself once it answers; list_models shows it.")
	return b.String(), nil
}
