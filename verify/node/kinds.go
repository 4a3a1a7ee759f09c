package node

import (
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"agent/sandbox/workspace/lang"
	"agent/verify/check"
)

// A kind is what a command of a test script is for.
type kind int

const (
	// A program of which only its exit status is known to tell anything.
	general kind = iota
	// A runner of packageRunners, and node's own.
	runs
	runsNode
	// What other gates judge, or what proves nothing about behaviour.
	looks
	// What makes files that tests use.
	makes
	// What starts the scripts of other packages, which are read by themselves.
	delegates
	// What cannot run here.
	foreign
)

// kindsOf lists programs by kind. What is in none of them is general, so that nothing which
// may be a test is left out for not being known.
var kindsOf = map[kind][]string{
	looks: {
		"eslint", "xo", "standard", "standardx", "semistandard", "ts-standard", "prettier", "biome", "oxlint", "oxfmt", "dprint", "jshint", "jslint", "tslint", "gts", "neostandard", "rome",
		"stylelint", "markdownlint", "markdownlint-cli2", "remark", "textlint", "cspell", "alex", "write-good", "eclint", "editorconfig-checker", "ec", "commitlint", "lockfile-lint",
		"attw", "publint", "vue-tsc", "svelte-check", "flow", "dependency-cruiser", "depcruise", "madge", "knip", "depcheck", "npmignore", "ls-engines",
		"bundlesize", "size-limit", "bundlewatch", "npm-check", "npm-check-updates", "ncu", "nsp", "snyk", "license-checker", "installed-check", "sort-package-json", "npmpkgjsonlint",
		"c8", "nyc", "codecov", "coveralls", "istanbul", "greenkeeper-lockfile-upload", "husky", "lint-staged", "actionlint", "shellcheck", "sherif", "syncpack", "type-coverage", "auto-changelog",
		"echo", "true", ":", "exit", "sleep", "set", "export", "printf", "git", "open", "only-allow", "is-ci", "npm", "yarn", "pnpm", "nve", "evalmd", "htmlhint", "html-validate", "linkinator",
	},
	makes: {
		"tsc", "tsup", "tshy", "tsdown", "rollup", "rolldown", "esbuild", "webpack", "parcel", "babel", "swc", "browserify", "microbundle", "unbuild", "ncc", "pkgroll", "bunchee", "zshy", "ttsc", "tspc",
		"vite", "next", "nuxt", "astro", "svelte-kit", "svelte-package", "ng-packagr", "api-extractor", "dts-bundle-generator", "uglifyjs", "terser", "preconstruct", "siroc", "father", "tsconfig-to-dual-package",
		"rimraf", "del", "del-cli", "rm", "mkdir", "mkdirp", "cp", "mv", "touch", "shx", "cpx", "cpy", "cpy-cli", "copyfiles", "ncp", "cat", "chmod", "ln", "node-gyp", "prebuildify", "napi", "wasm-pack",
		"prisma", "graphql-codegen", "protoc", "pegjs", "peggy", "jison", "nearleyc", "postcss", "sass", "tailwindcss", "lessc", "marked-man", "typedoc", "jsdoc", "jsdoc2md", "make",
	},
	delegates: {"turbo", "lerna", "nx", "wsrun", "ultra", "rush", "moon", "lage", "wireit"},
	foreign: {
		"karma", "playwright", "cypress", "testcafe", "wdio", "nightwatch", "web-test-runner", "wtr", "ng", "start-server-and-test", "storybook", "test-storybook", "codecept", "codeceptjs",
		"airtap", "zuul", "polymer", "browserstack-runner", "saucelabs", "electron", "electron-mocha", "react-native", "detox", "vscode-test",
	},
}

// kindNames is kindsOf the other way round.
var kindNames = func() map[string]kind {
	names := map[string]kind{}
	for k, list := range kindsOf {
		for _, name := range list {
			names[name] = k
		}
	}
	return names
}()

// buildScript matches the names of scripts that make what others use.
var buildScript = regexp.MustCompile(`^(?:pre|post)?(?:build|compile|transpile|bundle|prepare|prepack|dist|generate|codegen|clean|copy|assets)(?:$|[:_-])`)

// classify says what a command is for, and which known tool would run it.
func classify(s step) step {
	if len(s.words) == 0 {
		return s
	}
	name, args := programName(s.words[0]), s.words[1:]
	known, listed := kindNames[name]
	switch {
	case slices.Contains(managers, name) && name != "bun" && otherPackages(args):
		s.kind = delegates
	case slices.Contains([]string{"npm", "yarn", "pnpm"}, name) && len(args) > 0 && slices.Contains([]string{"run", "run-script", "test", "t"}, args[0]):
		s.kind = general // a script that is not there fails
	case startsNodeTests(s.words) && s.whole && s.dir == "":
		s.kind, s.tool = runsNode, TestsName
	case runnerOf(s.words) != "" && s.whole && s.dir == "":
		s.kind, s.tool = runs, runnerOf(s.words)
	case name == "tsc" && slices.Contains(args, "--noEmit"):
		s.kind = looks
	case slices.Contains([]string{"next", "vite", "astro", "ng", "nuxt"}, name) && len(args) > 0 && (args[0] == "lint" || args[0] == "check"):
		s.kind = looks
	case name == "react-scripts" || name == "vite" && len(args) > 0 && args[0] != "build" || name == "make" && slices.Contains(args, "test"):
		s.kind = general
	case listed && path.Base(s.words[0]) != "node":
		s.kind = known
	}
	if s.kind == general && s.prepares {
		s.kind = makes
	}
	return s
}

// nodeValues are options of node with a value in the next word.
var nodeValues = []string{
	"--import", "--require", "-r", "--loader", "--experimental-loader", "--conditions", "-C", "--env-file", "--test-name-pattern", "--test-reporter", "--test-reporter-destination",
	"--test-concurrency", "--test-timeout", "--test-shard", "--tsconfig", "--max-old-space-size", "--stack-trace-limit",
}

// nodeOptions splits the words of a command into what it gives to node and what is behind the
// program. tsx is node with a loader. With --test there is no program, only patterns.
func nodeOptions(words []string) (options, args []string) {
	name, tests := programName(words[0]), false
	if name != "node" && name != "tsx" {
		return nil, words[1:]
	}
	if name == "tsx" {
		options = []string{"--import", "tsx"}
	}
	for i := 1; i < len(words); i++ {
		w := words[i]
		switch {
		case w == "--":
		case slices.Contains(nodeValues, w):
			options = append(options, words[i:min(i+2, len(words))]...)
			i++
		case strings.HasPrefix(w, "-"):
			options, tests = append(options, w), tests || w == "--test"
		case tests || slices.Contains(words[i:], "--test"):
			args = append(args, w)
		default:
			return options, words[i+1:]
		}
	}
	return options, args
}

// startsNodeTests reports whether a command starts node's own runner.
func startsNodeTests(words []string) bool {
	name := programName(words[0])
	options, _ := nodeOptions(words)
	return (name == "node" || name == "tsx") && slices.Contains(options, "--test")
}

// nodeProgram is the tool of a package that a command has node start, "" for none.
func nodeProgram(words []string) string {
	if name := programName(words[0]); name != "node" && name != "tsx" || startsNodeTests(words) {
		return ""
	}
	_, args := nodeOptions(words)
	if i := len(words) - len(args) - 1; i > 0 && (strings.Contains(words[i], "node_modules/") || path.Base(words[i]) == words[i] && path.Ext(words[i]) == "") {
		return programName(words[i])
	}
	return ""
}

// runnerOf is the known runner that a command starts, "" for none.
func runnerOf(words []string) string {
	for _, r := range packageRunners() {
		if startsPackage(step{words: words}, r.name) {
			return r.name
		}
	}
	return ""
}

// A testPlan is what the scripts of a package do to test it.
type testPlan struct {
	Root
	steps []step
}

// made lists the commands before the step i that make what tests use.
func (p testPlan) made(i int) (before []step) {
	for _, s := range p.steps[:i] {
		if s.kind == makes {
			before = append(before, s)
		}
	}
	return before
}

// elsewhere matches the names of test scripts that are for another occasion than a test of
// the package.
var elsewhere = regexp.MustCompile(`[:_-](?:watch|update|debug|dev|cov|coverage|report|perf|bench|benchmark|browsers?|e2e|open|ui|ci|fix|only|regen|snap)(?:$|[:_-])`)

// testPlans lists those of a view. Where the script test leads to no test, the others that
// are called so count.
func testPlans(v check.View) []testPlan {
	return check.Recall(v, "test plans", func() (plans []testPlan) {
		roots := Roots(v)
		for _, r := range roots {
			steps := readSteps(r.Scripts, "test")
			if !slices.ContainsFunc(steps, step.tests) {
				var others []string
				for _, name := range slices.Sorted(maps.Keys(r.Scripts)) {
					if base, _, _ := strings.Cut(name, ":"); name == "tests" || name == "unit" || base == "test" && name != base && !elsewhere.MatchString(name) {
						others = append(others, name)
					}
				}
				steps = append(steps, readSteps(r.Scripts, others...)...)
			}
			for i, s := range steps {
				// What no package.json names is started as a shell finds it.
				if s.kind == runs && !hasAbove(roots, r, s.tool) {
					steps[i].kind = general
				}
			}
			plans = append(plans, testPlan{r, steps})
		}
		return plans
	})
}

// tests reports whether a command tests something, here or elsewhere.
func (s step) tests() bool { return s.kind != looks && s.kind != makes }

// A NotRun is a command of a test script that nothing here runs.
type NotRun struct {
	Root, Command string
	// It would run tests, and cannot here.
	Foreign bool
}

// NotRunCommands lists, by package, the commands behind its test script that nothing runs: those
// that need what a box has not, and where no other command tests anything all that there are.
func NotRunCommands(v check.View) (list []NotRun) {
	for _, p := range testPlans(v) {
		if aside(p.Dir) {
			continue
		}
		any := slices.ContainsFunc(p.steps, step.tests)
		for _, s := range p.steps {
			if s.kind == foreign || !any {
				list = append(list, NotRun{p.Dir, s.text, s.kind == foreign})
			}
		}
	}
	return list
}

// aside reports whether a package is data of tests, an example or a template, whose scripts
// nobody runs to test the workspace.
func aside(dir string) bool {
	return dir != "." && (check.Installed(dir) || lang.InTests(dir+"/") || slices.ContainsFunc(strings.Split(dir, "/"), func(part string) bool {
		return slices.Contains([]string{"__fixtures__", "examples", "example", "templates", "template", "benchmarks", "benchmark"}, part)
	}))
}
