package config

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"legwork/pkg/fsx"

	"gopkg.in/yaml.v3"
)

// sidecar is a file of settings that tools write. It is edited as a tree, so that comments and keys of others
// stay.
type sidecar struct {
	path string
	doc  *yaml.Node // document
	head []byte     // text of a file that holds nothing but comments, which the tree cannot hold
}

const sidecarHead = "# Written by legwork (configure, register). Your own settings belong into the file beside it."

func openSidecar(path string) (*sidecar, error) {
	data, err := readRegular(path)
	missing := errors.Is(err, fs.ErrNotExist)
	if err != nil && !missing {
		return nil, err
	}
	src, err := parseSource(path, data)
	if err != nil {
		return nil, fmt.Errorf("the file is left as it is: %w", err)
	}
	s := &sidecar{path: path}
	if src.root == nil {
		root := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
		s.doc = &yaml.Node{Kind: yaml.DocumentNode, Content: []*yaml.Node{root}}
		if s.head = data; missing {
			s.head = []byte(sidecarHead + "\n")
		}
		return s, nil
	}
	s.doc = new(yaml.Node)
	if err := yaml.Unmarshal(data, s.doc); err != nil {
		return nil, yamlError(path, data, err)
	}
	return s, nil
}

// render is the text of the file.
func (s *sidecar) render() ([]byte, error) {
	body, err := encodeYAML(s.doc)
	if err != nil {
		return nil, err
	}
	head := s.head
	if len(s.doc.Content[0].Content) == 0 && len(head) == 0 {
		head, body = []byte(sidecarHead), nil // everything was unset: as a new file, not {}
	}
	if n := len(head); n > 0 && head[n-1] != '\n' {
		head = append(head, '\n')
	}
	return append(bytes.Clone(head), body...), nil
}

// save writes the file atomically, readable by the user only, and returns what was written. The text is read back
// first: a tree the encoder cannot write must not replace a good file.
func (s *sidecar) save() ([]byte, error) {
	data, err := s.render()
	if err != nil {
		return nil, err
	}
	if _, err := parseSource(s.path, data); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(filepath.Dir(s.path), 0o700); err != nil {
		return nil, err
	}
	return data, fsx.WriteFile(s.path, data, 0o600)
}

func encodeYAML(n *yaml.Node) ([]byte, error) {
	var buf bytes.Buffer
	enc := yaml.NewEncoder(&buf)
	enc.SetIndent(2)
	if err := enc.Encode(n); err != nil {
		return nil, err
	}
	err := enc.Close()
	return buf.Bytes(), err
}

func writeYAML(path string, n *yaml.Node) error {
	data, err := encodeYAML(n)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	return fsx.WriteFile(path, data, 0o600)
}

// apply makes one edit and reports whether it changed anything.
func (s *sidecar) apply(e edit) bool {
	if e.node == nil {
		return remove(s.doc.Content[0], e.path[0], e.path[1:])
	}
	m := s.doc.Content[0]
	for _, key := range e.path[:len(e.path)-1] {
		m = submapping(m, key)
	}
	last := e.path[len(e.path)-1]
	i := indexOf(m, last)
	if i < 0 {
		m.Content = append(m.Content, text(last), e.node)
		return true
	}
	old := m.Content[i+1]
	if e.field == nil && deref(old).Kind == yaml.MappingNode { // a bare entry that is there already
		return false
	}
	if sameNode(old, e.node) {
		return false
	}
	e.node.LineComment, e.node.FootComment, e.node.HeadComment = old.LineComment, old.FootComment, old.HeadComment
	m.Content[i+1] = e.node
	return true
}

func sameNode(a, b *yaml.Node) bool {
	if a.Kind != b.Kind || a.Value != b.Value || len(a.Content) != len(b.Content) {
		return false
	}
	for i := range a.Content {
		if !sameNode(a.Content[i], b.Content[i]) {
			return false
		}
	}
	return true
}

// submapping returns the mapping under a key, making it where there is none. An alias is replaced by a copy of
// what it stands for, or the edit would change every place that uses the anchor.
func submapping(m *yaml.Node, key string) *yaml.Node {
	i := indexOf(m, key)
	if i < 0 {
		sub := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
		m.Content = append(m.Content, text(key), sub)
		return sub
	}
	sub := m.Content[i+1]
	switch sub.Kind {
	case yaml.AliasNode:
		sub = clone(deref(sub), 0)
	case yaml.MappingNode:
		if len(sub.Content) == 0 {
			sub.Style = 0 // {} grows into a block
		}
		return sub
	}
	if sub.Kind != yaml.MappingNode {
		old := sub
		sub = &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map", LineComment: old.LineComment}
		if key != "models" && old.Kind == yaml.ScalarNode && strings.Contains(old.Value, "://") {
			sub.Content = []*yaml.Node{text("base_url"), text(old.Value)} // an endpoint written as plain URL
		}
		if key == "models" && old.Kind == yaml.SequenceNode { // a list of names
			for _, it := range old.Content {
				sub.Content = append(sub.Content, text(it.Value), &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map", Style: yaml.FlowStyle})
			}
		}
	}
	m.Content[i+1] = sub
	return sub
}

func clone(n *yaml.Node, depth int) *yaml.Node {
	const maxDepth = 16
	c := *n
	c.Anchor, c.Content = "", nil
	if n = deref(n); depth > maxDepth {
		return text("")
	}
	if c.Kind == yaml.AliasNode {
		c = *n
		c.Anchor, c.Content = "", nil
	}
	for _, child := range n.Content {
		c.Content = append(c.Content, clone(child, depth+1))
	}
	return &c
}

// indexOf finds a key; of a key that is there twice the last counts, as in reading.
func indexOf(m *yaml.Node, key string) int {
	for i := len(m.Content) - 2; i >= 0; i -= 2 {
		if m.Content[i].Value == key && m.Content[i].Kind == yaml.ScalarNode {
			return i
		}
	}
	return -1
}

// remove deletes a key everywhere it is written, and the mapping around it when that leaves it empty.
func remove(m *yaml.Node, key string, rest []string) bool {
	removed := false
	for i := indexOf(m, key); i >= 0; i = indexOf(m, key) {
		if len(rest) > 0 {
			sub := m.Content[i+1]
			if sub.Kind == yaml.AliasNode {
				sub = submapping(m, key)
			}
			if sub.Kind != yaml.MappingNode || !remove(sub, rest[0], rest[1:]) {
				return removed
			}
			if len(sub.Content) > 0 {
				return true
			}
		}
		m.Content = append(m.Content[:i], m.Content[i+2:]...)
		removed = true
	}
	return removed
}
