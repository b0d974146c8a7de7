package cli

import (
	"context"
	"path/filepath"
	"strings"
	"time"
	"unicode/utf8"

	"legwork/pkg/config"
	"legwork/pkg/ledger"
	"legwork/pkg/llm"
	"legwork/pkg/mcpserver"
)

// published is how the names of our files in the session's folder begin.
const published = "legwork-"

// kept is a text that was kept from Claude and that it may fetch.
type kept struct {
	rule    string
	fetched int
}

// keep remembers that the whole of a text is at a path, and by which rule it was made shorter.
func (h *hooks) keep(path, rule string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.kept == nil {
		h.kept = map[string]*kept{}
	}
	if h.kept[path] == nil {
		h.kept[path] = &kept{rule: rule}
	}
}

// fetch tells by which rule the text at a path was made shorter, and how often it was fetched, this time included;
// ours is false for every other path. A text of an earlier server of this session is found in the run log.
func (h *hooks) fetch(path, session string) (rule string, times int, ours bool) {
	mine := strings.HasPrefix(filepath.Base(path), published) && filepath.Base(filepath.Dir(path)) == "tool-results"
	if state, err := config.StateHome(h.app.env); err == nil && filepath.Dir(path) == filepath.Join(state, "raw") {
		mine = true
	}
	h.mu.Lock()
	k := h.kept[path]
	rule, found := h.watched(path)
	h.mu.Unlock()
	if k == nil {
		if !found {
			rule, found = h.earlier(filepath.Base(path), session)
		}
		if !found && !mine {
			return "", 0, false
		}
		h.keep(path, rule)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	k = h.kept[path]
	k.fetched++
	return k.rule, k.fetched, true
}

// earlier looks a kept text up by its name, among the youngest runs of the session.
func (h *hooks) earlier(name, session string) (rule string, found bool) {
	state, err := config.StateHome(h.app.env)
	if err != nil || session == "" {
		return "", false
	}
	id := strings.TrimSuffix(strings.TrimPrefix(name, published), filepath.Ext(name))
	_, _ = ledger.New(state).Read(time.Now().Add(-earlierAge), func(r *ledger.Run) bool {
		if r.Session == session && r.Raw != "" && (r.Raw == name || r.Raw == id) {
			rule, found = r.Rule, true
			if r.Tool != ledger.ToolShrink {
				rule = ledger.OffloadRule(rule)
			}
		}
		return true
	})
	return rule, found
}

// earlierAge bounds the look into the run log.
const earlierAge = 7 * 24 * time.Hour

// charge counts what Claude fetched of a text that had been kept from it: that is no saving.
func (h *hooks) charge(ctx context.Context, cfg *config.Config, path, transcript string, tokens int64) bool {
	session := sessionOf(transcript)
	rule, times, ours := h.fetch(path, session)
	if !ours {
		return false
	}
	h.append(ctx, cfg, ledger.Run{
		Tool: ledger.ToolReread, ClaudeTokIn: tokens, Rule: rule, Attempts: times, Raw: filepath.Base(path), Session: session,
	})
	return true
}

// reread answers the hook after Read and Grep.
func (h *hooks) reread(ctx context.Context, in mcpserver.ReadResult) {
	if cfg, err := h.app.load(); err == nil {
		h.follow(ctx, cfg)
		h.charge(ctx, cfg, in.Path, in.Transcript, int64(llm.Estimate(in.Content)))
	}
}

// noteReread does the same for a command that names such a text: tail, grep, cat.
func (h *hooks) noteReread(ctx context.Context, cfg *config.Config, in mcpserver.BashResult, failed bool) {
	shown := int64(utf8.RuneCountInString(in.Stdout) + utf8.RuneCountInString(in.Stderr) + utf8.RuneCountInString(in.Error))
	for word := range strings.FieldsFuncSeq(in.Command, func(r rune) bool { return strings.ContainsRune(" \t\n\"'`;|&<>()=", r) }) {
		word = shellPath(word, lookup(h.app.env, "HOME"), in.Dir)
		if h.candidate(word) && h.charge(ctx, cfg, word, in.Transcript, ledger.BaseCommand(shown, failed)) {
			return // one output, whatever it is made of
		}
	}
}

// candidate sorts out the words that cannot be a kept text, without a look into the run log.
func (h *hooks) candidate(path string) bool {
	h.mu.Lock()
	_, known := h.watched(path)
	known = known || h.kept[path] != nil
	h.mu.Unlock()
	state, err := config.StateHome(h.app.env)
	return known || filepath.Base(filepath.Dir(path)) == "tool-results" || err == nil && filepath.Dir(path) == filepath.Join(state, "raw")
}

// shellPath makes a word of a command an absolute path, the way the shell would.
func shellPath(word, home, dir string) string {
	for _, prefix := range []string{"~/", "$HOME/", "${HOME}/"} {
		if rest, ok := strings.CutPrefix(word, prefix); ok && home != "" {
			return filepath.Join(home, rest)
		}
	}
	if !filepath.IsAbs(word) && dir != "" {
		return filepath.Join(dir, word)
	}
	return filepath.Clean(word)
}
