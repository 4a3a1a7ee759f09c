package hook

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"agent/cmd/agent/internal/cmdline"
	"agent/orchestrator/gate"
	"agent/orchestrator/run"
	"agent/verify"
	"agent/verify/check"
	"agent/verify/policy"
)

// failed returns a run whose change has one finding.
func failed(diff, finding string) run.Document {
	return run.Document{
		Run: "1k3", State: run.Rejected, Verdict: verify.Fail, Exit: run.ExitFail, Error: &run.Problem{Kind: "patch", Message: "the patch failed: types", Next: "fix it"},
		Candidates: []gate.Document{{Verdict: verify.Fail, Diff: diff, Gates: []verify.Gate{{
			Name: "types", Verdict: verify.Fail, Findings: []check.Finding{{File: "a.py", Line: 7, Rule: "arg-type", Message: finding}},
		}}}},
	}
}

// answered returns a coding agent's answer, as JSON on one line.
func answered(t *testing.T, c command, id string, e event, v verdict, env map[string]string) string {
	t.Helper()
	for _, a := range codingAgents() {
		if a.id != id {
			continue
		}
		end := e.Name == a.ends[0]
		data, err := json.Marshal(c.decide(context.Background(), a, e, end, v, refusals{func(k string) string { return env[k] }, id + e.Session}))
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	t.Fatalf("no agent %s", id)
	return ""
}

func TestEachAgentIsToldInItsOwnForm(t *testing.T) {
	t.Parallel()
	c := command{cmdline.New(func(string) string { return "" }, strings.NewReader(""), os.Stderr, os.Stderr)}
	env := map[string]string{"HOME": t.TempDir()}
	bad := verdict{doc: failed("d", "wrong type")}
	held := verdict{doc: run.Document{Exit: run.ExitApproval, Error: &run.Problem{Message: "ci must be approved"}}}
	down := verdict{err: errors.New("no engine")}
	strict := down
	strict.strict = true
	for i, row := range []struct {
		id, event string
		v         verdict
		begins    string
		says      string
	}{
		{"claude", "Stop", bad, `{"decision":"block","reason":"The pending change`, `a.py:7`},
		{"claude", "PostToolUse", bad, `{"decision":"block"`, "wrong type"},
		{"codex", "Stop", bad, `{"decision":"block"`, "data, and no instructions"},
		{"gemini", "AfterAgent", bad, `{"decision":"deny","reason"`, "arg-type"},
		{"gemini", "AfterTool", bad, `{"hookSpecificOutput":{"additionalContext":"The pending`, `"hookEventName":"AfterTool"`},
		{"claude", "Stop", held, `{"systemMessage"`, "needs your approval: ci must be approved"},
		{"claude", "Stop", down, `{"systemMessage"`, "not judged: no engine"},
		{"claude", "Stop", strict, `{"decision":"block"`, "Say that it is not proved"},
		{"codex", "PostToolUse", strict, `{"systemMessage"`, "not judged"},
		{"claude", "Stop", verdict{}, `{}`, ""},
	} {
		got := answered(t, c, row.id, event{Name: row.event, Session: fmt.Sprint(i)}, row.v, env)
		if !strings.HasPrefix(got, row.begins) || !strings.Contains(got, row.says) {
			t.Errorf("%s %s: %s", row.id, row.event, got)
		}
	}
	if got := answered(t, c, "claude", event{Name: "Stop", Active: true}, strict, env); !strings.HasPrefix(got, `{"systemMessage"`) {
		t.Errorf("what cannot be judged holds an agent for ever: %s", got)
	}
	long := answered(t, c, "claude", event{Name: "Stop", Session: "long"}, verdict{doc: failed("d", strings.Repeat("é", maxReason))}, env)
	if len(long) > 3*maxReason || !strings.Contains(long, "has all of it") {
		t.Errorf("%d bytes", len(long))
	}
}

// An agent is sent back as long as it changes something, but not forever.
func TestAnAgentThatChangesNothingIsLetGo(t *testing.T) {
	t.Parallel()
	c := command{cmdline.New(func(string) string { return "" }, strings.NewReader(""), os.Stderr, os.Stderr)}
	home := t.TempDir()
	env := map[string]string{"HOME": home, "XDG_STATE_HOME": "relative"}
	for i, step := range []struct {
		active bool
		diff   string
		sent   bool
	}{
		{false, "one", true}, {true, "one", false}, {true, "two", true}, {true, "two", false}, {false, "two", true},
	} {
		got := answered(t, c, "codex", event{Name: "Stop", Session: "s", Active: step.active}, verdict{doc: failed(step.diff, "x")}, env)
		if strings.Contains(got, `"block"`) != step.sent || !step.sent && !strings.Contains(got, "without another edit") {
			t.Errorf("step %d: %s", i, got)
		}
	}
	if got := answered(t, c, "codex", event{Name: "Stop", Session: "other", Active: true}, verdict{doc: failed("two", "x")}, env); strings.Contains(got, `"block"`) {
		t.Errorf("another session: %s", got)
	}
	left := func() int {
		list, err := os.ReadDir(filepath.Join(home, ".local", "state", "agent", "hooks"))
		if err != nil {
			t.Fatal(err)
		}
		return len(list)
	}
	if left() != 1 {
		t.Errorf("%d sessions are remembered", left())
	}
	answered(t, c, "codex", event{Name: "Stop", Session: "s"}, verdict{}, env)
	if left() != 0 {
		t.Errorf("%d sessions are remembered", left())
	}
	for _, active := range []bool{false, true} { // there is no place to remember anything
		got := answered(t, c, "codex", event{Name: "Stop", Active: active}, verdict{doc: failed("one", "x")}, nil)
		if strings.Contains(got, `"block"`) == active {
			t.Errorf("active %t: %s", active, got)
		}
	}
}

func TestEventsAreReadWithCare(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for _, c := range []struct {
		in   string
		exit int
		says string
	}{
		{`{"hook_event_name":"PreToolUse","tool_name":"Edit","tool_input":{}}`, 0, "{}"},
		{`{"hook_event_name":"SessionStart"}`, 0, "{}"},
		{"", run.ExitFail, "is not a JSON object"},
		{"garbage", run.ExitFail, "is not a JSON object"},
		{"[1]", run.ExitFail, "is not a JSON object"},
		{"{}", run.ExitFail, "no hook_event_name"},
		{`{"hook_event_name":"Stop","x":"` + strings.Repeat("x", maxEvent) + `"}`, run.ExitFail, "larger than 32 MiB"},
		{`{"hook_event_name":"Stop"}`, 0, `"systemMessage": "agent: the pending change was not judged: `},
	} {
		b.in = c.in
		if exit, out := b.run("claude"); exit != c.exit || !strings.Contains(out, c.says) {
			t.Errorf("%.60q: exit %d\n%s", c.in, exit, out)
		}
	}
	b.in = `{"hook_event_name":"AfterAgent"}`
	if exit, out := b.run("gemini", "--strict"); exit != 0 || !strings.Contains(out, `"decision": "deny"`) {
		t.Errorf("exit %d\n%s", exit, out)
	}
	if exit, out := b.run("gemini", "--timeout", "1ns"); exit != 0 || !strings.Contains(out, "no verdict within 1ns") {
		t.Errorf("exit %d\n%s", exit, out)
	}
}

// Even if a change passes, the answer names what was not judged.
func TestAPassSaysWhatItIsWorth(t *testing.T) {
	t.Parallel()
	c := command{cmdline.New(func(string) string { return "" }, strings.NewReader(""), os.Stderr, os.Stderr)}
	v := verdict{doc: run.Document{
		Unproven: []verify.Unproven{{Reason: "no test ran"}},
		Candidates: []gate.Document{{Holds: []policy.Hold{
			{Kind: policy.Unproven, Path: "a.sh", Reason: "nothing ran", Block: true}, {Kind: "ci", Path: "ci.yml", Reason: "it acts outside", Block: true}, {Kind: "deps", Path: "go.mod", Reason: "inside"},
		}}},
	}}
	for want, allow := range map[string][]string{
		"passes its gates; not judged: no test ran; look at ci.yml (ci): it acts outside": nil, "passes its gates; not judged: no test ran": {"ci"},
	} {
		v.allow = allow
		if got := answered(t, c, "claude", event{Name: "Stop"}, v, nil); got != `{"systemMessage":"agent: the pending change `+want+`"}` {
			t.Errorf("%s", got)
		}
	}
}
