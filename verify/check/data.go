package check

import (
	"path"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"agent/sandbox/workspace/lang"
	"agent/sandbox/workspace/lazyregexp"
)

// Test data are files that tests read; some are broken on purpose. They are not part of the program, so it means
// nothing if one does not parse.

// testDirs are directories that hold tests; dataDirs are directories inside them that hold what tests read.
var (
	testDirs = strings.Fields("test tests testing __tests__ spec specs e2e unittests")
	dataDirs = strings.Fields(`data testdata test_data test-data fixtures fixture __fixtures__ invalid bad broken malformed corpus corpora
		samples sample cases inputs input snapshots resources assets files examples golden`)
)

// IsTestData reports whether a file is test data: it lies below a directory for test data, or among tests where the
// project's own linter excludes it, and nothing imports it.
func IsTestData(v View, p string) bool {
	return (InTestData(p) || InTestDirectory(p) && excluded(v, p)) && !Imported(v, p)
}

// InTestData reports whether a path lies below a data directory inside a test directory.
func InTestData(p string) bool {
	tests := false
	for _, part := range strings.Split(strings.ToLower(path.Dir(p)), "/") {
		if part == "testdata" || tests && slices.Contains(dataDirs, part) {
			return true
		}
		tests = tests || slices.Contains(testDirs, part)
	}
	return false
}

// InTestDirectory reports whether a path lies below a directory of tests.
func InTestDirectory(p string) bool {
	return slices.ContainsFunc(strings.Split(strings.ToLower(path.Dir(p)), "/"), func(part string) bool { return slices.Contains(testDirs, part) })
}

// aidDirs are directories of files that tests use.
var aidDirs = []string{"test", "tests", "testing", "testdata", "fixtures", "spec", "__tests__", "__fixtures__", "__mocks__", "__snapshots__"}

// InAidDirectory reports whether a path lies in a directory of files that tests use: helpers, data, or the tests themselves.
func InAidDirectory(p string) bool {
	return slices.ContainsFunc(strings.Split(path.Dir(p), "/"), func(dir string) bool { return slices.Contains(aidDirs, dir) })
}

// excluded reports whether the linter or formatter, as the base configures it, excludes a file.
func excluded(v View, p string) bool {
	base := OnBase(v.Base)
	return slices.ContainsFunc(Recall(base, "excluded", func() []string { return listExcluded(base) }), func(e string) bool {
		// Ruff matches a bare name at any depth, and a path from the top.
		e = strings.TrimSuffix(strings.TrimSuffix(strings.Trim(e, "/"), "/**"), "/*")
		if !strings.Contains(e, "/") {
			return e != "*" && slices.ContainsFunc(strings.Split(p, "/"), func(part string) bool { return matches(e, part) })
		}
		for at := p; at != "."; at = path.Dir(at) {
			if matches(e, at) {
				return true
			}
		}
		return false
	})
}

// matches reports whether name matches pattern; a malformed pattern matches nothing.
func matches(pattern, name string) bool {
	ok, err := path.Match(pattern, name)
	return err == nil && ok
}

// listExcluded reads ruff's exclusions from the configuration at the top.
func listExcluded(base View) (list []string) {
	type exclusions struct {
		Exclude       []string `toml:"exclude"`
		ExtendExclude []string `toml:"extend-exclude"`
	}
	type table struct {
		exclusions
		Lint exclusions `toml:"lint"`
	}
	add := func(t table) {
		list = slices.Concat(list, t.Exclude, t.ExtendExclude, t.Lint.Exclude)
	}
	for _, name := range []string{"ruff.toml", ".ruff.toml"} {
		var t table
		if toml.Unmarshal([]byte(base.Text(name)), &t) == nil {
			add(t)
		}
	}
	var file struct {
		Tool struct {
			Ruff table `toml:"ruff"`
		} `toml:"tool"`
	}
	if toml.Unmarshal([]byte(base.Text("pyproject.toml")), &file) == nil {
		add(file.Tool.Ruff)
	}
	return list
}

// families are the languages whose files are imported by others; special are the file names that are imported by the
// name of their directory.
var (
	families = []lang.Family{lang.Python, lang.Script, lang.Go, lang.CSS}
	special  = []string{"__init__.py", "__main__.py", "setup.py"}
)

// isProgram reports whether a file is in a language whose files are imported by others.
func isProgram(p string) bool {
	l := lang.ByExtension(p)
	return l != nil && slices.Contains(families, l.Family)
}

// collected reports whether a test runner finds a file by its name.
func collected(p string) bool { return path.Base(p) == "conftest.py" || lang.IsTest(p) }

// Imported reports whether a file in a programming language is part of the program after all: another file imports it,
// or a tool loads it by its name.
func Imported(v View, p string) bool {
	if !isProgram(p) {
		return false
	}
	base := path.Base(p)
	stem := strings.TrimSuffix(base, path.Ext(p))
	if collected(p) {
		return true
	}
	if slices.Contains(special, base) {
		stem = path.Base(path.Dir(p)) // a package is imported by the name of its directory
	}
	return Recall(v, "imported names", func() map[string]bool { return importedNames(v) })[stem]
}

var (
	// importing matches an import statement: a name such as "bad" also occurs in many other texts.
	importing = lazyregexp.New(`(?m)^[ \t]*from\b[^\n]*\bimport[ \t]*\([^)]*\)|^[^\n#]*(?:\bimport\b|\bfrom\b|\brequire\b|\bimport_module\b|@import\b)[^\n]*$`)
	nameOf    = lazyregexp.New(`[\w-]+`)
)

// importedNames returns the words in all import statements, except those in test data, whose files may import one
// another.
func importedNames(v View) map[string]bool {
	names := map[string]bool{}
	for _, p := range v.Paths() {
		if !isProgram(p) || InTestData(p) && !collected(p) {
			continue
		}
		for _, statement := range importing.FindAllString(v.Text(p), -1) {
			for _, name := range nameOf.FindAllString(statement, -1) {
				names[name] = true
			}
		}
	}
	return names
}
