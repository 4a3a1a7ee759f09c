package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"agent/orchestrator/run"
	"agent/orchestrator/store/storetest"
)

// These count the findings in oldShop: 25 files with eight findings of the linter and two of the type checker each.
const (
	oldLint  = 200
	oldTypes = 50
)

// oldShop writes a workspace that no tool accepts. Within a file the linter's findings are on identical lines.
func oldShop(t *testing.T) (dir string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "shop")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for i := range 25 {
		var text strings.Builder
		text.WriteString("def price() -> int:\n    return 1\n")
		for j := range 8 {
			fmt.Fprintf(&text, "\n\ndef part_%d() -> None:\n    unused = 1\n", j)
		}
		text.WriteString("\n\nname: int = \"wrong\"\ntotal: str = price()\n")
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("old_%02d.py", i)), []byte(text.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// insert returns a patch that inserts text after the first function of a file of oldShop.
func insert(t *testing.T, file, text string) (patch string) {
	t.Helper()
	patch = filepath.Join(t.TempDir(), "patch.xml")
	edit := fmt.Sprintf("<EDIT file=%q>\n<SEARCH>\n    return 1\n</SEARCH>\n<REPLACE>\n    return 1\n\n\n%s\n</REPLACE>\n</EDIT>\n", file, text)
	if err := os.WriteFile(patch, []byte(edit), 0o644); err != nil {
		t.Fatal(err)
	}
	return patch
}

// A repository full of old findings can be improved. A patch that adds a finding is refused and gets only the new
// finding, in every form of the result.
func TestOldTroubleIsNotHeldAgainstAPatch(t *testing.T) {
	t.Parallel()
	_, url := storetest.Warm(t)
	env := map[string]string{"AGENT_DATABASE_URL": url, "AGENT_GUEST": os.Getenv("AGENT_GUEST")}
	dir := oldShop(t)

	clean := insert(t, "old_07.py", "def tax() -> int:\n    return price() * 2")
	got := commandIn(t, env, "sandbox", "run", "-w", dir, "--patch", clean, "--yes", "--json", "--allow", "unproven")
	var doc run.Document
	if err := json.Unmarshal([]byte(got.stdout), &doc); err != nil || got.exit != run.ExitDone || doc.State != run.Promoted {
		t.Fatalf("the clean patch: exit code %d, %v\n%s%s", got.exit, err, got.stdout, got.stderr)
	}
	for _, g := range doc.Candidates[0].Gates {
		if want := map[string]int{"lint": oldLint, "types": oldTypes}[g.Name]; g.Old != want || len(g.Findings) > 0 {
			t.Errorf("%s: %d old and %d new findings, want %d and none", g.Name, g.Old, len(g.Findings), want)
		}
	}

	// The new line comes before eight old ones with the same text.
	spoilt := insert(t, "old_03.py", "def spoilt() -> None:\n    unused = 1")
	got = commandIn(t, env, "sandbox", "run", "-w", dir, "--patch", spoilt, "--yes")
	if got.exit != run.ExitFail {
		t.Fatalf("the patch with a new finding: exit code %d\n%s%s", got.exit, got.stdout, got.stderr)
	}
	const place = "old_03.py:6:5: F841 "
	if n := strings.Count(got.stdout, "F841"); n != 1 || !strings.Contains(got.stdout, place) || !strings.Contains(got.stdout, "1 new, 200 old") {
		t.Errorf("shown are %d findings, want %q alone beside 200 old:\n%s", n, place, got.stdout)
	}
	shown := commandIn(t, env, "runs", "show", "--all", "--json")
	doc = run.Document{}
	if err := json.Unmarshal([]byte(shown.stdout), &doc); err != nil {
		t.Fatalf("%v\n%s%s", err, shown.stdout, shown.stderr)
	}
	var fresh []string
	for _, g := range doc.Candidates[0].Gates {
		for _, f := range g.Findings {
			fresh = append(fresh, fmt.Sprintf("%s %s:%d %s", g.Name, f.File, f.Line, f.Rule))
		}
	}
	if list := strings.Join(fresh, "\n"); list != "lint old_03.py:6 F841" {
		t.Errorf("the document holds against the patch:\n%s", list)
	}
	rows := commandIn(t, env, "sql", "--csv", "select gate, file, line, rule from v_findings where not old")
	if want := "gate,file,line,rule\nlint,old_03.py,6,F841\n"; rows.stdout != want {
		t.Errorf("v_findings has, as not old, %q, want %q", rows.stdout+rows.stderr, want)
	}
}
