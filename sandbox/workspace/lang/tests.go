package lang

import (
	"path"
	"strings"

	"agent/sandbox/workspace/lazyregexp"
)

// testDir matches a directory of tests: assertions move to helpers there.
const testDir = `(?:^|/)(?:tests?|specs?)/`

// inTests matches a path in a directory of tests, whatever the language.
var inTests = lazyregexp.New(`(?:^|/)(?:tests?|specs?|__tests__|e2e)/`)

// InTests reports whether a path is in a directory of tests.
func InTests(p string) bool { return inTests.MatchString(p) }

// testData matches a path in a directory of data that tests read.
var testData = lazyregexp.New(`(?:^|/)(?:testdata|fixtures|__fixtures__)/`)

// BesideTests reports whether a path is in a directory of tests or of the data that they read.
func BesideTests(p string) bool { return InTests(p) || testData.MatchString(p) }

// IsTest reports whether a file is a test file by its own name.
func IsTest(p string) bool {
	l := ByExtension(p)
	return l != nil && l.Tests != nil && l.Tests.Named != nil && l.Tests.Named.MatchString(path.Base(p))
}

// MayTest reports whether a file of the language may contain tests, or parts of tests, by its name in any case or by
// its directory. A script may lack the extension.
func (l *Language) MayTest(p string) bool {
	if l == nil || l.Tests == nil {
		return false
	}
	if path.Ext(p) == "" && len(l.Extensions) > 0 {
		p += l.Extensions[0]
	}
	for _, p := range []string{p, strings.ToLower(p)} {
		if possible, _ := l.Tests.Candidate(p); possible && !l.Tests.Inline || IsTest(p) {
			return true
		}
	}
	return l.Family != Go && InTests(strings.ToLower(p))
}

// re compiles an expression of the tables.
func re(text string) *lazyregexp.Regexp { return lazyregexp.New(text) }

// jvmTools build and test what runs on the JVM.
var jvmTools = []string{"mvn", "mvnw", "gradle", "gradlew", "ant", "sbt", "javac", "kotlinc"}

// The conventions that several rows share.
var (
	pythonTests = &Tests{
		Name: "Python", Named: re(`^test_|_test\.py[iw]?$`), Likely: re(testDir + `|(?:^|/|_)tests?\.py[iw]?$`),
		Text:  re(`(?m)^\s*(?:async\s+)?def\s+test|^\s*class\s+\w*Test|TestCase\b`),
		Tools: []string{"python", "python3", "pytest", "tox", "nox", "uv", "poetry", "hatch", "pdm", "behave"},
	}
	scriptTests = &Tests{
		Name: "JavaScript", Named: re(`[.\-_](?:tests?|spec|e2e|cy)\.[cm]?[jt]sx?$`), Within: re(`(?:^|/)__tests__/`), Certain: true,
		Likely: re(testDir + `|(?:^|/)e2e/|(?:^|/)(?:tests?|spec)\.[cm]?[jt]s$|(?:^|/)test-[^/]*$|[sS]pec\.[jt]sx?$`),
		Text:   re(`\b(?:describe|it|test|suite|specify|assert|expect)\s*[.(]|node:test|["'](?:ava|tape|tap|uvu|qunit|(?:node:)?assert)\b`),
		Tools:  []string{"node", "npm", "npx", "pnpm", "yarn", "bun", "bunx", "deno", "ava", "tap", "jasmine", "karma", "jest", "mocha", "vitest", "playwright", "cypress"},
	}
	goTests   = &Tests{Name: "Go", Named: re(`_test\.go$`), Text: re(`(?m)^func (?:Test|Fuzz|Example)`), Tools: []string{"go", "gotestsum"}}
	rustTests = &Tests{Name: "Rust", Inline: true, Text: re(`#\[(?:\w+::)*(?:test|rstest|test_case)\b`), Tools: []string{"cargo", "rustc", "cross"}}
	rubyTests = &Tests{
		Name: "Ruby", Named: re(`_(?:spec|test)\.rb$`), Certain: true, Likely: re(`(?:^|/)test_[^/]*\.rb$`),
		Text: re(`describe|def test_|RSpec|Minitest|assert`), Tools: []string{"ruby", "rspec", "rake", "bundle", "rails"},
	}
	cTests = &Tests{
		Name: "C or C++", Named: re(`[_-](?:unit)?tests?\.\w+$`), Likely: re(testDir + `|(?:^|/)test[_-]|Tests?\.\w+$`),
		Text:  re(`\b(?:TEST(?:_[A-Z]+)?|BOOST_AUTO_TEST_CASE|START_TEST|SCENARIO|assert)\s*\(|\bint\s+main\b|XCTest`),
		Tools: []string{"ctest", "cmake", "ninja", "meson", "gcc", "g++", "cc", "clang"},
	}
	javaTests = &Tests{
		Name: "Java", Named: re(`(?:Tests?|TestCase|IT|Spec)\.java$`), Likely: re(`(?:^|/)src/test/|(?:^|/)Test[A-Z]`), Text: re(`@\w*Test\b|TestCase\b`), Tools: jvmTools,
	}
	kotlinTests = &Tests{Name: "Kotlin", Named: re(`(?:Tests?|Spec|IT)\.kt$`), Likely: re(`(?:^|/)src/test/`), Text: re(`@\w*Test\b|Spec\b`), Tools: jvmTools}
	csharpTests = &Tests{
		Name: "C#", Named: re(`Tests?\.cs$`), Text: re(`\[(?:Fact|Theory|Test|TestMethod|TestCase)\b`), Likely: re(`(?:^|/)[^/]*Tests?/`), Tools: []string{"dotnet", "nunit3-console"},
	}
	perlTests      = &Tests{Name: "Perl", Within: re(`(?:^|/)x?t/[^/]+\.t$`), Tools: []string{"perl", "prove"}}
	haskellTests   = &Tests{Name: "Haskell", Named: re(`Spec\.hs$`), Likely: re(testDir), Text: re(`\bmain\b|hspec|tasty`), Tools: []string{"cabal", "stack"}}
	terraformTests = &Tests{Name: "Terraform", Named: re(`\.tftest\.hcl$`), Tools: []string{"terraform", "tofu", "tflint"}}
)

// Candidate reports whether a file of the language may contain tests according to its name, and whether its text must
// decide.
func (t *Tests) Candidate(p string) (possible, unsure bool) {
	is := func(re *lazyregexp.Regexp, text string) bool { return re != nil && re.MatchString(text) }
	switch {
	case is(t.Named, path.Base(p)), is(t.Within, p):
		return true, t.Text != nil && !t.Certain
	case t.Inline, is(t.Likely, p):
		return true, true
	}
	return false, false
}
