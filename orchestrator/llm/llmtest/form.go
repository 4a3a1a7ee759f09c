package llmtest

import (
	"encoding/json"
	"fmt"
	"strings"

	"agent/orchestrator/llm"
	"agent/sandbox/workspace/lazyregexp"
)

// Emulate makes a server act as a model without calls of its own. It reads the tools from the instructions, and writes calls in the
// form of package emulated. Call it before the first question.
func (s *Server) Emulate() *Server {
	s.form = true
	return s
}

// writeForm returns a step whose calls are text, in fragments.
func writeForm(s Step) Step {
	for _, c := range s.Calls {
		before := "\n\n"
		if c.Before != "" {
			before = "\n" + c.Before + "\n"
		}
		arguments := c.Arguments
		if strings.TrimSpace(arguments) == "" {
			arguments = "{}"
		}
		text := fmt.Sprintf("%s```tool\n{\"name\": %s, \"arguments\": %s}\n```", before, encode(c.Name), arguments)
		half := Call{Arguments: text, Half: c.Half}
		s.Chunks = append(append([]string{}, s.Chunks...), half.halves()...)
	}
	s.Calls = nil
	return s
}

var (
	// tool is one tool in the instructions: name, description and schema.
	tool = lazyregexp.New(`(?m)^## (\S+)\n(.*)\nArguments, as a JSON schema: (.*)$`)
	// formed is a result or a call within a text.
	formed = lazyregexp.New("(?s)^(```+)(result|error|tool)(?: of \\S*, call (\\S*))?\n(.*?)\n(```+)(?:\n\n|$)")
)

// readForm returns the question that a question in this form means.
func readForm(q Request) Request {
	system, listed, ok := strings.Cut(q.System, "# Tools\n")
	if !ok {
		return q
	}
	q.System = strings.TrimSuffix(system, "\n\n")
	for _, m := range tool.FindAllStringSubmatch(listed, -1) {
		q.Tools = append(q.Tools, llm.Tool{Name: m[1], About: m[2], Schema: json.RawMessage(m[3])})
	}
	for i, m := range q.Messages {
		turn := Turn{Role: m.Role}
		rest := m.Text
		for rest != "" {
			f := formed.FindStringSubmatch(rest)
			switch {
			case f == nil || f[1] != f[5]:
				text, more, _ := strings.Cut(rest, "\n\n```")
				turn.Text += text
				if rest = ""; more != "" {
					rest = "```" + more
				}
				continue
			case f[2] == "tool":
				var c struct {
					Name      string
					Arguments json.RawMessage
				}
				if json.Unmarshal([]byte(f[4]), &c) == nil {
					turn.Calls = append(turn.Calls, llm.ToolCall{Name: c.Name, Arguments: string(c.Arguments)})
				}
			default:
				turn.Results = append(turn.Results, llm.ToolResult{ID: f[3], Text: f[4], Error: f[2] == "error"})
			}
			rest = rest[len(f[0]):]
		}
		q.Messages[i] = turn
		// Calls have no ID in this form: their results give the IDs, in order.
		for j := range turn.Results {
			if i > 0 && j < len(q.Messages[i-1].Calls) {
				q.Messages[i-1].Calls[j].ID = turn.Results[j].ID
			}
		}
	}
	return q
}
