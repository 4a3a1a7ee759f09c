package run_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"agent/orchestrator/agent"
	"agent/orchestrator/ledger"
	"agent/orchestrator/run"
)

// text gives an export its content.
func text(s string) func(io.Writer) error {
	return func(w io.Writer) error {
		_, err := io.WriteString(w, s)
		return err
	}
}

// exported lists the directory of exports.
func exported(t *testing.T, root string) string {
	t.Helper()
	entries, err := os.ReadDir(filepath.Join(root, ".agent"))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return strings.Join(names, " ")
}

// content is the text of one file.
func content(t *testing.T, parts ...string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(parts...))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestAnExportTakesThePlaceOfTheOldOne(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	for _, want := range []string{"one\n", "two\n"} {
		if err := run.Export(root, "A.md", text(want)); err != nil || content(t, root, ".agent/A.md") != want {
			t.Errorf("%v", err)
		}
	}
	info, err := os.Stat(filepath.Join(root, ".agent"))
	if err != nil || info.Mode().Perm() != 0o755 || exported(t, root) != "A.md" {
		t.Errorf("%v, %v: %s", info.Mode(), err, exported(t, root))
	}
}

// What cannot be written in full leaves the old export, and nothing beside it.
func TestAnExportThatBreaksOffLeavesTheOldOne(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	if err := run.Export(root, "A.md", text("one\n")); err != nil {
		t.Fatal(err)
	}
	broken := errors.New("no more data")
	err := run.Export(root, "A.md", func(w io.Writer) error {
		return errors.Join(text(strings.Repeat("x", 1<<16))(w), broken)
	})
	if !errors.Is(err, broken) || !strings.Contains(err.Error(), "export .agent/A.md") {
		t.Error(err)
	}
	if content(t, root, ".agent/A.md") != "one\n" || exported(t, root) != "A.md" {
		t.Errorf("left is %s", exported(t, root))
	}
}

// A workspace may hold links in the place of exports: none is written through.
func TestAnExportFollowsNoLink(t *testing.T) {
	t.Parallel()
	for name, plant := range map[string]func(root, outside string) error{
		"the directory": func(root, outside string) error { return os.Symlink(outside, filepath.Join(root, ".agent")) },
		"inside of it": func(root, _ string) error {
			return errors.Join(os.Mkdir(filepath.Join(root, "src"), 0o755), os.Symlink("src", filepath.Join(root, ".agent")))
		},
		"a file": func(root, _ string) error { return os.WriteFile(filepath.Join(root, ".agent"), nil, 0o644) },
		"the export": func(root, outside string) error {
			return errors.Join(os.Mkdir(filepath.Join(root, ".agent"), 0o755), os.Symlink(filepath.Join(outside, "A.md"), filepath.Join(root, ".agent", "A.md")))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			root, outside := t.TempDir(), t.TempDir()
			if err := errors.Join(plant(root, outside), os.WriteFile(filepath.Join(outside, "A.md"), []byte("mine\n"), 0o644)); err != nil {
				t.Fatal(err)
			}
			err := run.Export(root, "A.md", text("one\n"))
			if link := name == "the export"; link != (err == nil) || !link && !strings.Contains(err.Error(), "no directory") {
				t.Error(err)
			}
			if content(t, outside, "A.md") != "mine\n" {
				t.Error("it was written outside of the workspace")
			}
			if entries, _ := os.ReadDir(filepath.Join(root, "src")); len(entries) > 0 {
				t.Errorf("it was written to %v", entries)
			}
		})
	}
}

func TestAnExportIsNamedPlainly(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	for _, name := range []string{"", ".", "..", "../A.md", "journal/A.md", "/A.md"} {
		if err := run.Export(root, name, text("one\n")); err == nil {
			t.Errorf("%q was written", name)
		}
	}
}

// What a killed process left unfinished goes with a later export; what another
// process is writing stays, and so does all else.
func TestUnfinishedExportsAreSwept(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	dir := filepath.Join(root, ".agent")
	old := time.Now().Add(-2 * time.Hour)
	for name, at := range map[string]time.Time{".A.md.aaa": old, ".A.md.bbb": time.Now(), ".B.md.ccc": old, "journal/x": old} {
		full := filepath.Join(dir, name)
		err := errors.Join(os.MkdirAll(filepath.Dir(full), 0o755), os.WriteFile(full, nil, 0o644), os.Chtimes(full, at, at))
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := run.Export(root, "A.md", text("one\n")); err != nil {
		t.Fatal(err)
	}
	if got := exported(t, root); got != ".A.md.bbb .B.md.ccc A.md journal" {
		t.Errorf("there are %s", got)
	}
}

func TestMemoryHistoryAndLedgerAreExported(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	k := notes{memory: "Rates are decimal.\n", history: []agent.Entry{
		{At: time.Unix(0, 0), Path: "a.py", Diff: "-x = 0\n+x = 1"}, {At: time.Unix(60, 0), Path: "b.py", Diff: "+y"},
	}}
	survey := run.Survey{Ledger: ledger.New([]ledger.File{{Path: "a.py", Language: "python"}}), Summaries: ledger.Summaries{Project: "A shop."}}
	err := errors.Join(run.ExportMemory(t.Context(), k, root), run.ExportHistory(t.Context(), k, root), run.ExportLedger(root, survey))
	if err != nil {
		t.Fatal(err)
	}
	if got := content(t, root, ".agent/MEMORY.md"); got != "Rates are decimal.\n" {
		t.Errorf("memory %q", got)
	}
	if got := content(t, root, ".agent/HISTORY.md"); strings.Count(got, "\n## ") != 1 || !strings.HasPrefix(got, "## 1970-01-01 00:00:00 - `a.py`") || !strings.Contains(got, "+y") {
		t.Errorf("history %q", got)
	}
	if got := content(t, root, ".agent/ANALYSIS.md") + content(t, root, ".agent/SYMBOLS.json"); strings.Count(got, "A shop.") != 2 {
		t.Errorf("ledger %q", got)
	}
	lost := errors.New("the record is away")
	err = run.ExportHistory(t.Context(), notes{historyErr: lost}, root)
	if !errors.Is(err, lost) || !errors.Is(run.ExportMemory(t.Context(), notes{memoryErr: lost}, root), lost) {
		t.Error(err)
	}
}

// queued is a Knowledge that keeps what is put into the queue.
type queued struct {
	run.Knowledge
	by   string
	list []run.Waiting
}

func (q *queued) Enqueue(_ context.Context, _, by string, list []run.Waiting) error {
	q.by, q.list = by, list
	return nil
}

// Each file waits with all of its causes and their diffs; the file that changed
// does not wait for itself.
func TestRipplesBecomeACascade(t *testing.T) {
	t.Parallel()
	gone := ledger.Change{Path: "tax.py", Definition: ledger.Definition{Name: "rate", Kind: ledger.Function}, Kind: ledger.Deleted}
	moved := ledger.Change{Path: "old.py", Definition: ledger.Definition{Name: "LIMIT", Kind: ledger.Constant}, Kind: ledger.Moved, To: "new.py"}
	ripples := []ledger.Ripple{{Path: "cart.py", Lines: []int{3}, Because: []ledger.Change{gone, moved}}, {Path: "tax.py", Because: []ledger.Change{gone}}}
	k := &queued{}
	if err := run.Cascade(t.Context(), k, "/w", "01run", map[string]string{"tax.py": "-def rate\n", "old.py": "-LIMIT\n"})(ripples); err != nil {
		t.Fatal(err)
	}
	want := "[{cart.py function rate of tax.py is gone\nconstant LIMIT of old.py is now in new.py -def rate\n-LIMIT [] 0001-01-01 00:00:00 +0000 UTC}]"
	if got := fmt.Sprint(k.list); got != want || k.by != "01run" {
		t.Errorf("by %s: %s", k.by, got)
	}
	k.list = nil
	if err := run.Cascade(t.Context(), k, "/w", "01run", nil)(ripples[1:]); err != nil || k.list != nil {
		t.Errorf("%v, %v", k.list, err)
	}
	if a, b := run.Label("edit"), run.Label("edit"); a == b || !strings.HasPrefix(a, "edit-") {
		t.Errorf("%s and %s", a, b)
	}
}
