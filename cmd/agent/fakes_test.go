package main

import (
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"agent/cmd/agent/internal/cmdline"
	"agent/cmd/agent/internal/cmdline/cmdlinetest"
	"agent/cmd/agent/internal/term/termtest"
	"agent/orchestrator/llm/llmtest"
	"agent/verify/policy"
)

// fakes are the fake vendors of one script, by name.
type fakes map[string]*llmtest.Server

// newFakes returns fakes that are closed with the test.
func newFakes(t *testing.T) fakes {
	f := fakes{}
	t.Cleanup(func() {
		for _, s := range f {
			s.Close()
		}
	})
	return f
}

// start starts a vendor that answers by a script: model gemini steps.json. A text "file:NAME" in the script stands for
// the content of that file of the archive. The command line finds the vendor through the environment.
func (f fakes) start(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: model VENDOR FILE")
	}
	steps, err := llmtest.ReadScript(ts.MkAbs(args[1]))
	ts.Check(err)
	for i := range steps {
		if name, ok := strings.CutPrefix(steps[i].Text, "file:"); ok {
			text, err := os.ReadFile(ts.MkAbs(name))
			ts.Check(err)
			steps[i].Text = string(text)
		}
	}
	fake, ok := map[string]struct {
		serve     func(...llmtest.Step) *llmtest.Server
		env, path string
	}{
		"gemini": {llmtest.Gemini, "GEMINI_BASE_URL", ""}, "anthropic": {llmtest.Anthropic, "ANTHROPIC_BASE_URL", ""},
		"openai": {llmtest.OpenAI, "OPENAI_BASE_URL", "/v1"}, "compatible": {llmtest.Compatible, "COMPATIBLE_BASE_URL", "/v1"},
		"ollama": {llmtest.Ollama, "OLLAMA_HOST", ""},
	}[args[0]]
	if !ok {
		ts.Fatalf("there is no fake of %s", args[0])
	}
	f[args[0]] = fake.serve(steps...)
	ts.Setenv(fake.env, f[args[0]].URL()+fake.path)
}

// asked checks how many requests a vendor has had so far: asked gemini 2.
func (f fakes) asked(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 || f[args[0]] == nil {
		ts.Fatalf("usage: asked VENDOR N")
	}
	want, err := strconv.Atoi(args[1])
	ts.Check(err)
	got := f[args[0]].Requests()
	if len(got) != want {
		ts.Fatalf("%s was asked %d times, want %d", args[0], len(got), want)
	}
	for _, r := range got {
		if r.KeyInURL {
			ts.Fatalf("a key is in the URL")
		}
	}
}

// told checks the last request to a vendor: told gemini 'image/png'. A picture appears as its type and size, as in "[image/png, 8 bytes]".
func (f fakes) told(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 2 || f[args[0]] == nil {
		ts.Fatalf("usage: told VENDOR PATTERN")
	}
	list := f[args[0]].Requests()
	if len(list) == 0 {
		ts.Fatalf("%s was sent nothing", args[0])
	}
	last := list[len(list)-1]
	text := last.System
	for _, m := range last.Messages {
		text += "\n" + m.Role + ": " + m.Text
		for _, p := range m.Pictures {
			text += fmt.Sprintf(" [%s, %d bytes]", p.Type, len(p.Data))
		}
	}
	if regexp.MustCompile(`(?m)`+args[1]).MatchString(text) == neg {
		ts.Fatalf("%s was sent:\n%s", args[0], text)
	}
}

// keeps checks how many cached contents a vendor holds, and how many it has ever made: keeps gemini 0 1.
func (f fakes) keeps(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 3 || f[args[0]] == nil {
		ts.Fatalf("usage: keeps VENDOR HELD MADE")
	}
	kept, made := f[args[0]].Kept()
	if strconv.Itoa(len(kept)) != args[1] || strconv.Itoa(made) != args[2] {
		ts.Fatalf("%s holds %q and made %d", args[0], kept, made)
	}
}

// gone stops a vendor: gone gemini.
func (f fakes) gone(ts *testscript.TestScript, _ bool, args []string) {
	f[args[0]].Close()
	delete(f, args[0])
}

// A person at a terminal, and the command line with that terminal as its streams.
type person struct {
	*termtest.Person
	cmd *cmdline.Line
}

// aPerson sits at a fresh terminal with this environment.
func aPerson(t *testing.T, env map[string]string) *person {
	t.Helper()
	p := cmdlinetest.NewPerson(t, env)
	return &person{p.Person, p.Line}
}

// question is the question of the checkpoint.
const question = "Write this to the workspace?"

// ciHold is the hold of a change that needs an approval of its own.
var ciHold = policy.Hold{Path: ".github/workflows/ci.yml", Kind: "ci", Reason: "It runs on the build server.", Block: true}
