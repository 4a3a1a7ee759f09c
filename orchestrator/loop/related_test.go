package loop_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"agent/orchestrator/agent"
	"agent/orchestrator/ledger"
	"agent/orchestrator/loop"
	"agent/orchestrator/run"
	"agent/orchestrator/run/runtest"
	"agent/orchestrator/survey"
	"agent/sandbox/workspace"
)

// market returns a workspace of connected files, and its ledger.
func market() (map[string]string, *ledger.Ledger) {
	files := map[string]string{
		"shop/tax.py":       "def rate(country):\n    return 0.2\n",
		"shop/cart.py":      "from shop.tax import rate\n\n\ndef total(lines):\n    return sum(lines) * (1 + rate(\"DE\"))\n",
		"shop/report.py":    "# nothing\n",
		"tests/test_tax.py": "from shop.tax import rate\n\n\ndef test_rate():\n    assert rate(\"DE\") == 0.2\n",
		"web/discount.py":   "def discount(total):\n    return total\n",
		"README.md":         "A shop.\n",
	}
	def := func(name string, line int) []ledger.Definition {
		return []ledger.Definition{{Name: name, Kind: ledger.Function, Line: line, End: line + 1, Exported: true}}
	}
	takes := []ledger.Import{{Module: "shop.tax", Name: "rate", Alias: "rate", Line: 1}}
	book := ledger.New([]ledger.File{
		{Path: "shop/tax.py", Language: "python", Lines: 2, Definitions: def("rate", 1)},
		{Path: "shop/cart.py", Language: "python", Lines: 5, Imports: takes, Definitions: def("total", 4), References: []ledger.Reference{{Name: "rate", Lines: []int{5}}}},
		{Path: "shop/report.py", Language: "python", Lines: 1},
		{Path: "tests/test_tax.py", Language: "python", Lines: 5, Imports: takes, Definitions: def("test_rate", 4), References: []ledger.Reference{{Name: "rate", Lines: []int{5}}}},
		{Path: "web/discount.py", Language: "python", Lines: 2, Definitions: def("discount", 1)},
	})
	return files, book
}

// planned plans a request in the market with a budget.
func planned(t *testing.T, files map[string]string, book *ledger.Ledger, budget int, req run.Request) (*loop.Scout, agent.Task) {
	t.Helper()
	s, _ := scout(t, "")
	s.Engineer.Budget = budget
	s.Survey = func(context.Context, *workspace.Manifest) (survey.Survey, error) {
		return survey.Survey{Ledger: book}, nil
	}
	plan, err := s.Plan(t.Context(), runtest.Scan(t, files), req)
	if err != nil {
		t.Fatal(err)
	}
	return s, plan.Task
}

// Related files are shown with a target: its tests, its users, the files it uses, and files that fit the goal.
func TestRelatedFilesAreShown(t *testing.T) {
	t.Parallel()
	files, book := market()
	for _, c := range []struct {
		scope, goal, want string
	}{
		{"shop/tax.py", "", "tests/test_tax.py (tests shop/tax.py), shop/cart.py (uses shop/tax.py)"},
		{"shop/tax.py", "apply the discount", "tests/test_tax.py (tests shop/tax.py), shop/cart.py (uses shop/tax.py), web/discount.py (fits the goal: words of the goal)"},
		{"shop/cart.py", "", "shop/tax.py (is used by shop/cart.py)"},
		{"new.py", "", ""},
	} {
		req := run.Request{Scope: []string{c.scope}, Goal: c.goal}
		if c.scope == "new.py" {
			req.Goal = "say hello"
		}
		s, task := planned(t, files, book, 0, req)
		var got []string
		for _, x := range task.Brief.Related {
			got = append(got, x.Label())
			if x.Text != files[x.Path] {
				t.Errorf("%s is shown as %q", x.Path, x.Text)
			}
		}
		if strings.Join(got, ", ") != c.want {
			t.Errorf("%s, %q:\n%s, want\n%s", c.scope, c.goal, strings.Join(got, ", "), c.want)
		}
		q, _, err := s.Engineer.Question(task.Kind, "propose/1", task.Brief, task.Fence)
		if err != nil || strings.Contains(q.Text, "Only to be read") != (len(got) > 0) || len(q.Parts) < len(got)+1 {
			t.Errorf("%v: %d parts\n%s", err, len(q.Parts), q.Text)
		}
	}
}

// Related files never take space from the files to change: a large target is shown alone, and the omissions are listed.
func TestRelatedFilesAreDroppedFirst(t *testing.T) {
	t.Parallel()
	files, book := market()
	files["shop/tax.py"] = strings.Repeat("x = 1\n", 3000)
	s, task := planned(t, files, book, 20<<10, run.Request{Scope: []string{"shop/tax.py"}})
	if len(task.Brief.Related) == 0 || task.Budget != 20<<10 {
		t.Fatalf("nothing is related, or the plan forgets its budget %d", task.Budget)
	}
	task.Brief.Memory = strings.Repeat("remember this\n", 200)
	q, cuts, err := s.Engineer.Question(task.Kind, "propose/1", task.Brief, task.Fence)
	if err != nil || !strings.Contains(fmt.Sprint(cuts), "related shop/cart.py") || strings.Contains(q.Text, "omitted lines") {
		t.Errorf("%v: %v", err, cuts)
	}
}

// A model with a large window is shown more, within the budget that its price allows: even a file of 300 KiB as a whole.
func TestALargeWindowIsUsed(t *testing.T) {
	t.Parallel()
	files, book := market()
	files["shop/tax.py"] = strings.Repeat("rate = 0.2  # of one country\n", 10_600)
	if len(files["shop/tax.py"]) < 300<<10 {
		t.Fatal("the file is too small")
	}
	for budget, whole := range map[int]bool{0: false, 1 << 20: true} {
		s, task := planned(t, files, book, budget, run.Request{Scope: []string{"shop/tax.py"}})
		// A replay has no window or budget of its own, and asks the same question.
		s.Engineer.Budget = 0
		m := &first{}
		s.Engineer.Model = m
		if _, _, err := s.Engineer.Propose(t.Context(), task, agent.Variant{}, 0); err != nil {
			t.Fatal(err)
		}
		if got := !strings.Contains(m.asked[0].Text, "omitted lines"); got != whole {
			t.Errorf("budget %d: shown whole: %v, %d bytes", budget, got, len(m.asked[0].Text))
		}
	}
}

func TestRulesForAgentsAreRules(t *testing.T) {
	t.Parallel()
	files, book := market()
	files["CLAUDE.md"], files["CONTRIBUTING.md"] = strings.Repeat("A rule.\n", 2000), "Spaces.\n"
	for budget, want := range map[int]string{0: "Spaces.\n", 1 << 20: files["CLAUDE.md"]} {
		if _, task := planned(t, files, book, budget, run.Request{Scope: []string{"shop/tax.py"}}); task.Brief.Rules != want {
			t.Errorf("budget %d: %.40q", budget, task.Brief.Rules)
		}
	}
}
