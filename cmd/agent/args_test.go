package main

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/urfave/cli/v2"

	"agent/cmd/agent/internal/cmdline"
	"agent/cmd/agent/internal/fault"
	"agent/cmd/agent/internal/term/termtest"
	"agent/orchestrator/run"
)

func quiet() *cmdline.Line {
	return cmdline.New(func(string) string { return "" }, strings.NewReader(""), &strings.Builder{}, &strings.Builder{})
}

func TestFlagsWorkBeforeAndAfterPositionals(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, args, want string }{
		{"flag after the argument", "undo 1k3 --yes", "undo --yes -- 1k3"},
		{"flag before the argument", "undo --yes 1k3", "undo --yes -- 1k3"},
		{"flag before the command", "--json runs show 1k3", "runs show --json -- 1k3"},
		{"flag between the words of the command", "runs --json show 1k3", "runs show --json -- 1k3"},
		{"value in the next word", "undo 1k3 --workspace dir", "undo --workspace dir -- 1k3"},
		{"value after =", "undo --workspace=dir 1k3", "undo --workspace=dir -- 1k3"},
		{"alias with a value", "undo -w dir 1k3", "undo -w dir -- 1k3"},
		{"- is a value", "sandbox run --patch - --yes", "sandbox run --patch - --yes"},
		{"a value that looks like a command", "sandbox run --patch run", "sandbox run --patch run"},
		{"a value that looks like a flag", "sandbox run --patch --yes", "sandbox run --patch --yes"},
		{"-- ends the flags", "sql --csv -- --strange", "sql --csv -- --strange"},
		{"-- before any argument", "sql -- select", "sql -- select"},
		{"nothing", "", ""},
		{"only a flag", "--version", "--version"},
		{"a flag without its value", "undo --workspace", "undo --workspace"},
	} {
		got, err := reorder(newApp(quiet()), strings.Fields(c.args))
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		if diff := cmp.Diff(strings.Fields(c.want), got, cmp.Transformer("words", func(s []string) string { return strings.Join(s, " ") })); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
}

func TestUnknownCommandsNameTheNearest(t *testing.T) {
	t.Parallel()
	for args, near := range map[string]string{
		"sandbx":         "did you mean `agent sandbox`",
		"sandbox rnu":    "did you mean `agent sandbox run`",
		"runs lst":       "did you mean `agent runs list`",
		"doc":            "did you mean `agent doctor`",
		"--json undoo":   "did you mean `agent undo`",
		"frobnicate":     "see `agent --help`",
		"images explode": "see `agent images --help`",
		"completion tcl": "see `agent completion --help`",
	} {
		_, err := reorder(newApp(quiet()), strings.Fields(args))
		var f *fault.Error
		if !errors.As(err, &f) || f.Exit != run.ExitUsage || !strings.Contains(f.Next, near) {
			t.Errorf("agent %s: got %v, want a usage error that says %q", args, err, near)
		}
	}
}

func TestAFlagMeansTheSameEverywhere(t *testing.T) {
	t.Parallel()
	kinds := map[string]map[bool][]string{}
	walk(newApp(quiet()).Commands, func(path string, cmd *cli.Command) {
		for _, f := range cmd.Flags {
			_, isBool := f.(*cli.BoolFlag)
			for _, name := range f.Names() {
				if kinds[name] == nil {
					kinds[name] = map[bool][]string{}
				}
				kinds[name][isBool] = append(kinds[name][isBool], path)
			}
		}
	})
	// --keep leaves something where it is in several commands: its value says where, or how many.
	delete(kinds, "keep")
	for name, k := range kinds {
		if len(k) > 1 {
			t.Errorf("--%s takes a value in %v and none in %v", name, k[false], k[true])
		}
	}
}

// walk visits every command of the tree.
func walk(commands []*cli.Command, visit func(path string, cmd *cli.Command)) {
	walkFrom("", commands, visit)
}

func walkFrom(parent string, commands []*cli.Command, visit func(string, *cli.Command)) {
	for _, cmd := range commands {
		path := strings.TrimSpace(parent + " " + cmd.Name)
		visit(path, cmd)
		walkFrom(path, cmd.Subcommands, visit)
	}
}

func TestEveryCommandHasHelpWithAnExample(t *testing.T) {
	t.Parallel()
	walk(newApp(quiet()).Commands, func(path string, cmd *cli.Command) {
		got := commandIn(t, nil, append(strings.Fields(path), "--help")...)
		if got.exit != 0 || !strings.Contains(strings.Join(strings.Fields(got.stdout), " "), "agent "+path+" - "+cmd.Usage) || got.stderr != "" {
			t.Errorf("%s --help: exit %d\n%s%s", path, got.exit, got.stdout, got.stderr)
		}
		if len(cmd.Subcommands) == 0 && cmd.Name != "version" && !strings.Contains(got.stdout, "Examples:") {
			t.Errorf("%s --help shows no example:\n%s", path, got.stdout)
		}
	})
}

func TestUsageErrorsSayWhatToDo(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]string{
		"sandbox run --pach x":                    "did you mean --patch?",
		"sandbox run --patch":                     "flag needs an argument",
		"sandbox run absent.diff":                 "no such file",
		"sandbox run a.diff b.diff":               `takes no argument "b.diff"`,
		"sandbox run a.diff --patch b.diff":       `--patch and "a.diff" are mutually exclusive`,
		"sandbox run a.diff --goal x":             "are mutually exclusive",
		"sandbox run":                             "the patch is empty",
		"sandbox run --yes --file a.py":           "the patch is empty",
		"runs show a b":                           `takes no argument "b"`,
		"runs list --limit many":                  "invalid value",
		"runs list --limit 0":                     "use a number above 0",
		"runs list --state sleeping":              "the states are",
		"sql --csv --json x":                      "choose one",
		"images prune --keep -1":                  "use 0 or more",
		"sandbox run --patch=":                    "no patch was given",
		"sandbox run --candidates 65":             `invalid number "65": use 1 to 64`,
		"sandbox run --model gpt":                 "use gemini/NAME or anthropic/NAME or openai/NAME or compatible/NAME or ollama/NAME",
		"sandbox run --model gemini/x":            "put a key in GEMINI_API_KEYS",
		"sandbox run --max-cost free":             "use e.g. 0.50",
		"sandbox run --goal=":                     "the goal is empty",
		"sandbox run --patch x --goal y":          "are mutually exclusive",
		"sandbox run --replay 1k3 --goal y":       "are mutually exclusive",
		"sandbox run --patch x --proposal 3":      "are mutually exclusive",
		"sandbox run --proposal 3 --file a":       "are mutually exclusive",
		"sandbox run --patch x --file a --file b": "takes one --file",
		"context":                     "no file was named",
		"sandbox run --workspace /no": "name a directory with --workspace",
	} {
		got := commandIn(t, nil, strings.Fields(args)...)
		if got.exit != run.ExitUsage || !strings.Contains(got.stderr, want) || !strings.Contains(got.stderr, "next: ") {
			t.Errorf("agent %s: exit %d, want 2 and %q:\n%s", args, got.exit, want, got.stderr)
		}
	}
}

func TestCompletionOffersWhatFits(t *testing.T) {
	t.Parallel()
	for words, want := range map[string]string{
		"s":                        "sandbox serve sql self schema",
		"sandbox ":                 "run loop exec shell ls gc",
		"sandbox run --pa":         "--patch",
		"sandbox run --patch ":     "", // a file, which the shell completes
		"sandbox run --allow ":     "ci git dependencies tooling agent secret suppression weaker-test weaker-type changed-test runner unproven idle unseen protected",
		"sandbox run --yes --no":   "--no-feature --no-promote --no-install",
		"proposals ":               "list show drop",
		"plan ":                    "list show edit drop",
		"jobs ":                    "list show pause resume cancel",
		"completion b":             "bash",
		"runs diff --color ":       "auto always never",
		"runs list --state pro":    "proposing promoting promoted",
		"help sandbox ":            "run loop exec shell ls gc",
		"help own":                 "own-gates",
		"sandbox run --model gem":  "gemini/gemini-2.5-flash",
		"edit ":                    "", // a file
		"sandbox run ":             "",
		"sandbox run --patch x --": "--workspace --patch --goal --file --candidates --model --mode --critic --agree --max-cost --max-tokens --max-requests --max-time --no-feature --proposal --replay --yes --no-promote --allow --no-install --sarif --json --jq --template --commit --message --branch --expiry --features --ask-model --help",
	} {
		got := commandIn(t, nil, append([]string{completeCommand}, strings.Split(words, " ")...)...)
		var offered []string
		for line := range strings.Lines(got.stdout) {
			word, about, ok := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
			if offered = append(offered, word); !ok || about == "" {
				t.Errorf("%q: %q has no meaning", words, word)
			}
		}
		if got.exit != 0 || !slices.Equal(offered, strings.Fields(want)) {
			t.Errorf("%q completes to %q, want %q", words, offered, want)
		}
	}
}

func TestErrorsComeInTheShapeThatWasAskedFor(t *testing.T) {
	t.Parallel()
	gone := map[string]string{"AGENT_DATABASE_URL": "postgres://agent@127.0.0.1:1/agent"}
	for _, c := range []struct {
		args []string
		env  map[string]string
		want bool
	}{
		{[]string{"config", "--json=true"}, nil, true},
		{[]string{"config", "--json=false"}, nil, false},
		{[]string{"config"}, map[string]string{"AGENT_JSON": "1"}, true},
		{[]string{"config"}, nil, false},
		// An error of something that the command needs.
		{[]string{"runs", "list", "--json"}, gone, true},
		{[]string{"runs", "list", "--json=false"}, gone, false},
		{[]string{"sql", "--", "--json"}, gone, false},
		// A usage error has no document, because nothing ran that it could report.
		{[]string{"sandbox", "run", "--patch=", "--json"}, nil, false},
		{[]string{"frob", "--json=true"}, nil, false},
		{[]string{"frob"}, map[string]string{"AGENT_JSON": "1"}, false},
		{[]string{"runs", "list", "--limit", "0", "--json"}, nil, false},
	} {
		got := commandIn(t, c.env, c.args...)
		if asJSON := got.stdout != "" && strings.ContainsAny(got.stdout[:1], "{["); asJSON != c.want {
			t.Errorf("agent %v prints JSON: %v, want %v\n%s", c.args, asJSON, c.want, got.stdout)
		}
	}
}

// These are the pages that people see first. A change to them shows up in review.
func TestHelpPages(t *testing.T) {
	t.Parallel()
	for name, args := range map[string][]string{
		"help.txt": {"--help"}, "help-sandbox.txt": {"sandbox"}, "help-sandbox-run.txt": {"sandbox", "run", "--help"}, "help-sandbox-loop.txt": {"sandbox", "loop", "--help"}, "help-sandbox-exec.txt": {"sandbox", "exec", "--help"},
		"help-undo.txt": {"undo", "-h"}, "help-review.txt": {"review", "-h"}, "help-blame.txt": {"blame", "-h"},
	} {
		termtest.Golden(t, name, commandIn(t, nil, args...).stdout)
	}
}

func TestNothingIsTheSameAsHelp(t *testing.T) {
	t.Parallel()
	if got, want := commandIn(t, nil), commandIn(t, nil, "--help"); got != want {
		t.Errorf("agent prints\n%s\nwant\n%s", got.stdout, want.stdout)
	}
}

func TestCommandsThatStopOrRemoveAreCareful(t *testing.T) {
	t.Parallel()
	foreign := map[string]string{"AGENT_DATABASE_URL": "postgres://me@elsewhere/db"}
	for _, c := range []struct {
		env  map[string]string
		args string
		exit int
		want string
	}{
		{foreign, "db down", run.ExitUsage, "not the agent's own"},
		{foreign, "db down --remove --yes", run.ExitUsage, "not the agent's own"},
		{nil, "db down --remove", run.ExitApproval, "next: run again with --yes"},
		{foreign, "db url", run.ExitDone, ""},
	} {
		got := commandIn(t, c.env, strings.Fields(c.args)...)
		if got.exit != c.exit || !strings.Contains(got.stderr, c.want) {
			t.Errorf("agent %s: exit code %d, want %d and %q\n%s", c.args, got.exit, c.exit, c.want, got.stderr)
		}
	}
}
