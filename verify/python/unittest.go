package python

import (
	"path"
	"slices"
	"strings"

	"agent/sandbox/workspace/lazyregexp"
	"agent/verify/check"
	"agent/verify/python/modules"
)

// envTestFiles gives run_tests.py the files that unittests lists, one a line. envTestPaths gives it the directory below the
// top from which pytest runs, followed by the directories that the tests import from.
const (
	envTestFiles = "AGENT_TEST_FILES"
	envTestPaths = "AGENT_TEST_PATHS"
)

// testCase matches a class derived from unittest's TestCase, or from one that others build on it.
var testCase = lazyregexp.New(`(?m)^class\s+\w+\s*\([^)]*TestCase\b`)

// unittests lists the files with unittest classes under names by which pytest would not find them: tests.py, shop_tests.py,
// tests/stock.py.
func unittests(v check.View) []string {
	return check.Recall(v, "unittest", func() []string { return listUnittests(v) })
}

func listUnittests(v check.View) []string {
	var list []string
	named := namedByUnittest(v)
	for _, p := range v.Paths() {
		if !namesTests(p) && (IsTest(p) || !named(p)) {
			continue
		}
		// A file that cannot be read here is left to its next reader to report.
		if data, err := v.Read(p); err == nil && testCase.Match(data) {
			list = append(list, p)
		}
	}
	return list
}

// namesTests reports whether a file has a name that people give to test files, but under which pytest does not collect it.
func namesTests(p string) bool {
	if IsTest(p) || path.Ext(p) != ".py" {
		return false
	}
	stem := strings.TrimSuffix(path.Base(p), ".py")
	dir := path.Base(path.Dir(p))
	return stem == "tests" || stem == "test" || strings.HasSuffix(stem, "_tests") || dir == "tests" || dir == "test"
}

// namedByUnittest returns a function that reports whether a command of the project runs unittest on a file: by the pattern
// that it gives, or as a module.
func namedByUnittest(v check.View) func(p string) bool {
	base := check.OnBase(v.Base)
	var patterns, files []string
	for _, c := range commandsOf(v, ".") {
		if c.Tool != "unittest" {
			continue
		}
		for i, word := range c.Args {
			option, value, inOne := strings.Cut(word, "=")
			if !inOne && i+1 < len(c.Args) {
				value = c.Args[i+1]
			}
			file, ok := modules.File(base, ".", word)
			switch {
			case option == "-p" || option == "--pattern":
				patterns = append(patterns, value)
			case ok && !strings.HasPrefix(word, "-"):
				files = append(files, file)
			}
		}
	}
	return func(p string) bool {
		return slices.Contains(files, p) || path.Ext(p) == ".py" && slices.ContainsFunc(patterns, func(pattern string) bool {
			ok, err := path.Match(pattern, path.Base(p))
			return err == nil && ok
		})
	}
}
