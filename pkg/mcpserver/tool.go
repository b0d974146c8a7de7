package mcpserver

import (
	"bytes"
	"cmp"
	"context"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/mark3labs/mcp-go/mcp"
)

//go:embed descriptions/*.md
var descriptions embed.FS

// maxArguments bounds one call's arguments: the protocol has no limit of its own.
const maxArguments = 8 << 20

// hints are the four annotations of a tool; all are always set, because the protocol's defaults
// (destructive, open world) are wrong for most tools.
type hints struct {
	readOnly    bool // changes nothing; Claude Code runs such calls of one turn in parallel
	destructive bool // may destroy what was there
	idempotent  bool // a second call with the same arguments changes nothing more
	openWorld   bool // reaches beyond the project and the model servers
}

// tool is all the client sees of a tool, and the function behind it.
type tool struct {
	name, title string
	hints       hints
	input       reflect.Type
	// hidden tools are called by our own hooks only and stand in no list.
	hidden bool
	call   func(ctx context.Context, v *Verbs, args json.RawMessage, progress func(string)) (string, error)
}

// define makes a tool of a function whose input is a struct. Field tags: json names the argument
// (omitempty: optional), jsonschema describes it.
func define[In any](name, title string, h hints, fn func(ctx context.Context, v *Verbs, in In, progress func(string)) (string, error)) tool {
	return tool{
		name: name, title: title, hints: h, input: reflect.TypeFor[In](),
		call: func(ctx context.Context, v *Verbs, args json.RawMessage, progress func(string)) (string, error) {
			var in In
			if err := decode(args, &in); err != nil {
				return "", err
			}
			return fn(ctx, v, in, progress)
		},
	}
}

// hook makes a tool that only our own hooks call.
func hook[In any](name string, fn func(ctx context.Context, v *Verbs, in In, progress func(string)) (string, error)) tool {
	t := define(name, name, hints{readOnly: true, idempotent: true}, fn)
	t.hidden = true
	return t
}

// argumentError is what is wrong with a call's arguments, in words for the model.
type argumentError struct{ msg string }

func (e *argumentError) Error() string { return e.msg }

// IsArgument tells whether a call failed for its arguments, before anything was done.
func IsArgument(err error) bool {
	var arg *argumentError
	return errors.As(err, &arg)
}

// decode is strict: an unknown argument is named together with the known ones.
func decode(args json.RawMessage, into any) error {
	if len(args) > maxArguments {
		return &argumentError{fmt.Sprintf("the arguments are %d bytes long, the limit is %d; write long text to a file and name it", len(args), maxArguments)}
	}
	if len(bytes.TrimSpace(args)) == 0 || bytes.Equal(bytes.TrimSpace(args), []byte("null")) {
		args = json.RawMessage("{}")
	}
	known := argumentNames(reflect.TypeOf(into).Elem())
	var raw map[string]json.RawMessage
	if err := json.Unmarshal(args, &raw); err != nil {
		return &argumentError{"the arguments must be one JSON object; known: " + strings.Join(known, ", ")}
	}
	for name := range raw {
		if !slices.Contains(known, name) {
			return &argumentError{fmt.Sprintf("unknown argument %q; known: %s", name, cmp.Or(strings.Join(known, ", "), "none"))}
		}
	}
	dec := json.NewDecoder(bytes.NewReader(args))
	if err := dec.Decode(into); err != nil && !errors.Is(err, io.EOF) {
		if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
			return &argumentError{fmt.Sprintf("%s: must be %s, got %s", wrong.Field, typeWord(wrong.Type), wrong.Value)}
		}
		return &argumentError{err.Error()}
	}
	return nil
}

func typeWord(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Slice:
		return "a list of " + strings.TrimPrefix(typeWord(t.Elem()), "a ") + "s"
	case reflect.String:
		return "a string"
	case reflect.Bool:
		return "true or false"
	case reflect.Int, reflect.Int64, reflect.Float64:
		return "a number"
	}
	return t.String()
}

func argumentNames(t reflect.Type) []string {
	var out []string
	for f := range t.Fields() {
		if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "" && name != "-" {
			out = append(out, name)
		}
	}
	return out
}

// published is the tool as it stands in tools/list.
func (t tool) published(alwaysLoad bool) (mcp.Tool, error) {
	schema, err := t.schema()
	if err != nil {
		return mcp.Tool{}, err
	}
	var text []byte
	if !t.hidden {
		if text, err = descriptions.ReadFile("descriptions/" + t.name + ".md"); err != nil {
			return mcp.Tool{}, err
		}
	}
	out := mcp.NewToolWithRawSchema(t.name, strings.TrimSpace(string(text)), schema)
	out.Annotations = mcp.ToolAnnotation{
		Title:           t.title,
		ReadOnlyHint:    &t.hints.readOnly,
		DestructiveHint: &t.hints.destructive,
		IdempotentHint:  &t.hints.idempotent,
		OpenWorldHint:   &t.hints.openWorld,
	}
	if alwaysLoad {
		out.Meta = &mcp.Meta{AdditionalFields: map[string]any{"anthropic/alwaysLoad": true}}
	}
	return out, nil
}

// schema follows from the input struct. Lists lose the "null" that the library adds: some clients
// refuse a type that is itself a list.
func (t tool) schema() (json.RawMessage, error) {
	s, err := jsonschema.ForType(t.input, &jsonschema.ForOptions{})
	if err != nil {
		return nil, fmt.Errorf("schema of %s: %w", t.name, err)
	}
	for name, p := range s.Properties {
		plainType(p)
		if f, ok := fieldByArgument(t.input, name); ok {
			for v := range strings.SplitSeq(f.Tag.Get("enum"), ",") {
				if v != "" {
					p.Enum = append(p.Enum, v)
				}
			}
		}
	}
	return json.Marshal(s)
}

func plainType(s *jsonschema.Schema) {
	s.Types = slices.DeleteFunc(s.Types, func(t string) bool { return t == "null" })
	if len(s.Types) == 1 {
		s.Type, s.Types = s.Types[0], nil
	}
}

func fieldByArgument(t reflect.Type, name string) (reflect.StructField, bool) {
	for f := range t.Fields() {
		if n, _, _ := strings.Cut(f.Tag.Get("json"), ","); n == name {
			return f, true
		}
	}
	return reflect.StructField{}, false
}

// Prefix is what a session's requests hold of our tools, as Claude Code sends it: the whole of those that are
// always loaded, the names of the others.
func Prefix(autoUse []string) (string, error) {
	var b strings.Builder
	for _, t := range allTools() {
		switch {
		case t.hidden:
			continue
		case !slices.Contains(autoUse, t.name):
			b.WriteString(ToolPrefix + t.name + "\n")
			continue
		}
		pub, err := t.published(true)
		if err != nil {
			return "", err
		}
		text, err := json.Marshal(map[string]any{"name": ToolPrefix + t.name, "description": pub.Description, "input_schema": pub.RawInputSchema})
		if err != nil {
			return "", err
		}
		b.Write(text)
	}
	return b.String(), nil
}
