package llm

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

// checker validates answers against the caller's schema. References to other
// documents are not followed.
type checker struct{ schema *jsonschema.Resolved }

func newChecker(schema json.RawMessage) (*checker, error) {
	var s jsonschema.Schema
	if err := json.Unmarshal(schema, &s); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrSchema, err)
	}
	for _, t := range append(s.Types, s.Type) {
		if !slices.Contains([]string{"", "object", "array", "string", "number", "integer", "boolean", "null"}, t) {
			return nil, fmt.Errorf("%w: there is no type %q", ErrSchema, t) // the library lets it pass
		}
	}
	r, err := s.Resolve(nil)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrSchema, err)
	}
	return &checker{r}, nil
}

// check finds the JSON value in an answer and validates it.
func (c *checker) check(answer string) (json.RawMessage, error) {
	value, err := findJSON(answer)
	if err != nil {
		return nil, err
	}
	var inst any
	if err := json.Unmarshal(value, &inst); err != nil {
		return nil, err
	}
	if err := c.schema.Validate(inst); err != nil {
		return nil, err
	}
	return value, nil
}

// findJSON takes the answer as a whole, or the first JSON value in it: models
// put fences and words around it.
func findJSON(answer string) (json.RawMessage, error) {
	text := strings.TrimSpace(answer)
	if json.Valid([]byte(text)) {
		return json.RawMessage(text), nil
	}
	for i := range len(text) {
		if text[i] != '{' && text[i] != '[' {
			continue
		}
		var v json.RawMessage
		if err := json.NewDecoder(strings.NewReader(text[i:])).Decode(&v); err == nil {
			return v, nil
		}
		if text[i] == '{' {
			break // broken off or damaged: what is inside is not the value
		}
	}
	return nil, errors.New("there is no complete JSON value in the answer")
}

// withSchema asks for the shape in words, for servers that cannot constrain.
func withSchema(msgs []Message, schema json.RawMessage) []Message {
	out := append([]Message(nil), msgs...)
	var flat bytes.Buffer
	if err := json.Compact(&flat, schema); err != nil {
		return out
	}
	last := &out[len(out)-1]
	last.Content += "\n\nAnswer with one JSON value and nothing else. It must satisfy this JSON schema:\n" + flat.String()
	return out
}

// settle validates an answer and lets the model repair it once.
func (c *call) settle(ctx context.Context, ans *Answer) (*Answer, error) {
	value, err := c.schema.check(ans.Text)
	if err == nil {
		ans.JSON = value
		return ans, nil
	}
	first := short(err)
	msgs := append(append([]Message(nil), c.q.Messages...),
		Message{"assistant", ans.Text},
		Message{"user", "That answer is not valid: " + first + "\nGive the corrected answer."})
	c.rep.say(PhaseRetry, "the answer does not fit the schema, one repair")
	again, err := c.once(ctx, withSchema(msgs, c.q.Schema))
	if err != nil {
		return nil, err
	}
	if again.Outcome != Answered {
		again.note("repairing: " + first)
		return again, nil
	}
	if again.JSON, err = c.schema.check(again.Text); err != nil {
		again.Outcome = Invalid
		again.note("the answer does not satisfy the schema, repaired once: " + short(err))
		return again, nil
	}
	again.note("repaired once: " + first)
	return again, nil
}

// short is an error on one line of bounded length.
func short(err error) string { return excerpt([]byte(err.Error())) }
