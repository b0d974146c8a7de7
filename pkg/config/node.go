package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"gopkg.in/yaml.v3"
)

// maxFile bounds a configuration file. Real ones are a few kilobytes; anything larger is a mistake in a path.
const maxFile = 1 << 20

// source is a file as read: its bytes and its root mapping (nil when empty).
type source struct {
	path  string
	data  []byte
	root  *yaml.Node
	extra bool // more than one document
}

// readSource reads and parses one file. A missing file is no error: the source is nil then. Everything else that
// stands in the way (a directory, a pipe, no permission, not YAML) is an error that names the file, and the line
// where there is one.
func readSource(path string) (*source, error) {
	data, err := readRegular(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return parseSource(path, data)
}

// readRegular refuses what is not a plain file before opening it: opening a pipe would wait for a writer.
func readRegular(path string) ([]byte, error) {
	st, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	switch {
	case st.IsDir():
		return nil, fmt.Errorf("%s is a directory, where a file is wanted", path)
	case !st.Mode().IsRegular():
		return nil, fmt.Errorf("%s is not a regular file", path)
	case st.Size() > maxFile:
		return nil, fmt.Errorf("%s has %d bytes; a configuration file has at most %d", path, st.Size(), maxFile)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	data, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err == nil && len(data) > maxFile {
		err = fmt.Errorf("%s grew over %d bytes while it was read", path, maxFile)
	}
	return data, err
}

func parseSource(path string, data []byte) (*source, error) {
	src := &source{path: path, data: data}
	dec := yaml.NewDecoder(bytes.NewReader(data))
	var doc yaml.Node
	err := dec.Decode(&doc)
	if errors.Is(err, io.EOF) {
		return src, nil
	}
	if err != nil {
		return nil, yamlError(path, data, err)
	}
	if len(doc.Content) == 0 {
		return src, nil
	}
	root := deref(doc.Content[0])
	switch {
	case root.Kind == yaml.ScalarNode && (root.Tag == "!!null" || root.Value == ""):
	case root.Kind != yaml.MappingNode:
		return nil, fmt.Errorf("%s:%d: a %s, where settings (key: value) are wanted", path, max(root.Line, 1), nodeWord(root))
	default:
		src.root = root
	}
	if bytes.Contains(data, []byte("\n---")) || bytes.Contains(data, []byte("\n...")) {
		src.extra = !errors.Is(dec.Decode(new(yaml.Node)), io.EOF)
	}
	return src, nil
}

var (
	yamlLine   = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^yaml: (?:line (\d+): )?`) })
	yamlAnchor = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`unknown anchor '([^']+)'`) })
)

// yamlError gives the parser's complaint the line it is about, and advice where the parser is terse.
func yamlError(path string, data []byte, err error) error {
	m := yamlLine().FindStringSubmatch(err.Error())
	text := strings.TrimPrefix(err.Error(), m[0])
	line, _ := strconv.Atoi(m[1])
	switch {
	case strings.HasPrefix(text, "did not find expected"):
		line++ // the parser counts these from 0, the others from 1
	case strings.Contains(text, "control characters"):
		line = lineOf(data, bytes.IndexFunc(data, func(r rune) bool { return r < ' ' && r != '\t' && r != '\n' && r != '\r' }))
	case strings.Contains(text, "UTF-8"):
		line = lineOf(data, badUTF8(data))
	}
	if a := yamlAnchor().FindStringSubmatch(text); a != nil {
		line = lineOf(data, bytes.Index(data, []byte("*"+a[1])))
	}
	lines := bytes.Split(bytes.TrimRight(data, "\r\n"), []byte("\n"))
	line = min(max(line, 1), len(lines))
	switch at := lines[line-1]; {
	case bytes.Contains(at[:len(at)-len(bytes.TrimLeft(at, " \t"))], []byte("\t")):
		text = "a tab in the indentation; YAML wants spaces"
	case strings.Contains(text, "cannot start any token"):
		text += "; put the value into quotes"
	}
	return fmt.Errorf("%s:%d: not YAML: %s", path, line, text)
}

func lineOf(data []byte, offset int) int {
	return bytes.Count(data[:max(offset, 0)], []byte("\n")) + 1
}

func badUTF8(data []byte) int {
	for i := 0; i < len(data); {
		r, n := utf8.DecodeRune(data[i:])
		if r == utf8.RuneError && n == 1 {
			return i
		}
		i += n
	}
	return 0
}

// deref follows an alias to its anchor.
func deref(n *yaml.Node) *yaml.Node {
	for n.Kind == yaml.AliasNode && n.Alias != nil {
		n = n.Alias
	}
	return n
}

func nodeWord(n *yaml.Node) string {
	switch n.Kind {
	case yaml.SequenceNode:
		return "list"
	case yaml.MappingNode:
		return "mapping"
	case yaml.ScalarNode:
		return "plain value"
	}
	return "node"
}

// maxPairs bounds what merge keys can blow one mapping up to.
const maxPairs = 10_000

// pairs yields the keys and values of a mapping. What a merge key (<<) brings comes first, so that the mapping's
// own keys win.
func pairs(n *yaml.Node) iter.Seq2[*yaml.Node, *yaml.Node] {
	left := maxPairs
	var all [][2]*yaml.Node
	collect(n, 0, &left, &all)
	return func(yield func(*yaml.Node, *yaml.Node) bool) {
		for _, p := range all {
			if !yield(p[0], p[1]) {
				return
			}
		}
	}
}

func collect(n *yaml.Node, depth int, left *int, all *[][2]*yaml.Node) {
	const maxDepth = 4
	if n = deref(n); depth > maxDepth || n.Kind != yaml.MappingNode {
		return
	}
	var own [][2]*yaml.Node
	for i := 0; i+1 < len(n.Content) && *left > 0; i += 2 {
		key, value := deref(n.Content[i]), n.Content[i+1]
		*left--
		if key.Tag != "!!merge" {
			own = append(own, [2]*yaml.Node{key, value})
			continue
		}
		if v := deref(value); v.Kind == yaml.SequenceNode {
			for _, item := range slices.Backward(v.Content) { // earlier items of a merge list win
				collect(item, depth+1, left, all)
			}
		} else {
			collect(v, depth+1, left, all)
		}
	}
	*all = append(*all, own...)
}

// duplicates returns the keys that a mapping writes twice.
func duplicates(n *yaml.Node) []*yaml.Node {
	seen := map[string]bool{}
	var twice []*yaml.Node
	for i := 0; i+1 < len(n.Content); i += 2 {
		k := n.Content[i]
		if k.Kind == yaml.ScalarNode && k.Tag != "!!merge" && seen[k.Value] {
			twice = append(twice, k)
		}
		seen[k.Value] = true
	}
	return twice
}
