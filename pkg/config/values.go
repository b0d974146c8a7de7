package config

import (
	"errors"
	"fmt"
	"math"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"gopkg.in/yaml.v3"
)

// errUnset is the value of a YAML null: the key is there, but says nothing.
var errUnset = errors.New("unset")

// fromText reads a value written as plain text: an environment variable, a command line, a YAML scalar.
// The error quotes the value only where it is not secret.
func (f *field) fromText(s string) (any, error) {
	switch f.kind {
	case kindSecret:
		return secretFrom(s)
	case kindSecrets:
		return f.secretsFrom(s)
	case kindList, kindPaths:
		return f.listFrom(s)
	case kindText:
		if len(f.enum) == 0 {
			return s, nil // may be of several lines; blanks belong to it
		}
	}
	s = strings.TrimSpace(s)
	switch f.kind {
	case kindNumber:
		return f.numberFrom(s)
	case kindDecimal:
		return f.decimalFrom(s)
	case kindBool:
		return boolFrom(s)
	case kindDuration:
		return f.durationFrom(s)
	case kindBytes:
		return f.bytesFrom(s)
	case kindURL:
		return urlFrom(s)
	case kindURLs:
		return urlsFrom(s)
	case kindBackend:
		return backendFrom(s)
	case kindKeepAlive:
		return keepAliveFrom(s)
	case kindKeyVar:
		return keyVarFrom(s)
	}
	if len(f.enum) > 0 {
		return f.wordFrom(s)
	}
	return nameFrom(s)
}

// fromNode reads a value written as YAML.
func (f *field) fromNode(n *yaml.Node) (any, error) {
	n = deref(n)
	if n.Kind == yaml.ScalarNode {
		if n.Tag == "!!null" {
			return nil, errUnset
		}
		if !strings.HasPrefix(n.Tag, "!!") {
			return nil, fmt.Errorf("the tag %s is not known here", clip(n.Tag))
		}
		return f.fromText(n.Value)
	}
	switch {
	case n.Kind == yaml.SequenceNode && (f.kind == kindList || f.kind == kindPaths):
		items, err := scalars(n)
		if err != nil {
			return nil, err
		}
		return f.checkList(items)
	case n.Kind == yaml.SequenceNode && f.kind == kindURLs:
		items, err := scalars(n)
		if err != nil {
			return nil, err
		}
		return urlsFrom(strings.Join(items, ", "))
	case n.Kind == yaml.SequenceNode && f.kind == kindName:
		items, err := scalars(n)
		if err != nil {
			return nil, err
		}
		if len(items) == 1 {
			return f.fromText(items[0])
		}
		return nil, fmt.Errorf("a list of %d, where one name is wanted", len(items))
	case n.Kind == yaml.MappingNode && f.kind == kindSecrets:
		return secretMap(n)
	}
	return nil, fmt.Errorf("a %s, where %s is wanted", nodeWord(n), f.want())
}

func (f *field) want() string {
	switch f.kind {
	case kindNumber, kindDecimal:
		return "a number"
	case kindBool:
		return "true or false"
	case kindDuration, kindKeepAlive:
		return "a duration such as 90s, 10m or 7d"
	case kindBytes:
		return "a size such as 500MB"
	case kindList, kindPaths:
		return "a list"
	case kindSecrets:
		return "a mapping"
	case kindURL, kindURLs:
		return "a URL such as http://127.0.0.1:8080"
	}
	return "text"
}

func (f *field) numberFrom(s string) (any, error) {
	clean := strings.TrimSuffix(strings.ReplaceAll(s, "_", ""), ".0")
	n, err := strconv.Atoi(clean)
	if err != nil {
		return nil, fmt.Errorf("%s is not a whole number", clip(s))
	}
	if f.min != "" {
		lo, _ := strconv.Atoi(f.min)
		hi, _ := strconv.Atoi(f.max)
		if n < lo || n > hi {
			return nil, fmt.Errorf("%d is out of range: %d to %d", n, lo, hi)
		}
	}
	return n, nil
}

func (f *field) decimalFrom(s string) (any, error) {
	n, err := strconv.ParseFloat(s, 64)
	if err != nil || math.IsNaN(n) {
		return nil, fmt.Errorf("%s is not a number", clip(s))
	}
	lo, _ := strconv.ParseFloat(f.min, 64)
	hi, _ := strconv.ParseFloat(f.max, 64)
	if n < lo || n > hi {
		return nil, fmt.Errorf("%s is out of range: %s to %s", clip(s), f.min, f.max)
	}
	return n, nil
}

func boolFrom(s string) (any, error) {
	switch strings.ToLower(s) {
	case "true", "yes", "on", "1":
		return true, nil
	case "false", "no", "off", "0":
		return false, nil
	}
	return nil, fmt.Errorf("%s is neither true nor false", clip(s))
}

func (f *field) durationFrom(s string) (any, error) {
	d, err := parseDuration(s)
	if err != nil {
		return nil, err
	}
	lo, _ := parseDuration(f.min)
	hi, _ := parseDuration(f.max)
	if d < lo || d > hi {
		return nil, fmt.Errorf("%s is out of range: %s to %s", clip(s), f.min, f.max)
	}
	return d, nil
}

// ParseDuration reads a span the way settings are read: 90s, 10m, 24h, 7d, 2w. A bare number is an error.
func ParseDuration(s string) (time.Duration, error) { return parseDuration(strings.TrimSpace(s)) }

// parseDuration is [time.ParseDuration] with d and w as units. A bare number is refused rather than guessed:
// older tools counted milliseconds in one place and seconds in another.
func parseDuration(s string) (time.Duration, error) {
	if _, err := strconv.ParseFloat(s, 64); err == nil && s != "0" {
		return 0, fmt.Errorf("%s has no unit: write %ss, %sm or %sh", clip(s), s, s, s)
	}
	var total time.Duration
	rest := s
	for rest != "" {
		end := strings.IndexAny(rest, "dw")
		if end < 0 {
			break
		}
		n, err := strconv.ParseFloat(rest[:end], 64)
		unit := 24 * time.Hour
		if rest[end] == 'w' {
			unit *= 7
		}
		if err != nil || n < 0 || n > math.MaxInt32 {
			return 0, fmt.Errorf("%s is not a duration such as 90s, 10m or 7d", clip(s))
		}
		total += time.Duration(n * float64(unit))
		rest = rest[end+1:]
	}
	if rest == "" && s != "" {
		return total, nil
	}
	d, err := time.ParseDuration(rest)
	if err != nil {
		return 0, fmt.Errorf("%s is not a duration such as 90s, 10m or 7d", clip(s))
	}
	return total + d, nil
}

// Bytes is a size. It prints as 500MB, 1.5GiB, 12B.
type Bytes int64

var byteUnits = []struct {
	name string
	size int64
}{
	{"TB", 1e12},
	{"GB", 1e9},
	{"MB", 1e6},
	{"KB", 1e3},
	{"TiB", 1 << 40},
	{"GiB", 1 << 30},
	{"MiB", 1 << 20},
	{"KiB", 1 << 10},
}

// String gives the largest unit that leaves a whole number.
func (b Bytes) String() string {
	for _, u := range byteUnits {
		if b != 0 && int64(b)%u.size == 0 {
			return strconv.FormatInt(int64(b)/u.size, 10) + u.name
		}
	}
	return strconv.FormatInt(int64(b), 10) + "B"
}

func (f *field) bytesFrom(s string) (any, error) {
	b, err := parseBytes(s)
	if err != nil {
		return nil, err
	}
	lo, _ := parseBytes(f.min)
	hi, _ := parseBytes(f.max)
	if b < lo || b > hi {
		return nil, fmt.Errorf("%s is out of range: %s to %s", clip(s), f.min, f.max)
	}
	return b, nil
}

// parseBytes reads 500MB (10^6), 500MiB (2^20), 2G, 1.5GB, or plain bytes; case does not matter.
func parseBytes(s string) (Bytes, error) {
	end := strings.LastIndexAny(s, "0123456789.") + 1
	number, unit := s[:end], strings.ToUpper(strings.TrimSpace(s[end:]))
	n, err := strconv.ParseFloat(strings.ReplaceAll(number, "_", ""), 64)
	size := int64(-1)
	if unit == "" || unit == "B" {
		size = 1
	}
	for _, u := range byteUnits {
		name := strings.ToUpper(u.name)
		if unit == name || unit == strings.TrimSuffix(name, "B") {
			size = u.size
		}
	}
	total := n * float64(size)
	if err != nil || size < 0 || n < 0 || math.IsNaN(n) || total > math.MaxInt64/2 {
		return 0, fmt.Errorf("%s is not a size such as 500MB or 2GiB", clip(s))
	}
	return Bytes(total), nil
}

// urlsFrom checks addresses separated by commas or blanks and joins them with commas.
func urlsFrom(s string) (any, error) {
	list := strings.FieldsFunc(s, func(r rune) bool { return r == ',' || unicode.IsSpace(r) })
	for _, one := range list {
		if _, err := urlFrom(one); err != nil {
			return nil, err
		}
	}
	return strings.Join(list, ", "), nil
}

func urlFrom(s string) (any, error) {
	if s == "" {
		return "", nil
	}
	u, err := url.Parse(s)
	switch {
	case strings.Contains(s, "@") && (err != nil || u.User != nil):
		// The text holds a password, so it is not quoted.
		return nil, errors.New("a URL with a user and password; put them into headers (searxng_headers for a search) or api_key instead")
	case !strings.Contains(s, "://"):
		return nil, fmt.Errorf("%s has no scheme: write http://%s", clip(s), clip2(s))
	case err != nil || u.Host == "" || u.Hostname() == "":
		return nil, fmt.Errorf("%s is not a URL such as http://127.0.0.1:8080", clip(s))
	case u.Scheme != "http" && u.Scheme != "https":
		return nil, fmt.Errorf("%s: only http and https are spoken", clip(s))
	case u.RawQuery != "" || u.Fragment != "":
		return nil, errors.New("a URL with a query or fragment, where the root of a server is wanted")
	}
	return s, nil
}

// backendNames maps what people write, letters and digits only, to the name used here. "other" is what older
// tools wrote for "find out".
var backendNames = map[string]string{
	"": "auto", "auto": "auto", "other": "auto",
	"llamacpp": "llama.cpp", "llama": "llama.cpp", "llamaserver": "llama.cpp",
	"vllm": "vllm", "ollama": "ollama", "lmstudio": "lmstudio", "anthropic": "anthropic",
	"openai": "openai", "openaicompatible": "openai", "litellm": "openai", "localai": "openai", "llamaswap": "openai",
}

func backendFrom(s string) (any, error) {
	if b, ok := backendNames[squash(s)]; ok {
		return b, nil
	}
	return nil, fmt.Errorf("%s is not one of llama.cpp, vllm, ollama, lmstudio, openai, anthropic, auto", clip(s))
}

// keepAliveFrom accepts what Ollama does: a duration, or seconds as a number with -1 for ever.
func keepAliveFrom(s string) (any, error) {
	if s == "" {
		return s, nil
	}
	if _, err := strconv.Atoi(s); err == nil {
		return s, nil
	}
	if _, err := time.ParseDuration(s); err != nil {
		return nil, fmt.Errorf("%s is not a duration such as 30m, nor -1 for ever", clip(s))
	}
	return s, nil
}

func (f *field) wordFrom(s string) (any, error) {
	for _, w := range f.enum {
		if strings.EqualFold(w, s) {
			return w, nil
		}
	}
	hint := ""
	if near := nearest(s, f.enum); near != "" {
		hint = fmt.Sprintf(" (did you mean %s?)", near)
	}
	return nil, fmt.Errorf("%s is not one of %s%s", clip(s), strings.Join(f.enum, ", "), hint)
}

const maxName = 256

func nameFrom(s string) (any, error) {
	if len(s) > maxName || strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return nil, fmt.Errorf("%s is not a name: one printable line of at most %d characters", clip(s), maxName)
	}
	return s, nil
}

// listFrom splits at commas outside brackets, so that Bash(git log:*) stays whole. [a, b] is read as YAML.
func (f *field) listFrom(s string) (any, error) {
	s = strings.TrimSpace(s)
	if strings.HasPrefix(s, "[") {
		var n yaml.Node
		if err := yaml.Unmarshal([]byte(s), &n); err == nil && len(n.Content) == 1 && n.Content[0].Kind == yaml.SequenceNode {
			return f.fromNode(n.Content[0])
		}
	}
	items := []string{}
	depth, start := 0, 0
	add := func(part string) {
		if part = strings.TrimSpace(part); part != "" {
			items = append(items, part)
		}
	}
	for i, r := range s {
		switch r {
		case '(':
			depth++
		case ')':
			depth--
		case ',':
			if depth <= 0 {
				add(s[start:i])
				start = i + 1
			}
		}
	}
	add(s[start:])
	return f.checkList(items)
}

func (f *field) checkList(items []string) (any, error) {
	for i, it := range items {
		if len(f.enum) > 0 {
			w, err := f.wordFrom(it)
			if err != nil {
				return nil, err
			}
			items[i] = w.(string)
		}
		if f.kind == kindPaths && !insidePath(it) {
			return nil, fmt.Errorf("%s is not a path inside the project", clip(it))
		}
		if _, err := nameFrom(it); err != nil && f.tune {
			return nil, err
		}
	}
	return items, nil
}

// insidePath is true for a relative path that stays below its root on any system.
func insidePath(p string) bool {
	p = strings.ReplaceAll(p, `\`, "/")
	return p != "" && !path.IsAbs(p) && !strings.Contains(p, ":") && path.Clean(p) != "." &&
		!slices.Contains(strings.Split(p, "/"), "..")
}

// scalars returns the items of a sequence of plain values.
func scalars(n *yaml.Node) ([]string, error) {
	items := make([]string, 0, len(n.Content))
	for _, c := range n.Content {
		c = deref(c)
		if c.Kind != yaml.ScalarNode {
			return nil, fmt.Errorf("a %s as item %d of a list of plain values", nodeWord(c), len(items)+1)
		}
		if c.Tag != "!!null" {
			items = append(items, c.Value)
		}
	}
	return items, nil
}

// clip quotes a value for a message, shortened.
func clip(s string) string { return strconv.Quote(clip2(s)) }

func clip2(s string) string {
	const limit = 60
	if r := []rune(s); len(r) > limit {
		return string(r[:limit]) + "…"
	}
	return s
}
