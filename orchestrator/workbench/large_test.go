package workbench_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"agent/orchestrator/agent"
	"agent/orchestrator/agent/conversation"
	"agent/orchestrator/ledger"
	"agent/orchestrator/llm"
	"agent/orchestrator/run"
	"agent/orchestrator/run/runtest"
	"agent/orchestrator/tournament"
	"agent/orchestrator/workbench"
	"agent/sandbox/workspace"
	"agent/verify"
)

// A navigator is a model that renames a function: it searches for its definition and users, reads the lines there, and edits what it
// read.
type navigator struct {
	round int
	read  int // bytes that it was shown
}

func (n *navigator) Converse(_ context.Context, q conversation.Question) (llm.Answer, string, error) {
	last := q.Request.Messages[len(q.Request.Messages)-1]
	for _, r := range last.Results {
		n.read += len(r.Text)
	}
	n.read += len(last.Text)
	n.round++
	var a llm.Answer
	call := func(name, arguments string) {
		a.Calls = append(a.Calls, llm.ToolCall{ID: fmt.Sprintf("c%d.%d", n.round, len(a.Calls)), Name: name, Arguments: arguments})
	}
	switch n.round {
	case 1:
		call("list", `{}`)
		call("search", `{"symbol": "rate"}`)
		call("search", `{"text": "rate("}`)
	case 2: // the places from the search
		for line := range strings.Lines(last.Results[2].Text) {
			path, rest, ok := strings.Cut(line, ":")
			if number, _, found := strings.Cut(rest, ":"); ok && found && !strings.HasPrefix(line, "<<") {
				call("read", fmt.Sprintf(`{"path": %q, "from": %s, "to": %s}`, path, number, number))
			}
		}
	case 3:
		for _, r := range last.Results {
			_, quoted, _ := strings.Cut(r.Text, "<<")
			head, text, _ := strings.Cut(quoted, "\n")
			_, path, _ := strings.Cut(head, " ")
			line, _, _ := strings.Cut(text, "\n")
			call("edit", fmt.Sprintf(`{"path": %q, "old": %q, "new": %q}`, path, line, strings.ReplaceAll(line, "rate(", "tax_rate(")))
		}
		call("finish", `{"summary": "rate is tax_rate now, and so for its users"}`)
	}
	return a, "test/navigator", nil
}

// write writes a file and creates its directory.
func write(t *testing.T, b *runtest.Bench, name, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(filepath.Join(b.Dir, name)), 0o755); err != nil {
		t.Fatal(err)
	}
	b.Write(t, name, text)
}

// Among 20,000 files, a model that explores finds the four files of a goal in three packages while reading little, although one of them
// has 300 KiB.
func TestALargeRepositoryIsWorkedOnByReadingLittle(t *testing.T) {
	t.Parallel()
	want := map[string]string{
		"tax/rates.py": "def tax_rate(price):", "shop/cart.py": "    return tax_rate(items)", "shop/order.py": "total = tax_rate(7)", "report/month.py": "print(tax_rate(1))",
	}
	b, _ := runtest.Hunt(t, func(_ context.Context, req verify.Request) (verify.Report, error) {
		now := req.Base.With(req.Changeset)
		g := verify.Gate{Name: "tests", Verdict: verify.Pass}
		for path, line := range want {
			if text, err := now.ReadFile(path); err != nil || !strings.Contains(string(text), line+"\n") {
				g.Verdict = verify.Fail
			}
		}
		return verify.Report{Verdict: g.Verdict, Gates: []verify.Gate{g}, Changeset: req.Changeset}, nil
	}, nil)
	for i := range 20_000 {
		write(t, b, fmt.Sprintf("pkg%03d/module_%05d.py", i%200, i), fmt.Sprintf("VALUE = %d\n\n\ndef value_%d():\n    return VALUE\n", i, i))
	}
	var long strings.Builder
	for i := range 6300 { // 300 KiB, with the definition in the middle
		if i == 3000 {
			long.WriteString("def rate(price):\n    return price * 19\n")
		}
		fmt.Fprintf(&long, "CONSTANT_%04d = \"a constant of the year %04d\"\n", i, i)
	}
	write(t, b, "tax/rates.py", long.String())
	for path, line := range want {
		if path != "tax/rates.py" {
			write(t, b, path, "from tax.rates import rate\n\n\ndef f(items):\n    pass\n\n\n"+strings.ReplaceAll(line, "tax_rate", "rate")+"\n")
		}
	}
	n := &navigator{}
	crew := b.Crew
	b.Crew = func(id string, emit func(agent.Progress)) tournament.Crew {
		c := crew(id, emit)
		c.Planner = looking{c.Planner}
		c.Workbench = func(_ context.Context, _ *workspace.Manifest, task agent.Task) (tournament.Workbench, error) {
			return &workbench.Workbench{Model: n, Record: &record{}, Fence: task.Fence, Symbols: ledger.New([]ledger.File{{
				Path: "tax/rates.py", Language: "python", Definitions: []ledger.Definition{{Name: "rate", Kind: ledger.Function, Line: 3001, End: 3002, Signature: "(price)"}},
			}})}, nil
		}
		return c
	}
	doc := b.Run(t.Context(), b.Goal())
	b.Ended(t, doc, run.Promoted, verify.Pass, run.ExitDone)
	if files := doc.Promotion.Files; len(files) != 4 {
		t.Errorf("written are %+v", files)
	}
	if n.read > 60_000 {
		t.Errorf("the model read %d bytes", n.read)
	}
	t.Logf("it read %d bytes in %d rounds", n.read, n.round)
}
