package npmscript

import (
	"fmt"
	"strings"
	"testing"
)

func TestACommandIsOfTheKindOfWhatItStarts(t *testing.T) {
	t.Parallel()
	for kind, scripts := range map[Kind][]string{
		General: {
			"node test.js", "tsx test.ts", "bun test", "npm run missing", "yarn run missing", "vite preview", "react-scripts test", "make test", "make -j 2 test", "./mocha", "sh -c mocha", "node",
			"node ./mocha", "mochajs", "Mocha", "npx -c 'mocha x'", "node --run missing", "node test/mocha.js",
		},
		Runs: {
			"mocha", "npx mocha@10.2", "npx --yes -p mocha mocha", "yarn mocha", "pnpm dlx vitest run", "node_modules/.bin/jest", "./node_modules/.bin/ava", "node node_modules/mocha/bin/mocha.js", "node node_modules/.bin/_mocha x",
			"node --import tsx node_modules/.bin/tape x", "tsx node_modules/tap/bin/tap.js", "node mocha", "env -u X uvu", "dotenv -e .env -- mocha", "nice -n 5 mocha", "c8 -r lcov mocha", "time tap", "istanbul cover --report html _mocha -- test.js", "isparta cover node_modules/.bin/_mocha", "env-cmd -f .env jest", "dotenvx run -f .env -- vitest",
		},
		RunsNode:  {"node --test", "node --import tsx --test a.ts", "tsx --test", "c8 node --test", "node a.js --test", "cross-env A=1 node --test-reporter spec --test"},
		Looks:     {"eslint .", "npx eslint", "yarn eslint", "tsc --noEmit", "tsc -p . --noEmit", "next lint", "vite check", "echo mocha", "exit 1", "npm ci", "c8 report", "istanbul report", "istanbul check-coverage --lines 90", "nyc check-coverage", "./node_modules/.bin/xo", "yarn"},
		Makes:     {"tsc", "tsc -p .", "vite build", "rimraf dist", "make", "make lint", "npx rollup -c", "next build"},
		Delegates: {"npm test -w a", "npm --workspaces test", "pnpm -r test", "yarn workspaces run test", "yarn --cwd web test", "npm --prefix=web test", "turbo run test", "nx test"},
		Foreign:   {"karma start", "npx playwright test", "ng test", "cypress run", "electron-mocha"},
	} {
		for _, script := range scripts {
			steps := Read(map[string]string{"test": script}, "test")
			if len(steps) != 1 || steps[0].Kind != kind || (steps[0].Tool != "") != (kind == Runs) {
				t.Errorf("%q, want %s: %+v", script, letters[kind], steps)
			}
		}
	}
}

func TestOneProgramIsOfOneKind(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, list := range kindsOf {
		for _, name := range list {
			if seen[name] || ProgramName(name) != name {
				t.Errorf("%s is listed twice, or no script calls it that", name)
			}
			seen[name] = true
		}
	}
	for _, name := range Runners {
		if seen[name] || !(Step{Words: []string{name}}).Starts(name) {
			t.Errorf("%s is a runner and something else", name)
		}
	}
	if (Step{}).Starts("") || (Step{}).Starts("mocha") {
		t.Error("no command starts a tool")
	}
}

func TestAProgramHasItsNameInWhateverFormItIsCalled(t *testing.T) {
	t.Parallel()
	for word, want := range map[string]string{
		"mocha": "mocha", "mocha@10.2.0": "mocha", "./node_modules/.bin/_mocha": "mocha", "a/b/mocha.cjs": "mocha", "@scope/tool@1": "tool", "@scope": "@scope", "tool.min.js": "tool.min", "": "", "/": "/", "..": ".", "_": "", "é.js": "é",
	} {
		if got := ProgramName(word); got != want {
			t.Errorf("%q: %q, want %q", word, got, want)
		}
	}
}

func TestScriptsAreStartedInWhateverWayNamesThem(t *testing.T) {
	t.Parallel()
	const one, deep, two = "tool ava one", "tool tape x", "tool tape two"
	expectSteps(t, map[string]string{
		"npm run b":                     "run node b.js",
		"npm -s run b":                  "run node b.js",
		"npm run-script b --if-present": "run node b.js",
		"npm run b -- 'x y' \"it's\"":   "run node b.js 'x y' \"it's\"",
		"yarn b":                        "run node b.js",
		"yarn run b":                    "run node b.js",
		"bun run b":                     "run node b.js",
		"node --run b":                  "run node b.js",
		"node --run b x":                "run node --run b x",
		"run-s b:one b":                 one + ", run node b.js",
		"run-p 'b:*'":                   one,
		"run-p 'b:**'":                  one + ", " + deep,
		"run-p 'b.*'":                   two,
		"npm-run-all '*'":               "run node empty.js, run node b.js, " + two,
		"npm-run-all2 'b:one -- --x'":   one,
		"run-s '('":                     "run run-s '('",
		"run-s '(*'":                    "run run-s '(*'",
		"run-s missing":                 "run run-s missing",
		"npm test":                      "",
		"npm t && mocha":                "tool mocha",
		"npm run":                       "run npm run",
	})
}

func TestAllThatConcurrentlyStartsIsRead(t *testing.T) {
	t.Parallel()
	expectSteps(t, map[string]string{
		"concurrently 'npm:b:*' 'eslint .'":                          "tool ava one, look eslint .",
		"concurrently npm:missing 'mocha a'":                         "tool mocha a",
		"concurrently 'tsc && mocha' 'npm run b'":                    "make tsc, tool mocha, run node b.js",
		"npx concurrently -k 'mocha \"a b\"'":                        "tool mocha \"a b\"",
		"concurrently 'mocha (' 'ava x'":                             "run mocha (, tool ava x",
		"concurrently mocha ava":                                     "tool mocha, tool ava",
		"concurrently yarn:b pnpm:b:one bun:missing":                 "run node b.js, tool ava one",
		"concurrently -n 'a b,c' -c blue --raw mocha 'eslint .'":     "tool mocha, look eslint .",
		"concurrently --kill-others --success first --names x mocha": "tool mocha",
		"concurrently --names=x,y -m 2 mocha":                        "tool mocha",
		"concurrently":                                               "",
		"concurrently -n":                                            "",
	})
}

func TestATextOfManyStepsIsOneCommand(t *testing.T) {
	t.Parallel()
	list := func(n int) string {
		var parts []string
		for i := range n {
			parts = append(parts, fmt.Sprintf("mocha %d", i))
		}
		return strings.Join(parts, " && ")
	}
	if got := Read(map[string]string{"test": list(maxSteps)}, "test"); len(got) != maxSteps || got[maxSteps-1].Text != "mocha 63" {
		t.Errorf("%d steps", len(got))
	}
	if got := Read(map[string]string{"test": list(maxSteps + 1), "b": "ava"}, "test", "b", "missing"); len(got) != 2 || got[0].Text != "npm run test" || got[1].Text != "npm run b" || got[1].Kind != General {
		t.Errorf("%+v", got)
	}
	chain := func(n int) map[string]string {
		scripts := map[string]string{}
		for i := range n {
			scripts[fmt.Sprint("s", i)] = fmt.Sprintf("npm run s%d", i+1)
		}
		scripts[fmt.Sprint("s", n)] = "mocha"
		return scripts
	}
	for n, want := range map[int]string{maxDepth - 1: "mocha", maxDepth: "npm run s0"} {
		if got := Read(chain(n), "s0"); len(got) != 1 || got[0].Text != want {
			t.Errorf("%d scripts deep: %+v", n, got)
		}
	}
}
