package agent_test

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"agent/orchestrator/agent"
)

func lines(name string, n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "%s %d\n", name, i)
	}
	return b.String()
}

func TestTheLeastImportantIsCutFirst(t *testing.T) {
	b := agent.Brief{Target: "a.py", Code: lines("code", 100), Lazy: lines("lazy", 20), History: lines("history", 100), Memory: lines("memory", 100)}
	whole := b
	cuts, err := b.Fit(2400)
	if err != nil {
		t.Fatal(err)
	}
	if b.Lazy != "" || b.Memory == "" || b.Code != whole.Code || len(cuts) < 2 || cuts[0].Section != "lazy" || cuts[1].Section != "history" {
		t.Errorf("cut %+v; lazy %q", cuts, b.Lazy)
	}
	b = whole
	if cuts, err := b.Fit(1 << 20); err != nil || cuts != nil || b.Lazy != whole.Lazy {
		t.Errorf("what fits was cut: %+v, %v", cuts, err)
	}
}

func TestALogKeepsItsEndAndSaysWhatIsGone(t *testing.T) {
	b := agent.Brief{Failure: agent.Failure{Gate: "tests", Text: lines("log", 1000)}, Cascade: lines("diff", 1000)}
	if _, err := b.Fit(4000); err != nil {
		t.Fatal(err)
	}
	if log := b.Failure.Text; !strings.HasSuffix(log, "log 999\n") || strings.Contains(log, "log 0\n") || !strings.Contains(log, "lines left out]") {
		t.Errorf("%.80q … %q", log, log[len(log)-40:])
	}
	b = agent.Brief{Cascade: lines("diff", 1000)}
	if _, err := b.Fit(4000); err != nil || !strings.HasPrefix(b.Cascade, "diff 0\n") || !strings.HasSuffix(b.Cascade, "diff 999\n") {
		t.Errorf("a diff lost an end: %v", err)
	}
}

func TestCodeIsNeverCut(t *testing.T) {
	b := agent.Brief{Target: "shop/stock.py", Code: lines("code", 1000), Memory: "m\n"}
	_, err := b.Fit(5000)
	if err == nil || !strings.Contains(err.Error(), "shop/stock.py") {
		t.Errorf("%v", err)
	}
}

func TestTheLastTwoAttemptsAreShown(t *testing.T) {
	b := agent.Brief{Attempts: []agent.Attempt{{N: 1}, {N: 2}, {N: 3}}}
	if _, err := b.Fit(1 << 20); err != nil || len(b.Attempts) != 2 || b.Attempts[0].N != 2 {
		t.Errorf("%+v, %v", b.Attempts, err)
	}
}

// For any brief, the sections together stay within the requested budget, or Fit returns an error.
func TestWhatFitsIsWithinTheBudget(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := func(name string) string {
			return strings.Join(rapid.SliceOfN(rapid.StringN(0, 60, -1), 0, 60).Draw(t, name), "\n")
		}
		b := agent.Brief{
			Code: text("code"), Rules: text("rules"), Project: text("project"), Memory: text("memory"), History: text("history"),
			Around: text("around"), Findings: text("findings"), Lazy: text("lazy"), Cascade: text("cascade"),
			Failure: agent.Failure{Text: text("failure")},
		}
		code, budget := b.Code, rapid.IntRange(0, 20000).Draw(t, "budget")
		_, err := b.Fit(budget)
		n := len(b.Code) + len(b.Rules) + len(b.Project) + len(b.Memory) + len(b.History) + len(b.Around) + len(b.Findings) + len(b.Lazy) + len(b.Cascade) + len(b.Failure.Text)
		if err == nil && n > budget {
			t.Fatalf("%d bytes are more than the budget of %d", n, budget)
		}
		if b.Code != code {
			t.Fatal("the code was cut")
		}
	})
}
