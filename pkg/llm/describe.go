package llm

import (
	"fmt"
	"slices"
	"strings"
)

// agentWindow is the window below which an agent session is likely to stall.
const agentWindow = 128_000

// Describe is the live registry as text: a line an endpoint, a line a model.
func Describe(sts []EndpointStatus) string {
	if len(sts) == 0 {
		return "no endpoint is configured"
	}
	var b strings.Builder
	if ports := tried(sts); ports != "" {
		b.WriteString(ports + "\n")
	}
	for _, st := range sts {
		if st.absent() {
			continue
		}
		fmt.Fprintf(&b, "%s  %s  %s  %s", st.Name, st.BaseURL, st.Backend, st.State)
		if st.State == Up || st.State == Sleeping {
			b.WriteString("  " + st.Slots.describe())
		}
		for _, s := range []string{st.Detail, st.Host, st.Notes} {
			if s != "" {
				b.WriteString("  (" + s + ")")
			}
		}
		b.WriteString("\n")
		for _, m := range st.Models {
			b.WriteString("  " + m.describe() + "\n")
		}
	}
	return b.String()
}

// absent says that a well-known port has nothing for us: no news for the user.
func (st EndpointStatus) absent() bool {
	return st.WellKnown && (st.State == Down || st.State == Foreign)
}

// tried names the well-known ports that have nothing for us, in one line.
func tried(sts []EndpointStatus) string {
	var urls []string
	for _, st := range sts {
		if st.absent() {
			urls = append(urls, st.BaseURL)
		}
	}
	if urls == nil {
		return ""
	}
	return "no model server at the well-known addresses " + strings.Join(urls, ", ")
}

func (s Slots) describe() string {
	out := fmt.Sprintf("slots %d, %d free", s.Total, max(0, s.Free()))
	if s.Busy+s.Waiting > s.Held {
		out += fmt.Sprintf(", %d busy and %d queued in the server", s.Busy, s.Waiting)
	}
	if waiting := s.Held - s.Total; s.Total > 0 && waiting > 0 {
		out += fmt.Sprintf(", %d calls of legwork in line", waiting)
	}
	if s.Others > 0 {
		out += fmt.Sprintf(", %d held by another instance of legwork", min(s.Others, max(s.Total, 1)))
	}
	return out
}

func (m Model) describe() string {
	switch {
	case m.Caps.Embedding && !m.Caps.Chat:
		return m.ID + "  embedding or rerank, not for chat"
	case !m.Caps.Chat:
		return m.ID + "  not for chat"
	}
	parts := []string{m.ID, m.windowWords()}
	var can []string
	for _, c := range []struct {
		has  bool
		name string
	}{{m.Caps.Tools && m.Caps.Known, "tools"}, {m.Caps.Thinking, "thinking"}, {m.Caps.Vision, "vision"}} {
		if c.has {
			can = append(can, c.name)
		}
	}
	if m.Remote != "" {
		parts = append(parts, "runs on "+m.Remote+", used only when named exactly")
	}
	if len(can) > 0 {
		parts = append(parts, strings.Join(can, ", "))
	}
	if m.Note != "" {
		parts = append(parts, "("+m.Note+")")
	}
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), "  ")
}

func (m Model) windowWords() string {
	switch {
	case m.Window == 0 && m.MaxWindow == 0:
		return "window unknown"
	case m.Window == 0:
		return fmt.Sprintf("not loaded, window up to %d", m.MaxWindow)
	}
	out := fmt.Sprintf("window %d", m.Window)
	if m.MaxWindow > m.Window {
		out += fmt.Sprintf(" (up to %d on demand)", m.MaxWindow)
	}
	if m.MaxWindow < agentWindow {
		out += ", small for agents (under 128k)"
	}
	return out
}
