package golang

import (
	"cmp"
	"maps"
	"path"
	"slices"
	"strings"

	"agent/sandbox/workspace/lazyregexp"
	"agent/verify/check"
	"agent/verify/witness"
)

// goTestFiles finds the file that declares a test, which the go command does not report. The files reveal renames and tests
// that are gone.
type goTestFiles struct {
	view check.View
	// known maps directories, then the names of functions, to files.
	known map[string]map[string]string
	// twice holds the functions that both packages of a directory have, the one under test and the external one.
	twice map[string]map[string]bool
	// own holds the gate's own tests among them.
	own *witness.Set
}

// newGoTestFiles reads nothing yet: most directories of a workspace are never asked about.
func newGoTestFiles(v check.View) *goTestFiles {
	return &goTestFiles{view: v, known: map[string]map[string]string{}, twice: map[string]map[string]bool{}}
}

// goTestFunc matches the declaration of a function that go test runs.
//
// It matches text and not syntax: a file that does not parse has no tests that ran, and none to be found.
var goTestFunc = lazyregexp.New(`(?m)^func[ \t]+((?:Test|Fuzz|Example|Benchmark)\w*)[ \t]*\(`)

// witnesses draws witnesses for the packages in dirs that have a picked file: each package is tested in a process of its own.
func (g *goTestFiles) witnesses(dirs map[string]string, picks func(p string) bool) *witness.Set {
	tests := map[string][]string{}
	for _, p := range g.view.Paths() {
		if IsTest(p) {
			tests[path.Dir(p)] = append(tests[path.Dir(p)], p)
		}
	}
	d, set := witness.NewDraw(), &witness.Set{}
	for _, dir := range slices.Sorted(maps.Values(dirs)) {
		if g.any(dir) && slices.ContainsFunc(tests[dir], picks) {
			set.Go(d, g.view, dir, tests[dir])
		}
	}
	return set
}

// besidePackage matches the package clause of a test file that sees its package from outside.
var besidePackage = lazyregexp.New(`(?m)^package[ \t]+\w+_test\b`)

// both reports whether both packages in a directory have a test: go test then runs two of the same name.
func (g *goTestFiles) both(dir, test string) bool {
	name, _, _ := strings.Cut(test, "/")
	g.in(dir)
	return g.twice[dir][name]
}

// of returns the file of a test in a directory, or the directory itself if no file has it. Of two files with the same
// function, for two systems, the first counts.
func (g *goTestFiles) of(dir, test string) string {
	name, _, _ := strings.Cut(test, "/")
	return cmp.Or(g.in(dir)[name], dir)
}

// any reports whether a directory has tests.
func (g *goTestFiles) any(dir string) bool { return len(g.in(dir)) > 0 }

// in reads the test files of a directory once.
func (g *goTestFiles) in(dir string) map[string]string {
	if known := g.known[dir]; known != nil {
		return known
	}
	known, twice := map[string]string{}, map[string]bool{}
	g.known[dir], g.twice[dir] = known, twice
	beside := map[string]bool{} // those of known that are in the external package
	for _, p := range g.view.Paths() {
		if path.Dir(p) != dir || !IsTest(p) {
			continue
		}
		data, err := g.view.Read(p)
		if err != nil {
			continue // its tests keep the directory as their place, on both sides
		}
		for _, m := range goTestFunc.FindAllSubmatch(data, -1) {
			name, outside := string(m[1]), besidePackage.Match(data)
			if known[name] == "" {
				known[name], beside[name] = p, outside
			}
			twice[name] = twice[name] || beside[name] != outside
		}
	}
	return known
}
