package wire

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"agent/cmd/agent/internal/config"

	"github.com/urfave/cli/v2"

	"agent/cmd/agent/internal/fault"
	"agent/orchestrator/llm/vendors"
	"agent/orchestrator/run"
	"agent/orchestrator/store"
)

func TestModelsAreAskedInTheOrderGiven(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		env  map[string]string
		user string
		want string
	}{
		"nothing":             {nil, "", "ollama/qwen3-coder:30b"},
		"a key":               {map[string]string{"GEMINI_API_KEY": aKey}, "", "gemini/gemini-2.5-flash ollama/qwen3-coder:30b"},
		"keys in a file":      {nil, "[gemini]\napi_keys = [\"" + aKey + "\", \"b\"]", "gemini/gemini-2.5-flash ollama/qwen3-coder:30b"},
		"named in the file":   {nil, "model = [\"ollama/b\", \"ollama/a\"]", "ollama/b ollama/a"},
		"the environment won": {map[string]string{"AGENT_MODEL": "ollama/x, ollama/y"}, "model = [\"ollama/b\"]", "ollama/x ollama/y"},
	} {
		env, dir := ownFile(t, c.user)
		for k, v := range c.env {
			env[k] = v
		}
		set := loaded(t, env, dir)
		links, err := links(vendors.All(), set)
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

func TestACapOnCostNeedsAPrice(t *testing.T) {
	t.Parallel()
	env, dir := ownFile(t, "[budget]\ncost = 1\n[prices.\"gemini/known\"]\nin = 0.3\nout = 2.5\n")
	env["GEMINI_API_KEY"] = aKey
	for model, ok := range map[string]bool{"gemini/known": true, "gemini/other": false, "ollama/any": true} {
		env["AGENT_MODEL"] = model
		_, err := (&Session{DB: &store.DB{}}).newChain(loaded(t, env, dir), "run", "")
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

const aKey = "AQ.not-a-real-key-0123456789"

// ownFile writes a user's configuration, and returns the environment that names it and a
// workspace.
func ownFile(t *testing.T, text string) (env map[string]string, dir string) {
	t.Helper()
	own, dir := t.TempDir(), t.TempDir()
	if err := os.MkdirAll(filepath.Join(own, "agent"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(own, "agent", "config.toml"), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return map[string]string{"XDG_CONFIG_HOME": own}, dir
}

// loaded returns the settings of a workspace as commands see them.
func loaded(t *testing.T, env map[string]string, dir string) (set config.Settings) {
	t.Helper()
	// Without --help: its flag is a variable of the library, which applications that run side by side all write to.
	app := &cli.App{HideHelp: true, HideVersion: true, Flags: []cli.Flag{&cli.StringFlag{Name: "workspace"}}, Action: func(ctx *cli.Context) (err error) {
		set, err = config.Load(ctx, func(k string) string { return env[k] })
		return err
	}}
	if err := app.RunContext(t.Context(), []string{"agent", "--workspace", dir}); err != nil {
		t.Fatal(err)
	}
	return set
}
