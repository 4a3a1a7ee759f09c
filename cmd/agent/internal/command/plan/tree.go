package plan

import (
	"fmt"
	"io"
	"strings"

	"agent/cmd/agent/internal/term"
	"agent/orchestrator/crew"
)

// mark returns the sign and the word for a task's state.
func mark(pal term.Palette, s crew.TaskState) string {
	switch s {
	case crew.Done:
		return pal.Good("✓ done    ")
	case crew.Running:
		return pal.Accent("▸ running ")
	case crew.Undone:
		return pal.Bad("✗ failed  ")
	case crew.Held:
		return pal.Warn("! held    ")
	case crew.Blocked:
		return pal.Dim("- blocked ")
	case crew.Replaced:
		return pal.Dim("- replaced")
	}
	return "  waiting "
}

// Lines returns the tasks of a plan, one per line, each below and to the right of the last task that it depends on.
func Lines(pal term.Palette, p crew.Plan) (lines []string) {
	depth, printed := map[int]int{}, map[int]bool{}
	var visit func(t crew.Task)
	visit = func(t crew.Task) {
		if printed[t.N] {
			return
		}
		printed[t.N] = true
		line := fmt.Sprintf("%s %s%d. %s", mark(pal, t.State), strings.Repeat("  ", min(depth[t.N], 6)), t.N, term.CleanLine(t.Title))
		var notes []string
		if len(t.DependsOn) > 0 {
			notes = append(notes, "after "+crew.Numbers(t.DependsOn))
		}
		if t.Role != crew.Worker {
			notes = append(notes, term.CleanLine(t.Role))
		}
		if t.Tries > 1 {
			notes = append(notes, fmt.Sprintf("try %d", t.Tries))
		}
		if len(notes) > 0 {
			line += "  " + pal.Dim(strings.Join(notes, ", "))
		}
		lines = append(lines, line)
		for _, d := range p.Tasks {
			if len(d.DependsOn) > 0 && d.DependsOn[len(d.DependsOn)-1] == t.N {
				depth[d.N] = depth[t.N] + 1
				visit(d)
			}
		}
	}
	for _, t := range p.Tasks {
		if len(t.DependsOn) == 0 {
			visit(t)
		}
	}
	for _, t := range p.Tasks { // tasks that depend on a missing task
		visit(t)
	}
	return lines
}

// Print prints a plan: its goal, its tasks as a tree, and the remarks about them.
func Print(w io.Writer, pal term.Palette, p crew.Plan) error {
	return term.Print(w, func(w io.Writer) error {
		done, all := count(p)
		fmt.Fprintf(w, "%s  %s, %d of %d done  %s\n", pal.Bold(fmt.Sprintf("plan %d", p.ID)), p.State, done, all, pal.Dim(term.CleanLine(p.Workspace)))
		fmt.Fprintf(w, "goal: %s\n", strings.TrimSpace(term.Clean(p.Goal)))
		for _, l := range []struct{ name, text string }{{"summary", p.Summary}, {"why", p.Why}, {"run", p.Run}} {
			if l.text != "" {
				fmt.Fprintf(w, "%s: %s\n", l.name, strings.TrimSpace(term.Clean(l.text)))
			}
		}
		fmt.Fprintln(w)
		for _, l := range Lines(pal, p) {
			fmt.Fprintln(w, l)
		}
		for _, t := range p.Tasks {
			if t.Why != "" && t.State != crew.Replaced {
				fmt.Fprintf(w, "\ntask %d: %s\n", t.N, strings.TrimSpace(term.Clean(t.Why)))
			}
		}
		if r := p.Review; r != nil {
			word := pal.Good("accepted")
			if !r.Accepted {
				word = pal.Bad("not accepted")
			}
			fmt.Fprintf(w, "\nreview: %s\n", word)
			for _, f := range r.Findings {
				fmt.Fprintf(w, "  %s\n", term.CleanLine(f.String()))
			}
		}
		return nil
	})
}
