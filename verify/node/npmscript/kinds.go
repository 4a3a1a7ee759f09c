package npmscript

import (
	"path"
	"slices"
	"strings"

	"agent/sandbox/workspace/lazyregexp"
)

// A Kind is what a command of a test script is for.
type Kind int

const (
	// General is a program of which nothing but the exit status is known to mean anything.
	General Kind = iota
	// Runs starts one of Runners.
	Runs
	// RunsNode starts node's own runner.
	RunsNode
	// Looks is a command that other gates judge, or that proves nothing about behaviour.
	Looks
	// Makes is a command that makes files that tests use.
	Makes
	// Delegates starts the scripts of other packages, which are read by themselves.
	Delegates
	// Foreign is a command that cannot run here.
	Foreign
)

// kindsOf lists programs by kind. A program in none of the lists is General, so that a possible test is not left out for
// being unknown.
var kindsOf = map[Kind][]string{
	Looks: {
		"eslint", "xo", "standard", "standardx", "semistandard", "ts-standard", "prettier", "biome", "oxlint", "oxfmt", "dprint", "jshint", "jslint", "tslint", "gts", "neostandard", "rome",
		"stylelint", "markdownlint", "markdownlint-cli2", "remark", "textlint", "cspell", "alex", "write-good", "eclint", "editorconfig-checker", "ec", "commitlint", "lockfile-lint",
		"attw", "publint", "vue-tsc", "svelte-check", "flow", "dependency-cruiser", "depcruise", "madge", "knip", "depcheck", "npmignore", "ls-engines",
		"bundlesize", "size-limit", "bundlewatch", "npm-check", "npm-check-updates", "ncu", "nsp", "snyk", "license-checker", "installed-check", "sort-package-json", "npmpkgjsonlint",
		"c8", "nyc", "codecov", "coveralls", "istanbul", "greenkeeper-lockfile-upload", "husky", "lint-staged", "actionlint", "shellcheck", "sherif", "syncpack", "type-coverage", "auto-changelog",
		"echo", "true", ":", "exit", "sleep", "set", "export", "printf", "git", "open", "only-allow", "is-ci", "npm", "yarn", "pnpm", "nve", "evalmd", "htmlhint", "html-validate", "linkinator",
	},
	Makes: {
		"tsc", "tsup", "tshy", "tsdown", "rollup", "rolldown", "esbuild", "webpack", "parcel", "babel", "swc", "browserify", "microbundle", "unbuild", "ncc", "pkgroll", "bunchee", "zshy", "ttsc", "tspc",
		"vite", "next", "nuxt", "astro", "svelte-kit", "svelte-package", "ng-packagr", "api-extractor", "dts-bundle-generator", "uglifyjs", "terser", "preconstruct", "siroc", "father", "tsconfig-to-dual-package",
		"rimraf", "del", "del-cli", "rm", "mkdir", "mkdirp", "cp", "mv", "touch", "shx", "cpx", "cpy", "cpy-cli", "copyfiles", "ncp", "cat", "chmod", "ln", "node-gyp", "prebuildify", "napi", "wasm-pack",
		"prisma", "graphql-codegen", "protoc", "pegjs", "peggy", "jison", "nearleyc", "postcss", "sass", "tailwindcss", "lessc", "marked-man", "typedoc", "jsdoc", "jsdoc2md", "make",
	},
	Delegates: {"turbo", "lerna", "nx", "wsrun", "ultra", "rush", "moon", "lage", "wireit"},
	Foreign: {
		"karma", "playwright", "cypress", "testcafe", "wdio", "nightwatch", "web-test-runner", "wtr", "ng", "start-server-and-test", "storybook", "test-storybook", "codecept", "codeceptjs",
		"airtap", "zuul", "polymer", "browserstack-runner", "saucelabs", "electron", "electron-mocha", "react-native", "detox", "vscode-test",
	},
}

// kindNames maps programs to their kinds: the inverse of kindsOf.
var kindNames = func() map[string]Kind {
	names := map[string]Kind{}
	for k, list := range kindsOf {
		for _, name := range list {
			names[name] = k
		}
	}
	return names
}()

// buildScript matches the names of scripts that make what other scripts use.
var buildScript = lazyregexp.New(`^(?:pre|post)?(?:build|compile|transpile|bundle|prepare|prepack|dist|generate|codegen|clean|copy|assets)(?:$|[:_-])`)

// classify sets what a command is for, and which known tool would run it.
func classify(s Step) Step {
	if len(s.Words) == 0 {
		return s
	}
	name, args := ProgramName(s.Words[0]), s.Words[1:]
	known, listed := kindNames[name]
	switch {
	case slices.Contains(managers, name) && name != "bun" && otherPackages(args):
		s.Kind = Delegates
	case slices.Contains([]string{"npm", "yarn", "pnpm"}, name) && len(args) > 0 && slices.Contains([]string{"run", "run-script", "test", "t"}, args[0]):
		s.Kind = General // a script that is not there fails
	case startsNodeTests(s.Words) && s.Whole && s.Dir == "":
		s.Kind = RunsNode
	case runnerOf(s.Words) != "" && s.Whole && s.Dir == "":
		s.Kind, s.Tool = Runs, runnerOf(s.Words)
	case name == "tsc" && slices.Contains(args, "--noEmit"):
		s.Kind = Looks
	case slices.Contains([]string{"next", "vite", "astro", "ng", "nuxt"}, name) && len(args) > 0 && (args[0] == "lint" || args[0] == "check"):
		s.Kind = Looks
	case name == "react-scripts" || name == "vite" && len(args) > 0 && args[0] != "build" || name == "make" && slices.Contains(args, "test"):
		s.Kind = General
	case listed && path.Base(s.Words[0]) != "node":
		s.Kind = known
	}
	if s.Kind == General && s.prepares {
		s.Kind = Makes
	}
	return s
}

// NodeValues are the options of node that take the next word as their value.
var NodeValues = []string{
	"--import", "--require", "-r", "--loader", "--experimental-loader", "--conditions", "-C", "--env-file", "--test-name-pattern", "--test-reporter", "--test-reporter-destination",
	"--test-concurrency", "--test-timeout", "--test-shard", "--tsconfig", "--max-old-space-size", "--stack-trace-limit",
}

// NodeOptions splits the words of a command into what it gives to node and what follows the program. tsx is node with a
// loader. With --test there is no program, only patterns.
func NodeOptions(words []string) (options, args []string) {
	name, tests := ProgramName(words[0]), false
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
		case slices.Contains(NodeValues, w):
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
	name := ProgramName(words[0])
	options, _ := NodeOptions(words)
	return (name == "node" || name == "tsx") && slices.Contains(options, "--test")
}

// nodeProgram returns the tool from a package that a command makes node start, "" for none.
func nodeProgram(words []string) string {
	if name := ProgramName(words[0]); name != "node" && name != "tsx" || startsNodeTests(words) {
		return ""
	}
	_, args := NodeOptions(words)
	if i := len(words) - len(args) - 1; i > 0 && (strings.Contains(words[i], "node_modules/") || path.Base(words[i]) == words[i] && path.Ext(words[i]) == "") {
		return ProgramName(words[i])
	}
	return ""
}

// Runners are the npm packages whose test runners package node knows.
var Runners = []string{"vitest", "jest", "mocha", "ava", "tap", "tape", "uvu"}

// Linters are the npm packages whose linters package node knows.
var Linters = []string{"eslint", "stylelint"}

// runnerOf returns the known runner that a command starts, "" for none.
func runnerOf(words []string) string {
	for _, name := range Runners {
		if (Step{Words: words}).Starts(name) {
			return name
		}
	}
	return ""
}

// Starts reports whether a command starts a tool that is an npm package.
func (s Step) Starts(tool string) bool {
	if len(s.Words) == 0 {
		return false
	}
	w := s.Words[0]
	return ProgramName(w) == tool && (path.Base(w) == w || strings.Contains(w, "node_modules/")) || nodeProgram(s.Words) == tool
}
