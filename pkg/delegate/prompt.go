package delegate

import (
	"fmt"
	"slices"
	"strings"

	"legwork/pkg/llm"
)

const system = "You are a careful programmer. You write complete source files that follow a specification exactly. You answer with code only."

// task is the part of the prompt that stays the same over all turns, so that servers keep it in their
// prefix cache.
func (c *call) task() string {
	if c.prompt != "" {
		return c.prompt
	}
	var b strings.Builder
	for i, rel := range c.res.Targets {
		if i > 0 {
			b.WriteString(" and ")
		}
		fmt.Fprintf(&b, "`%s`", rel)
	}
	names := b.String()
	b.Reset()
	fmt.Fprintf(&b, "Write the file %s (%s).\n\n## What it must do\n%s\n", names, c.langs[0].name, c.visible(c.req.Spec))
	if len(c.req.Properties) > 0 {
		b.WriteString("\n## These must always hold\n")
		for _, p := range c.req.Properties {
			fmt.Fprintf(&b, "- %s\n", c.visible(strings.TrimSpace(p)))
		}
	}
	c.writeSurfaces(&b)
	if text := strings.TrimSpace(c.req.Context); text != "" {
		fmt.Fprintf(&b, "\n## Context: the exact API\n%s\n", c.visible(text))
	}
	for i, o := range c.before {
		if o.Exists && len(o.Data) > 0 {
			fmt.Fprintf(&b, "\n## `%s` as it is now\n%s\n", o.Rel, fenced(c.langs[i], string(o.Data)))
		}
	}
	b.WriteString("\n## Your answer\n")
	if len(c.res.Targets) == 1 {
		fmt.Fprintf(&b, "The whole file %s in one code block, from the first line to the last. No explanation, no tests, no example of use.", names)
	} else {
		b.WriteString("Every file whole, each in a code block of its own with its path in the line above. No explanation, no tests.")
	}
	for i, rel := range c.res.Targets {
		if was := c.original(i); c.before[i].Exists && len(examples(c.langs[i], was)) > 0 && c.judgedByExamples(c.langs[i], was) {
			fmt.Fprintf(&b, " Keep the examples in the documentation of `%s` exactly as they are: they are run.", rel)
		}
	}
	b.WriteString(" Use the standard library and what the project has; nothing else is installed.")
	c.prompt = b.String()
	c.res.PromptHash = sum(system + "\x00" + c.prompt)
	return c.prompt
}

// visible takes lines of the test out of what the caller wrote: the model must not see them.
func (c *call) visible(text string) string {
	var out []string
	dropped := 0
	for line := range strings.SplitSeq(text, "\n") {
		if t := strings.TrimSpace(line); len(t) > 15 && strings.ContainsAny(t, "(=") && !isImport(t) && c.isTestLine(t) {
			dropped++
			continue
		}
		out = append(out, line)
	}
	if dropped > 0 && c.prompt == "" {
		c.note("%d lines of the test stood in the spec or context; the model did not get them", dropped)
	}
	return strings.Join(out, "\n")
}

func isImport(line string) bool {
	for _, w := range []string{"import ", "from ", "use ", "const ", "require", "#include", "package "} {
		if strings.HasPrefix(line, w) {
			return true
		}
	}
	return false
}

// isTestLine says that a line, blanks aside, stands in a test file.
func (c *call) isTestLine(line string) bool {
	if c.test.lines == nil {
		c.test.lines = map[string]bool{}
		for _, text := range c.test.texts {
			for l := range strings.SplitSeq(text, "\n") {
				if l = strings.TrimSpace(l); len(l) > 5 {
					c.test.lines[l] = true
				}
			}
		}
	}
	return c.test.lines[line]
}

// fenced puts a text into a fence longer than any inside.
func fenced(l language, text string) string {
	marks := "```"
	for strings.Contains(text, marks) {
		marks += "`"
	}
	tag := ""
	if len(l.tags) > 0 {
		tag = l.tags[0]
		if len(l.name) > 0 && slices.Contains(l.tags, l.name) {
			tag = l.name
		}
	}
	return marks + tag + "\n" + strings.TrimRight(strings.ReplaceAll(text, "\r\n", "\n"), "\n") + "\n" + marks
}

// messages makes the prompt of a turn. The first two messages are the same in every turn.
func (w *work) messages(p *plan, kind string) []llm.Message {
	c := w.c
	base := []llm.Message{{Role: "system", Content: system}, {Role: "user", Content: c.task()}}
	switch kind {
	case kindConverse:
		w.history = append(w.history, llm.Message{Role: "user", Content: c.feedback(p)})
		return append(base, w.history...)
	case kindRepair:
		return append(base, llm.Message{Role: "assistant", Content: c.answerOf(c.best)}, llm.Message{Role: "user", Content: c.repairText(p)})
	case kindFirst:
		if c.patches(p, string(c.before[0].Data)) {
			base[1].Content += "\n\nThe file is long. Instead of the whole file you may answer with what changes:\n" + patchForm
		}
	case kindFormat:
		base[1].Content += "\n\nYour last answer could not be used: " + p.why + "."
	case kindFresh:
		if p.class == classScope {
			base[1].Content += "\n\nYour last answer could not be used: " + p.why + "."
		}
		if rules := c.rules(); len(rules) > 0 {
			base[1].Content += "\n\nTake special care of these rules; an earlier attempt broke them:\n- " + strings.Join(rules, "\n- ")
		}
	}
	return base
}

// patchForm asks for search and replace blocks.
const patchForm = "Answer with one or more blocks of this form, each search text exactly as it stands in the file and only once there:\n" +
	"<<<<<<< SEARCH\nold lines\n=======\nnew lines\n>>>>>>> REPLACE\n"

// patches says that the policy lets a model change a file of this size by blocks.
func (c *call) patches(p *plan, text string) bool {
	return p.blocks > 0 && len(c.res.Targets) == 1 && len(text) >= p.blocks
}

// answerOf is a candidate as the model would have sent it.
func (c *call) answerOf(k *candidate) string {
	var parts []string
	for i, rel := range c.res.Targets {
		text := fenced(c.langs[i], k.files[rel])
		if len(c.res.Targets) > 1 {
			text = rel + "\n" + text
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, "\n\n")
}

// feedback is the last failure in a running conversation.
func (c *call) feedback(p *plan) string {
	if c.best == nil || unusable(p.class) {
		return "That answer could not be used: " + p.why + ". Send the whole file again."
	}
	// A plain loop hands on what the runner says, and no more.
	k := *c.last
	k.facts = slices.Clone(k.facts)
	for i := range k.facts {
		k.facts[i].Call = ""
	}
	return c.factsText(&k, p.why) + "\nFix it. Send the whole file again."
}

// repairText is what the best candidate did when it was run, and the rules that its red tests stand for.
func (c *call) repairText(p *plan) string {
	var b strings.Builder
	b.WriteString(c.factsText(c.best, c.best.why))
	if rules := c.rules(); len(rules) > 0 {
		b.WriteString("\nThe task says about this:\n- " + strings.Join(rules, "\n- ") + "\n")
	}
	if c.patches(p, c.best.files[c.res.Targets[0]]) {
		b.WriteString("\nChange only what is wrong. " + patchForm)
		return b.String()
	}
	b.WriteString("\nFind what in the code leads to this, change it, and send the whole file again. Keep what works.")
	if unusable(p.class) || p.class == classScope {
		b.WriteString(" Your last answer could not be used: " + p.why + ".")
	}
	return b.String()
}
