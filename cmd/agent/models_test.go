package main

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"agent/cmd/agent/internal/command/doctor"
	"agent/cmd/agent/internal/config"
	"agent/cmd/agent/internal/wire"
	"agent/orchestrator/agent"
	"agent/orchestrator/llm"
	"agent/orchestrator/run"
)

// settled returns the settings of a workspace as commands get them.
func settled(t *testing.T, env map[string]string, args ...string) config.Settings {
	t.Helper()
	_, set, err := requested(t, env, append([]string{"--patch", "-"}, args...)...)
	if err != nil {
		t.Fatal(err)
	}
	return set
}

const secretKey = "AQ.not-a-real-key-0123456789"

func TestAWorkspaceMayLowerABudgetAndNothingElse(t *testing.T) {
	t.Parallel()
	user := "[budget]\ncost = 2\ntokens = 1000\n"
	for _, ws := range []string{"[budget]\ncost = 3.5", "[budget]\ntokens = 1001", "[budget]\nrequests = 101", "[budget]\ntime = \"2h\"", "[budget]\nrequest = \"1h\"", "[budget]\nidle = \"6m\""} {
		env, dir := home(t, user, ws)
		got := commandIn(t, env, "config", "-w", dir)
		if got.exit != run.ExitApproval || !strings.Contains(got.stderr, "only the user configuration or the environment may raise it") {
			t.Errorf("%s: exit code %d\n%s", ws, got.exit, got.stderr)
		}
	}
	for _, ws := range []string{
		"model = [\"gemini/x\"]", "candidates = 8", "[gemini]\nbase_url = \"http://evil\"", "[ollama]\nhost = \"evil\"",
		"[prices.\"gemini/x\"]\nin = 0", "countdown = \"1s\"", "expiry = \"apply\"", "features = true", "checkpoint = \"model\"",
	} {
		env, dir := home(t, user, ws)
		if got := commandIn(t, env, "config", "-w", dir); got.exit != run.ExitUsage || !strings.Contains(got.stderr, "there is no key") {
			t.Errorf("%s: exit code %d\n%s", ws, got.exit, got.stderr)
		}
	}
	env, dir := home(t, user, "[budget]\ncost = 0.25\nday_cost = 1\nrequests = 7\ntime = \"10m\"\nidle = \"20s\"\n")
	limits, err := settled(t, env, "-w", dir).Budget()
	want := llm.Limits{Attempts: 16, Requests: 7, RunTime: 10 * time.Minute, Total: 15 * time.Minute, Idle: 20 * time.Second, Tokens: 1000, RunCost: 250000, DayCost: 1000000}
	if err != nil || !reflect.DeepEqual(limits, want) {
		t.Errorf("%+v, %v; want %+v", limits, err, want)
	}
}

func TestConfigShowsNoSecret(t *testing.T) {
	t.Parallel()
	env, dir := home(t, "", "")
	for k, v := range map[string]string{
		"GEMINI_API_KEYS": secretKey + ",another-secret", "GEMINI_BASE_URL": "http://me:s3cret@host/path?key=s3cret", "OLLAMA_HOST": "http://me:s3cret@host",
	} {
		env[k] = v
	}
	got := configured(t, env, "-w", dir)
	if ids := got["gemini.keys"]; ids.Value != llm.NewKey(secretKey).ID+","+llm.NewKey("another-secret").ID || ids.Origin != "GEMINI_API_KEYS" {
		t.Errorf("the keys are shown as %+v", ids)
	}
	if url := got["gemini.base_url"].Value; url != "http://host/path" {
		t.Errorf("the endpoint is shown as %q", url)
	}
	for _, args := range [][]string{{"config"}, {"config", "--json"}, {"sandbox", "run", "--goal", "x"}, {"doctor"}} {
		out := commandIn(t, env, append(args, map[bool][]string{true: {"-w", dir}}[args[0] != "doctor"]...)...)
		for _, secret := range []string{secretKey, "another-secret", "s3cret"} {
			if strings.Contains(out.stdout+out.stderr, secret) {
				t.Errorf("agent %v shows %s:\n%s%s", args, secret, out.stdout, out.stderr)
			}
		}
	}
	env["GEMINI_API_KEYS"] = "has " + secretKey
	if out := commandIn(t, env, "sandbox", "run", "-w", dir); out.exit != run.ExitUsage || strings.Contains(out.stderr, secretKey) {
		t.Errorf("exit code %d\n%s", out.exit, out.stderr)
	}
}

// With no model configured and no one at the terminal, the command says so before it does anything.
func TestNoModelAtAllIsTold(t *testing.T) {
	t.Parallel()
	env, dir := home(t, "", "")
	env["OLLAMA_HOST"] = "127.0.0.1:1"
	got := commandIn(t, env, "sandbox", "run", "-w", dir, "--goal", "x", "--json")
	if got.exit != run.ExitInfra || !strings.Contains(got.stderr, "no model is configured") || !strings.Contains(got.stderr, "GEMINI_API_KEYS") {
		t.Errorf("exit code %d\n%s", got.exit, got.stderr)
	}
	if c := doctor.CheckModels(settled(t, map[string]string{}, "-w", dir)); c.Status != doctor.Warn || !strings.Contains(c.Cure, "GEMINI_API_KEYS") {
		t.Errorf("the doctor says %+v", c)
	}
	env["AGENT_MODEL"], env["GEMINI_API_KEY"] = "gemini/a,ollama/b", secretKey
	if c := doctor.CheckModels(settled(t, env, "-w", dir)); c.Status != doctor.OK || c.Detail != "gemini/a (keys: 1), price unknown, then ollama/b; not asked" {
		t.Errorf("the doctor says %+v", c)
	}
}

func TestAWorkspaceMayHavePromptsOfItsOwn(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if _, err := wire.LoadPrompts(dir, ""); err != nil {
		t.Errorf("without any: %v", err)
	}
	at := filepath.Join(dir, ".agent/prompts")
	if err := os.MkdirAll(at, 0o755); err != nil {
		t.Fatal(err)
	}
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(at, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("IF.md", "Do {{.Goal}} gently.")
	prompts, err := wire.LoadPrompts(dir, "")
	if err != nil {
		t.Fatal(err)
	}
	q, err := prompts.Question(agent.Implement, agent.Brief{Goal: "it"}, agent.NewFence("0123"))
	if err != nil || q.Text != "Do it gently.\n" {
		t.Errorf("%q, %v", q.Text, err)
	}
	write("PP.md", "{{.Nonsense}}")
	if _, err := wire.LoadPrompts(dir, ""); err == nil || !strings.Contains(err.Error(), "PP.md") {
		t.Errorf("a template that names nothing: %v", err)
	}
	// A link may lead to any file of the user.
	for _, name := range []string{"PP.md", "IF.md"} {
		if err := os.Remove(filepath.Join(at, name)); err != nil {
			t.Fatal(err)
		}
	}
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte("s3cret"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(secret, filepath.Join(at, "IF.md")); err != nil {
		t.Fatal(err)
	}
	if p, err := wire.LoadPrompts(dir, ""); err == nil {
		t.Errorf("a link was read: %v", p.Own())
	}
}
