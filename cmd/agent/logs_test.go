package main

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"agent/cmd/agent/internal/cmdline"
	"agent/cmd/agent/internal/command/runs"
	"agent/cmd/agent/internal/config"
	"agent/orchestrator/run"
	"agent/sandbox"
	"agent/verify"
)

// enter adds entries to the log of a run, like a process that works on it.
func (h pastRuns) enter(t *testing.T, id string, list ...run.Entry) {
	t.Helper()
	for i := range list {
		list[i].Run, list[i].At = id, time.Now()
		if list[i].Detail == nil {
			list[i].Detail = map[string]any{}
		}
	}
	if err := h.db.AppendEntries(t.Context(), list); err != nil {
		t.Fatal(err)
	}
}

func TestTheLogIsPrinted(t *testing.T) {
	t.Parallel()
	h := newHistory(t)
	h.enter(t, promotedRun,
		run.Entry{Kind: run.StateEntry, Actor: "agent", Subject: "queued", Detail: map[string]any{"note": "on\x1b[31m\nthe way"}},
		run.Entry{Kind: run.EngineEntry, Actor: "agent", Subject: "GET /containers/" + strings.Repeat("0123456789abcdef", 4) + "/json", Detail: map[string]any{"status": 200, "ms": 12345678}},
		run.Entry{Kind: run.ApprovalEntry, Actor: "--yes", Subject: "apply"})
	lines := strings.Split(h.ask(t, run.ExitDone, "runs", "logs", promotedRun).stdout, "\n")
	for i, want := range []string{
		"state     agent: queued  note=on␛[31m␊the way", "engine    agent: GET /containers/0123456789ab/json  ms=12345678  status=200", "approval  --yes: apply", "",
	} {
		if _, rest, _ := strings.Cut(lines[i], "s  "); rest != want || strings.Contains(lines[i], "\x1b") {
			t.Errorf("line %d is %q, want %q", i, lines[i], want)
		}
	}
	if got := h.ask(t, run.ExitDone, "runs", "logs", promotedRun[:4]+"a", "--kind", "approval").stdout; !strings.HasSuffix(got, "approval  --yes: apply\n") || strings.Count(got, "\n") != 1 {
		t.Errorf("of one kind: %s", got)
	}
	var rows []runs.LogRow
	for line := range strings.Lines(h.ask(t, run.ExitDone, "runs", "logs", "--json", promotedRun).stdout) {
		var r runs.LogRow
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatal(err)
		}
		rows = append(rows, r)
	}
	if len(rows) != 3 || rows[1].Kind != run.EngineEntry || rows[1].Run != promotedRun || string(rows[1].Detail) != `{"ms":12345678,"status":200}` || rows[1].At.IsZero() || rows[1].Event <= rows[0].Event {
		t.Errorf("as JSON: %+v", rows)
	}
	if got := h.ask(t, run.ExitUsage, "runs", "logs", "--kind", "engines"); !strings.Contains(got.stderr, "the kinds are [state model tool gate") {
		t.Errorf("a kind that nobody knows: %s", got.stderr)
	}
	if got := h.ask(t, run.ExitDone, "runs", "logs", rejectedRun).stdout; got != "" {
		t.Errorf("an empty log: %q", got)
	}
}

// A followed log continues until the run ends, and shows everything that is there by then.
func TestALogIsFollowedToTheEndOfItsRun(t *testing.T) {
	t.Parallel()
	h := newHistory(t)
	const id = "1k3ccccccccc"
	h.begin(t, id, run.Analyzing)
	h.enter(t, id, run.Entry{Kind: run.StateEntry, Subject: "first"})
	got := make(chan execution, 1)
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer read.Close()
	go func() {
		defer write.Close()
		exit := execute(t.Context(), []string{"runs", "logs", "--follow", "--json", id}, func(k string) string { return h.env[k] }, strings.NewReader(""), write, os.Stderr)
		got <- execution{exit: exit}
	}()
	lines := json.NewDecoder(read)
	next := func(want string) {
		t.Helper()
		var r runs.LogRow
		if err := lines.Decode(&r); err != nil || r.Subject != want {
			t.Fatalf("got %+v, %v; want %s", r, err, want)
		}
	}
	next("first")
	h.enter(t, id, run.Entry{Kind: run.StateEntry, Subject: "second"})
	next("second")
	h.enter(t, id, run.Entry{Kind: run.StateEntry, Subject: "last"})
	h.end(t, id, run.Ending{State: run.Done, Verdict: verify.Pass})
	next("last")
	if lines.More() {
		t.Error("more follows the end")
	}
	if e := <-got; e.exit != run.ExitDone {
		t.Errorf("exit code %d", e.exit)
	}
}

// The log of a killed run ends too while it is followed, even if no other command is run.
func TestAFollowedRunThatIsKilledEnds(t *testing.T) {
	t.Parallel()
	h := newHistory(t)
	const id = "1k3ccccccccc"
	h.begin(t, id, run.Analyzing)
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer read.Close()
	h.enter(t, id, run.Entry{Kind: run.StateEntry, Subject: "first"})
	got := make(chan int, 1)
	go func() {
		defer write.Close()
		got <- execute(t.Context(), []string{"runs", "logs", "--follow", "--json", id}, func(k string) string { return h.env[k] }, strings.NewReader(""), write, os.Stderr)
	}()
	if err := json.NewDecoder(read).Decode(&runs.LogRow{}); err != nil {
		t.Fatal(err)
	}
	// The owner is a dead process that had the same number.
	if _, err := h.db.Claim(t.Context(), id, 1, sandbox.Owner()+"0"); err != nil {
		t.Fatal(err)
	}
	if exit := <-got; exit != run.ExitDone {
		t.Errorf("exit code %d", exit)
	}
	if d, err := h.db.Run(t.Context(), id); err != nil || d.State != run.Failed {
		t.Errorf("it ended %s, %v", d.State, err)
	}
}

// Everything that this process knows to be secret stays out of the log in every form, and so does everything that looks secret.
func TestSecretsAreKeptOutOfALog(t *testing.T) {
	t.Parallel()
	env, dir := home(t, "", "")
	secrets := map[string]string{"GEMINI_API_KEYS": "first-key-0123,second-key-4567", "PGPASSWORD": "pg sesame", "GH_TOKEN": "hub-9876-token"}
	for k, v := range secrets {
		env[k] = v
	}
	env["AGENT_DATABASE_URL"] = "postgres://me:url-sesame-1@localhost/db"
	env["GEMINI_BASE_URL"], env["OLLAMA_HOST"] = "http://me:gateway-word@host/", "http://me:ollama-word@host"
	env["HTTPS_PROXY"], env["http_proxy"] = "http://me:proxy-word-1@host:3128", "me:proxy-word-2@host:3128"
	env["NPM_CONFIG_REGISTRY"], env["PIP_INDEX_URL"] = "https://npm-token-word@host/", "https://me:pip%2Fsesame@host/simple"
	env["GOPROXY"] = "https://me:first-proxy@host|https://me:second-proxy@host,direct"
	set := settled(t, env, "-w", dir)
	set["smoke.env"] = config.Value{Text: `{"API_TOKEN": "smoke-token-77", "MODE": "production"}`}
	c := cmdline.New(func(k string) string { return env[k] }, nil, nil, nil)
	hide := set.LogMasker(c.Getenv, "connection-word")
	looks := "gh" + "p_" + strings.Repeat("a1B2c3D4e5", 4)[:36]
	for _, secret := range []string{
		"first-key-0123", "second-key-4567", "pg sesame", "hub-9876-token", "url-sesame-1", "gateway-word", "ollama-word", "smoke-token-77", "connection-word", looks,
		"proxy-word-1", "proxy-word-2", "npm-token-word", "pip/sesame", "first-proxy", "second-proxy",
	} {
		forms := []string{secret}
		if secret != looks {
			forms = append(forms, base64.StdEncoding.EncodeToString([]byte("x"+secret+"y")), hex.EncodeToString([]byte(secret)), url.QueryEscape(secret))
		}
		for _, form := range forms {
			hidden := hide("goal " + form + " in production")
			if strings.Contains(hidden, form) || !strings.HasPrefix(hidden, "goal ") || !strings.HasSuffix(hidden, " in production") {
				t.Errorf("%s is kept as %q", form, hidden)
			}
		}
	}
	if got := hide("a\nb\x1b[31m " + strings.Repeat("x", 999)); len(got) > 300 || strings.ContainsAny(got, "\n\x1b") {
		t.Errorf("kept is %q", got)
	}
	// A digest of a weak password would reveal it.
	if got := hide("connection-word"); got != "[key password of the database]" {
		t.Errorf("kept is %q", got)
	}
}
