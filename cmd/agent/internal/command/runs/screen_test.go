package runs

import (
	"fmt"
	"testing"
	"time"

	"agent/cmd/agent/internal/cmdline/cmdlinetest"
	"agent/cmd/agent/internal/term/termtest"
	"agent/orchestrator/run"
	"agent/verify"
)

// The test compares the list of runs at each width of terminal. It has no colours.
func TestTheScreenOfTheList(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 25, 4, 26, 0, 0, time.Local)
	rows := []Row{
		{Run: "1k3mzq8a0v2e", State: run.Verifying, Workspace: "/home/me/shop", Intent: "goal never go below zero", Started: at.Add(time.Hour)},
		{Run: "1k3mzq8a0v2d", State: run.Promoted, Verdict: verify.Pass, Workspace: "/home/me/shop", Intent: "patch good.xml", Started: at, Seconds: 12.4, UndoneBy: "1k3mzq8a0v2e", Unproven: []verify.Unproven{{Gate: "tests", Kind: "no-tests", Reason: "no test ran"}}},
		{Run: "1k3mzq8a0v2c", State: run.Rejected, Verdict: verify.Fail, Workspace: "/home/me/a/workspace/in/a/deep/directory", Intent: "patch breaks-\x1b[2Jcaller.xml", Started: at.Add(-time.Hour), Seconds: 183.1},
		{Run: "1k3mzq8a0v2b", State: run.Conflicted, Verdict: verify.Conflict, Workspace: "/home/me/shop", Intent: "patch -", Started: at.Add(-2 * time.Hour), Seconds: 9},
		// No one approved them: they passed, and are reported as such.
		{Run: "1k3mzq8a0v2a", State: run.Rejected, Verdict: verify.Policy, Workspace: "/home/me/shop", Intent: "patch fix.diff", Started: at.Add(-3 * time.Hour), Seconds: 21, Outcome: run.OutcomeAwaiting},
		{Run: "1k3mzq8a0v29", State: run.Rejected, Verdict: verify.Policy, Workspace: "/home/me/shop", Intent: "patch fix.diff", Started: at.Add(-4 * time.Hour), Seconds: 21, AppliedBy: "1k3mzq8a0v2a"},
		{Run: "1k3mzq8a0v28", State: run.Rejected, Verdict: verify.Policy, Workspace: "/home/me/shop", Intent: "patch ci.diff", Started: at.Add(-5 * time.Hour), Seconds: 21},
	}
	termtest.Screens(t, "screen-runs-list.txt", 24, func(columns int) string {
		p := cmdlinetest.NewPerson(t, map[string]string{"COLUMNS": fmt.Sprint(columns)})
		if err := (command{p.Line}).printRuns(rows); err != nil {
			t.Fatal(err)
		}
		p.Sees(t, "\n", len(rows)+1)
		return p.Screen()
	})
}
