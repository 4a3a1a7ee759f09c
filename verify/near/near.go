// Package near finds the files of tests that a patch is about, by what stands in them: those that it changes, those that
// name a module which it changes, and those that lie beside one. It is for suites that take longer than anyone waits. It reads
// text, and runs nothing; what a test reaches without naming it, it does not find.
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

// Most is how many files are found at most, and how many of the changed modules are looked for. Of a suite that ends in no time
// a fifth at most is worth a try: a module at the heart of a program is named by all of its tests.
const (
	Most        = 40
	least       = 4
	share       = 5
	mostModules = 60
)

// Files lists the files of tests that a changeset is about, of the workspace after it, and by the paths before it those that it
// moves or takes away: those that it changes, then those that are called after what it changes or lie beside it, then those that name it, as
// far as they are no more than a fifth of all, or a few. There are none where no test is about anything of it.
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
	namedBy *regexp.Regexp // nil where it has no name to go by
}

// titled reports whether a test is called after a module: test_shop.py, shop.test.ts.
func titled(test, module string) bool {
	name := Stem(module)
	return len(name) > 2 && slices.Contains(strings.FieldsFunc(path.Base(test), func(r rune) bool { return strings.ContainsRune("._-", r) }), name)
}

// Stem is the name by which a module is imported.
func Stem(p string) string {
	name := strings.TrimSuffix(path.Base(p), path.Ext(p))
	if slices.Contains([]string{"__init__", "index", "mod"}, name) {
		name = path.Base(path.Dir(p))
	}
	return name
}

// Imports matches a line that imports the module at p, nil where it has no name to go by.
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
