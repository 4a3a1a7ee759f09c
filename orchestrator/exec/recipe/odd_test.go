package recipe

import (
	"fmt"
	"maps"
	"strings"
	"testing"
)

func TestOddRecipesAreRefused(t *testing.T) {
	t.Parallel()
	for what, list := range map[string][]Recipe{
		"npm": {
			{NPM: []string{""}},
			{NPM: []string{"a@1.0"}},
			{NPM: []string{"a@1.0.0 b@1.0.0"}},
			{NPM: []string{"a@1.0.0\n"}},
			{NPM: []string{"@a@1.0.0"}},
			{NPM: []string{"a@^1.0.0"}},
			{NPM: []string{"git+https://x/y.git@1.0.0"}},
			{NPM: []string{"../a@1.0.0"}},
			{NPM: []string{"a@npm:b@1.0.0"}},
			{NPM: []string{"a@1.0.0", "b"}},
		},
		"debian": {{Debian: []string{""}}, {Debian: []string{"a"}}, {Debian: []string{"-y"}}, {Debian: []string{"a b"}}, {Debian: []string{"Tidy"}}, {Debian: []string{"a/stable"}}, {Debian: []string{"a=1"}}, {Debian: []string{"tidy\n"}}},
		"env":    {{Env: map[string]string{"": "x"}}, {Env: map[string]string{"1A": "x"}}, {Env: map[string]string{"A B": "x"}}, {Env: map[string]string{"Ä": "x"}}, {Env: map[string]string{"A\n": "x"}}},
		"bin": {
			{Bin: map[string]string{"ab": ""}},
			{Bin: map[string]string{"ab": "."}},
			{Bin: map[string]string{"ab": ".."}},
			{Bin: map[string]string{"ab": "../x"}},
			{Bin: map[string]string{"ab": "x/../../y"}},
			{Bin: map[string]string{"ab": "/x"}},
			{Bin: map[string]string{"ab": "x/"}},
			{Bin: map[string]string{"": "x"}},
			{Bin: map[string]string{"../ab": "x"}},
			{Bin: map[string]string{"a b": "x"}},
		},
		"files": {
			{Files: map[string]string{"": "x"}},
			{Files: map[string]string{".": "x"}},
			{Files: map[string]string{"..": "x"}},
			{Files: map[string]string{"a/../../b": "x"}},
			{Files: map[string]string{"a/": "x"}},
			{Files: map[string]string{"a\nb": "x"}},
			{Files: map[string]string{"a\x00": "x"}},
			{Files: map[string]string{"/": "x"}},
		},
		"vendor": {{Vendor: "Anthropic"}, {Vendor: " openai"}},
	} {
		for _, r := range list {
			if err := r.Check(vendors); err == nil || !strings.HasPrefix(err.Error(), what+" \"") {
				t.Errorf("%s: %+v: %v", what, r, err)
			}
		}
	}
	whole := Recipe{
		NPM: []string{"a@1.0.0", "@a/b@1.2.3-rc.1+x"}, Debian: []string{"g++", "libc6-dev"}, Bin: map[string]string{"x.y+z": ".bin/..x"}, Vendor: "compatible",
		Env: map[string]string{"_a1": "\n"}, Files: map[string]string{"..a/ü b": "", "-x": ""}, Allow: []string{"example.org", "example.org:8443"},
	}
	if err := whole.Check(vendors); err != nil {
		t.Error(err)
	}
	if err := (Recipe{}).Check(nil); err != nil {
		t.Errorf("nothing: %v", err)
	}
	if err := (Recipe{Vendor: "openai"}).Check(nil); err == nil {
		t.Error("a vendor that no gateway stands for")
	}
}

// A preset is found by the base name of a command, and an empty value in the user's recipe does not replace the preset's.
func TestRecipesAreFoundByTheNameOfTheCommand(t *testing.T) {
	t.Parallel()
	for command, found := range map[string]bool{"codex": true, "./codex": true, "/opt/x/codex/": true, "codex.exe": false, "Codex": false, "": false, "/": false, "..": false, "codex exec": false} {
		if name, r, ok := Find(nil, command); ok != found || ok && (name != "codex" || r.Program != command) {
			t.Errorf("%q: %s %+v, %v", command, name, r, ok)
		}
	}
	user := map[string]Recipe{"gemini": {Program: "gem", Args: map[string][]string{"-p": {}}, Files: map[string]string{".gemini/settings.json": ""}, Debian: []string{}}}
	before := maps.Clone(presets["gemini"].Args)
	_, r, _ := Find(user, "gemini")
	s := r.Begin([]string{"gemini", "-p", "x"}, "G", "K")
	if r.Program != "gem" || !strings.HasSuffix(strings.Join(s.Command, " "), "sh gem -p x") || s.Env["AGENT_EXEC_FILE_0"] != "" || len(r.NPM) != 1 {
		t.Errorf("%+v\n%+v", r, s)
	}
	if fmt.Sprint(presets["gemini"].Args) != fmt.Sprint(before) || presets["gemini"].Files[".gemini/settings.json"] == "" {
		t.Error("the preset is another now")
	}
}

// Placeholders are filled in once: a key that looks like a placeholder stays unchanged.
func TestPlacesAreFilledInOnce(t *testing.T) {
	t.Parallel()
	r := Recipe{Program: "p", Env: map[string]string{"A": "{gateway}/{key}/{key}", "B": "{Gateway} {} {gate{key}way}"}}
	command := []string{"p", "{key}"}
	s := r.Begin(command, "{key}", "{gateway}")
	if s.Env["A"] != "{key}/{gateway}/{gateway}" || s.Env["B"] != "{Gateway} {} {gate{gateway}way}" || strings.Join(s.Command, " ") != "p {key}" {
		t.Errorf("%+v", s)
	}
	if s.Command[0] = "q"; command[0] != "p" || r.Env["A"] != "{gateway}/{key}/{key}" {
		t.Error("what the user gave was changed")
	}
}
