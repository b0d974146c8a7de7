package cli

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"

	"github.com/bmatcuk/doublestar/v4"
	"github.com/tidwall/gjson"

	"legwork/pkg/config"
	"legwork/pkg/llm"
)

// followups finds in the session's transcript what no hook of ours sees: Read of a file that offload has answered
// about, and Grep in it or in a kept text. It reads on from where it was at every hook and call.
type followups struct {
	mu      sync.Mutex
	path    string
	offset  int64
	pending map[string]string // tool use → the path it fetches
}

// rangeEnd is the line range behind a path of offload.
var rangeEnd = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`:\d+(-\d*)?$`) })

// watch remembers files, as offload takes them: with a range, with a pattern, below dir.
func (h *hooks) watch(files []string, dir, rule string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.files == nil {
		h.files = map[string]string{}
	}
	for _, f := range files {
		f = rangeEnd().ReplaceAllString(f, "")
		if !filepath.IsAbs(f) {
			f = filepath.Join(dir, f)
		}
		h.files[filepath.Clean(f)] = rule
	}
}

// watched tells by which rule a file was answered about. The caller holds h.mu.
func (h *hooks) watched(path string) (rule string, ok bool) {
	if rule, ok = h.files[path]; ok {
		return rule, true
	}
	for pattern, rule := range h.files {
		if strings.ContainsAny(pattern, "*?[{") {
			if match, err := doublestar.PathMatch(pattern, path); err == nil && match {
				return rule, true
			}
		}
	}
	return "", false
}

// follow charges what the transcript shows since the last look.
func (h *hooks) follow(ctx context.Context, cfg *config.Config) {
	transcript := h.session.Transcript()
	if transcript == "" {
		return
	}
	f := &h.seen
	f.mu.Lock()
	defer f.mu.Unlock()
	file, err := os.Open(transcript)
	if err != nil {
		return
	}
	defer file.Close()
	h.mu.Lock()
	idle := len(h.kept) == 0 && len(h.files) == 0
	h.mu.Unlock()
	if f.path != transcript || idle {
		f.path, f.pending = transcript, map[string]string{}
		f.offset, _ = file.Seek(0, io.SeekEnd)
		return
	}
	if _, err := file.Seek(f.offset, io.SeekStart); err != nil {
		return
	}
	r := bufio.NewReaderSize(file, 256<<10)
	for ctx.Err() == nil {
		line, err := r.ReadBytes('\n')
		if err != nil {
			return // a line that is still being written is read the next time
		}
		f.offset += int64(len(line))
		h.followLine(ctx, cfg, f, line, transcript)
	}
}

// followLine looks at one line: a call that fetches one of our texts, or the result of one.
func (h *hooks) followLine(ctx context.Context, cfg *config.Config, f *followups, line []byte, transcript string) {
	call := bytes.Contains(line, []byte(`"tool_use"`)) && (bytes.Contains(line, []byte(`"Read"`)) || bytes.Contains(line, []byte(`"Grep"`)))
	if !call && (len(f.pending) == 0 || !bytes.Contains(line, []byte(`"tool_result"`))) {
		return
	}
	gjson.GetBytes(line, "message.content").ForEach(func(_, part gjson.Result) bool {
		switch part.Get("type").Str {
		case "tool_use":
			if path := h.fetches(part); path != "" {
				f.pending[part.Get("id").Str] = path
			}
		case "tool_result":
			id := part.Get("tool_use_id").Str
			if path, ok := f.pending[id]; ok {
				delete(f.pending, id)
				h.charge(ctx, cfg, path, transcript, int64(llm.Estimate(resultText(part))))
			}
		}
		return true
	})
}

// fetches is the path of a call that fetches one of our texts and that no hook tells us of; else "".
func (h *hooks) fetches(call gjson.Result) string {
	var path string
	switch call.Get("name").Str {
	case "Read":
		path = call.Get("input.file_path").Str
		if h.hooked(path) {
			return ""
		}
	case "Grep":
		path = call.Get("input.path").Str
	}
	if path == "" || !h.candidate(path) {
		return ""
	}
	return path
}

// hooked tells whether hooks.json calls us for a Read of path.
func (h *hooks) hooked(path string) bool {
	dir := filepath.ToSlash(filepath.Dir(path))
	return strings.HasSuffix(dir, "/tool-results") || strings.HasSuffix(dir, "/legwork/raw")
}

// resultText is the text of a tool result, however the client wrote it.
func resultText(part gjson.Result) string {
	content := part.Get("content")
	if content.Type == gjson.String {
		return content.Str
	}
	var b strings.Builder
	for _, t := range content.Get("#.text").Array() {
		b.WriteString(t.Str)
	}
	return b.String()
}
