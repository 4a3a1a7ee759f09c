package main

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"agent/orchestrator/run"
)

// aged returns a history whose runs ended a hundred days ago.
func aged(t *testing.T) pastRuns {
	t.Helper()
	h := newHistory(t)
	conn, err := pgx.Connect(t.Context(), h.env["AGENT_DATABASE_URL"])
	if err == nil {
		_, err = conn.Exec(t.Context(), `update run set ended = ended - interval '100 days'`)
		conn.Close(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func TestPruneAsksAndTells(t *testing.T) {
	t.Parallel()
	h := aged(t)
	for args, exit := range map[string]int{
		"":                              run.ExitUsage, // no age is given
		"--older-than 90d":              run.ExitApproval,
		"--older-than 23h --yes":        run.ExitUsage,
		"--older-than 0d --yes":         run.ExitUsage,
		"--older-than -3d --yes":        run.ExitUsage,
		"--older-than soon --yes":       run.ExitUsage,
		"--older-than 101d --yes":       run.ExitDone, // nothing is that old
		"--older-than 9999999999d -y":   run.ExitDone,
		"--older-than 90d --dry-run -y": run.ExitDone,
	} {
		h.ask(t, exit, append([]string{"db", "prune"}, strings.Fields(args)...)...)
	}
	if got := h.ask(t, run.ExitDone, "db", "prune", "--older-than", "90d", "--dry-run"); !strings.Contains(got.stdout, "would remove") || !strings.Contains(got.stdout, ": 1 run, ") {
		t.Errorf("it would do %q", got.stdout)
	}
	// A person says no, then yes; Enter means neither.
	for _, c := range []struct {
		typed string
		exit  int
		left  string
	}{{"\rn", run.ExitApproval, "2"}, {"n", run.ExitApproval, "2"}, {"y", run.ExitDone, "1"}} {
		p := aPerson(t, h.env)
		p.Types(t, "y\n") // typed ahead, which answers nothing
		got := make(chan int, 1)
		go func() { got <- executeOn(t, p.cmd, "db", "prune", "--older-than", "2160h") }()
		p.Sees(t, "[n]o", 1)
		p.Types(t, c.typed)
		if exit := <-got; exit != c.exit {
			t.Errorf("after %q: exit code %d, want %d\n%s", c.typed, exit, c.exit, p.Screen())
		}
		p.Sees(t, "Remove 1 run, 0 requests", 1)
		if got := h.ask(t, run.ExitDone, "sql", "--csv", "select count(*) as n from v_runs"); got.stdout != "n\n"+c.left+"\n" {
			t.Errorf("after %q: %q runs", c.typed, got.stdout)
		}
	}
	// What was promoted is still there, and can be undone.
	h.ask(t, run.ExitDone, "undo", promotedRun, "--yes")
}

func TestPruneTellsProgramsWhatItDid(t *testing.T) {
	t.Parallel()
	h := aged(t)
	for _, c := range []struct {
		args []string
		runs float64
		dry  bool
	}{{[]string{"--dry-run"}, 1, true}, {[]string{"--yes"}, 1, false}, {[]string{"--yes"}, 0, false}} {
		got := h.ask(t, run.ExitDone, append([]string{"db", "prune", "--older-than", "90d", "--json"}, c.args...)...)
		var doc map[string]any
		if err := json.Unmarshal([]byte(got.stdout), &doc); err != nil {
			t.Fatalf("%v\n%s", err, got.stdout)
		}
		before, err := time.Parse(time.RFC3339, doc["before"].(string))
		if err != nil || time.Since(before) < 90*24*time.Hour {
			t.Errorf("before is %v, %v", doc["before"], err)
		}
		if doc["runs"] != c.runs || doc["dry_run"] != c.dry || (doc["bytes"] != 0.0) != (c.runs > 0) {
			t.Errorf("%v: %v", c.args, doc)
		}
	}
}
