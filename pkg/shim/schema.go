package shim

import (
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
	"golang.org/x/text/language"
	"golang.org/x/text/message"
)

// schemaCache compiles the schemas of offered tools when a printed call has to be checked against one.
type schemaCache struct {
	mu   sync.Mutex
	done map[string]*jsonschema.Schema // by raw schema; nil: does not compile
}

func newSchemaCache() *schemaCache { return &schemaCache{done: map[string]*jsonschema.Schema{}} }

// noLoader keeps a tool's schema from making us read files or hosts.
type noLoader struct{}

func (noLoader) Load(url string) (any, error) {
	return nil, fmt.Errorf("references outside the schema are not followed: %s", url)
}

func (c *schemaCache) get(raw string) *jsonschema.Schema {
	c.mu.Lock()
	defer c.mu.Unlock()
	s, ok := c.done[raw]
	if !ok {
		s = compileSchema(raw)
		c.done[raw] = s
	}
	return s
}

func compileSchema(raw string) *jsonschema.Schema {
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(raw))
	if err != nil {
		return nil
	}
	comp := jsonschema.NewCompiler()
	comp.UseLoader(noLoader{})
	if comp.AddResource("tool.json", doc) != nil {
		return nil
	}
	s, err := comp.Compile("tool.json")
	if err != nil {
		return nil
	}
	return s
}

// misfit says why args, a JSON object, do not fit the schema; "" when they do. Properties the schema does not know are
// no reason: the client judges them itself and tells the model. A schema that does not compile accepts any object for
// the same reason.
func (c *schemaCache) misfit(schema, args string) string {
	s := c.get(schema)
	if s == nil {
		return ""
	}
	if hugeExponent(args) {
		return "a number is out of range"
	}
	v, err := jsonschema.UnmarshalJSON(strings.NewReader(args))
	if err != nil {
		return "not JSON"
	}
	if ve, ok := errors.AsType[*jsonschema.ValidationError](s.Validate(v)); ok {
		return firstMisfit(ve)
	}
	return ""
}

// hugeExponent finds numbers like 1e999999999, which the validator would write out to check for an integer.
func hugeExponent(s string) bool {
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '"':
			i = stringEnd(s, i) - 1
		case 'e', 'E':
			digits := 0
			for i+1 < len(s) && (s[i+1] >= '0' && s[i+1] <= '9' || digits == 0 && (s[i+1] == '+' || s[i+1] == '-')) {
				i++
				digits++
			}
			if digits > 4 {
				return true
			}
		}
	}
	return false
}

func firstMisfit(ve *jsonschema.ValidationError) string {
	if len(ve.Causes) == 0 {
		if _, extra := ve.ErrorKind.(*kind.AdditionalProperties); extra {
			return ""
		}
		where := ""
		if len(ve.InstanceLocation) > 0 {
			where = " at " + strings.Join(ve.InstanceLocation, ".")
		}
		return clip(ve.ErrorKind.LocalizedString(message.NewPrinter(language.English))+where, 200)
	}
	for _, cause := range ve.Causes {
		if why := firstMisfit(cause); why != "" {
			return why
		}
	}
	return ""
}
