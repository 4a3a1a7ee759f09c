// Package near finds the test files that a patch is about, from their text: those that it changes, those that name a
// module that it changes, and those that lie next to one. It is for suites that take too long to run in full. It reads
// text and runs nothing; it does not find what a test reaches without naming it.
package near

import (
	"path"
	"regexp"
	"slices"
	"strings"

	"agent/sandbox/workspace"
	"agent/sandbox/workspace/lang"
	"agent/verify/check"
	"agent/verify/golang"
	"agent/verify/node"
	"agent/verify/python"
)

// Most bounds how many files are found, and mostModules how many changed modules are looked for. Of a suite that does
// not end in time, at most a fifth is worth trying: all tests of a program name the module at its heart.
const (
	Most        = 40
	least       = 4
	share       = 5
	mostModules = 60
)

// Files lists the test files that a changeset is about: paths of the workspace after it, and the earlier paths of files that it
// moves or deletes. First come those that it changes, then those that are named after a changed file or lie next to it, then
// those that name it, up to a fifth of all or a few. The list is empty if no test is about the changeset.
func Files(after check.View, cs workspace.Changeset) []string {
	script := node.Collects(after)
	is := func(p string) bool { return python.IsTest(p) || golang.IsTest(p) || node.IsTest(p) || script(p) }
	var found, naming, beside []string
	all := 0
	var modules []module
	for _, c := range cs.Changes {
		for _, p := range []string{c.Path, check.OldPath(c)} {
			if is(p) && !slices.Contains(found, p) {
				found = append(found, p)
			}
		}
		if l := lang.Of(c.Path); l != nil && l.Values == lang.Code && !is(c.Path) && len(modules) < mostModules {
			modules = append(modules, module{l.Family, check.OldPath(c), Imports(l.Family, check.OldPath(c))})
		}
	}
	for _, p := range after.Paths() {
		l := lang.Of(p)
		if l == nil || check.Installed(p) || !is(p) {
			continue
		}
		if all++; slices.Contains(found, p) {
			continue
		}
		text, named := "", false
		for _, m := range modules {
			if m.family != l.Family {
				continue
			}
			if text == "" {
				text = after.Text(p)
			}
			if l.Family == lang.Go && path.Dir(p) == path.Dir(m.path) || titled(p, m.path) {
				beside, named = append(beside, p), false
				break
			}
			named = named || m.namedBy != nil && m.namedBy.MatchString(text)
		}
		if named {
			naming = append(naming, p)
		}
	}
	most := max(len(found), least, all/share)
	found = slices.Concat(found, beside, naming)
	return found[:min(len(found), most, Most)]
}

// A module is a changed file of the program.
type module struct {
	family  lang.Family
	path    string
	namedBy *regexp.Regexp // nil if it has no name to search for
}

// titled reports whether a test is named after a module: test_shop.py, shop.test.ts.
func titled(test, module string) bool {
	name := Stem(module)
	return len(name) > 2 && slices.Contains(strings.FieldsFunc(path.Base(test), func(r rune) bool { return strings.ContainsRune("._-", r) }), name)
}

// Stem returns the name by which a module is imported.
func Stem(p string) string {
	name := strings.TrimSuffix(path.Base(p), path.Ext(p))
	if slices.Contains([]string{"__init__", "index", "mod"}, name) {
		name = path.Base(path.Dir(p))
	}
	return name
}

// Imports returns an expression that matches a line that imports the module at p, or nil if it has no name to search for.
func Imports(family lang.Family, p string) *regexp.Regexp {
	name := regexp.QuoteMeta(Stem(p))
	switch family {
	case lang.Python:
		return regexp.MustCompile(`(?m)^\s*(?:from|import)\b.*\b` + name + `\b|^\s*from\s+\S+\s+import\s*\((?:[^)]*\b)?` + name + `\b`)
	case lang.Go:
		dir := regexp.QuoteMeta(path.Base(path.Dir(p)))
		if dir == `\.` {
			return nil
		}
		return regexp.MustCompile(`(?m)^\s*(?:import\s+)?(?:[\w.]+\s+)?"(?:[^"\n]*/)?` + dir + `"\s*$`)
	case lang.Script:
		return regexp.MustCompile(`(?:from|import|require\(|import\()\s*["'](?:[^"'\n]*/)?` + name + `(?:\.\w+)?["']`)
	}
	return nil
}
