package crew

import (
	"fmt"
	"strings"
)

// Text returns the plan as a model is shown it: every task with its state, what it waits for, and when it counts as done.
func (p *Plan) Text() string {
	var b strings.Builder
	for _, t := range p.Tasks {
		fmt.Fprintf(&b, "%d. %s [%s]\n", t.N, t.Title, t.State)
		fmt.Fprintf(&b, "   goal: %s\n", strings.Join(strings.Fields(t.Goal), " "))
		for _, l := range []struct{ name, text string }{
			{"depends on", Numbers(t.DependsOn)},
			{"changes", strings.Join(t.Files, ", ")},
			{"creates", strings.Join(t.Creates, ", ")},
			{"done when", t.Accept.String()},
			{"why", strings.ReplaceAll(t.Why, "\n", "\n        ")},
		} {
			if l.text != "" {
				fmt.Fprintf(&b, "   %s: %s\n", l.name, l.text)
			}
		}
	}
	return b.String()
}

// String says in one line when a task counts as done.
func (a Acceptance) String() string {
	var parts []string
	if len(a.Command) > 0 {
		parts = append(parts, "`"+strings.Join(a.Command, " ")+"` succeeds")
	}
	if len(a.Tests) > 0 {
		parts = append(parts, strings.Join(a.Tests, ", ")+" is there")
	}
	if a.Text != "" {
		parts = append(parts, a.Text)
	}
	return strings.Join(parts, "; ")
}
