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

// goTestFiles finds the file in which a test stands, as the go command does not
// tell. Renames of files and tests that are gone are told by their files.
type goTestFiles struct {
	view check.View
	// By directory, then by the name of the function.
	known map[string]map[string]string
	// The functions of a directory that both packages in it have, the one under test and the one beside it.
	twice map[string]map[string]bool
	// The gate's own among the tests.
	own *witness.Set
}

// newGoTestFiles reads nothing yet: most directories of a workspace are never
// asked about.
func newGoTestFiles(v check.View) *goTestFiles {
	return &goTestFiles{view: v, known: map[string]map[string]string{}, twice: map[string]map[string]bool{}}
}

// goTestFunc matches the declaration of what go test runs.
//
// It reads the text and not the syntax: a file that does not parse has no tests
// that ran, and none to be found.
var goTestFunc = lazyregexp.New(`(?m)^func[ \t]+((?:Test|Fuzz|Example|Benchmark)\w*)[ \t]*\(`)

// witnesses draws those of the packages in some directories, of which a file is picked: each is tested in a process of its own.
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

// besidePackage matches the clause of a file of tests that see a package from outside.
var besidePackage = lazyregexp.New(`(?m)^package[ \t]+\w+_test\b`)

// both reports whether both packages in a directory have a test: go test then runs two of one name.
func (g *goTestFiles) both(dir, test string) bool {
	name, _, _ := strings.Cut(test, "/")
	g.in(dir)
	return g.twice[dir][name]
}

// of gives the file of a test in a directory; the directory itself when no file
// has it. Of two files with the same function, for two systems, the first counts.
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
	beside := map[string]bool{} // of known those that are in the package beside
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
