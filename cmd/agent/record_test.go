package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"agent/cmd/agent/internal/cmdline"
	"agent/cmd/agent/internal/command/runs"
	"agent/cmd/agent/internal/term/termtest"
	"agent/orchestrator/edit"
	"agent/orchestrator/edit/match"
	"agent/orchestrator/gate"
	"agent/orchestrator/run"
	"agent/orchestrator/store"
	"agent/orchestrator/store/storetest"
	"agent/sandbox"
	"agent/sandbox/workspace"
	"agent/verify"
	"agent/verify/policy"
)

// A pastRuns is a record with runs, and the workspace that they ran on. Neither making nor reading it needs an engine.
type pastRuns struct {
	db  *store.DB
	env map[string]string
	dir string
}

// These are the names of runs in the histories, the older one first.
const (
	promotedRun = "1k3aaaaaaaaa"
	rejectedRun = "1k3bbbbbbbbb"
)

// aChange returns a changeset that modifies shop.py and deletes a file.
func aChange() workspace.Changeset {
	return workspace.Changeset{Changes: []workspace.Change{
		{Op: workspace.Delete, Path: "old.py", Before: []byte("print('old')\n"), Mode: 0o644},
		{Op: workspace.Modify, Path: "shop.py", Before: []byte("price = 1\n"), After: []byte("price = 2\n"), Mode: 0o755},
	}}
}

// newHistory records one promoted and one rejected run. The workspace is in the state that the promoted one left.
func newHistory(t *testing.T) pastRuns {
	t.Helper()
	db, url := storetest.Warm(t)
	dir := cmdline.Resolved(t.TempDir())
	h := pastRuns{db: db, dir: dir, env: map[string]string{
		"AGENT_DATABASE_URL": url, "AGENT_WORKSPACE": dir, "XDG_CONFIG_HOME": t.TempDir(), "AGENT_GUEST": os.Getenv("AGENT_GUEST"),
	}}
	h.write(t, "shop.py", "price = 2\n", 0o755)

	cs := aChange()
	h.begin(t, promotedRun, run.Analyzing, run.Verifying)
	h.candidate(t, promotedRun, gate.Candidate{
		Verdict: verify.Pass, Digest: cs.Digest(), Diff: cs.Diff(), Changeset: cs, Thought: "cheaper",
		Edits:    []edit.Applied{{Block: 1, Path: "shop.py", Strategy: match.Exact, Line: 1}},
		Gates:    []verify.Gate{{Name: "lint", Verdict: verify.Pass, Seconds: 0.25, Tool: "ruff 0.16.10"}},
		Unproven: []verify.Unproven{},
	})
	h.step(t, promotedRun, run.AwaitingApproval, run.Promoting)
	if err := h.db.SavePromotion(t.Context(), promotedRun, 1, run.Promotion{Status: run.Committed, Approved: "--yes", Changeset: cs}); err != nil {
		t.Fatal(err)
	}
	h.step(t, promotedRun, run.Promoted)
	h.end(t, promotedRun, run.Ending{State: run.Promoted, Verdict: verify.Pass})

	h.begin(t, rejectedRun, run.Analyzing, run.Verifying)
	h.candidate(t, rejectedRun, gate.Candidate{
		Verdict: verify.Fail, Digest: "abc", Diff: termtest.Diff,
		Gates:   []verify.Gate{{Name: "types", Verdict: verify.Fail, Seconds: 1.5, Findings: []verify.Finding{{File: "shop.py", Line: 3, Rule: "arg-type", Message: "wrong \x1b[31mtype"}}}},
		Skipped: []verify.Skip{{Name: "tests", Reason: "there are none"}},
		Holds:   []policy.Hold{ciHold},
	})
	h.end(t, rejectedRun, run.Ending{
		State: run.Rejected, Verdict: verify.Fail, Exit: run.ExitFail,
		Error: &run.Problem{Kind: "patch", Message: "the patch failed", Next: "mend it"},
	})
	return h
}

func (h pastRuns) write(t *testing.T, name, text string, mode fs.FileMode) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(h.dir, name), []byte(text), mode); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(filepath.Join(h.dir, name), mode); err != nil {
		t.Fatal(err)
	}
}

func (h pastRuns) begin(t *testing.T, id string, states ...run.State) {
	t.Helper()
	err := h.db.Create(t.Context(), run.Record{
		ID: id, Workspace: h.dir, Intent: "patch " + id[:4] + ".xml", Patch: []byte("<EDIT>"),
		Owner: sandbox.Owner(), Token: 1, State: run.Queued, Started: time.Now(),
	})
	if err != nil {
		t.Fatal(err)
	}
	h.step(t, id, states...)
}

func (h pastRuns) step(t *testing.T, id string, states ...run.State) {
	t.Helper()
	for _, s := range states {
		if err := h.db.Advance(t.Context(), id, 1, s, "on the way", ""); err != nil {
			t.Fatal(err)
		}
	}
}

func (h pastRuns) candidate(t *testing.T, id string, c gate.Candidate) {
	t.Helper()
	if err := h.db.SaveCandidate(t.Context(), id, 1, c); err != nil {
		t.Fatal(err)
	}
}

func (h pastRuns) end(t *testing.T, id string, end run.Ending) {
	t.Helper()
	if err := h.db.Finish(t.Context(), id, 1, end); err != nil {
		t.Fatal(err)
	}
}

// ask runs a command on the history and expects this exit code.
func (h pastRuns) ask(t *testing.T, exit int, args ...string) execution {
	t.Helper()
	got := commandIn(t, h.env, args...)
	if got.exit != exit {
		t.Fatalf("agent %v: exit code %d, want %d\n%s%s", args, got.exit, exit, got.stdout, got.stderr)
	}
	return got
}

// timeless replaces everything that differs from run to run, for golden files.
func (h pastRuns) timeless(text string) string {
	text = strings.ReplaceAll(text, h.dir, "/home/me/shop")
	text = regexp.MustCompile(`\d{4}-\d\d-\d\d \d\d:\d\d:\d\d`).ReplaceAllString(text, "2026-11-21 12:00:00")
	text = regexp.MustCompile(`(?m)^ +\d+\.\ds  `).ReplaceAllString(text, "     0.0s  ")
	return regexp.MustCompile(`(12:00:00 +)\d+\.\d `).ReplaceAllString(text, "${1}0.0 ")
}

func TestTheRecordIsShownToPeople(t *testing.T) {
	t.Parallel()
	h := newHistory(t)
	for name, args := range map[string][]string{
		"runs-list.txt":          {"runs", "list"},
		"runs-show-latest.txt":   {"runs", "show"},
		"runs-show-promoted.txt": {"runs", "show", promotedRun},
	} {
		termtest.Golden(t, name, h.timeless(h.ask(t, run.ExitDone, args...).stdout))
	}
}

func TestTheRecordIsShownToPrograms(t *testing.T) {
	t.Parallel()
	h := newHistory(t)
	var rows []map[string]any
	if err := json.Unmarshal([]byte(h.ask(t, run.ExitDone, "runs", "list", "--json").stdout), &rows); err != nil {
		t.Fatal(err)
	}
	if len(rows) != 2 || rows[0]["run"] != rejectedRun || rows[0]["exit"] != 1.0 || rows[1]["promoted"] != true || rows[1]["error"] != nil {
		t.Errorf("the list is %v", rows)
	}
	for _, id := range []string{promotedRun, rejectedRun} {
		text := h.ask(t, run.ExitDone, "runs", "show", "--json", id).stdout
		var doc struct {
			run.Document
			Exit   *int
			States []struct{ State run.State }
		}
		if err := json.Unmarshal([]byte(text), &doc); err != nil {
			t.Fatal(err)
		}
		if doc.Run != id || doc.Exit == nil || len(doc.Candidates) != 1 || len(doc.States) < 3 || doc.States[0].State != run.Queued {
			t.Errorf("%s is shown as\n%s", id, text)
		}
		if (doc.Promotion != nil) != (id == promotedRun) {
			t.Errorf("%s has the promotion %+v", id, doc.Promotion)
		}
		for _, list := range []string{"candidates", "gates", "findings", "old_findings", "skipped", "holds", "edits"} {
			if strings.Contains(text, fmt.Sprintf("%q: null", list)) {
				t.Errorf("%s: %s is null and not an empty list", id, list)
			}
		}
	}
}

func TestARunIsNamedByItsBeginning(t *testing.T) {
	t.Parallel()
	h := newHistory(t)
	for args, want := range map[string]struct {
		exit int
		text string
	}{
		"runs show 1k3a":  {run.ExitDone, promotedRun},
		"runs show 1k3":   {run.ExitUsage, "type more of the run's name"},
		"runs show zzz":   {run.ExitUsage, `no run has a name that begins or ends with "zzz"`},
		"runs show":       {run.ExitDone, rejectedRun},
		"runs diff 1k3b":  {run.ExitDone, "+++ b/shop/stock.py"},
		"runs diff 1k3a":  {run.ExitDone, "+price = 2"},
		"undo 1k3b --yes": {run.ExitUsage, "promoted nothing"},
		"undo zzz --yes":  {run.ExitUsage, "no run has a name"},
	} {
		got := h.ask(t, want.exit, strings.Fields(args)...)
		if !strings.Contains(got.stdout+got.stderr, want.text) {
			t.Errorf("agent %s does not say %q:\n%s%s", args, want.text, got.stdout, got.stderr)
		}
	}
}

func TestTheListIsFiltered(t *testing.T) {
	t.Parallel()
	h := newHistory(t)
	for args, want := range map[string]int{
		"":                           2,
		"--state rejected":           1,
		"--state conflict":           0,
		"--limit 1":                  1,
		"--workspace " + h.dir:       2,
		"--workspace " + t.TempDir(): 0,
	} {
		var rows []runs.Row
		got := h.ask(t, run.ExitDone, append([]string{"runs", "list", "--json"}, strings.Fields(args)...)...)
		if err := json.Unmarshal([]byte(got.stdout), &rows); err != nil || len(rows) != want {
			t.Errorf("runs list %s: %d runs, want %d (%v)", args, len(rows), want, err)
		}
	}
	if got := h.ask(t, run.ExitDone, "runs", "list", "--state", "conflict"); got.stdout != "" || got.stderr == "" {
		t.Errorf("an empty list prints %q on stdout and %q on stderr", got.stdout, got.stderr)
	}
}

func TestARecordedDiffAppliesWithGit(t *testing.T) {
	t.Parallel()
	h := newHistory(t)
	h.write(t, "shop.py", "price = 1\n", 0o755)
	h.write(t, "old.py", "print('old')\n", 0o644)
	cmd := exec.Command("git", "apply")
	cmd.Dir, cmd.Stdin = h.dir, strings.NewReader(h.ask(t, run.ExitDone, "runs", "diff", promotedRun).stdout)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("git apply: %v\n%s", err, out)
	}
	if data, err := os.ReadFile(filepath.Join(h.dir, "shop.py")); err != nil || string(data) != "price = 2\n" {
		t.Errorf("shop.py is %q, %v", data, err)
	}
	if _, err := os.Stat(filepath.Join(h.dir, "old.py")); err == nil {
		t.Error("old.py is still there")
	}
}

func TestUndoPutsEveryFileBack(t *testing.T) {
	t.Parallel()
	h := newHistory(t)
	h.ask(t, run.ExitApproval, "undo", "--workspace", h.dir)
	got := h.ask(t, run.ExitDone, "undo", "--workspace", h.dir, "--yes", "--json")
	var doc run.Document
	if err := json.Unmarshal([]byte(got.stdout), &doc); err != nil || doc.State != run.Promoted || len(doc.Promotion.Files) != 2 {
		t.Fatalf("%v\n%s", err, got.stdout)
	}
	for name, want := range map[string]struct {
		text string
		mode fs.FileMode
	}{"shop.py": {"price = 1\n", 0o755}, "old.py": {"print('old')\n", 0o644}} {
		path := filepath.Join(h.dir, name)
		data, err := os.ReadFile(path)
		if err != nil || string(data) != want.text {
			t.Errorf("%s is %q, %v", name, data, err)
		}
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != want.mode {
			t.Errorf("%s has mode %v, want %v", name, info.Mode(), want.mode)
		}
	}
	if got := h.ask(t, run.ExitUsage, "undo", promotedRun, "--yes"); !strings.Contains(got.stderr, "was already undone by run "+doc.Run) {
		t.Errorf("a second undo says %q", got.stderr)
	}
	if got := h.ask(t, run.ExitUsage, "undo", "--workspace", h.dir, "--yes"); !strings.Contains(got.stderr, "nothing to undo") {
		t.Errorf("an undo of nothing says %q", got.stderr)
	}
	if got := h.ask(t, run.ExitDone, "runs", "list"); !strings.Contains(got.stdout, "promoted (undone)") {
		t.Errorf("the list does not say that it was undone:\n%s", got.stdout)
	}
	// An undo is a promotion, and can be undone the same way.
	h.ask(t, run.ExitDone, "undo", doc.Run, "--yes")
	if data, err := os.ReadFile(filepath.Join(h.dir, "shop.py")); err != nil || string(data) != "price = 2\n" {
		t.Errorf("after the undo of the undo shop.py is %q, %v", data, err)
	}
}

func TestUndoKeepsWhatTheUserChangedSince(t *testing.T) {
	t.Parallel()
	h := newHistory(t)
	h.write(t, "shop.py", "price = 3  # my own\n", 0o755)
	got := h.ask(t, run.ExitConflict, "undo", "--workspace", h.dir, "--yes")
	if !strings.HasPrefix(got.stdout, "conflict  ") || strings.Count(got.stdout, "conflict") != 1 || !strings.Contains(got.stdout, "shop.py") {
		t.Errorf("the conflict does not name the file:\n%s", got.stdout)
	}
	if data, err := os.ReadFile(filepath.Join(h.dir, "shop.py")); err != nil || string(data) != "price = 3  # my own\n" {
		t.Errorf("shop.py is %q, %v", data, err)
	}
	if _, err := os.Stat(filepath.Join(h.dir, "old.py")); err == nil {
		t.Error("half of the undo was written")
	}
}

func TestARunOfADeadProcessIsSettledByAnyCommand(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"runs", "list"}, {"sql", "select 1"}, {"sandbox", "ls"}} {
		h := newHistory(t)
		// The owner is a process that ended: its number may be reused, its start time cannot.
		dead := exec.Command(agentProgram, "version")
		if err := dead.Run(); err != nil {
			t.Fatal(err)
		}
		owner := regexp.MustCompile(fmt.Sprintf(`/%d/`, os.Getpid())).ReplaceAllString(sandbox.Owner(), fmt.Sprintf("/%d/", dead.Process.Pid))
		const id = "1k3ccccccccc"
		err := h.db.Create(t.Context(), run.Record{ID: id, Workspace: h.dir, Intent: "patch", Owner: owner, Token: 1, State: run.Queued, Started: time.Now()})
		if err != nil {
			t.Fatal(err)
		}
		if got := h.ask(t, run.ExitDone, args...); !strings.Contains(got.stderr, "cleaned up after interrupted run "+id) {
			t.Errorf("agent %v does not settle it, owner %s:\n%s", args, owner, got.stderr)
		}
		if d, err := h.db.Run(t.Context(), id); err != nil || d.State != run.Failed {
			t.Errorf("after agent %v the run is %s, %v", args, d.State, err)
		}
	}
}

func TestTheRecordIsReadOnly(t *testing.T) {
	t.Parallel()
	h := newHistory(t)
	for _, query := range []string{"delete from run", "drop view v_runs", "select * from blob", "select 1; select 2", "nonsense", "update v_runs set state = 'done'"} {
		if got := h.ask(t, run.ExitUsage, "sql", query); got.stdout != "" || !strings.Contains(got.stderr, "next: ") {
			t.Errorf("%q prints %q and says %q", query, got.stdout, got.stderr)
		}
	}
	if got := h.ask(t, run.ExitDone, "sql", "--csv", "select count(*) as runs from v_runs"); got.stdout != "runs\n2\n" {
		t.Errorf("it says %q", got.stdout)
	}
}

func TestTheViewsAreExplained(t *testing.T) {
	t.Parallel()
	h := newHistory(t)
	got := h.ask(t, run.ExitDone, "sql")
	for _, view := range []string{"v_runs", "v_gates", "v_promotions", "v_findings"} {
		if !regexp.MustCompile(`(?m)^` + view + `\n  \S.*\?`).MatchString(got.stdout) {
			t.Errorf("%s is not listed with the question it answers:\n%s", view, got.stdout)
		}
	}
	// The examples in the help are working queries.
	for _, line := range regexp.MustCompile(`(?m)^  agent sql (?:--csv )?'(.*)'$`).FindAllStringSubmatch(got.stdout, -1) {
		h.ask(t, run.ExitDone, "sql", line[1])
	}
}

func TestTheListFitsTheTerminal(t *testing.T) {
	t.Parallel()
	h := newHistory(t)
	p := aPerson(t, map[string]string{"COLUMNS": "36", "AGENT_DATABASE_URL": h.env["AGENT_DATABASE_URL"], "AGENT_GUEST": h.env["AGENT_GUEST"]})
	var stderr bytes.Buffer
	p.cmd.Stderr = &stderr
	p.cmd.Stdin = strings.NewReader("")
	if exit := executeOn(t, p.cmd, "runs", "list", "--all"); exit != run.ExitDone {
		t.Fatalf("exit code %d\n%s", exit, &stderr)
	}
	p.Sees(t, "…", 2)
	for _, line := range strings.Split(p.Screen(), "\n") {
		if n := len([]rune(strings.TrimRight(line, "\r"))); n > 36 {
			t.Errorf("%d columns: %q", n, line)
		}
	}
}

// executeOn runs a command on the streams of c.
func executeOn(t *testing.T, c *cmdline.Line, args ...string) int {
	t.Helper()
	return execute(t.Context(), args, c.Getenv, c.Stdin, c.Stdout, c.Stderr)
}
