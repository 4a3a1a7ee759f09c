package main

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/urfave/cli/v2"

	"agent/orchestrator/run"
	"agent/orchestrator/store/storetest"
)

// These are what a command needs. Without a configured database the engine provides it.
const (
	noneNeeded = iota
	needsDatabase
	needsEngine
)

// stands lists what each command needs, with valid arguments. A new command needs a row here.
var stands = map[string]struct {
	on   int
	args []string
}{
	"sandbox run": {needsEngine, []string{"--patch", "PATCH", "--yes"}}, "sandbox loop": {needsEngine, []string{"--iterations", "1", "--yes", "--model", "ollama/none"}},
	"sandbox exec": {needsEngine, []string{"true"}}, "sandbox shell": {noneNeeded, nil}, // a shell checks for a terminal first
	"plan list": {needsDatabase, nil}, "plan show": {needsDatabase, nil}, "plan drop": {needsDatabase, []string{"9"}},
	"plan edit": {needsDatabase, []string{"9", "--print"}}, "build": {needsEngine, []string{"--plan", "9", "--model", "ollama/none"}}, "roles": {noneNeeded, nil}, "loop": {needsEngine, []string{"--resume", "--model", "ollama/none"}},
	"jobs list": {needsDatabase, nil}, "jobs show": {needsDatabase, []string{"9"}}, "jobs pause": {needsDatabase, []string{"9"}}, "jobs resume": {needsDatabase, []string{"9"}}, "jobs cancel": {needsDatabase, []string{"9"}},
	"chat list": {needsDatabase, nil}, "chat show": {needsDatabase, nil},
	"prove":        {needsEngine, []string{"-w", "REPO"}},
	"ci":           {needsEngine, []string{"-w", "REPO"}},
	"hook install": {noneNeeded, []string{"-w", "REPO"}}, "hook uninstall": {noneNeeded, []string{"-w", "REPO"}}, "hook status": {noneNeeded, []string{"-w", "REPO"}},
	"hook pre-commit": {noneNeeded, []string{"-w", "REPO"}}, "hook pre-push": {noneNeeded, []string{"-w", "REPO"}}, // nothing is staged or pushed
	"watch":       {needsEngine, []string{"-w", "REPO", "--once"}},
	"lsp":         {noneNeeded, []string{"-w", "REPO"}},                                                                                                          // no editor speaks
	"hook claude": {noneNeeded, []string{"-w", "REPO"}}, "hook codex": {noneNeeded, []string{"-w", "REPO"}}, "hook gemini": {noneNeeded, []string{"-w", "REPO"}}, // no event came
	"sandbox ls": {needsEngine, nil}, "sandbox gc": {needsEngine, nil},
	"edit":      {noneNeeded, []string{"PATCH", "-w", "SHOP"}},
	"runs list": {needsDatabase, nil}, "runs show": {needsDatabase, []string{"zzzz"}}, "runs diff": {needsDatabase, []string{"zzzz"}},
	"runs logs": {needsDatabase, []string{"zzzz"}}, "runs calls": {needsDatabase, []string{"zzzz"}}, "runs export": {needsDatabase, []string{"zzzz"}},
	"runs replay": {needsEngine, []string{"zzzz"}}, "runs verify": {noneNeeded, []string{"PATCH"}}, "runs key": {noneNeeded, nil},
	"proposals list": {needsDatabase, nil}, "proposals show": {needsDatabase, []string{"7"}}, "proposals drop": {needsDatabase, []string{"7"}},
	"review": {needsDatabase, []string{"--json"}}, "undo": {needsDatabase, []string{"zzzz"}}, "blame": {needsDatabase, []string{"shop/stock.py", "-w", "SHOP"}},
	"analyze": {needsEngine, nil}, "context": {needsDatabase, []string{"shop/stock.py", "-w", "SHOP"}}, "sql": {needsDatabase, []string{"v_runs"}},
	"db url": {noneNeeded, nil}, "db up": {needsDatabase, nil}, "db migrate": {needsDatabase, nil}, "db prune": {needsDatabase, []string{"--older-than", "90d", "--dry-run"}},
	"db down":      {noneNeeded, nil}, // refused if the user has a database of their own
	"images build": {needsEngine, nil}, "images list": {needsEngine, nil}, "images prune": {needsEngine, nil},
	"doctor": {needsEngine, nil}, "config": {noneNeeded, nil}, "keys": {needsDatabase, nil},
	"self rebuild": {needsEngine, []string{"-w", "SELF", "--yes"}}, "self status": {noneNeeded, nil}, "self rollback": {needsEngine, nil}, "self list": {noneNeeded, nil},
	"runs apply": {needsDatabase, []string{"zzzz"}}, "memory show": {needsDatabase, nil}, "memory edit": {needsDatabase, nil}, "memory clear": {needsDatabase, []string{"--yes"}},
	"pr open": {needsDatabase, nil}, "pr review": {needsDatabase, []string{"7"}}, "pr watch": {noneNeeded, []string{"7"}},
	"pr fix-ci": {needsDatabase, []string{"7"}}, "pr run": {needsDatabase, []string{"shop/till", "--goal", "x"}},
	"serve":  {needsDatabase, []string{"--repo", "shop/till", "--poll", "1m"}},
	"models": {noneNeeded, []string{"--known"}}, "init": {noneNeeded, []string{"--help"}}, "uninstall": {noneNeeded, nil},
	"mcp": {noneNeeded, nil}, "mcp install": {noneNeeded, []string{"claude", "--yes"}}, "mcp uninstall": {noneNeeded, []string{"claude", "--yes"}},
	"prompts list": {noneNeeded, nil}, "prompts show": {noneNeeded, []string{"IF"}}, "prompts diff": {noneNeeded, nil}, "prompts edit": {noneNeeded, []string{"IF"}}, "prompts allow": {noneNeeded, []string{"--yes"}},
	"help": {noneNeeded, nil}, "man": {noneNeeded, nil}, "schema": {noneNeeded, nil}, "completion bash": {noneNeeded, nil}, "completion zsh": {noneNeeded, nil}, "completion fish": {noneNeeded, nil}, "version": {noneNeeded, nil},
}

// withoutEngine runs a command as a separate process, with a missing engine socket.
func withoutEngine(t *testing.T, url, path string) execution {
	t.Helper()
	top := t.TempDir()
	shop, patch, own := filepath.Join(top, "shop"), filepath.Join(top, "change.xml"), filepath.Join(top, "own")
	good, err := os.ReadFile("testdata/patches/good.xml")
	err = errors.Join(err, os.CopyFS(shop, os.DirFS("testdata/example")), os.WriteFile(patch, good, 0o644))
	for _, dir := range []string{"cmd/agent", "cmd/guest"} {
		err = errors.Join(err, os.MkdirAll(filepath.Join(own, dir), 0o755))
	}
	if err := errors.Join(err, os.WriteFile(filepath.Join(own, "go.mod"), []byte("module agent\n"), 0o644)); err != nil {
		t.Error(err)
		return execution{}
	}
	args := strings.Fields(path)
	for _, a := range stands[path].args {
		if a == "REPO" {
			commitAll(t, shop)
		}
		args = append(args, strings.NewReplacer("PATCH", patch, "SHOP", shop, "REPO", shop, "SELF", own).Replace(a))
	}
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(t.Context(), agentProgram, args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = shop, &stdout, &stderr
	cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + top, "AGENT_GUEST=" + os.Getenv("AGENT_GUEST"), "AGENT_DATABASE_URL=" + url,
		"DOCKER_HOST=unix://" + filepath.Join(top, "docker.sock"),
	}
	if err := cmd.Run(); err != nil && !errors.As(err, new(*exec.ExitError)) {
		t.Error(err)
		return execution{}
	}
	return execution{cmd.ProcessState.ExitCode(), stdout.String(), stderr.String()}
}

// withoutAny runs every command with withoutEngine. Most of them only wait, so many run at the same time.
func withoutAny(t *testing.T, url string) map[string]execution {
	t.Helper()
	paths := leaves()
	all := make([]execution, len(paths))
	var wg sync.WaitGroup
	free := make(chan struct{}, 12)
	for i, path := range paths {
		free <- struct{}{}
		wg.Go(func() {
			defer func() { <-free }()
			all[i] = withoutEngine(t, url, path)
		})
	}
	wg.Wait()
	done := map[string]execution{}
	for i, path := range paths {
		done[path] = all[i]
	}
	return done
}

// commitAll makes dir a repository with one commit.
func commitAll(t *testing.T, dir string) {
	t.Helper()
	for _, args := range [][]string{{"init", "-q"}, {"add", "-A"}, {"-c", "user.name=n", "-c", "user.email=e@x", "commit", "-q", "-m", "all"}} {
		cmd := exec.CommandContext(t.Context(), "git", args...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
}

// leaves returns the commands that do something, by their paths.
func leaves() (paths []string) {
	walk(newApp(quiet()).Commands, func(path string, cmd *cli.Command) {
		if len(cmd.Subcommands) == 0 || cmd.Name == "mcp" {
			paths = append(paths, path)
		}
	})
	return paths
}

func TestEveryCommandSaysWhatItStandsOn(t *testing.T) {
	t.Parallel()
	paths := leaves()
	for _, path := range paths {
		if _, there := stands[path]; !there {
			t.Errorf("agent %s has no row in stands", path)
		}
	}
	for path := range stands {
		if !slices.Contains(paths, path) {
			t.Errorf("stands has a row of %s, which is no command", path)
		}
	}
}

// Without an engine, every command that needs none works, and the others say at once what is missing.
func TestCommandsWithoutAnEngine(t *testing.T) {
	t.Parallel()
	_, url := storetest.New(t)
	missing := func(got execution) bool {
		return got.exit == run.ExitInfra && strings.Contains(got.stdout+got.stderr, "no Docker engine at unix://")
	}
	// The database is elsewhere.
	for path, got := range withoutAny(t, url) {
		switch needs := stands[path].on == needsEngine; {
		case needs && path == "doctor":
			if !missing(got) || !strings.Contains(got.stdout, "→ start Docker") {
				t.Errorf("agent %s: %+v", path, got)
			}
		case needs && (!missing(got) || !strings.Contains(got.stderr, "next: ")):
			t.Errorf("agent %s needs an engine: %+v", path, got)
		case !needs && got.exit == run.ExitInfra:
			t.Errorf("agent %s needs no engine: %+v", path, got)
		}
	}
	// The agent's own database needs the engine.
	for path, got := range withoutAny(t, "") {
		switch needs := stands[path].on != noneNeeded || path == "db url" || path == "db down"; {
		case needs && !missing(got):
			t.Errorf("agent %s needs the agent's own database: %+v", path, got)
		case !needs && got.exit == run.ExitInfra:
			t.Errorf("agent %s needs no database: %+v", path, got)
		}
	}
}

// A command reports that its database does not answer before it gives up.
func TestCommandsWithoutADatabase(t *testing.T) {
	t.Parallel()
	const gone = "postgres://agent:canary-s3cret@127.0.0.1:1/agent"
	for path, got := range withoutAny(t, gone) {
		told := strings.Contains(got.stderr, "agent: database 127.0.0.1:1/agent not reachable, trying again (attempt ")
		switch needs := stands[path].on == needsDatabase || path == "doctor"; {
		case needs && (got.exit != run.ExitInfra || !told):
			t.Errorf("agent %s needs the database: %+v", path, got)
		case !needs && told:
			t.Errorf("agent %s needs no database: %+v", path, got)
		}
		if strings.Contains(got.stderr, "canary") || strings.Contains(got.stdout, "canary") && path != "db url" {
			t.Errorf("agent %s tells the password: %+v", path, got)
		}
	}
}

// Invalid input ends with exit code 2, nothing on stdout, and a hint at what to do next.
func TestNonsenseNamesTheCure(t *testing.T) {
	t.Parallel()
	for _, path := range leaves() {
		for _, wrong := range [][]string{{"--nonsense"}, {"--nonsense=1"}, {"a", "b", "c"}, {"--json=perhaps"}} {
			// A command to run, and the arguments that git passes to hooks, may be anything.
			if wrong[0] == "a" && slices.Contains([]string{"sandbox exec", "hook pre-commit", "hook pre-push"}, path) {
				continue
			}
			got := commandIn(t, nil, append(strings.Fields(path), wrong...)...)
			if got.exit != run.ExitUsage || got.stdout != "" || !strings.HasPrefix(got.stderr, "agent: ") || !strings.Contains(got.stderr, "\n  next: ") {
				t.Errorf("agent %s %q: %+v", path, wrong, got)
			}
		}
	}
	empty := t.TempDir()
	for args, want := range map[string]string{
		"config -w /nonexistent":              "name a directory with --workspace",
		"config -w /etc/passwd":               "name a directory with --workspace",
		"proposals drop":                      "no proposal was named",
		"proposals drop x":                    `invalid proposal number "x"`,
		"proposals show 0":                    `invalid proposal number "0"`,
		"runs list --state sleeping":          "the states are: queued, analyzing, ",
		"runs logs --kind x":                  "the kinds are",
		"self rebuild -w /nonexistent --yes":  "name a directory with --workspace",
		"self rebuild -w " + empty + " --yes": "not the agent's repository",
		"blame":                               "no file was named",
		"runs verify":                         "no archive was named",
		"runs verify /nonexistent":            "name an archive",
		"schema nothing":                      "see `agent schema`",
	} {
		if got := commandIn(t, nil, strings.Fields(args)...); got.exit != run.ExitUsage || got.stdout != "" || !strings.Contains(got.stderr, want) || !strings.Contains(got.stderr, "next: ") {
			t.Errorf("agent %s: %+v, want %q", args, got, want)
		}
	}
}

// A name that is not in the record is a usage error that says what was looked for.
func TestWhatIsNotThereIsAnError(t *testing.T) {
	t.Parallel()
	_, url := storetest.New(t)
	env := map[string]string{"AGENT_DATABASE_URL": url, "XDG_CONFIG_HOME": t.TempDir(), "XDG_STATE_HOME": t.TempDir()}
	for args, want := range map[string]string{
		"runs show":                            "there is no run of ",
		"runs show zzzz":                       `"zzzz"`,
		"runs show zzzz --json":                `"zzzz"`,
		"runs diff zzzz":                       `"zzzz"`,
		"runs logs zzzz":                       `"zzzz"`,
		"runs calls zzzz":                      `"zzzz"`,
		"runs export zzzz":                     `"zzzz"`,
		"review zzzz":                          `"zzzz"`,
		"undo zzzz":                            `"zzzz"`,
		"undo":                                 "nothing to undo",
		"proposals show 7":                     "there is no proposal 7",
		"proposals drop 7":                     "there is no proposal 7",
		"proposals drop 7 --json":              "there is no proposal 7",
		"proposals list -w /nonexistent":       "name a directory",
		"runs list -w /nonexistent":            "name a directory",
		"runs list -w /nonexistent --json":     "name a directory",
		"sql v_nothing":                        "unknown view v_nothing",
		"sql nonsense --json":                  "syntax error",
		"sql --json -- select\tnothing_at_all": "nothing_at_all",
		"keys --forget nothing":                `unknown key "nothing"`,
	} {
		got := commandIn(t, env, strings.Split(strings.ReplaceAll(args, " ", "\x00"), "\x00")...)
		if got.exit != run.ExitUsage || got.stdout != "" || !strings.Contains(got.stderr, want) || !strings.Contains(got.stderr, "next: ") {
			t.Errorf("agent %s: %+v, want %q", args, got, want)
		}
	}
}
