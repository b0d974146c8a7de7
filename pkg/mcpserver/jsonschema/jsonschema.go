// Package jsonschema is what mcp-go needs of github.com/santhosh-tekuri/jsonschema/v6, and nothing else: go.mod
// replaces that module by this one, which leaves the work to github.com/google/jsonschema-go.
//
// mcp-go brings both libraries, and the original writes its messages in any language: 0.4 MB of a program that has one.
//
// The pitfall: an update of mcp-go may want more of it. The compiler says so.
package jsonschema

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/google/jsonschema-go/jsonschema"
)

// UnmarshalJSON decodes one JSON value.
func UnmarshalJSON(r io.Reader) (v any, err error) {
	return v, json.NewDecoder(r).Decode(&v)
}

// Compiler compiles schemas that were added to it. References to others are not followed.
type Compiler struct{ docs map[string]any }

// NewCompiler returns a compiler without schemas.
func NewCompiler() *Compiler { return &Compiler{map[string]any{}} }

// AddResource adds a decoded schema under a URL.
func (c *Compiler) AddResource(url string, doc any) error {
	c.docs[url] = doc
	return nil
}

// Compile compiles the schema of a URL.
func (c *Compiler) Compile(url string) (*Schema, error) {
	doc, ok := c.docs[url]
	if !ok {
		return nil, fmt.Errorf("%s was not added", url)
	}
	b, err := json.Marshal(doc)
	if err != nil {
		return nil, err
	}
	var s jsonschema.Schema
	if err := json.Unmarshal(b, &s); err != nil {
		return nil, err
	}
	r, err := s.Resolve(nil)
	if err != nil {
		return nil, err
	}
	return &Schema{r}, nil
}

// Schema is a compiled schema.
type Schema struct{ resolved *jsonschema.Resolved }

// Validate checks a decoded value; the error is a *ValidationError.
func (s *Schema) Validate(v any) error {
	if err := s.resolved.Validate(v); err != nil {
		return &ValidationError{ErrorKind: err}
	}
	return nil
}

// ValidationError is the first reason why a value does not fit. The place stands in ErrorKind's words.
type ValidationError struct {
	InstanceLocation []string
	ErrorKind        error
	Causes           []*ValidationError
}

// Error is the reason in words.
func (e *ValidationError) Error() string { return e.ErrorKind.Error() }
