package verify

import (
	"path"
	"regexp"
	"slices"
	"strings"

	"agent/verify/check"
)

// A suiteLanguage says how people of one language call their tests, and whether any
// gate here reads its files. It finds tests that nothing ran, so a convention is listed
// whether or not there is a runner for it.
type suiteLanguage struct {
	name string
	// Extensions of its files.
	ext []string
	// Parsers, linters or type checkers here read them.
	read bool
	// Names that are those of tests; nil for none.
	named *regexp.Regexp
	// Names that are those of tests only where the text is, too; nil for none.
	likely *regexp.Regexp
	// What the text of tests holds; nil where the name says enough.
	text *regexp.Regexp
	// Tests stand among other code: every file is read.
	inline bool
	// Programs that test it, for gates that the workspace defines.
	tools []string
}

// inTests matches files in a directory of tests.
const inTests = `(?:^|/)(?:tests?|specs?)/`

// suiteLanguages lists the languages, one row each.
var suiteLanguages = []suiteLanguage{
	{
		name: "Python", ext: []string{".py"}, read: true, named: re(`(?:^|/)test_[^/]*$|_test\.py$`), likely: re(inTests + `|(?:^|/|_)tests?\.py$`),
		text: re(`(?m)^\s*(?:async\s+)?def\s+test|^\s*class\s+\w*Test|TestCase\b`), tools: []string{"python", "python3", "pytest", "tox", "nox", "uv", "poetry", "hatch", "pdm", "behave"},
	},
	{
		name: "JavaScript", ext: []string{".js", ".cjs", ".mjs", ".jsx", ".ts", ".cts", ".mts", ".tsx"}, read: true,
		named:  re(`[.\-_](?:tests?|spec|e2e|cy)\.[cm]?[jt]sx?$|(?:^|/)__tests__/`),
		likely: re(inTests + `|(?:^|/)e2e/|(?:^|/)(?:tests?|spec)\.[cm]?[jt]s$|(?:^|/)test-[^/]*$|[sS]pec\.[jt]sx?$`),
		text:   re(`\b(?:describe|it|test|suite|specify|assert|expect)\s*[.(]|node:test|["'](?:ava|tape|tap|uvu|qunit|(?:node:)?assert)\b`),
		tools:  []string{"node", "npm", "npx", "pnpm", "yarn", "bun", "bunx", "deno", "ava", "tap", "jasmine", "karma", "jest", "mocha", "vitest", "playwright", "cypress"},
	},
	{name: "Go", ext: []string{".go"}, read: true, named: re(`_test\.go$`), text: re(`(?m)^func (?:Test|Fuzz|Example)`), tools: []string{"go", "gotestsum"}},
	{name: "Rust", ext: []string{".rs"}, inline: true, text: re(`#\[(?:\w+::)*(?:test|rstest|test_case)\b`), tools: []string{"cargo", "rustc", "cross"}},
	{name: "Ruby", ext: []string{".rb", ".rake"}, named: re(`_(?:spec|test)\.rb$`), likely: re(`(?:^|/)test_[^/]*\.rb$`), text: re(`describe|def test_|RSpec|Minitest|assert`), tools: []string{"ruby", "rspec", "rake", "bundle", "rails"}},
	{name: "Java", ext: []string{".java"}, named: re(`(?:Tests?|TestCase|IT|Spec)\.java$`), likely: re(`(?:^|/)src/test/|(?:^|/)Test[A-Z]`), text: re(`@\w*Test\b|TestCase\b`), tools: jvmTools},
	{name: "Kotlin", ext: []string{".kt", ".kts"}, named: re(`(?:Tests?|Spec|IT)\.kt$`), likely: re(`(?:^|/)src/test/`), text: re(`@\w*Test\b|Spec\b`), tools: jvmTools},
	{name: "Scala", ext: []string{".scala"}, named: re(`(?:Tests?|Spec|Suite)\.scala$`), tools: jvmTools},
	{name: "Groovy", ext: []string{".groovy"}, named: re(`(?:Tests?|Spec)\.groovy$`), tools: jvmTools},
	{name: "Clojure", ext: []string{".clj", ".cljs", ".cljc"}, named: re(`_test\.clj[cs]?$`), tools: []string{"lein", "clojure", "clj", "bb"}},
	{name: "C#", ext: []string{".cs"}, named: re(`Tests?\.cs$`), text: re(`\[(?:Fact|Theory|Test|TestMethod|TestCase)\b`), likely: re(`(?:^|/)[^/]*Tests?/`), tools: []string{"dotnet", "nunit3-console"}},
	{name: "F#", ext: []string{".fs"}, named: re(`Tests?\.fs$`), tools: []string{"dotnet"}},
	{name: "PHP", ext: []string{".php", ".phpt"}, named: re(`Test\.php$|\.phpt$`), tools: []string{"php", "phpunit", "pest", "composer"}},
	{name: "Swift", ext: []string{".swift"}, named: re(`Tests?\.swift$`), text: re(`XCTest|@Test\b`), tools: []string{"swift", "xcodebuild"}},
	{name: "Dart", ext: []string{".dart"}, named: re(`_test\.dart$`), tools: []string{"dart", "flutter"}},
	{name: "Elixir", ext: []string{".ex", ".exs"}, named: re(`_test\.exs$`), tools: []string{"mix"}},
	{name: "Erlang", ext: []string{".erl"}, named: re(`_(?:SUITE|tests)\.erl$`), tools: []string{"rebar3"}},
	{
		name: "C or C++", ext: []string{".c", ".h", ".cc", ".cpp", ".cxx", ".hh", ".hpp"}, named: re(`[_-](?:unit)?tests?\.\w+$`), likely: re(inTests + `|(?:^|/)test[_-]|Tests?\.\w+$`),
		text: re(`\b(?:TEST(?:_[A-Z]+)?|BOOST_AUTO_TEST_CASE|START_TEST|SCENARIO|assert)\s*\(|\bint\s+main\b|XCTest`), tools: []string{"ctest", "cmake", "ninja", "meson", "gcc", "g++", "cc", "clang"},
	},
	{name: "Bats", ext: []string{".bats"}, named: re(`.`), tools: []string{"bats"}},
	{name: "Perl", ext: []string{".pl", ".pm", ".t"}, named: re(`(?:^|/)x?t/[^/]+\.t$`), tools: []string{"perl", "prove"}},
	{name: "Lua", ext: []string{".lua"}, named: re(`_(?:spec|test)\.lua$`), tools: []string{"lua", "luajit", "busted"}},
	{name: "Haskell", ext: []string{".hs"}, named: re(`Spec\.hs$`), likely: re(inTests), text: re(`\bmain\b|hspec|tasty`), tools: []string{"cabal", "stack"}},
	{name: "OCaml", ext: []string{".ml", ".mli"}, named: re(`(?:^|/)test_[^/]*\.ml$|_test\.ml$`), tools: []string{"dune"}},
	{name: "Julia", ext: []string{".jl"}, named: re(`(?:^|/)test/runtests\.jl$`), tools: []string{"julia"}},
	{name: "R", ext: []string{".r", ".R"}, named: re(`(?:^|/)testthat/test[^/]*$`), tools: []string{"Rscript", "R"}},
	{name: "Zig", ext: []string{".zig"}, inline: true, text: re(`(?m)^\s*test\s+["{]`), tools: []string{"zig"}},
	{name: "Nim", ext: []string{".nim"}, named: re(inTests + `t[^/]*$`), tools: []string{"nim", "nimble"}},
	{name: "Crystal", ext: []string{".cr"}, named: re(`_spec\.cr$`), tools: []string{"crystal"}},
	{name: "PowerShell", ext: []string{".ps1", ".psm1"}, named: re(`\.Tests\.ps1$`), tools: []string{"pwsh"}},
	{name: "Gherkin", ext: []string{".feature"}, read: true, named: re(`.`), tools: []string{"behave", "cucumber", "cucumber-js"}},
	{name: "Robot Framework", ext: []string{".robot"}, named: re(`.`), tools: []string{"robot"}},
	{name: "Solidity", ext: []string{".sol"}, named: re(`\.t\.sol$`), tools: []string{"forge"}},
	{name: "SQL", ext: []string{".sql"}, tools: []string{"psql", "sqlfluff", "pg_prove"}},
	{name: "Fortran", ext: []string{".f90", ".f95", ".f03", ".f"}, tools: []string{"fpm", "gfortran"}},
	{name: "assembly", ext: []string{".s", ".S", ".asm"}},
	{name: "Protocol Buffers", ext: []string{".proto"}, tools: []string{"buf", "protoc"}},
	{name: "Terraform", ext: []string{".tf", ".hcl"}, named: re(`\.tftest\.hcl$`), tools: []string{"terraform", "tofu", "tflint"}},
}

// jvmTools build and test what runs on Java.
var jvmTools = []string{"mvn", "mvnw", "gradle", "gradlew", "ant", "sbt", "javac", "kotlinc"}

// anyTools run whatever a workspace has them run.
var anyTools = []string{"make", "gmake", "just", "task", "bazel", "bazelisk", "buck2", "pants", "sh", "bash", "env", "xargs"}

// re compiles an expression of the table.
func re(text string) *regexp.Regexp { return regexp.MustCompile(text) }

// byExtension finds a row by the extension of a file.
var byExtension = func() map[string]*suiteLanguage {
	rows := map[string]*suiteLanguage{}
	for i := range suiteLanguages {
		for _, ext := range suiteLanguages[i].ext {
			rows[ext] = &suiteLanguages[i]
		}
	}
	return rows
}()

// languageOf is the row of a file, nil for none.
func languageOf(p string) *suiteLanguage { return byExtension[path.Ext(p)] }

// languageNamed is the row of that name.
func languageNamed(name string) *suiteLanguage {
	i := slices.IndexFunc(suiteLanguages, func(l suiteLanguage) bool { return l.name == name })
	return &suiteLanguages[i]
}

// maybe reports whether the file at p may hold tests by its name, and whether its text
// must tell.
func (l *suiteLanguage) maybe(p string) (possible, unsure bool) {
	switch {
	case l.named != nil && l.named.MatchString(p):
		return true, l.text != nil && !l.certain()
	case l.inline, l.likely != nil && l.likely.MatchString(p):
		return true, true
	}
	return false, false
}

// certain reports whether a name is enough: elsewhere files are called so which hold
// no tests, a script that tries a connection or a class that measures load.
func (l *suiteLanguage) certain() bool { return l.name == "JavaScript" || l.name == "Ruby" }

// offstage reports whether a file is no test of the workspace: it was installed, or is
// what tests work on.
func offstage(p string) bool {
	dir := path.Dir(p)
	return dir != "." && (check.Installed(dir) || slices.ContainsFunc(strings.Split(dir, "/"), func(part string) bool {
		return slices.Contains([]string{"third_party", "bower_components", "__fixtures__"}, part)
	}))
}

// inTestDir matches a directory that lies in one of tests: a manifest there belongs to
// what tests work on, and makes no project.
var inTestDir = regexp.MustCompile(`(?:^|/)(?:tests?|specs?|__tests__|e2e)/`)

// proseNames are the beginnings of the names of files that are for people alone.
var proseNames = []string{"readme", "changelog", "changes", "license", "licence", "copying", "authors", "contributors", "contributing", "code_of_conduct", "notice", "security", "news", "history", "maintainers", "codeowners"}

// isProse reports whether a file is text for people, which no program reads. A
// document elsewhere than at the top or among documents may be data.
func isProse(p string) bool {
	dir, name := path.Dir(p), strings.ToLower(path.Base(p))
	ext := path.Ext(name)
	document := slices.Contains([]string{".md", ".markdown", ".rst", ".adoc"}, ext)
	if inTestDir.MatchString(p) || offstage(p) && !strings.HasPrefix(p, ".github/") {
		return false
	}
	if document || ext == "" || ext == ".txt" {
		stem := strings.TrimSuffix(name, ext)
		if slices.ContainsFunc(proseNames, func(known string) bool {
			return stem == known || strings.HasPrefix(stem, known+"-") || strings.HasPrefix(stem, known+".")
		}) {
			return true
		}
	}
	top, _, _ := strings.Cut(p, "/")
	return document && (dir == "." || slices.Contains([]string{"docs", "doc", ".github"}, strings.ToLower(top)))
}
