package export_test

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"agent/orchestrator/agent"
	"agent/orchestrator/export"
	"agent/orchestrator/ledger"
	"agent/orchestrator/survey"
)

// text returns a function that writes s as the content of an export.
func text(s string) func(io.Writer) error {
	return func(w io.Writer) error {
		_, err := io.WriteString(w, s)
		return err
	}
}

// exported lists the files in the directory of exports.
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

// content returns the text of a file.
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
		if err := export.File(root, "A.md", text(want)); err != nil || content(t, root, ".agent/A.md") != want {
			t.Errorf("%v", err)
		}
	}
	info, err := os.Stat(filepath.Join(root, ".agent"))
	if err != nil || info.Mode().Perm() != 0o755 || exported(t, root) != "A.md" {
		t.Errorf("%v, %v: %s", info.Mode(), err, exported(t, root))
	}
}

// If an export cannot be written completely, the old one stays, and nothing is left next to it.
func TestAnExportThatBreaksOffLeavesTheOldOne(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	if err := export.File(root, "A.md", text("one\n")); err != nil {
		t.Fatal(err)
	}
	broken := errors.New("no more data")
	err := export.File(root, "A.md", func(w io.Writer) error {
		return errors.Join(text(strings.Repeat("x", 1<<16))(w), broken)
	})
	if !errors.Is(err, broken) || !strings.Contains(err.Error(), "export .agent/A.md") {
		t.Error(err)
	}
	if content(t, root, ".agent/A.md") != "one\n" || exported(t, root) != "A.md" {
		t.Errorf("left is %s", exported(t, root))
	}
}

// A workspace may contain links in place of exports: none is followed.
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
			err := export.File(root, "A.md", text("one\n"))
			if link := name == "the export"; link != (err == nil) || !link && !strings.Contains(err.Error(), "not a directory") {
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
		if err := export.File(root, name, text("one\n")); err == nil {
			t.Errorf("%q was written", name)
		}
	}
}

// The unfinished files of a killed process are removed by a later export. Files that another process is writing stay, and so does
// everything else.
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
	if err := export.File(root, "A.md", text("one\n")); err != nil {
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
	found := survey.Survey{Ledger: ledger.New([]ledger.File{{Path: "a.py", Language: "python"}}), Summaries: ledger.Summaries{Project: "A shop."}}
	err := errors.Join(export.Memory(t.Context(), k, root), export.History(t.Context(), k, root), export.Ledger(root, found))
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
	err = export.History(t.Context(), notes{historyErr: lost}, root)
	if !errors.Is(err, lost) || !errors.Is(export.Memory(t.Context(), notes{memoryErr: lost}, root), lost) {
		t.Error(err)
	}
}

// notes is a record with a memory and a history.
type notes struct {
	memory                string
	history               []agent.Entry
	memoryErr, historyErr error
}

func (n notes) Memory(context.Context, string) (agent.Memory, error) {
	return agent.Memory{Text: n.memory}, n.memoryErr
}

func (n notes) History(context.Context, string, int) ([]agent.Entry, error) {
	return n.history, n.historyErr
}
