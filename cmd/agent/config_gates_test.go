package main

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"agent/cmd/agent/internal/config"
	"agent/verify"
)

func TestGatesOfAWorkspaceAreAddedToTheUsers(t *testing.T) {
	t.Parallel()
	env, dir := home(t, "[[gate]]\nname = \"secrets\"\ncommand = [\"scan\", \"--all\"]\nwhen = \"always\"\n",
		"[[gate]]\nname = \"protos\"\ncommand = \"buf lint\"\nlanguages = [\".proto\"]\ntimeout = \"90s\"\n")
	config, err := settled(t, env, "--workspace", dir).VerifyConfig()
	if err != nil {
		t.Fatal(err)
	}
	want := []verify.CustomGate{
		{Name: "secrets", Command: []string{"scan", "--all"}, When: verify.WhenAlways},
		{Name: "protos", Command: []string{"/bin/sh", "-c", "buf lint"}, Languages: []string{".proto"}, Timeout: 90 * time.Second},
	}
	if diff := cmp.Diff(want, config.Gates); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestGatesThatAreWrongAreRefused(t *testing.T) {
	t.Parallel()
	const user = "[[gate]]\nname = \"a\"\ncommand = \"true\"\n"
	for text, want := range map[string]string{
		"name = \"lint\"\ncommand = \"x\"":                       `"lint": the agent has a gate or a check with that name`,
		"name = \"b\"":                                           `"b": it has no command`,
		"name = \"b\"\ncommand = []":                             `"b": it has no command`,
		"name = \"b\"\ncommand = \"  \"":                         `"b": it has no command`,
		"name = \"b\"\ncommand = [1]":                            `command of gate "b": use a string`,
		"name = \"b\"\ncommand = \"x\"\nwhen = \"never\"":        `when is "never"`,
		"name = \"b\"\ncommand = \"x\"\ntimeout = \"soon\"":      `invalid duration "soon"`,
		"name = \"b\"\ncommand = \"x\"\ntimeout = \"3h\"":        "is not between 1s and 1h",
		"name = \"b\"\ncommand = \"x\"\nlanguages = [\"pyton\"]": `unknown language "pyton"`,
		"name = \"b\"\ncommand = \"x\"\nshell = true":            `no key "gate.shell"`,
		// A workspace must not replace a gate of its user.
		"name = \"a\"\ncommand = \"false\"": `two gates are named "a"`,
	} {
		env, dir := home(t, user, "[[gate]]\n"+text+"\n")
		got := commandIn(t, env, "config", "--workspace", dir)
		if got.exit != 2 || !strings.Contains(got.stderr, want) || !strings.Contains(got.stderr, config.FileName) {
			t.Errorf("%s: exit %d, want %s: %s", text, got.exit, want, got.stderr)
		}
	}
}
