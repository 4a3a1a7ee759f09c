package main

import (
	"encoding/base64"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"agent/orchestrator/llm"
	"agent/orchestrator/llm/llmtest"
	"agent/orchestrator/run"
)

// asks is a program that requests what it may not have, and continues without it.
const asks = `import urllib.error
import urllib.request

try:
    urllib.request.urlopen("http://refused.invalid/", timeout=5)
except urllib.error.URLError:
    print("refused")
`

// A change that a model found, a policy holds and a flag approves is logged completely and in order: every kind of
// event is there, each after its cause. The log contains no secret from the goal, from the environment or from the
// address of the database.
func TestTheLogTellsAllThatARunDid(t *testing.T) {
	t.Parallel()
	answer := llmtest.Step{Text: "<EDIT file=\"main.py\">\n<SEARCH>\n    print(\"refused\")\n</SEARCH>\n<REPLACE>\n    print(\"refused, \" + \"and well\")\n</REPLACE>\n</EDIT>\n" +
		"<EDIT file=\".github/workflows/ci.yml\">\n<SEARCH>\n</SEARCH>\n<REPLACE>\non: push\n</REPLACE>\n</EDIT>\n"}
	x := newTrial(t, ailment{steps: []llmtest.Step{answer, nothing(), nothing()}, env: []string{"AGENT_EGRESS=allowed.invalid", "GH_TOKEN=sesame-in-the-environment"}})
	if err := os.WriteFile(filepath.Join(x.dir, "main.py"), []byte(asks), 0o644); err != nil {
		t.Fatal(err)
	}
	dsn, err := url.Parse(x.url)
	if err != nil {
		t.Fatal(err)
	}
	password, _ := dsn.User.Password()
	looks := "gh" + "p_" + strings.Repeat("a1B2c3D4e5", 4)[:36]
	secrets := []string{"sesame-in-the-environment", password, looks}
	x.run(t, "--goal", "say well, not "+strings.Join(secrets, " ")+" "+base64.StdEncoding.EncodeToString([]byte("a "+secrets[0])), "--allow", "ci")
	if x.doc.State != run.Promoted {
		t.Fatalf("%+v\n%s", x.doc, x.stderr)
	}

	log := x.text(t, `select concat_ws(' ', kind, actor, subject, detail) from v_events order by event`)
	from := 0
	for _, next := range []string{
		"state agent queued", "state agent analyzing", "engine agent GET /images/", "state agent planning", "state agent proposing",
		"model gemini/m propose/1 .*tokens_in", "state agent verifying", "tool box [0-9a-f]{12} /", "gate agent ",
		"policy agent .github/workflows/ci.yml .*blocks\": true", "state agent awaiting_approval", "approval --yes apply", "state agent promoting",
		"state agent promoted .*pass", "model gemini/m ",
	} {
		at := regexp.MustCompile(`(?m)^` + next).FindStringIndex(log[from:])
		if at == nil {
			t.Fatalf("%s is missing, or too early:\n%s", next, log)
		}
		from += at[1]
	}
	// A box starts while other work is done, but before anything runs in it.
	for _, m := range regexp.MustCompile(`(?m)^tool box ([0-9a-f]{12}) /`).FindAllStringSubmatchIndex(log, -1) {
		box := log[m[2]:m[3]]
		if at := regexp.MustCompile(`(?m)^engine agent POST /containers/` + box + `[0-9a-f]{52}/start .*204`).FindStringIndex(log); at == nil || at[0] > m[0] {
			t.Errorf("box %s works before it has started:\n%s", box, log)
		}
	}
	if !regexp.MustCompile(`(?m)^egress box of \S*smoke GET refused.invalid .*"allowed": false`).MatchString(log) {
		t.Errorf("what the program asked for is missing:\n%s", log)
	}
	for sql, want := range map[string]string{
		`select string_agg(distinct kind, ' ' order by kind) from v_events`:                                                         "approval egress engine gate model policy state tool",
		`select count(*)::text from (select at < lag(at) over (order by event) as back from v_events) where back`:                   "0",
		`select (count(*) - (select count(*) from v_model_calls))::text from v_events where kind = 'model'`:                         "0",
		`select (max(e.at) <= max(r.ended))::text from v_events e join v_runs r on r.run = e.run where e.kind in ('state', 'gate')`: "true",
		`select count(distinct run)::text from v_events`:                                                                            "1",
	} {
		if got := x.text(t, sql); got != want {
			t.Errorf("%s: %s, want %s\n%s", sql, got, want, log)
		}
	}
	rows := x.text(t, "select t::text from event t")
	for _, secret := range append(secrets, canary) {
		if secret == "" || llm.Mask(rows, llm.NewKey(secret)) != rows {
			t.Errorf("%s is in the log", secret)
		}
	}
	if n := strings.Count(rows, "[key GH_TOKEN]"); n < 2 || !strings.Contains(rows, "[secret 1]") {
		t.Errorf("what was masked is not to be seen: %d times the one in the environment", n)
	}
}
