package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"agent/orchestrator/llm/llmtest"
)

// called returns a call of a tool; its arguments alternate between name and value.
func called(name string, args ...any) llmtest.Call {
	given := map[string]any{}
	for ; len(args) > 1; args = args[2:] {
		given[args[0].(string)] = args[1]
	}
	text, err := json.Marshal(given)
	if err != nil {
		panic(err)
	}
	return llmtest.Call{Name: name, Arguments: string(text)}
}

// ledgerTask asks for two things, one of which a test in a box checks.
const ledgerTask = `+++
[limits]
loops = 4
iterations = 3
calls_per_iteration = 2

[accept]
command = ["sh", "tests/money.sh"]
tests = ["tests/money.sh"]
text = "the README tells of it"
+++

ledger/money.sh takes a currency, EUR where none is given, and puts it behind the amount. There is a test of it.
`

// These are the changes of the first two loops.
var (
	showsCurrency = called("edit", "path", "ledger/money.sh", "old", `printf '%.2f\n' "$1"`, "new", `printf '%.2f %s\n' "$1" "${2:-EUR}"`)
	testsCurrency = called("create", "path", "tests/money.sh", "content", "#!/bin/sh\n# Tests the currency.\n[ \"$(sh ledger/money.sh 2 USD)\" = '2.00 USD' ]\n")
)

// Three loops run in real boxes, with tools. The first calls itself complete but is not; the acceptance and a review
// that does not know the claim find that. A cap of the task file is reached and named. The workspace changes once.
func TestATaskFileIsCarriedOutInLoops(t *testing.T) {
	t.Parallel()
	h := newHouseOf(t, ledgerScripts)
	h.env = append(h.env, "AGENT_MODE=tools")
	var mu sync.Mutex
	var reviews []string
	h.model.Choose(func(q llmtest.Request) llmtest.Step {
		mu.Lock()
		defer mu.Unlock()
		first := q.Messages[0].Text
		if strings.HasPrefix(first, "Review this change") {
			reviews = append(reviews, first)
			switch len(reviews) {
			case 1:
				return llmtest.Step{Text: `{"accepted": false, "findings": [{"severity": "blocker", "text": "there is no test"}], "next": [{"title": "a test", "goal": "tests/money.sh tests the amount", "files": ["tests/money.sh"]}]}`}
			case 2:
				return llmtest.Step{Text: `{"accepted": false, "findings": [{"severity": "major", "file": "README.md", "text": "it says nothing"}], "next": [{"title": "the README", "goal": "it tells of currencies", "files": ["README.md"]}]}`}
			}
			return llmtest.Step{Text: `{"accepted": true, "findings": [], "next": []}`}
		}
		round := len(q.Messages)
		finish := llmtest.Step{Calls: []llmtest.Call{called("finish", "summary", "STATUS: COMPLETE. Everything is done and tested.")}}
		switch {
		case strings.Contains(first, "This is loop 1 of"):
			if round == 1 {
				return llmtest.Step{Calls: []llmtest.Call{showsCurrency, called("run", "command", "sh tests/money.sh"), called("list")}}
			}
			return finish
		case strings.Contains(first, "This is loop 2 of"):
			switch round {
			case 1:
				return llmtest.Step{Calls: []llmtest.Call{testsCurrency}}
			case 3:
				return llmtest.Step{Calls: []llmtest.Call{called("read", "path", "README.md")}}
			}
			return llmtest.Step{Calls: []llmtest.Call{called("list", "path", "tests")}} // it never ends
		}
		if round == 1 {
			return llmtest.Step{Calls: []llmtest.Call{called("edit", "path", "README.md", "old", "Amounts, entries and reports.", "new", "Amounts with their currency, entries and reports.")}}
		}
		return finish
	})
	file := filepath.Join(h.work, "TASK.md")
	if err := os.WriteFile(file, []byte(ledgerTask), 0o644); err != nil {
		t.Fatal(err)
	}
	before := snapshotOf(t, h.work)
	cmd := h.command("loop", "TASK.md", "--loops", "2", "--yes")
	out, err := cmd.CombinedOutput()
	if code := cmd.ProcessState.ExitCode(); code != 5 || !strings.Contains(string(out), "limits.loops: the task is not done after 2 loops") {
		t.Fatalf("exit %d, %v\n%s", code, err, out)
	}
	if snapshotOf(t, h.work) != before {
		t.Error("the workspace was touched before the end")
	}
	if err := os.WriteFile(file, []byte(strings.ReplaceAll(ledgerTask, "EUR", "USD")), 0o644); err != nil {
		t.Fatal(err)
	}
	told, err := h.command("loop", "--resume", "--loops", "4", "--yes").CombinedOutput()
	if err != nil || !strings.Contains(string(told), "TASK.md has changed") {
		t.Fatalf("%v\n%s", err, told)
	}
	for query, want := range map[string]string{
		"select state || ' ' || ending || ' ' || task_file || ' ' || loops from v_plans":          "delivered accepted TASK.md 4",
		"select count(*) from v_promotions where status = 'committed'":                            "1",
		"select string_agg(kind, ' ' order by started) from v_plan_progress where kind <> 'land'": "begin task review task accept review task accept review deliver",
		"select count(*) from v_plan_progress where kind = 'accept' and outcome = 'passed'":       "2",
		"select conversation_end from v_tool_calls where conversation_end = 'rounds' limit 1":     "rounds",
		"select count(*) from v_model_calls where ended is not null and purpose = 'RW'":           "3",
		"select why like '%limits.iterations%' from v_tasks where task = 2":                       "t",
		"select why like '%limits.calls_per_iteration: 1 calls%' from v_tasks where task = 1":     "t",
	} {
		if got := h.value(t, query); got != want && !(want == "t" && got == "true") {
			t.Errorf("%s gives %s, want %s", query, got, want)
		}
	}
	if text, err := os.ReadFile(filepath.Join(h.work, "README.md")); err != nil || !strings.Contains(string(text), "with their currency") {
		t.Errorf("README.md is %q, %v", text, err)
	}
	for i, r := range reviews {
		if strings.Contains(r, "COMPLETE") || !strings.Contains(r, "+printf") {
			t.Errorf("review %d sees\n%s", i+1, r)
		}
	}
	if !strings.Contains(reviews[0], "run sh tests/money.sh") || !strings.Contains(reviews[0], "It is not met: tests/money.sh must exist") || !strings.Contains(reviews[1], "limits.iterations") {
		t.Errorf("the reviews see\n%s\n%s", reviews[0], reviews[1])
	}
}

// loopKills is how often the work on a task file is killed, unless AGENT_LOOP_KILLS is set.
const loopKills = 5

// steadily answers like the model of TestATaskFileIsCarriedOutInLoops, from the question alone, so that a repeated one has the same answer.
func steadily(q llmtest.Request) llmtest.Step {
	first, round := q.Messages[0].Text, len(q.Messages)
	if strings.HasPrefix(first, "Review this change") {
		next := map[string]string{"After loop 1.": `{"title": "a test", "goal": "LIMA test the amount", "files": ["tests/money.sh"]}`, "After loop 2.": `{"title": "the README", "goal": "MIKE it tells of currencies", "files": ["README.md"]}`}
		for loop, step := range next {
			if strings.Contains(first, loop) {
				return llmtest.Step{Text: `{"accepted": false, "findings": [{"severity": "blocker", "text": "something is missing"}], "next": [` + step + `]}`}
			}
		}
		return llmtest.Step{Text: `{"accepted": true, "findings": [], "next": []}`}
	}
	for loop, call := range map[string]llmtest.Call{
		"This is loop 1 of": showsCurrency,
		"This is loop 2 of": testsCurrency,
		"This is loop 3 of": called("edit", "path", "README.md", "old", "Amounts, entries and reports.", "new", "Amounts with their currency, entries and reports."),
	} {
		switch {
		case !strings.Contains(first, loop):
		case round == 1:
			return llmtest.Step{Calls: []llmtest.Call{called("list"), called("read", "path", "README.md")}}
		case round == 3:
			return llmtest.Step{Calls: []llmtest.Call{call}}
		default:
			return llmtest.Step{Calls: []llmtest.Call{called("finish", "summary", "STATUS: COMPLETE")}}
		}
	}
	return llmtest.Step{Status: 400, Message: "no answer to " + first[:min(len(first), 60)]}
}

// The work on a task file is killed at random instants, again and again. The workspace stays as it was until it is as
// it should be, the same loops are done, and no answered question is paid for twice.
func TestATaskFileThatIsKilledIsCarriedOn(t *testing.T) {
	t.Parallel()
	h := newHouseOf(t, ledgerScripts)
	h.env = append(h.env, "AGENT_MODE=tools")
	h.model.Choose(steadily)
	file := filepath.Join(t.TempDir(), "TASK.md")
	if err := os.WriteFile(file, []byte(strings.Replace(ledgerTask, "iterations = 3", "iterations = 9", 1)), 0o644); err != nil {
		t.Fatal(err)
	}
	whole := func() bool {
		text, err := os.ReadFile(filepath.Join(h.work, "README.md"))
		return err == nil && strings.Contains(string(text), "with their currency")
	}
	h.killed(t, killsOf("AGENT_LOOP_KILLS", loopKills), snapshotOf(t, h.work), whole, func() []string {
		switch h.value(t, "select coalesce((select state from v_plans), 'none')") {
		case "none": // killed before there was a row
			return []string{"loop", file, "--yes"}
		case "delivered": // killed after the last one
			return nil
		}
		return []string{"loop", "--resume", "--yes"}
	})
	for query, want := range map[string]string{
		"select state || ' ' || ending from v_plans":                                                           "delivered accepted",
		"select string_agg(task || ' ' || state, '; ' order by task) from v_tasks":                             "1 done; 2 done; 3 done",
		"select count(*) from v_promotions where status = 'committed'":                                         "1",
		"select count(*) from v_model_calls where ended is not null and error_kind is null and purpose = 'RW'": "3",
		// Three questions in each execution; no answered one was paid for twice.
		"select count(*) from v_model_calls where ended is not null and error_kind is null and purpose <> 'RW'": "9",
	} {
		if got := h.value(t, query); got != want {
			t.Errorf("%s gives %s, want %s", query, got, want)
		}
	}
	for name, want := range map[string]string{"ledger/money.sh": "${2:-EUR}", "tests/money.sh": "2.00 USD", "README.md": "with their currency"} {
		if text, err := os.ReadFile(filepath.Join(h.work, name)); err != nil || !strings.Contains(string(text), want) {
			t.Errorf("%s holds %q, %v", name, text, err)
		}
	}
}
