package sandbox

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"agent/cmd/agent/internal/cmdline/cmdlinetest"
	"agent/cmd/agent/internal/config"
	"agent/cmd/agent/internal/fault"
	"agent/orchestrator/exec"
	"agent/orchestrator/gateway"
	"agent/orchestrator/llm"
	"agent/orchestrator/llm/journaltest"
	"agent/orchestrator/run"
)

// configured returns the settings of a user with this configuration.
func configured(t *testing.T, env map[string]string, text string) config.Settings {
	t.Helper()
	top := t.TempDir()
	if err := errors.Join(os.MkdirAll(filepath.Join(top, "agent"), 0o755), os.WriteFile(filepath.Join(top, "agent", "config.toml"), []byte(text), 0o600)); err != nil {
		t.Fatal(err)
	}
	all := map[string]string{"XDG_CONFIG_HOME": top}
	for k, v := range env {
		all[k] = v
	}
	return cmdlinetest.Settings(t, all, t.TempDir())
}

func TestAKnownProgramIsStartedByItsRecipe(t *testing.T) {
	t.Parallel()
	env := map[string]string{"ANTHROPIC_API_KEYS": "sk-real-0123456789"}
	w := exec.Work{Command: []string{"claude", "-p", "do it"}}
	f, err := follow(configured(t, env, "[exec.claude]\nallow = [\"docs.example.org\"]\nenv = { MORE = \"{key}\" }\n"), &w)
	if err != nil || f == nil || f.name != "claude" || f.gateway == nil || !w.Model || len(f.allow) != 2 {
		t.Fatalf("%+v, %v", f, err)
	}
	if w.Env["ANTHROPIC_BASE_URL"] != gateway.Address || w.Env["ANTHROPIC_API_KEY"] != gateway.Key || w.Env["MORE"] != gateway.Key {
		t.Errorf("its environment is %v", w.Env)
	}
	if want := []string{"claude", "-p", "do it", "--permission-mode", "bypassPermissions"}; !slices.Equal(w.Start, want) || len(w.Command) != 3 {
		t.Errorf("it is started as %q", w.Start)
	}
	for _, text := range append(slices.Clone(w.Start), values(w.Env)...) {
		if strings.Contains(text, "sk-real") {
			t.Errorf("the key is in %q", text)
		}
	}
	// A program without a recipe is run as it is.
	plain := exec.Work{Command: []string{"sed", "-i"}}
	if f, err := follow(configured(t, env, ""), &plain); err != nil || f != nil || plain.Start != nil || plain.Model {
		t.Errorf("%+v, %v", f, err)
	}
	// A program that asks no model, and reaches nothing, does not count as a model's work.
	tidy := exec.Work{Command: []string{"/usr/bin/tidy", "x"}}
	if f, err := follow(configured(t, nil, "[exec.tidy]\ndebian = [\"tidy\"]\n"), &tidy); err != nil || f.gateway != nil || tidy.Model || tidy.Start[0] != "/usr/bin/tidy" {
		t.Errorf("%+v, %+v, %v", f, tidy, err)
	}
}

func TestWhatARecipeLacksIsToldBeforeAnythingIsBuilt(t *testing.T) {
	t.Parallel()
	for want, test := range map[string]struct {
		env  map[string]string
		text string
	}{
		"exec.claude asks Anthropic: no API key": {nil, ""},
		"would put key":                          {map[string]string{"ANTHROPIC_API_KEYS": "sk-real-0123456789"}, "[exec.claude]\nenv = { X = \"a sk-real-0123456789 b\" }\n"},
		"is not http":                            {map[string]string{"ANTHROPIC_API_KEYS": "sk-real-0123456789", "ANTHROPIC_BASE_URL": "ftp://x"}, ""},
	} {
		w := exec.Work{Command: []string{"claude"}}
		_, err := follow(configured(t, test.env, test.text), &w)
		var told *fault.Error
		if !errors.As(err, &told) || !strings.Contains(err.Error(), want) || told.Next == "" || strings.Contains(err.Error(), "sk-real") {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// The program's requests are reported, and a cap that it reached ends the run.
func TestWhatWasSpentIsTold(t *testing.T) {
	t.Parallel()
	opened := func(limits llm.Limits) *gateway.Gateway {
		g, err := gateway.New(gateway.Config{Vendor: "anthropic", Run: "r", Price: func(string) *llm.Price { return nil }, Meter: &llm.Meter{Limits: limits, Journal: &journaltest.Memory{}}})
		if err != nil {
			t.Fatal(err)
		}
		return g
	}
	if note, problem := spent(opened(llm.Limits{})); note != "" || problem != nil {
		t.Errorf("nothing: %q, %+v", note, problem)
	}
	for kind, limits := range map[run.ProblemKind]llm.Limits{run.ProblemBudget: {Tokens: 1}, run.ProblemUsage: {RunCost: 1}} {
		g := opened(limits)
		askOnce(t, g)
		if _, problem := spent(g); problem == nil || problem.Kind != kind || problem.Next == "" {
			t.Errorf("%s: %+v", kind, problem)
		}
	}
}

// askOnce asks a gateway that lets nothing through.
func askOnce(t *testing.T, g *gateway.Gateway) {
	t.Helper()
	w := httptest.NewRecorder()
	g.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/v1/messages", strings.NewReader(`{"model":"m"}`)))
	if w.Code != http.StatusBadRequest {
		t.Errorf("status %d: %s", w.Code, w.Body)
	}
}
