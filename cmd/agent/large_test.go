package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	contextcmd "agent/cmd/agent/internal/command/context"
	"agent/orchestrator/llm"
	"agent/orchestrator/llm/llmtest"
	"agent/orchestrator/run"
)

// configure writes the user's configuration file.
func (h *household) configure(t *testing.T, text string) {
	t.Helper()
	dir := filepath.Join(h.home, "agent")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "config.toml"), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// enlarge adds 5,000 files with long paths to the workspace, and a file of 2 MiB whose last third defines a view. It
// returns the text of that file.
func (h *household) enlarge(t *testing.T) string {
	t.Helper()
	for i := range 5000 {
		dir := filepath.Join(h.work, fmt.Sprintf("packages/of-a-rather-long-name-%03d/internal/and-a-deeper-directory", i%50))
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("module_%04d.sql", i)), []byte("select 1;\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	var b strings.Builder
	for i := 1; b.Len() < 2<<20; i++ {
		if i == 30_000 {
			b.WriteString("create view answer_of_all as select 41;\n")
		}
		fmt.Fprintf(&b, "-- line %d of a file that is long\n", i)
	}
	text := b.String()[:2<<20-1] + "\n"
	if err := os.WriteFile(filepath.Join(h.work, "ledger.sql"), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return text
}

var (
	fenceWord = regexp.MustCompile(`[0-9a-f]{32}`)
	theFile   = regexp.MustCompile(`(?s)The file, sql:\n.*`)
)

// A workspace with 5,000 files and a file of 2 MiB works with the smallest context: the questions fit, `agent context`
// shows the same question, and the edit leaves the rest of the file intact.
func TestALargeWorkspaceFitsASmallModel(t *testing.T) {
	t.Parallel()
	for _, window := range []int{4096, 32_000} {
		t.Run(fmt.Sprint(window), func(t *testing.T) {
			t.Parallel()
			h := newHousehold(t, "ollama")
			h.configure(t, fmt.Sprintf("[ollama]\ncontext = %d\n", window))
			text := h.enlarge(t)
			h.model.Choose(func(q llmtest.Request) llmtest.Step {
				if strings.HasPrefix(q.Messages[0].Text, "Which files of this project must change") {
					return llmtest.Step{Text: "ledger.sql"}
				}
				return llmtest.Step{Text: "<THOUGHT>\none more\n</THOUGHT>\n<EDIT file=\"ledger.sql\">\n<SEARCH>\ncreate view answer_of_all as select 41;\n</SEARCH>\n" +
					"<REPLACE>\ncreate view answer_of_all as select 42;\n</REPLACE>\n</EDIT>\n"}
			})
			const goal = "let answer_of_all in ledger.sql be 42"
			shown, _ := h.exits(t, run.ExitDone, "context", "ledger.sql", "--workspace", h.work, "--goal", goal, "--json")
			var doc contextcmd.Document
			if err := json.Unmarshal([]byte(shown), &doc); err != nil {
				t.Fatal(err)
			}
			h.exits(t, run.ExitDone, "sandbox", "run", "--workspace", h.work, "--goal", goal, "--yes", "--json")
			got, err := os.ReadFile(filepath.Join(h.work, "ledger.sql"))
			if err != nil || string(got) != strings.Replace(text, "select 41;", "select 42;", 1) {
				t.Errorf("the file has %d bytes: %v", len(got), err)
			}
			asked := h.model.Requests()
			for i, q := range asked {
				if n := llm.Estimate(q.System, q.Messages[0].Text).N; n > window*3/4 || q.Context != window {
					t.Errorf("question %d has %d tokens of a context of %d", i+1, n, q.Context)
				}
			}
			first, second := asked[0].Messages[0].Text, asked[1].Messages[0].Text
			if !strings.Contains(first, " files\nledger.sql\n") || !strings.Contains(first, "more files of the project are left out") {
				t.Errorf("the first question does not begin its list with the file that the goal names:\n%.300s", first)
			}
			for name, q := range map[string]string{"the question": second, "the context": doc.Text} {
				if !strings.Contains(q, "create view answer_of_all as select 41;\n") || !strings.Contains(q, "# ... omitted lines ") || !strings.Contains(q, "Not all of this fits here: ledger.sql.") {
					t.Errorf("%s does not show the file in parts", name)
				}
			}
			if len(doc.Cuts) == 0 || doc.Cuts[0].From != len(text) || len(doc.Cuts) != 1 {
				t.Errorf("the context says that it cut %+v", doc.Cuts)
			}
			// What is known of the project takes up room in a run's question, so only the form is compared.
			like := func(q string) string { return fenceWord.ReplaceAllString(theFile.FindString(q), "")[:60] }
			if like(second) != like(doc.Text) {
				t.Errorf("the run asks %q, the context shows %q", like(second), like(doc.Text))
			}
		})
	}
}

// A context too small for any question ends the run with the exit code of a budget and the name of the setting. A file
// that no patch may write is a usage error. Neither is infra.
func TestWhatCannotBeAskedSaysWhy(t *testing.T) {
	t.Parallel()
	h := newHousehold(t, "ollama")
	h.configure(t, "[ollama]\ncontext = 1024\n")
	long := strings.Repeat("and then that ", 200)
	for _, args := range [][]string{{"context", "post/tax.py"}, {"sandbox", "run", "--yes", "--file", "post/tax.py"}, {"sandbox", "run", "--yes"}} {
		_, stderr := h.exits(t, run.ExitBudget, append(args, "--workspace", h.work, "--goal", long)...)
		stdout, _ := h.exits(t, run.ExitBudget, append(args, "--workspace", h.work, "--goal", long, "--json")...)
		if all := stdout + stderr; !strings.Contains(all, "1024 tokens of ollama.context") || !strings.Contains(all, "raise ollama.context") {
			t.Errorf("%v: the setting is not named:\n%s", args, all)
		}
	}
	if err := os.WriteFile(filepath.Join(h.work, "huge.sql"), []byte(strings.Repeat("select 1;\n", 220_000)), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"context", "huge.sql"}, {"sandbox", "run", "--yes", "--file", "huge.sql"}} {
		stdout, stderr := h.exits(t, run.ExitUsage, append(args, "--workspace", h.work)...)
		if !strings.Contains(stdout+stderr, "a file of at most 2097152 can be worked on") {
			t.Errorf("%v:\n%s%s", args, stdout, stderr)
		}
	}
	if n := len(h.model.Requests()); n != 0 {
		t.Errorf("the model was asked %d times", n)
	}
}
