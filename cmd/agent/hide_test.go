package main

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"agent/orchestrator/llm"
	"agent/orchestrator/llm/llmtest"
	"agent/orchestrator/run"
	"agent/orchestrator/store/storetest"
)

// tells is a test of a workspace that prints a key in several forms, fails with the key in its message, and contains it
// in its source line.
const tells = `import base64


def test_tells():
    key = "KEY"
    print("plain", key, "base64", base64.b64encode(key.encode()).decode(), "hex", key.encode().hex())
    print("inside", base64.b64encode(b"x" + key.encode() + b"y").decode(), "HEX", key.encode().hex().upper())
    assert LIMIT, f"the service refused {key} KEY"
`

// tables are the tables of the record with the output of gates. The other tables hold the files.
var tables = []string{"run", "run_state", "event", "gate", "finding", "cache", "proposal"}

// A test of the workspace prints a configured key and fails: no document, export, terminal or row of gate output
// contains the key in any form. The findings are the same whether the key is configured or not, in whatever order.
func TestNoOutputOfAGateHoldsAConfiguredKey(t *testing.T) {
	t.Parallel()
	key := "AIza" + "Sy-q7Rk2vXm9TbL4wZp8NcY3hJd6FsG1aVeU"
	_, url := storetest.Warm(t)
	home, dir := t.TempDir(), t.TempDir()
	env := func(name string) map[string]string {
		return map[string]string{
			"AGENT_DATABASE_URL": url, "XDG_CONFIG_HOME": home, "AGENT_GUEST": os.Getenv("AGENT_GUEST"), "AGENT_RECORD_FILES": "false", name: key,
		}
	}
	base := strings.NewReplacer("KEY", key, "LIMIT", "1 > 2").Replace(tells)
	fresh := strings.NewReplacer("KEY", key, "LIMIT", "limit.LIMIT > 2", "import base64\n", "import base64\n\nimport limit\n", "test_tells", "test_more").Replace(tells)
	writeFiles(t, dir, map[string]string{"limit.py": "LIMIT = 3\n", "test_old.py": base, "test_new.py": fresh})
	good, bad := filepath.Join(t.TempDir(), "good"), filepath.Join(t.TempDir(), "bad")
	writeFile(t, good, block("limit.py", "LIMIT = 3", "LIMIT = 4"))
	writeFile(t, bad, block("limit.py", "LIMIT = 3", "LIMIT = 1"))
	prove := func(name, patch string, more ...string) execution {
		return commandIn(t, env(name), append([]string{"sandbox", "run", "-w", dir, "--no-promote", "--patch", patch}, more...)...)
	}
	silent := func(what, text string) {
		t.Helper()
		for name, form := range map[string]string{
			"plain": key, "base64": base64.StdEncoding.EncodeToString([]byte(key)), "hex": hex.EncodeToString([]byte(key)),
			"HEX": strings.ToUpper(hex.EncodeToString([]byte(key))), "base64 inside": base64.StdEncoding.EncodeToString([]byte("x" + key + "y"))[2:40],
		} {
			if i := strings.Index(text, form); i >= 0 {
				t.Errorf("%s holds the key (%s): …%s", what, name, text[max(0, i-80):i+len(form)])
			}
		}
	}

	sarif := filepath.Join(t.TempDir(), "found.sarif")
	got := prove("GEMINI_API_KEYS", bad, "--json", "--sarif", sarif)
	var doc run.Document
	if err := json.Unmarshal([]byte(got.stdout), &doc); err != nil || doc.Verdict != "fail" {
		t.Fatalf("%v: %s%s", err, got.stdout, got.stderr)
	}
	mark := "[key " + llm.NewKey(key).ID + "]"
	if !strings.Contains(got.stdout, "the service refused "+mark+" "+mark) || !strings.Contains(got.stdout, "test_new.py") || !strings.Contains(got.stdout, "plain "+mark+" base64 "+mark) {
		t.Errorf("what the test said is not in the document:\n%s", got.stdout)
	}
	silent("the document", got.stdout)
	silent("the board", got.stderr)
	silent("SARIF", readFile(t, sarif))
	for _, args := range [][]string{{"runs", "show", "--all", "--json"}, {"runs", "show", "--all"}, {"runs", "show", "--all", "--sarif", "-"}, {"runs", "logs", "--all"}, {"proposals", "list", "--json"}} {
		got := commandIn(t, env("GEMINI_API_KEYS"), args...)
		silent(strings.Join(args, " "), got.stdout+got.stderr)
	}
	shown := prove("GEMINI_API_KEYS", bad)
	silent("the terminal", shown.stdout+shown.stderr)
	x := &trial{url: url}
	for _, table := range tables {
		silent("table "+table, x.text(t, "select coalesce(string_agg(t::text, ' '), '') from "+table+" t"))
	}

	// The old finding stays old and the new one new, whatever is in the cache.
	for _, name := range []string{"SOMETHING_ELSE", "GEMINI_API_KEYS", "SOMETHING_ELSE", "GH_TOKEN"} {
		for patch, want := range map[string]int{good: run.ExitDone, bad: run.ExitFail} {
			if got := prove(name, patch, "--json"); got.exit != want || strings.Count(got.stdout, `"old": 1`) == 0 {
				t.Errorf("with %s, %s: exit code %d, want %d\n%s%s", name, filepath.Base(patch), got.exit, want, got.stdout, got.stderr)
			}
		}
	}
	// What was recorded while the key was not configured is shown without it once it is.
	got = prove("SOMETHING_ELSE", bad, "--json")
	if !strings.Contains(got.stdout, key) {
		t.Errorf("a key that is nobody's is hidden:\n%s", got.stdout)
	}
	again := commandIn(t, env("GEMINI_API_KEYS"), "runs", "show", "--all", "--json")
	silent("a run of before", again.stdout)
}

// A refused edit quotes the lines of the file to its author, whether model or person.
func TestARefusedEditQuotesNoConfiguredKey(t *testing.T) {
	t.Parallel()
	env, dir := home(t, "", "")
	env["GH_TOKEN"] = "hub-9876-token-of-mine"
	writeFiles(t, dir, map[string]string{"a.py": "def f():\n    first = \"hub-9876-token-of-mine\"\n    return first\n"})
	patch := filepath.Join(t.TempDir(), "patch")
	writeFile(t, patch, block("a.py", "def f():\n    first = 1 + 2\n    return first", "x = 2"))
	for _, more := range [][]string{nil, {"--json"}} {
		got := commandIn(t, env, append([]string{"edit", "-w", dir, patch}, more...)...)
		if got.exit != run.ExitFail || strings.Contains(got.stdout+got.stderr, env["GH_TOKEN"]) || !strings.Contains(got.stdout+got.stderr, "first = \\\"[key GH_TOKEN]\\\"") && !strings.Contains(got.stdout+got.stderr, "first = \"[key GH_TOKEN]\"") {
			t.Errorf("exit code %d\n%s%s", got.exit, got.stdout, got.stderr)
		}
	}
}

// An edit of a file with unquoted secrets comes back byte for byte, and the model has seen none of them.
func TestAnEditBesideAnUnquotedSecretRoundTrips(t *testing.T) {
	t.Parallel()
	const config = "db:\r\n  user: app\r\n  password: hunter2long  # by hand\r\n  url: postgres://app:hunter2long@db/app\r\n  token: q7Rk2vXm9TbL\r\n  size: 1\r\n"
	edit := llmtest.Step{Text: "<EDIT file=\"config.yaml\">\n<SEARCH>\n  password: [secret 1]  # by hand\n  url: postgres://app:[secret 1]@db/app\n  token: [secret 2]\n  size: 1\n</SEARCH>\n" +
		"<REPLACE>\n  password: [secret 1]  # by hand\n  url: postgres://app:[secret 1]@db/app\n  token: [secret 2]\n  size: 2\n</REPLACE>\n</EDIT>\n"}
	x := newTrial(t, ailment{steps: []llmtest.Step{edit}})
	writeFile(t, x.dir+"/config.yaml", config)
	x.run(t, "--file", "config.yaml")
	if got := readFile(t, x.dir+"/config.yaml"); x.exit != 0 || got != strings.Replace(config, "size: 1", "size: 2", 1) {
		t.Fatalf("exit code %d\n%s\n%q", x.exit, x.stderr, got)
	}
	for _, q := range x.model.Requests() {
		if body := fmt.Sprint(q.Body); strings.Contains(body, "hunter2long") || strings.Contains(body, "q7Rk2vXm9TbL") || !strings.Contains(body, "password: [secret 1]  # by hand") {
			t.Errorf("it was sent\n%s", body)
		}
	}
	if text := x.text(t, "select convert_from(request, 'UTF8') || convert_from(answer, 'UTF8') from model_call"); strings.Contains(text, "hunter2long") {
		t.Errorf("it is recorded\n%s", text)
	}
}
