package serve

import (
	"bufio"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/urfave/cli/v2"

	"agent/cmd/agent/internal/cmdline"
	"agent/cmd/agent/internal/fault"
	"agent/orchestrator/forge/forgetest"
	"agent/orchestrator/run"
	"agent/orchestrator/store/storetest"
)

// serve runs the command until ctx ends; told reads stderr.
func serve(ctx context.Context, env map[string]string, stderr io.Writer, args ...string) error {
	line := cmdline.New(func(k string) string { return env[k] }, strings.NewReader(""), io.Discard, stderr)
	app := &cli.App{Name: "agent", DisableSliceFlagSeparator: true, ExitErrHandler: func(*cli.Context, error) {}, Commands: []*cli.Command{Command(line)}}
	return app.RunContext(ctx, append([]string{"agent", "serve"}, args...))
}

// environment returns the environment of a user with a forge that holds shop/till.
func environment(t *testing.T) (map[string]string, *forgetest.Hub) {
	t.Helper()
	g := forgetest.NewGit(t)
	g.Repository(t, "shop/till", map[string]string{"README": "x\n"})
	hub := forgetest.NewHub(t, g, "shop/till")
	_, url := storetest.New(t)
	home := t.TempDir()
	t.Setenv("DOCKER_HOST", "unix://"+home+"/docker.sock")
	t.Setenv("XDG_CACHE_HOME", filepath.Join(home, "cache"))
	t.Setenv("XDG_STATE_HOME", filepath.Join(home, "state"))
	return map[string]string{
		"HOME": home, "AGENT_DATABASE_URL": url, "AGENT_FORGE_URL": g.URL, "AGENT_FORGE_KIND": "github", "AGENT_FORGE_TOKEN": forgetest.Token, "AGENT_SERVE_SECRET": "sesame",
	}, hub
}

// A webhook arrives on a free port, its request is decided on and answered, and then the process is asked to end.
func TestAWebhookIsAnswered(t *testing.T) {
	env, hub := environment(t)
	hub.AddIssue(forgetest.Issue{Number: 3, Title: "round up"})
	ctx, end := context.WithCancel(t.Context())
	defer end()
	told, stderr := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		err := serve(ctx, env, stderr, "--repo", "shop/till", "--http", "127.0.0.1:0")
		stderr.Close()
		ended <- err
	}()
	lines := bufio.NewScanner(told)
	address, heard := regexp.MustCompile(`http://\S+/hooks`), ""
	for lines.Scan() {
		heard += lines.Text() + "\n"
		if at := address.FindString(lines.Text()); at != "" {
			body := `{"action":"created","repository":{"full_name":"shop/till"},"sender":{"login":"ada"},"issue":{"number":3,"state":"open"},"comment":{"id":1,"body":"/agent dance","user":{"login":"ada"}}}`
			mac := hmac.New(sha256.New, []byte("sesame"))
			mac.Write([]byte(body))
			for _, signature := range []string{"sha256=00", "sha256=" + hex.EncodeToString(mac.Sum(nil))} {
				req, err := http.NewRequestWithContext(ctx, http.MethodPost, at, strings.NewReader(body))
				if err != nil {
					t.Fatal(err)
				}
				req.Header.Set("X-Hub-Signature-256", signature)
				resp, err := http.DefaultClient.Do(req)
				if err != nil {
					t.Fatal(err)
				}
				resp.Body.Close()
				if want := map[bool]int{true: http.StatusUnauthorized, false: http.StatusAccepted}[signature == "sha256=00"]; resp.StatusCode != want {
					t.Errorf("%d, want %d", resp.StatusCode, want)
				}
			}
		}
		if len(hub.Said(3)) > 0 || strings.Contains(lines.Text(), "/agent dance") {
			break
		}
	}
	go func() { _, _ = io.Copy(io.Discard, told) }()
	look := time.NewTicker(20 * time.Millisecond)
	defer look.Stop()
	for len(hub.Said(3)) == 0 {
		select {
		case err := <-ended:
			t.Fatalf("%v\n%s", err, heard)
		case <-look.C:
		}
	}
	end()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if said := hub.Said(3); len(said) != 1 || !strings.Contains(said[0], "`/agent dance`, asked by `ada`: **refused**") || strings.Contains(heard, "sesame") {
		t.Errorf("%q\n%s", said, heard)
	}
}

func TestWhatCannotBeServedIsRefused(t *testing.T) {
	env, _ := environment(t)
	with := func(name, value string) map[string]string {
		other := map[string]string{}
		for k, v := range env {
			other[k] = v
		}
		other[name] = value
		return other
	}
	for i, c := range []struct {
		env  map[string]string
		says string
		exit int
		args []string
	}{
		{env, "no repository was named", run.ExitUsage, nil},
		{with("AGENT_SERVE_SECRET", ""), "there is neither a webhook secret nor --poll", run.ExitUsage, []string{"--repo", "shop/till"}},
		{env, "--poll 1s", run.ExitUsage, []string{"--repo", "shop/till", "--poll", "1s"}},
		{env, `invalid address "here"`, run.ExitUsage, []string{"--repo", "shop/till", "--http", "here"}},
		{env, "not the address of a repository", run.ExitUsage, []string{"--repo", "no name"}},
		{with("AGENT_FORGE_TOKEN", "wrong"), "", run.ExitUsage, []string{"--repo", "shop/till"}},
	} {
		err := serve(t.Context(), c.env, io.Discard, c.args...)
		if err == nil {
			t.Errorf("case %d works", i)
			continue
		}
		p, exit := fault.Classify(t.Context(), err)
		if exit != c.exit || !strings.Contains(p.Message, c.says) || p.Next == "" {
			t.Errorf("case %d: exit code %d, %s (next: %s)", i, exit, p.Message, p.Next)
		}
	}
	if _, err := (&service{kind: "gitlab"}).listen(t.Context(), "0.0.0.0:0"); err == nil || !strings.Contains(fmt.Sprint(err), "in the clear") {
		t.Error(err)
	}
}
