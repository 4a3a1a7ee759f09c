package initialize

import (
	"bytes"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/urfave/cli/v2"

	"agent/cmd/agent/internal/cmdline"
	"agent/cmd/agent/internal/cmdline/cmdlinetest"
	"agent/cmd/agent/internal/fault"
	"agent/orchestrator/run"
)

// initIn runs the command, and returns its exit code.
func initIn(t *testing.T, line *cmdline.Line, args ...string) (exit int, err error) {
	app := &cli.App{Name: "agent", Writer: line.Stderr, ErrWriter: line.Stderr, Commands: []*cli.Command{Command(line)}, ExitErrHandler: func(*cli.Context, error) {}}
	err = app.RunContext(t.Context(), append([]string{"agent", "init"}, args...))
	if err != nil {
		_, exit = fault.Classify(t.Context(), err)
	}
	return exit, err
}

// project makes a workspace, and a user's home next to it. No engine answers.
func project(t *testing.T) (env map[string]string, dir, file string) {
	t.Setenv("DOCKER_HOST", "unix://"+t.TempDir()+"/none.sock")
	home, dir := t.TempDir(), t.TempDir()
	for name, text := range map[string]string{"shop.py": "x = 1\n", "tests/test_shop.py": "def test(): pass\n", "requirements.txt": "\n"} {
		name = filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o755), os.WriteFile(name, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	return map[string]string{"HOME": home}, dir, filepath.Join(home, ".config/agent/config.toml")
}

func contains(t *testing.T, file string, texts ...string) {
	t.Helper()
	data, err := os.ReadFile(file)
	for _, text := range texts {
		if err != nil || !strings.Contains(string(data), text) {
			t.Errorf("%s lacks %q (%v):\n%s", file, text, err, data)
		}
	}
}

func TestInitKeepsTheKeyToItself(t *testing.T) {
	env, dir, file := project(t)
	const secret = "AIza-a-very-secret-key"
	asked := ""
	vendor := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = r.Header.Get("x-goog-api-key")
		http.Error(w, `{"error":{"code":400,"message":"API key not valid: `+secret+`","status":"INVALID_ARGUMENT"}}`, http.StatusBadRequest)
	}))
	defer vendor.Close()
	env["GEMINI_BASE_URL"] = vendor.URL
	p := cmdlinetest.NewPerson(t, env)
	got := make(chan error, 1)
	go func() { _, err := initIn(t, p.Line, "--workspace", dir); got <- err }()
	for _, step := range [][2]string{
		{"Whose models?", "1\n"},
		{"Which model of Gemini?", "\n"},
		{"(not shown): ", secret + "\n"},
		{"Keep it anyway?", "y\n"},
		{"Write this to ", "y\n"},
	} {
		p.Sees(t, step[0], 1)
		p.Types(t, step[1])
	}
	if err := <-got; err != nil {
		t.Fatal(err)
	}
	if asked != secret {
		t.Errorf("the model was asked with the key %q", asked)
	}
	if strings.Contains(p.Screen(), secret) {
		t.Errorf("the key was shown:\n%s", p.Screen())
	}
	contains(t, file, "gemini/gemini-2.5-flash", secret)
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	if set := cmdlinetest.Settings(t, env, dir); strings.Contains(set.Shown("gemini.keys"), secret) || set["gemini.keys"].Text != secret {
		t.Error("the configuration that was written does not give the key")
	}
	contains(t, filepath.Join(dir, "agent.toml"), "python: 2 files, 1 of tests", "requirements.txt", `run = "all"`)
}

func TestInitReplacesNothingUnasked(t *testing.T) {
	env, dir, file := project(t)
	if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o700), os.WriteFile(file, []byte("countdown = \"1m\"\n"), 0o600)); err != nil {
		t.Fatal(err)
	}
	p := cmdlinetest.NewPerson(t, env)
	got := make(chan error, 1)
	go func() { _, err := initIn(t, p.Line, "--workspace", dir); got <- err }()
	p.Sees(t, "Replace ", 1)
	p.Types(t, "\n") // Enter means no
	p.Sees(t, "Write this to ", 1)
	p.Types(t, "no\n")
	if err := <-got; err != nil {
		t.Fatal(err)
	}
	contains(t, file, "countdown = \"1m\"")
	if _, err := os.Stat(filepath.Join(dir, "agent.toml")); err == nil {
		t.Error("agent.toml was written after a no")
	}
}

func TestInitWithoutATerminal(t *testing.T) {
	env, dir, file := project(t)
	var out bytes.Buffer
	line := cmdline.New(func(k string) string { return env[k] }, strings.NewReader("y\n"), &out, &out)
	if exit, err := initIn(t, line, "--workspace", dir); exit != run.ExitApproval {
		t.Errorf("exit %d, %v", exit, err)
	}
	if exit, err := initIn(t, line, "--workspace", dir, "--yes", "--model", "ollama/tiny"); exit != run.ExitDone || !strings.Contains(out.String(), "start an engine") {
		t.Errorf("exit %d, %v\n%s", exit, err, out.String())
	}
	contains(t, file, "ollama/tiny")
	contains(t, filepath.Join(dir, "agent.toml"), "python: 2 files")
	// A second run changes nothing.
	if exit, err := initIn(t, line, "--workspace", dir, "--yes", "--model", "ollama/other"); exit != run.ExitDone {
		t.Errorf("exit %d, %v", exit, err)
	}
	contains(t, file, "ollama/tiny")
	// Someone who can read a workspace must not be able to read the keys.
	env["XDG_CONFIG_HOME"] = filepath.Join(dir, "conf")
	if exit, err := initIn(t, line, "--workspace", dir, "--yes", "--model", "ollama/tiny"); exit != run.ExitUsage {
		t.Errorf("exit %d, %v", exit, err)
	}
}
