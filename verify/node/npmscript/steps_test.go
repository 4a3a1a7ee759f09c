package npmscript

import (
	"fmt"
	"strings"
	"testing"
)

// Scripts may call each other in any way: reading them ends soon.
func TestReadingScriptsIsBounded(t *testing.T) {
	t.Parallel()
	scripts := map[string]string{"test": "npm run s0 && npm run s0", "wide": strings.Repeat("npm run wide0 && npm run wide1 && ", 40) + "node end.js"}
	for i := range 40 {
		scripts[fmt.Sprint("s", i)] = fmt.Sprintf("node %d.js && npm run s%d && npm run s%d && npm test", i, i+1, i+1)
		scripts[fmt.Sprint("wide", i)] = strings.Repeat(fmt.Sprintf("npm run wide%d; node w%d.js;", i+1, i), 20)
	}
	for _, name := range []string{"test", "wide"} {
		if got := Read(scripts, name); len(got) != 1 || got[0].Text != "npm run "+name || got[0].Kind != General {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// Variables set around a script are set for its commands; the options of a wrapper are not passed on.
func TestSettingsReachTheCommands(t *testing.T) {
	t.Parallel()
	steps := Read(map[string]string{
		"test": "A=1 cross-env B='x y' npm run unit -- --more", "unit": "C=3 nyc --reporter lcov -- npx --yes -p mocha mocha@10 --reporter dot",
	}, "test")
	if len(steps) != 1 {
		t.Fatalf("%+v", steps)
	}
	s := steps[0]
	if got := fmt.Sprint(s.Env, s.Words, s.Kind == Runs, " ", s.Tool, " ", s.Script); got != "map[A:1 B:x y C:3] [mocha@10 --reporter dot --more] true mocha unit" {
		t.Error(got)
	}
}

// Programs do not receive the characters that a shell removes.
func TestBackslashesAreThoseOfAShell(t *testing.T) {
	t.Parallel()
	for script, want := range map[string]string{
		`jest --a="{ \"b\": \\ \d }" \'x\' '\"'`: `["jest" "--a={ \"b\": \\ \\d }" "'x'" "\\\""]`,
		"mocha \\\n a\\ b":                       `["mocha" "a b"]`,
	} {
		if steps := Read(map[string]string{"test": script}, "test"); len(steps) != 1 || fmt.Sprintf("%q", steps[0].Words) != want {
			t.Errorf("%s: %+v, want %s", script, steps, want)
		}
	}
}

// Two dashes belong to the wrapper, as with npm and istanbul.
func TestDashesOfAWrapperAreNoArgument(t *testing.T) {
	t.Parallel()
	for script, want := range map[string]string{
		"istanbul cover _mocha -- test.js -R dot": "[_mocha test.js -R dot]", "npm exec mocha -- a.js": "[mocha a.js]", "dotenvx run -- mocha -- a.js": "[mocha a.js]", "mocha -- a.js": "[mocha -- a.js]",
	} {
		if steps := Read(map[string]string{"test": script}, "test"); len(steps) != 1 || fmt.Sprint(steps[0].Words) != want {
			t.Errorf("%s: %+v, want %s", script, steps, want)
		}
	}
}

func TestOptionsOfNodeAreToldFromThoseOfAProgram(t *testing.T) {
	t.Parallel()
	for words, want := range map[string]string{
		"node --import tsx --test test/*.ts":      "[--import tsx --test] [test/*.ts]",
		"node test/*.ts --test":                   "[--test] [test/*.ts]",
		"tsx --test a.ts":                         "[--import tsx --test] [a.ts]",
		"node -r ./a.js b.js --test-only":         "[-r ./a.js] [--test-only]",
		"node --test-reporter spec --test --test": "[--test-reporter spec --test --test] []",
		"mocha --test":                            "[] [--test]",
	} {
		options, args := NodeOptions(strings.Fields(words))
		if got := fmt.Sprint(options, " ", args); got != want {
			t.Errorf("%s: %s, want %s", words, got, want)
		}
	}
}
