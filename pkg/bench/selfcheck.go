package bench

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"legwork/pkg/delegate"
)

// scriptedPrefix begins the names of scripted answerers among the models of a bench.
const scriptedPrefix = "scripted:"

// ScriptedModels are the answerers with which the bench checks itself. Their rows are marked and are in no
// table with models.
func ScriptedModels() []string {
	return []string{scriptedPrefix + "gold", scriptedPrefix + "third", scriptedPrefix + "never"}
}

// Scripted returns the answerer of that name; ok is false when the name is not one of theirs at all. The error
// is a *delegate.InputError.
func Scripted(name string) (c Contestant, ok bool, err error) {
	if !strings.HasPrefix(name, scriptedPrefix) {
		return c, false, nil
	}
	if !slices.Contains(ScriptedModels(), name) {
		return c, true, &delegate.InputError{Msg: fmt.Sprintf("models: %q; scripted answerers are %s", name, strings.Join(ScriptedModels(), ", "))}
	}
	id := Identity{Model: name, Endpoint: "in this process", Backend: scriptedModel, Slots: 1}
	return Contestant{Identity: id, scripted: strings.TrimPrefix(name, scriptedPrefix)}, true, nil
}

// answerer knows the task's answers: gold gives the right one at once, third after an apology and a wrong
// one, never only wrong ones.
func (t *Task) answerer(how string) *scripted {
	var wrong []string
	for _, name := range slices.Sorted(maps.Keys(t.Wrong)) {
		wrong = append(wrong, asAnswer(t.Targets, t.wrong(name)))
	}
	gold := asAnswer(t.Targets, t.Gold)
	return &scripted{answer: func(n int) string {
		switch {
		case how == "gold", how == "third" && n >= 2:
			return gold
		case how == "third" && n == 0:
			return "I am sorry, I cannot do that."
		}
		return wrong[n%len(wrong)]
	}}
}
