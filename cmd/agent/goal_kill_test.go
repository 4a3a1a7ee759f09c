package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"agent/orchestrator/llm/llmtest"
	"agent/orchestrator/loop"
)

// goalAnswers returns the answers of a model that reaches a goal with tools, in order.
func goalAnswers() []llmtest.Step {
	answers := chatAnswers()
	answers[3] = llmtest.Step{Calls: []llmtest.Call{{ID: "d", Name: "finish", Arguments: `{"summary": "it says names"}`}}}
	return answers
}

// latestRun is the name under which the newest iteration is recorded, in SQL.
const latestRun = "(select max(id) from iteration)"

// The program is killed in each phase of a conversation for a goal. The next one continues the run: no answered
// question is asked again, no finished call is made again, and the change is written as if nothing had happened.
func TestKilledInEachPhaseOfAGoalNothingIsPaidForTwice(t *testing.T) {
	t.Parallel()
	k := newTalker(t)
	k.Choose(func(r llmtest.Request) llmtest.Step {
		if len(r.Tools) == 0 {
			return llmtest.Step{Text: "- stock.py says names"}
		}
		n := len(r.Messages)/2 + 1
		*k.asked.Load() <- n
		if int64(n) == k.hangs.Load() {
			return llmtest.Step{Hang: true}
		}
		return goalAnswers()[n-1]
	})
	for i, ph := range []phase{
		{place: "model_call insert propose/1/r1", lost: true},
		{place: "model_call update propose/1/r1", lost: true},
		{place: "model_call update propose/1/r2"},
		{hangs: 3},
		{place: "tool_call insert propose/1", lost: true},
		{place: "tool_call insert propose/1"},
		{place: "model_call update propose/1/r4"},
	} {
		t.Run(ph.String(), func(t *testing.T) {
			k.work = filepath.Join(t.TempDir(), fmt.Sprint("shop", i))
			if err := os.CopyFS(k.work, os.DirFS("testdata/example")); err != nil {
				t.Fatal(err)
			}
			k.killedIn(t, ph, func() *exec.Cmd { return k.loop("--iterations", "1", "--goal", "say names") }, "model_call, tool_call")
			k.reaches(t)
		})
	}
}

// loop runs the command as a separate process, without waiting for a person.
func (k *talker) loop(args ...string) *exec.Cmd {
	cmd := exec.Command(agentProgram, append([]string{"sandbox", "loop", "--workspace", k.work, "--yes", "--allow", "unproven", "--json"}, args...)...)
	cmd.Env = k.env
	return cmd
}

// list returns the first column of a query, as texts.
func (k *talker) list(t *testing.T, query string) (rows []string) {
	t.Helper()
	found, err := k.f.conn.Query(t.Context(), query)
	if err != nil {
		t.Fatal(err)
	}
	defer found.Close()
	for found.Next() {
		var row string
		if err := found.Scan(&row); err != nil {
			t.Fatal(err)
		}
		rows = append(rows, row)
	}
	return rows
}

// reaches resumes the run and checks the cost.
func (k *talker) reaches(t *testing.T) {
	t.Helper()
	const called = "select number || ' ' || tool || ' ' || begun from tool_call where run = " + latestRun + " order by id"
	const answered = "select distinct step from model_call where ended is not null and step like 'propose%' and run = " + latestRun
	calls, known := k.list(t, called), k.list(t, answered)
	asked := k.phase(0)
	var out, told bytes.Buffer
	cmd := k.loop("--resume")
	cmd.Stdout, cmd.Stderr = &out, &told
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v\n%s%s", err, told.String(), out.String())
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	var res loop.Result
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &res); err != nil || res.Promoted != 1 {
		t.Errorf("%v: it ends with %s\n%s", err, lines[len(lines)-1], told.String())
	}
	if text, err := os.ReadFile(filepath.Join(k.work, "shop", "stock.py")); err != nil || !strings.Contains(string(text), "Counts items by their names.") {
		t.Errorf("%v: the file says\n%s", err, text)
	}
	if len(asked) != len(goalAnswers())-len(known) {
		t.Errorf("%d answers were on record, and it asked for %d", len(known), len(asked))
	}
	if after := k.list(t, called); len(after) != 4 || fmt.Sprint(after[:len(calls)]) != fmt.Sprint(calls) {
		t.Errorf("calls were\n%q\nand are\n%q", calls, after)
	}
}
