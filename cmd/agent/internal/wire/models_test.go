package wire

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"agent/cmd/agent/internal/config"

	"github.com/urfave/cli/v2"

	"agent/cmd/agent/internal/fault"
	"agent/orchestrator/agent"
	"agent/orchestrator/llm"
	"agent/orchestrator/llm/catalog"
	"agent/orchestrator/llm/emulated"
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
		"nothing":           {nil, "", "ollama/qwen3-coder:30b"},
		"a key":             {map[string]string{"GEMINI_API_KEY": aKey}, "", "gemini/gemini-2.5-flash ollama/qwen3-coder:30b"},
		"keys in a file":    {nil, "[gemini]\napi_keys = [\"" + aKey + "\", \"b\"]", "gemini/gemini-2.5-flash ollama/qwen3-coder:30b"},
		"named in the file": {nil, "model = [\"ollama/b\", \"ollama/a\"]", "ollama/b ollama/a"},
		"keys of all": {
			map[string]string{"GEMINI_API_KEY": aKey, "OPENAI_API_KEY": aKey, "ANTHROPIC_API_KEYS": aKey, "COMPATIBLE_API_KEYS": aKey, "COMPATIBLE_BASE_URL": "http://127.0.0.1:1"},
			"",
			"gemini/gemini-2.5-flash anthropic/claude-sonnet-4-6 openai/gpt-5.3-codex ollama/qwen3-coder:30b",
		},
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
			// The local model is free and has the configured context; the others have the known values.
			known, _ := catalog.Find(l.Provider.Vendor(), l.Model)
			price, window := known.Price, known.Context
			if l.Provider.Vendor() == "ollama" {
				price, window = &llm.Price{}, 32000
			}
			if l.Price == nil || *l.Price != *price || l.Context != window {
				t.Errorf("%s: %s has the price %v and a context of %d", name, l.Model, l.Price, l.Context)
			}
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s: asks %v, want %s", name, got, c.want)
		}
	}
}

// The user's own server is asked for a model by name, with or without a key, at the user's address.
func TestACompatibleServerIsAskedByNameAlone(t *testing.T) {
	t.Parallel()
	env, dir := ownFile(t, "[windows]\n\"compatible/deepseek/*\" = 5000\n\"compatible/*\" = 6000\n\"ollama/m\" = 7000\n\"gemini/gemini-2.5-pro\" = 8000\n")
	env["AGENT_MODEL"] = "compatible/deepseek/r1"
	if _, err := links(vendors.All(), loaded(t, env, dir)); err == nil {
		t.Error("it is asked nowhere")
	} else if p, exit := fault.Classify(t.Context(), err); exit != run.ExitUsage || !strings.Contains(p.Next, "COMPATIBLE_BASE_URL") {
		t.Errorf("exit code %d, %+v", exit, p)
	}
	env["COMPATIBLE_BASE_URL"], env["GEMINI_API_KEY"] = "http://127.0.0.1:1/v1", aKey
	for model, want := range map[string]agent.Window{
		"compatible/deepseek/r1": {Tokens: 6000, Setting: `windows."compatible/*"`}, "ollama/m": {Tokens: 7000, Setting: `windows."ollama/m"`},
		"ollama/n": {Tokens: 32000, Setting: "ollama.context"}, "gemini/gemini-2.5-pro": {Tokens: 8000, Setting: `windows."gemini/gemini-2.5-pro"`},
		"gemini/gemini-2.5-flash": {Tokens: 1048576, Setting: "windows"}, "gemini/other": {},
	} {
		env["AGENT_MODEL"] = model
		s := loaded(t, env, dir)
		all, err := links(vendors.All(), s)
		if err != nil || len(all) != 1 || all[0].Context != want.Tokens || Window(s) != want {
			t.Errorf("%s: %+v, %v, and the window %+v", model, all, err, Window(s))
		}
	}
}

// A model is sampled as its makers recommend, unless the user sets something: then only the user's values apply.
func TestAModelIsAskedWithItsSampling(t *testing.T) {
	t.Parallel()
	env, dir := ownFile(t, "[sampling.\"ollama/qwen3:8b\"]\ntop_k = 5\n[sampling.\"compatible/*\"]\ntemperature = 0.3\n")
	env["COMPATIBLE_BASE_URL"] = "http://127.0.0.1:1/v1"
	for model, want := range map[string]llm.Sampling{
		"ollama/qwen3:14b": {Temperature: 0.6, TopP: 0.95, TopK: 20}, "ollama/qwen3:8b": {TopK: 5}, "ollama/m": {}, "compatible/qwen3": {Temperature: 0.3},
	} {
		env["AGENT_MODEL"] = model
		all, err := links(vendors.All(), loaded(t, env, dir))
		if err != nil || len(all) != 1 || all[0].Sampling != want {
			t.Errorf("%s: %+v, %v", model, all, err)
		}
	}
}

// A model gets tools through native calls if its vendor supports them or the user says so, else in its texts.
func TestAModelIsGivenToolsInItsForm(t *testing.T) {
	t.Parallel()
	env, dir := ownFile(t, "[tools]\n\"compatible/deepseek-chat\" = \"native\"\n\"ollama/*\" = \"none\"\n\"gemini/old\" = \"emulated\"\n")
	env["COMPATIBLE_BASE_URL"], env["GEMINI_API_KEY"], env["OPENAI_API_KEYS"], env["ANTHROPIC_API_KEYS"] = "http://127.0.0.1:1/v1", aKey, aKey, aKey
	for model, want := range map[string]llm.ToolForm{
		"gemini/gemini-2.5-flash": llm.NativeTools, "anthropic/m": llm.NativeTools, "openai/m": llm.NativeTools, "gemini/old": llm.EmulatedTools,
		"compatible/m": llm.EmulatedTools, "compatible/deepseek-chat": llm.NativeTools, "ollama/m": llm.NoTools,
	} {
		env["AGENT_MODEL"] = model
		all, err := links(vendors.All(), loaded(t, env, dir))
		if err != nil || len(all) != 1 {
			t.Fatalf("%s: %+v, %v", model, all, err)
		}
		_, written := all[0].Provider.(emulated.Provider)
		if all[0].Tools != (want != llm.NoTools) || written != (want == llm.EmulatedTools) {
			t.Errorf("%s: asked with tools %v, in its texts %v, want %s", model, all[0].Tools, written, want)
		}
	}
}

func TestACapOnCostNeedsAPrice(t *testing.T) {
	t.Parallel()
	env, dir := ownFile(t, "[budget]\ncost = 1\n[prices.\"gemini/known\"]\nin = 0.3\nout = 2.5\n")
	env["GEMINI_API_KEY"] = aKey
	for model, ok := range map[string]bool{"gemini/known": true, "gemini/other": false, "gemini/gemini-2.5-flash": true, "ollama/any": true} {
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

// ownFile writes a user's configuration, and returns the environment that names it, and a workspace.
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

// loaded returns the settings of a workspace as commands get them.
func loaded(t *testing.T, env map[string]string, dir string) (set config.Settings) {
	t.Helper()
	// Without --help, because its flag is a variable of the library that parallel applications all write to.
	app := &cli.App{HideHelp: true, HideVersion: true, Flags: []cli.Flag{&cli.StringFlag{Name: "workspace"}}, Action: func(ctx *cli.Context) (err error) {
		set, err = config.Load(ctx, func(k string) string { return env[k] })
		return err
	}}
	if err := app.RunContext(t.Context(), []string{"agent", "--workspace", dir}); err != nil {
		t.Fatal(err)
	}
	return set
}

// A question may quote as much as the smallest window holds and the most expensive model may be asked for. Unknown
// values are not assumed to be large.
func TestHowMuchAQuestionMayQuote(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		user string
		env  map[string]string
		want int
		why  string
	}{
		"a local one":           {"model = [\"ollama/a\"]", nil, 81_920, "the window of ollama/a"},
		"a local large one":     {"model = [\"ollama/a\"]\n[windows]\n\"ollama/*\" = 100000", nil, 256_000, "the window of ollama/a"},
		"cheap and large":       {"model = [\"gemini/gemini-2.5-flash\"]", nil, 2_000_000, "the price of gemini/gemini-2.5-flash"},
		"dear and large":        {"model = [\"anthropic/claude-opus-4-7\"]", nil, 120_000, "the price of anthropic/claude-opus-4-7"},
		"too dear for more":     {"model = [\"anthropic/claude-opus-4-1\"]", nil, 80 << 10, "the price of anthropic/claude-opus-4-1"},
		"without a known price": {"model = [\"gemini/gemini-2.5-pro\"]", nil, 256 << 10, "the price of gemini/gemini-2.5-pro"},
		"any price":             {"model = [\"anthropic/claude-sonnet-4-5\"]", map[string]string{"AGENT_MAX_QUESTION": "0"}, 512_000, "the window of anthropic/claude-sonnet-4-5"},
		"the user's price":      {"model = [\"gemini/gemini-2.5-pro\"]\n[prices.\"gemini/*\"]\nin = 2.0\nout = 8.0", nil, 300_000, "the price of gemini/gemini-2.5-pro"},
		"a fallback":            {"model = [\"gemini/gemini-2.5-flash\", \"ollama/a\"]", nil, 81_920, "the window of ollama/a"},
		"an unknown window":     {"model = [\"openai/of-tomorrow\"]", nil, 80 << 10, "the window of openai/of-tomorrow is not known"},
	} {
		env, dir := ownFile(t, c.user)
		for k, v := range c.env {
			env[k] = v
		}
		if got := QuestionBudget(loaded(t, env, dir)); got.Bytes != c.want || got.Why != c.why {
			t.Errorf("%s: %+v, want %d, %s", name, got, c.want, c.why)
		}
	}
}
