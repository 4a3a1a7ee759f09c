package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"agent/cmd/agent/internal/command/keys"
	"agent/cmd/agent/internal/command/runs"
	"agent/orchestrator/llm"
	"agent/orchestrator/llm/llmtest"
)

// script gives each key the next answer of its own script.
type script struct {
	mu    sync.Mutex
	steps map[string][]llmtest.Step // by the key's ID
}

// next is the server's Choose function.
func (s *script) next(q llmtest.Request) llmtest.Step {
	s.mu.Lock()
	defer s.mu.Unlock()
	steps := s.steps[q.KeyID]
	if len(steps) == 0 {
		return llmtest.Step{Status: 400, Message: "this key has said all"}
	}
	s.steps[q.KeyID] = steps[1:]
	return steps[0]
}

// turns lists for each request the key, by its place in ids, and the result.
func (x *trial) turns(t *testing.T, ids []string) string {
	t.Helper()
	text := x.text(t, `select key_id || ':' || coalesce(error_kind, 'answer') from v_model_calls where`+forTheChange+`order by call`)
	return strings.ReplaceAll(named(text, ids), "\n", " ")
}

// named replaces the IDs of keys by their places.
func named(text string, ids []string) string {
	for i, id := range ids {
		text = strings.ReplaceAll(text, id, fmt.Sprint(i+1))
	}
	return text
}

// Five keys take turns. What is learnt about one holds for the next process too. A key that rested returns by itself, a
// retired one when a person says so.
func TestFiveKeysTakeTurnsRestAndReturn(t *testing.T) {
	t.Parallel()
	var secrets, ids []string
	for i := range 5 {
		secrets = append(secrets, fmt.Sprintf("%s-%d", canary, i+1))
		ids = append(ids, llm.NewKey(secrets[i]).ID)
	}
	x := newTrial(t, ailment{env: []string{"GEMINI_API_KEYS=" + strings.Join(secrets, ",")}})
	s := &script{steps: map[string][]llmtest.Step{
		ids[0]: {later("3600"), nothing()},
		ids[1]: {later("")},
		ids[2]: {{Status: 403, Message: "no"}, nothing()},
		ids[3]: {later("3600")},
		ids[4]: {nothing()},
	}}
	x.model.Choose(s.next)
	x.run(t)
	const first = "1:rate_limit 2:rate_limit 3:auth 4:rate_limit 5:answer"
	if got := x.turns(t, ids); got != first {
		t.Fatalf("the keys were used as %q, want %q\n%s", got, first, x.stderr)
	}
	rest := x.text(t, `select key_id || ' ' || state || ' ' || coalesce(reason, '') || coalesce(retired, '') || ' ' ||
		coalesce((extract(epoch from until - used) / 60)::int::text, '') from v_model_keys order by used`)
	if got, want := named(rest, ids), "1 resting rate_limit 60\n2 resting rate_limit 20\n3 retired auth \n4 resting rate_limit 60\n5 ready  "; got != want {
		t.Errorf("the keys are\n%s\nwant\n%s", got, want)
	}
	x.awake(t, ids[0])
	x.run(t) // another process: the key that woke was used longest ago
	if got, want := x.turns(t, ids), first+" 1:answer"; got != want {
		t.Errorf("the keys were used as %q, want %q\n%s", got, want, x.stderr)
	}
	if got := x.agent(t, "keys", "--forget", ids[2]); !strings.Contains(got.stdout, "of gemini was retired, and is used again") {
		t.Errorf("%s%s", got.stdout, got.stderr)
	}
	x.run(t)
	if got, want := x.turns(t, ids), first+" 1:answer 3:answer"; got != want {
		t.Errorf("the keys were used as %q, want %q\n%s", got, want, x.stderr)
	}
	if got := x.agent(t, "keys", "--forget", "00000000"); got.exit != 2 || !strings.Contains(got.stderr, `unknown key "00000000"`) {
		t.Errorf("exit code %d\n%s", got.exit, got.stderr)
	}
	got := x.agent(t, "keys")
	for _, want := range []string{"gemini  " + ids[1] + "  resting (rate_limit) until 2", ids[2] + "  ready", "yes\n"} {
		if !strings.Contains(got.stdout, want) {
			t.Errorf("%q is not in\n%s%s", want, got.stdout, got.stderr)
		}
	}
	x.stdout += got.stdout + got.stderr
	x.secret(t)
}

// agent runs another command on the trial's database.
func (x *trial) agent(t *testing.T, args ...string) execution {
	t.Helper()
	env := map[string]string{}
	for _, e := range x.env {
		name, value, _ := strings.Cut(e, "=")
		env[name] = value
	}
	return commandIn(t, env, args...)
}

// awake ends the rest of a key, as an hour would do.
func (x *trial) awake(t *testing.T, id string) {
	t.Helper()
	x.text(t, `update model_key set until = used where key_id = '`+id+`' returning key_id`)
	var rows []keys.Row
	if err := json.Unmarshal([]byte(x.agent(t, "keys", "--json").stdout), &rows); err != nil || len(rows) != 5 {
		t.Fatalf("%+v, %v", rows, err)
	}
	if !slices.ContainsFunc(rows, func(r keys.Row) bool { return r.Key == id && r.State == "ready" && r.Configured }) {
		t.Fatalf("the key never woke: %+v", rows)
	}
}

// A person reads the exchange as it was sent: a secret of a file is a mark on the wire and in the record, and restored
// in the edit.
func TestAnExchangeIsReadAndHoldsNoSecretOfTheWorkspace(t *testing.T) {
	t.Parallel()
	// The token is assembled here, so that no scanner of this file finds one.
	secret := "gh" + "p_q7Rk2vXm9TbL4wZp8NcY3hJd6FsG1aVeU5oQiKx"
	line := "token = \"" + secret + "\"\n"
	edit := llmtest.Step{Text: "<EDIT file=\"main.py\">\n<SEARCH>\ntoken = \"[secret 1]\"\nprint(1)\n</SEARCH>\n<REPLACE>\ntoken = \"[secret 1]\"\nprint(2)\n</REPLACE>\n</EDIT>\n"}
	x := newTrial(t, ailment{steps: []llmtest.Step{{Status: 503, Message: "busy \x1b[2J"}, edit}})
	writeFile(t, x.dir+"/main.py", line+"print(1)\n")

	shown := x.agent(t, "context", "main.py", "-w", x.dir, "--goal", "count on")
	if !strings.Contains(shown.stdout, "token = \"[secret 1]\"") || strings.Contains(shown.stdout, secret) || !strings.Contains(shown.stderr, "is sent as [secret 1]") {
		t.Errorf("context shows\n%s%s", shown.stdout, shown.stderr)
	}
	x.run(t)
	if x.exit != 0 || readFile(t, x.dir+"/main.py") != line+"print(2)\n" {
		t.Fatalf("exit code %d\n%s\n%s", x.exit, x.stderr, readFile(t, x.dir+"/main.py"))
	}
	for _, q := range x.model.Requests() {
		if body := fmt.Sprint(q.Body); strings.Contains(body, secret) || !strings.Contains(body, "[secret 1]") {
			t.Errorf("it was sent\n%s", body)
		}
	}
	if text := x.text(t, "select convert_from(request, 'UTF8') || convert_from(answer, 'UTF8') from model_call"); strings.Contains(text, secret) {
		t.Errorf("it is recorded\n%s", text)
	}
	brief := x.agent(t, "runs", "calls", "--all")
	for _, want := range []string{"propose/1 gemini/m IF 2", "overloaded: status 503: busy [2J", "cost not known, key " + llm.NewKey(canary).ID} {
		if !strings.Contains(brief.stdout, want) {
			t.Errorf("%q is not in\n%s%s", want, brief.stdout, brief.stderr)
		}
	}
	whole := x.agent(t, "runs", "calls", "--all", "--text").stdout
	for _, want := range []string{"── instructions\n", "── user\n", "token = \"[secret 1]\"", "── answer\n<EDIT file"} {
		if !strings.Contains(whole, want) || strings.Contains(brief.stdout, want) {
			t.Errorf("%q is not in\n%s", want, whole)
		}
	}
	var rows []runs.CallRow
	got := x.agent(t, "runs", "calls", "--all", x.doc.Run, "--json")
	if err := json.Unmarshal([]byte(got.stdout), &rows); err != nil || len(rows) < 2 || rows[0].ErrorKind != "overloaded" || rows[0].Ended == nil ||
		rows[1].Answer != edit.Text || rows[1].Question.System == "" || rows[1].Cost != nil || rows[1].Template == "" {
		t.Errorf("%v\n%s%s", err, got.stdout, got.stderr)
	}
	x.stdout += brief.stdout + whole + got.stdout
	x.secret(t)
}
