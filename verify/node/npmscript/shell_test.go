package npmscript

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// letters names the kinds of steps in the lists that tests expect.
var letters = map[Kind]string{General: "run", Runs: "tool", RunsNode: "node", Looks: "look", Makes: "make", Delegates: "others", Foreign: "foreign"}

// around has the scripts next to the one that a test is about.
var around = map[string]string{"b": "node b.js", "b:one": "ava one", "b:one:x": "tape x", "b.two": "tape two", "": "node empty.js"}

// told lists the steps of one script.
func told(script string) string {
	scripts := Joined(around, map[string]string{"test": script})
	var list []string
	for _, s := range Read(scripts, "test") {
		list = append(list, strings.TrimSpace(fmt.Sprint(letters[s.Kind], " ", s.Text, " ", strings.Repeat("in ", min(len(s.Dir), 1))+s.Dir)))
	}
	return strings.Join(list, ", ")
}

// expectSteps checks the steps that reading each script gives.
func expectSteps(t *testing.T, wanted map[string]string) {
	t.Helper()
	for script, want := range wanted {
		if got := told(script); got != want {
			t.Errorf("%q: %s, want %s", script, got, want)
		}
	}
}

func TestWhatNoShellWouldRunIsOneCommand(t *testing.T) {
	t.Parallel()
	for _, script := range []string{
		"mocha 'a", "mocha \"a", "mocha $(", "mocha `x", "mocha &&", "&& mocha", "mocha ))", "if mocha; then", "mocha <<", "for do mocha", "${", "mocha ; ; mocha", "\xff\xfe(",
	} {
		if got, want := told(script), "run "+script; got != want {
			t.Errorf("%q: %q", script, got)
		}
	}
	expectSteps(t, map[string]string{"": "", " \t\n": "", "# mocha": "", "\x00": ""})
}

func TestWhatRunsBesideOthersIsOneCommandWithThem(t *testing.T) {
	t.Parallel()
	for _, script := range []string{
		"node serve.js & mocha", "mocha &", "(node serve.js & node --test)", "{ node serve.js & mocha; }", "tsc && (node serve.js & mocha)", "if true; then node serve.js & fi; mocha", "mocha $(node serve.js &)",
	} {
		if got, want := told(script), "run "+script; got != want {
			t.Errorf("%q: %q", script, got)
		}
	}
}

func TestWhatRunsWhereNobodyKnowsIsOneCommand(t *testing.T) {
	t.Parallel()
	for _, script := range []string{
		"cd /abs && mocha", "cd $DIR && mocha", "cd && mocha", "cd - && mocha", "cd ~ && mocha", "cd ~/x && mocha", "cd -P x && mocha", "pushd x && mocha && popd", "(cd /tmp; node --test)",
		"cd \"/abs\" && mocha", "if true; then cd /abs; fi; mocha", "cd '' && mocha",
	} {
		if got, want := told(script), "run "+script; got != want {
			t.Errorf("%q: %q", script, got)
		}
	}
	expectSteps(t, map[string]string{
		"cd web && mocha":              "run mocha in web",
		"cd ./web && cd .. && mocha":   "tool mocha",
		"(cd web && node a.js); mocha": "run node a.js in web, tool mocha",
		"echo cd /abs && mocha":        "look echo cd /abs, tool mocha",
	})
}

func TestPnpmStartsTheScriptsThatAnExpressionFits(t *testing.T) {
	t.Parallel()
	expectSteps(t, map[string]string{
		"pnpm run /^b:/":      "tool ava one, tool tape x",
		"pnpm run '/^b[:.]/'": "tool tape two, tool ava one, tool tape x",
		"pnpm run /^none/":    "run pnpm run /^none/",
		"pnpm run /(/":        "run pnpm run /(/",
		"npm run /^b:/":       "run npm run /^b:/",
		"pnpm run /":          "run pnpm run /",
	})
}

func TestCommandsAreFoundInWhateverAShellPutsAround(t *testing.T) {
	t.Parallel()
	expectSteps(t, map[string]string{
		"{ tsc; mocha; }":                           "make tsc, tool mocha",
		"(tsc && (mocha; xo))":                      "make tsc, tool mocha, look xo",
		"if [ -f x ]; then mocha; else ava; fi":     "tool mocha, tool ava",
		"while true; do mocha a; node --test; done": "tool mocha a, node node --test",
		"case $X in a) jest ;; *) xo ;; esac":       "tool jest",
		"for f in *.js; do node $f; done":           "run for f in *.js; do node $f; done",
		"[[ -f x ]] && mocha":                       "run [[ -f x ]], tool mocha",
		"check() { mocha; }; check":                 "tool mocha, run check",
		"mocha >out.txt 2>&1":                       "tool mocha >out.txt 2>&1",
		"mocha || ava":                              "tool mocha",
		"(mocha; node x.js) || exit 1":              "tool mocha, run node x.js",
		"eslint . | cat":                            "look eslint .",
		"mocha; mocha && mocha":                     "tool mocha",
		"mocha \\\n  --exit":                        "tool mocha --exit",
		"FOO=1":                                     "run FOO=1",
		"é\u202e mocha":                             "run é\u202e mocha",
	})
}

func TestADirectoryHoldsForWhatFollowsInItsShell(t *testing.T) {
	t.Parallel()
	expectSteps(t, map[string]string{
		"cd web && mocha; ava":           "run mocha in web, run ava in web",
		"(cd web && mocha); node --test": "run mocha in web, node node --test",
		"{ cd web; }; mocha":             "run mocha in web",
		"cd web; cd ..; mocha":           "tool mocha",
		"cd ./ && mocha":                 "tool mocha",
		"cd ../other && npm run b":       "run npm run b in ../other",
	})
}

func TestAWordThatAShellWorksOutIsNotWhole(t *testing.T) {
	t.Parallel()
	for script, want := range map[string]string{
		"mocha $FILES":                 "[mocha] true",
		"mocha \"a $FILES b\"":         "[mocha a  b] true",
		"mocha ${FILES}x":              "[mocha x] true",
		"mocha 'a b' \"c d\"e":         "[mocha a b c de] true",
		"mocha \"\" ''":                "[mocha] true",
		"mocha a/*.js":                 "[mocha a/*.js] true",
		"mocha $(ls)":                  "[mocha] false",
		"mocha \"x$(ls)\"":             "[mocha] false",
		"mocha `ls`":                   "[mocha] false",
		"mocha ${FILES:-a}":            "[mocha] false",
		"mocha $PWD/a":                 "[mocha] false",
		"mocha \"$HOME\"":              "[mocha] false",
		"mocha $npm_package_name":      "[mocha] false",
		"mocha $((1 + 1))":             "[mocha] false",
		"mocha <(ls)":                  "[mocha] false",
		"A=$(ls) mocha":                "[mocha] false",
		"$RUNNER":                      "[] false",
		"A=1 B= cross-env C='x=y' ava": "[ava] true",
	} {
		steps := Read(map[string]string{"test": script}, "test")
		if len(steps) != 1 {
			t.Errorf("%s: %+v", script, steps)
			continue
		}
		s := steps[0]
		if got := fmt.Sprint(s.Words, " ", s.Whole); got != want {
			t.Errorf("%s: %s, want %s", script, got, want)
		}
		if known := s.Kind == Runs; known != s.Whole {
			t.Errorf("%s is of the kind %s", script, letters[s.Kind])
		}
	}
}

func TestScriptsAreReadInTheOrderInWhichTheyAreNamed(t *testing.T) {
	t.Parallel()
	scripts := map[string]string{"a": "mocha a", "b": "mocha b", "prea": "tsc", "posta": "node report.js", "prepare": "node own.js"}
	for want, names := range map[string][]string{
		"":                                      nil,
		"tsc, mocha a, node report.js":          {"a"},
		"mocha b, tsc, mocha a, node report.js": {"b", "a", "b", "missing", "a"},
		"node own.js":                           {"prepare", ""},
	} {
		var got []string
		for _, s := range Read(scripts, names...) {
			got = append(got, s.Text)
			if makes := slices.Contains([]string{"prea", "prepare"}, s.Script); makes != (s.Kind == Makes) {
				t.Errorf("%s in %s is of the kind %s", s.Text, s.Script, letters[s.Kind])
			}
		}
		if strings.Join(got, ", ") != want {
			t.Errorf("%q: %q, want %s", names, got, want)
		}
	}
	if got := Read(nil, "test"); len(got) != 0 {
		t.Errorf("scripts of nothing: %+v", got)
	}
}
