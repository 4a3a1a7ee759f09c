package main

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

	"agent/cmd/agent/internal/config"
	"agent/cmd/agent/internal/fault"
	"agent/orchestrator/agent"
	"agent/orchestrator/llm"
	"agent/orchestrator/run"
)

// settled returns the settings of a workspace as commands see them.
func settled(t *testing.T, env map[string]string, args ...string) config.Settings {
	t.Helper()
	_, set, err := requested(t, env, append([]string{"--patch", "-"}, args...)...)
	if err != nil {
		t.Fatal(err)
	}
	return set
}

const secretKey = "AQ.not-a-real-key-0123456789"

func TestModelsAreAskedInTheOrderGiven(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		env  map[string]string
		user string
		want string
	}{
		"nothing":             {nil, "", "ollama/qwen3-coder:30b"},
		"a key":               {map[string]string{"GEMINI_API_KEY": secretKey}, "", "gemini/gemini-2.5-flash ollama/qwen3-coder:30b"},
		"keys in a file":      {nil, "[gemini]\napi_keys = [\"" + secretKey + "\", \"b\"]", "gemini/gemini-2.5-flash ollama/qwen3-coder:30b"},
		"named in the file":   {nil, "model = [\"ollama/b\", \"ollama/a\"]", "ollama/b ollama/a"},
		"the environment won": {map[string]string{"AGENT_MODEL": "ollama/x, ollama/y"}, "model = [\"ollama/b\"]", "ollama/x ollama/y"},
	} {
		env, dir := home(t, c.user, "")
		for k, v := range c.env {
			env[k] = v
		}
		set := settled(t, env, "-w", dir)
		links, err := links(set)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		var got []string
		for _, l := range links {
			got = append(got, l.Provider.Vendor()+"/"+l.Model)
			if local := l.Provider.Vendor() == "ollama"; local != (l.Price != nil) || local != (l.Context == 32000) {
				t.Errorf("%s: %s has the price %v and a context of %d", name, l.Model, l.Price, l.Context)
			}
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s: asks %v, want %s", name, got, c.want)
		}
	}
}

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
		"[prices.\"gemini/x\"]\nin = 0", "countdown = \"1s\"", "expiry = \"proceed\"",
	} {
		env, dir := home(t, user, ws)
		if got := commandIn(t, env, "config", "-w", dir); got.exit != run.ExitUsage || !strings.Contains(got.stderr, "there is no key") {
			t.Errorf("%s: exit code %d\n%s", ws, got.exit, got.stderr)
		}
	}
	env, dir := home(t, user, "[budget]\ncost = 0.25\nday_cost = 1\nrequests = 7\ntime = \"10m\"\nidle = \"20s\"\n")
	limits, err := settled(t, env, "-w", dir).Budget()
	want := llm.Limits{Attempts: 16, Requests: 7, RunTime: 10 * time.Minute, Total: 15 * time.Minute, Idle: 20 * time.Second, Tokens: 1000, RunCost: 250000, DayCost: 1000000}
	if err != nil || limits != want {
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

func TestACapOnCostNeedsAPrice(t *testing.T) {
	t.Parallel()
	env, dir := home(t, "[budget]\ncost = 1\n[prices.\"gemini/known\"]\nin = 0.3\nout = 2.5\n", "")
	env["GEMINI_API_KEY"] = secretKey
	for model, ok := range map[string]bool{"gemini/known": true, "gemini/other": false, "ollama/any": true} {
		env["AGENT_MODEL"] = model
		_, err := (&session{}).chain(settled(t, env, "-w", dir), "run", "")
		if ok != (err == nil) {
			t.Errorf("%s: %v", model, err)
		}
		if err == nil {
			continue
		}
		if p, exit := fault.Classify(t.Context(), err); exit != run.ExitUsage || !strings.Contains(p.Next, "[prices]") {
			t.Errorf("%s: exit code %d, %+v", model, exit, p)
		}
	}
}

// With nothing configured and nobody there, that is said before anything
// is done.
func TestNoModelAtAllIsTold(t *testing.T) {
	t.Parallel()
	env, dir := home(t, "", "")
	env["OLLAMA_HOST"] = "127.0.0.1:1"
	got := commandIn(t, env, "sandbox", "run", "-w", dir, "--goal", "x", "--json")
	if got.exit != run.ExitInfra || !strings.Contains(got.stderr, "no model is configured") || !strings.Contains(got.stderr, "GEMINI_API_KEYS") {
		t.Errorf("exit code %d\n%s", got.exit, got.stderr)
	}
	if c := checkModelsFor(settled(t, map[string]string{}, "-w", dir)); c.Status != checkWarn || !strings.Contains(c.Cure, "GEMINI_API_KEYS") {
		t.Errorf("the doctor says %+v", c)
	}
	env["AGENT_MODEL"], env["GEMINI_API_KEY"] = "gemini/a,ollama/b", secretKey
	if c := checkModelsFor(settled(t, env, "-w", dir)); c.Status != checkOK || c.Detail != "gemini/a (keys: 1), price not known, then ollama/b; not asked" {
		t.Errorf("the doctor says %+v", c)
	}
}

func TestWhatEndsAQuestionIsToldAndClassified(t *testing.T) {
	t.Parallel()
	refused := llm.NewError(llm.Auth, "gemini", "m", "API key not valid")
	for _, c := range []struct {
		err    error
		budget bool
		says   string
		next   string
	}{
		{&llm.BudgetError{Cap: "tokens of a run", Limit: "10", Have: "9"}, true, "9 of 10 spent", "raise the cap"},
		{&llm.ExhaustedError{Attempts: 1, Last: refused}, false, "does not accept a key", "GEMINI_API_KEYS"},
		{&llm.ExhaustedError{Attempts: config.MaxAttempts, Last: refused}, true, "after 16 attempts", "GEMINI_API_KEYS"},
		{&llm.ExhaustedError{}, false, "no model answered", "add a provider"},
		{llm.NewError(llm.Truncated, "gemini", "m", "cut"), true, "reached its bound", "smaller change"},
		{fmt.Errorf("ask: %w", llm.ErrHoldsKey), false, "holds a key", "take it out"},
		{fmt.Errorf("replay: %w", llm.ErrNotRecorded), false, "no answer is recorded", "as it was"},
	} {
		var stop *agent.StopError
		if err := stopped(t.Context(), c.err); !errors.As(err, &stop) || stop.Budget != c.budget || !strings.Contains(stop.Message, c.says) || !strings.Contains(stop.Next, c.next) {
			t.Errorf("%v: %+v", c.err, stop)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := stopped(ctx, ctx.Err()); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	other := errors.New("other")
	if err := stopped(t.Context(), other); !errors.Is(err, other) {
		t.Errorf("%v", err)
	}
}

func TestAWorkspaceMayHavePromptsOfItsOwn(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if _, err := loadPrompts(dir); err != nil {
		t.Errorf("without any: %v", err)
	}
	at := filepath.Join(dir, promptsDir)
	if err := os.MkdirAll(at, 0o755); err != nil {
		t.Fatal(err)
	}
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(at, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("IF.md", "Do {{.Goal}} gently.")
	prompts, err := loadPrompts(dir)
	if err != nil {
		t.Fatal(err)
	}
	q, err := prompts.Question(agent.Implement, agent.Brief{Goal: "it"}, agent.NewFence("0123"))
	if err != nil || q.Text != "Do it gently.\n" {
		t.Errorf("%q, %v", q.Text, err)
	}
	write("PP.md", "{{.Nonsense}}")
	if _, err := loadPrompts(dir); err == nil || !strings.Contains(err.Error(), "PP.md") {
		t.Errorf("a template that names nothing: %v", err)
	}
	// A link may lead to any file of the user's.
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
	if p, err := loadPrompts(dir); err == nil {
		t.Errorf("a link was read: %v", p.Own())
	}
}

func TestPlainProgressOfAQuestion(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	b := newCmdline(func(string) string { return "" }, nil, io.Discard, &out).NewBoard(0)
	for _, e := range []llm.Event{
		llm.Started{Attempt: 1, Vendor: "gemini", Model: "m", Key: "0a1b", In: llm.Tokens{N: 1200, Estimated: true}},
		llm.Text{Text: "<THO"},
		llm.Text{Text: "UGHT>"},
		llm.Text{Text: "more"},
		llm.Abandoned{Err: llm.NewError(llm.Overloaded, "gemini", "m", "busy \x1b[2J"), Shown: true},
		llm.Waiting{For: 2 * time.Second, Why: llm.NewError(llm.Overloaded, "gemini", "m", "busy")},
		llm.Started{Attempt: 2, Vendor: "ollama", Model: "q", In: llm.Tokens{N: 1200}},
		llm.Done{Usage: llm.Usage{In: llm.Tokens{N: 1180}, Out: llm.Tokens{N: 400}}, Cost: 2100, Priced: true, Duration: 8 * time.Second},
		llm.Started{Vendor: "ollama", Model: "q", Recorded: true},
		llm.Done{Usage: llm.Usage{In: llm.Tokens{N: 1180}, Out: llm.Tokens{N: 400}}, Recorded: true},
	} {
		p := progress(e)
		p.Step = "propose/1"
		b.Event(run.Event{Model: &p})
	}
	b.Close()
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	for i, want := range []string{
		"propose/1 gemini/m … asked, ~1200 tokens in", "propose/1 gemini/m … ~1200 tokens in, ~1 out, ", "gemini is overloaded (busy [2J)", "waits 2 s: gemini is overloaded",
		"propose/1 ollama/q … asked, 1200 tokens in", "answered, 1180 tokens in, 400 out, 8.0 s, 50 tokens/s, cost 0.002100, spent 0.002100", "asked", "from the record",
	} {
		if i >= len(lines) || !strings.Contains(lines[i], want) {
			t.Errorf("line %d does not hold %q:\n%s", i+1, want, &out)
		}
	}
	if strings.ContainsRune(out.String(), '\x1b') || len(lines) != 8 {
		t.Errorf("%d lines:\n%q", len(lines), out.String())
	}
}
