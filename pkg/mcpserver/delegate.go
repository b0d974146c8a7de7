package mcpserver

import (
	"context"
	"encoding/json"
	"strings"
)

// DelegateInput is one file, or a few, for the local model to write.
type DelegateInput struct {
	Spec               string     `json:"spec" jsonschema:"what the code must do, one rule a sentence"`
	TargetFile         string     `json:"target_file,omitempty" jsonschema:"file to write, new or existing"`
	TargetFiles        []string   `json:"target_files,omitempty" jsonschema:"several files, at most 5"`
	TestCommand        string     `json:"test_command" jsonschema:"runs the test; must fail now, passing ends the work"`
	Properties         StringList `json:"properties,omitempty" jsonschema:"rules that always hold"`
	Context            string     `json:"context,omitempty" jsonschema:"exact signatures and types"`
	TestFiles          []string   `json:"test_files,omitempty" jsonschema:"kept from the model; those in the command are found"`
	MaxAttempts        int        `json:"max_attempts,omitempty" jsonschema:"1-10"`
	Candidates         int        `json:"candidates,omitempty" jsonschema:"first attempts drawn at once"`
	Model              string     `json:"model,omitempty" jsonschema:"or several, small to big, with commas"`
	Apply              string     `json:"apply,omitempty" enum:"pass,best,never" jsonschema:"best: also a near miss"`
	ShowCode           bool       `json:"show_code,omitempty"`
	WaitS              *float64   `json:"wait_s,omitempty" jsonschema:"answer with a job id after so many seconds"`
	AllowGreenBaseline bool       `json:"allow_green_baseline,omitempty" jsonschema:"for refactorings"`
}

// StringList is a list that may be given as one string, a line each.
type StringList []string

// UnmarshalJSON takes a string or a list.
func (l *StringList) UnmarshalJSON(b []byte) error {
	var one string
	if json.Unmarshal(b, &one) == nil {
		*l = nil
		for line := range strings.SplitSeq(one, "\n") {
			if line = strings.TrimSpace(strings.TrimLeft(strings.TrimSpace(line), "-*")); line != "" {
				*l = append(*l, line)
			}
		}
		return nil
	}
	return json.Unmarshal(b, (*[]string)(l))
}

func runDelegate(ctx context.Context, v *Verbs, in DelegateInput, progress func(string)) (string, error) {
	return v.Delegate(ctx, in, progress)
}
