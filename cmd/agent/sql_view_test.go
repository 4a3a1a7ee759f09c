package main

import (
	"encoding/csv"
	"os"
	"os/exec"
	"strings"
	"testing"

	"agent/orchestrator/run"
	"agent/orchestrator/store/storetest"
)

// long returns a history of two hundred runs.
func long(t *testing.T) pastRuns {
	t.Helper()
	url := storetest.Past(t, 1000)
	return pastRuns{env: map[string]string{"AGENT_DATABASE_URL": url, "XDG_CONFIG_HOME": t.TempDir(), "AGENT_GUEST": os.Getenv("AGENT_GUEST")}}
}

func TestAViewIsShownByItsName(t *testing.T) {
	t.Parallel()
	h := long(t)
	h.ask(t, run.ExitDone, "runs", "list") // settles the run of a dead process, and says so
	for view, want := range map[string]struct {
		rows        int
		first, last string
		more        bool
	}{
		"v_runs":       {100, storetest.RunName(200), storetest.RunName(101), true},
		"v_gates":      {100, storetest.RunName(200) + "|1|5", storetest.RunName(181) + "|1|1", true},
		"v_promotions": {50, storetest.RunName(200), storetest.RunName(4), false},
		"v_cascade":    {0, "", "", false},
	} {
		got := h.ask(t, run.ExitDone, "sql", "--csv", view)
		lines, err := csv.NewReader(strings.NewReader(got.stdout)).ReadAll()
		if err != nil || len(lines) != want.rows+1 {
			t.Fatalf("%s: %d lines, %v", view, len(lines), err)
		}
		first, last := strings.Join(lines[1%len(lines)], "|"), strings.Join(lines[want.rows], "|")
		if want.rows > 0 && (!strings.HasPrefix(first, want.first) || !strings.HasPrefix(last, want.last)) {
			t.Errorf("%s: from %s to %s", view, first, last)
		}
		if more := strings.Contains(got.stderr, "showing the first 100 rows"); more != want.more {
			t.Errorf("%s says %q", view, got.stderr)
		}
	}
	// A user's own query is never cut, and an unknown view is reported.
	if got := h.ask(t, run.ExitDone, "sql", "--csv", "table v_runs"); strings.Count(got.stdout, "\n") != 201 || got.stderr != "" {
		t.Errorf("%d lines of a query, which says %q", strings.Count(got.stdout, "\n"), got.stderr)
	}
	for args, want := range map[string]string{
		"v_rums": "did you mean `agent sql v_runs`", "v_nothing_of_that_kind": "`agent sql --json` lists", "run": "syntax error",
	} {
		if got := h.ask(t, run.ExitUsage, "sql", args); !strings.Contains(got.stderr, want) {
			t.Errorf("%s says %q", args, got.stderr)
		}
	}
	// The user sets the time limit of a query.
	if got := h.ask(t, run.ExitUsage, "sql", "--timeout", "20ms", "select pg_sleep(600)"); !strings.Contains(got.stderr, "stopped after 20ms") {
		t.Errorf("it says %q", got.stderr)
	}
	for _, text := range []string{"0s", "-1s", "1us", "soon"} {
		h.ask(t, run.ExitUsage, "sql", "--timeout", text, "select 1")
	}
}

// On a terminal, views are queried in psql if it is installed, without permission to write.
func TestAPersonAsksInPsql(t *testing.T) {
	t.Parallel()
	h := newHistory(t)
	p := aPerson(t, h.env)
	if _, err := exec.LookPath("psql"); err != nil {
		if exit := executeOn(t, p.cmd, "sql"); exit != run.ExitDone {
			t.Errorf("exit code %d\n%s", exit, p.Screen())
		}
		p.Sees(t, "v_stuck", 1)
		return
	}
	done := make(chan int)
	go func() { done <- executeOn(t, p.cmd, "sql") }()
	p.Types(t, "\\pset pager off\n\\pset format unaligned\n")
	p.Types(t, "select 'there are ' || count(*), current_user, current_setting('statement_timeout') from v_runs;\n")
	p.Sees(t, "there are 2|agent_reader|30s", 1)
	p.Types(t, "select * from run;\n")
	p.Sees(t, "permission denied for table run", 1)
	p.Types(t, "create temporary table mine (n int);\n")
	p.Sees(t, "read-only transaction", 1)
	p.Types(t, "reset role; table run;\n") // returns to the role with which the session began
	p.Sees(t, "permission denied for table run", 2)
	p.Types(t, "\\q\n")
	if exit := <-done; exit != run.ExitDone {
		t.Errorf("exit code %d\n%s", exit, p.Screen())
	}
	// With --json it prints the list even on a terminal.
	if exit := executeOn(t, p.cmd, "sql", "--json"); exit != run.ExitDone {
		t.Errorf("exit code %d\n%s", exit, p.Screen())
	}
	p.Sees(t, `"v_stuck"`, 1)
}
