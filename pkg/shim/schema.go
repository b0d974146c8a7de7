package shim

import (
	"encoding/json"
	"strings"
	"sync"

	"github.com/google/jsonschema-go/jsonschema"
)

// schemaCache compiles the schemas of offered tools when a printed call has to be checked against one.
type schemaCache struct {
	mu   sync.Mutex
	done map[string]*jsonschema.Resolved // by raw schema; nil: does not compile
}

func newSchemaCache() *schemaCache { return &schemaCache{done: map[string]*jsonschema.Resolved{}} }

func (c *schemaCache) get(raw string) *jsonschema.Resolved {
	c.mu.Lock()
	defer c.mu.Unlock()
	s, ok := c.done[raw]
	if !ok {
		s = compileSchema(raw)
		c.done[raw] = s
	}
	return s
}

// compileSchema gives nil for a schema that does not compile. References outside of it are not followed.
func compileSchema(raw string) *jsonschema.Resolved {
	var doc any
	if json.Unmarshal([]byte(raw), &doc) != nil {
		return nil
	}
	loosen(doc)
	b, err := json.Marshal(doc)
	if err != nil {
		return nil
	}
	var s jsonschema.Schema
	if json.Unmarshal(b, &s) != nil {
		return nil
	}
	r, err := s.Resolve(nil)
	if err != nil {
		return nil
	}
	return r
}

// loosen lets every object have properties that its schema does not know.
func loosen(v any) {
	switch v := v.(type) {
	case map[string]any:
		for _, key := range []string{"additionalProperties", "unevaluatedProperties"} {
			if v[key] == false {
				delete(v, key)
			}
		}
		delete(v, "$schema") // the drafts agree in what tools use
		for _, x := range v {
			loosen(x)
		}
	case []any:
		for _, x := range v {
			loosen(x)
		}
	}
}

// misfit says why args, a JSON object, do not fit the schema; "" when they do. Properties the schema does not know are
// no reason: the client judges them itself and tells the model. A schema that does not compile accepts any object for
// the same reason.
func (c *schemaCache) misfit(schema, args string) string {
	s := c.get(schema)
	if s == nil {
		return ""
	}
	var v any
	if json.Unmarshal([]byte(args), &v) != nil {
		return "not JSON, or a number is out of range"
	}
	if err := s.Validate(v); err != nil {
		return clip(plainMisfit(err.Error()), 200)
	}
	return ""
}

// plainMisfit leaves the innermost place of the validator's words: "/properties/line: type: …".
func plainMisfit(s string) string {
	const by = "validating "
	if i := strings.LastIndex(s, ": "+by); i >= 0 {
		s = s[i+2:]
	}
	return strings.TrimPrefix(strings.TrimPrefix(s, by), "root: ")
}
