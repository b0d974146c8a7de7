package shim

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"legwork/pkg/fsx"
)

// A lesson is something a server refused once and will not be sent again. Lessons are words like "context_management",
// "thinking.display", "tools.*.defer_loading", or one of the constants below.
const (
	lessonTextOnly  = "!images"    // the model cannot see images
	lessonAlternate = "!alternate" // its template wants user and assistant to alternate
	lessonNoCount   = "!count"     // no count_tokens
	lessonChat      = "!chat"      // no /v1/messages
	lessonNewMax    = "!max_completion_tokens"
	lessonNoUsage   = "stream_options"
	lessonLocalHost = "!localhost" // checks the Host header
)

// droppable are the fields a request can do without. Everything else is the request itself.
var droppable = []string{
	"betas", "container", "context_management", "mcp_servers", "metadata", "output_config", "output_format",
	"parallel_tool_calls", "reasoning_effort", "response_format", "service_tier", "speed", "stream_options",
	"temperature", "thinking", "tool_choice", "top_k", "top_p",
	"output_config.effort", "output_config.format", "thinking.budget_tokens", "thinking.display",
	"tools.*.allowed_callers", "tools.*.cache_control", "tools.*.defer_loading", "tools.*.eager_input_streaming",
	"tools.*.input_examples", "tools.*.strict", "tools.*.type",
	"messages.*.content.*.cache_control", "messages.*.content.*.caller", "messages.*.content.*.citations",
	"messages.*.content.*.is_error", "messages.*.content.*.signature", "system.*.cache_control",
}

// dropSet is droppable lessons, sorted by where they apply.
type dropSet struct {
	top    map[string]bool
	nested map[string]map[string]bool
	tools  map[string]bool
	blocks map[string]bool
	system map[string]bool
}

// lessons are what one server taught, shared by the requests of a job and, through a file, by later jobs.
type lessons struct {
	path, key string
	mu        sync.Mutex
	known     map[string]bool
}

// loadLessons always returns usable lessons; the error says why the file could not be read.
func loadLessons(path, key string) (*lessons, error) {
	l := &lessons{path: path, key: key, known: map[string]bool{}}
	store, err := readLessons(path)
	for _, w := range store[key] {
		l.known[w] = true
	}
	return l, err
}

func readLessons(path string) (map[string][]string, error) {
	store := map[string][]string{}
	if path == "" {
		return store, nil
	}
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return store, nil
	}
	if err == nil {
		err = json.Unmarshal(data, &store)
	}
	return store, err
}

func (l *lessons) has(word string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.known[word]
}

// learn remembers word and reports whether it is new. The store is written so that several jobs can share it; a write
// that fails costs the next job one refused request.
func (l *lessons) learn(ctx context.Context, word string) (bool, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.known[word] {
		return false, nil
	}
	l.known[word] = true
	if l.path == "" {
		return true, nil
	}
	return true, l.save(ctx)
}

func (l *lessons) save(ctx context.Context) error {
	if err := os.MkdirAll(filepath.Dir(l.path), 0o700); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	lock, err := fsx.Lock(ctx, l.path+".lock")
	if err != nil {
		return err
	}
	defer func() { _ = lock.Unlock() }()
	store, err := readLessons(l.path)
	if err != nil {
		store = map[string][]string{} // damaged: better a fresh store than none
	}
	words := store[l.key]
	for w := range l.known {
		if !slices.Contains(words, w) {
			words = append(words, w)
		}
	}
	slices.Sort(words)
	store[l.key] = words
	data, err := json.MarshalIndent(store, "", "  ")
	if err != nil {
		return err
	}
	return fsx.WriteFile(l.path, append(data, '\n'), 0o600)
}

// drops sorts the lessons by place.
func (l *lessons) drops() dropSet {
	l.mu.Lock()
	defer l.mu.Unlock()
	d := dropSet{map[string]bool{}, map[string]map[string]bool{}, map[string]bool{}, map[string]bool{}, map[string]bool{}}
	for w := range l.known {
		parent, leaf := "", w
		if i := strings.LastIndexByte(w, '.'); i >= 0 {
			parent, leaf = w[:i], w[i+1:]
		}
		switch parent {
		case "":
			d.top[leaf] = true
		case "tools.*":
			d.tools[leaf] = true
		case "messages.*.content.*":
			d.blocks[leaf] = true
		case "system.*":
			d.system[leaf] = true
		default:
			if d.nested[parent] == nil {
				d.nested[parent] = map[string]bool{}
			}
			d.nested[parent][leaf] = true
		}
	}
	return d
}

var refusalWords = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)extra inputs are not permitted|extra_forbidden|unexpected (keyword|field|property|parameter|argument|key)|unknown (name|field|parameter|argument|property|key)|unrecognized (field|request argument|key|parameter|argument)|unsupported (field|parameter|argument|value|param)|not supported|does not support|not (allowed|permitted|recognized)|additional propert|invalid (field|parameter)|is not a valid`)
})

var pathIndex = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\.\d+(\.|\b)|\[\d+\]`) })

// refusedField reads which droppable field of body an error message refuses, "" when none.
// The deepest field named wins: "thinking.display: Extra inputs" is about display, not about thinking.
func refusedField(message, body string, known func(string) bool) string {
	if !refusalWords().MatchString(message) {
		return ""
	}
	norm := pathIndex().ReplaceAllString(message, ".*.")
	norm = strings.ReplaceAll(norm, "..", ".")
	best := ""
	for _, path := range droppable {
		if known(path) || len(path) <= len(best) || !present(path, body) {
			continue
		}
		if containsWord(norm, path) || namesLeaf(norm, path) {
			best = path
		}
	}
	return best
}

// namesLeaf accepts the bare name of a field inside a list, unless it is a word any message may hold.
func namesLeaf(message, path string) bool {
	leaf := path[strings.LastIndexByte(path, '.')+1:]
	return strings.Contains(path, "*") && len(leaf) > len("strict") && containsWord(message, leaf)
}

// present is a cheap test whether the field could be in the body.
func present(path, body string) bool {
	for part := range strings.SplitSeq(path, ".") {
		if part != "*" && !strings.Contains(body, `"`+part+`"`) {
			return false
		}
	}
	return true
}

func containsWord(s, word string) bool {
	for from := 0; ; {
		i := strings.Index(s[from:], word)
		if i < 0 {
			return false
		}
		i += from
		if !identByte(s, i-1) && !identByte(s, i+len(word)) {
			return true
		}
		from = i + 1
	}
}

func identByte(s string, i int) bool {
	if i < 0 || i >= len(s) {
		return false
	}
	c := s[i]
	return c == '_' || c == '-' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')
}
