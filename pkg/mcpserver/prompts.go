package mcpserver

import (
	"context"
	"fmt"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"
)

// ToolPrefix is how Claude Code names our tools when the plugin is installed.
const ToolPrefix = "mcp__plugin_legwork_legwork__"

// prompt is a text that a user types by its name: /plugin:legwork:legwork:triage in Claude Code's menu.
type prompt struct {
	name, title, description string
	argument, about          string // its one argument, which may be left out unless must
	must                     bool
	text                     func(argument string) string
}

// allPrompts is every prompt there is: the few things people ask for again and again.
func allPrompts() []prompt {
	return []prompt{
		{
			name: "triage", title: "Triage a failing test run", description: "Run the tests, have the local model read the output, explain each failure",
			argument: "command", about: "the test command; without it, the project's own", text: triageText,
		},
		{
			name: "research", title: "Research on the web", description: "Have the local model read web pages in full and answer with checked citations",
			argument: "question", about: "what you want to know", must: true, text: researchText,
		},
	}
}

// longer mends what Claude Code (2.1.332) does to arguments: it hands on the first word only, and shows the
// model all of them in front of the prompt.
const longer = " (where longer command-args stand above, all of them are meant)"

func triageText(command string) string {
	run := "the project's test command (look it up, do not guess)"
	if command != "" {
		run = fmt.Sprintf("the command `%s`%s", command, longer)
	}
	return "A test run is to be understood without reading its output here.\n" +
		"1. Call " + ToolPrefix + "offload with " + run + " and the question \"which tests fail, and why?\".\n" +
		"2. The first line of the reply and the lines with ✗ are measured: they say what happened, and the failures are complete. The answer below them is a model's opinion.\n" +
		"3. Group the failures by cause. Where a cause is not clear, ask again with the reply's raw id, so that nothing runs twice, then read only the source lines that are named.\n" +
		"4. Report each cause with the tests it breaks, file:line, and the smallest fix you would make. If nothing failed, say so with the counts. Change nothing yet."
}

func researchText(question string) string {
	return "Call " + ToolPrefix + "research with the question \"" + question + "\"" + longer + ".\n" +
		"Answer from its reply alone, keep its [n] citations with their addresses, and say what the pages do not answer."
}

// addPrompts publishes them.
func (s *Server) addPrompts() {
	for _, p := range allPrompts() {
		arg := []mcp.ArgumentOption{mcp.ArgumentDescription(p.about)}
		if p.must {
			arg = append(arg, mcp.RequiredArgument())
		}
		pub := mcp.NewPrompt(p.name, mcp.WithPromptDescription(p.description), mcp.WithArgument(p.argument, arg...))
		pub.Title = p.title
		s.mcp.AddPrompt(pub, func(_ context.Context, req mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
			value := strings.TrimSpace(req.Params.Arguments[p.argument])
			if p.must && value == "" {
				return nil, fmt.Errorf("%s: %s is missing: %s", p.name, p.argument, p.about)
			}
			return mcp.NewGetPromptResult(p.title, []mcp.PromptMessage{
				mcp.NewPromptMessage(mcp.RoleUser, mcp.NewTextContent(p.text(value))),
			}), nil
		})
	}
}
