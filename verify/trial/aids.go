// Package trial judges what a patch does to tests and to what they are made of. Its tests are
// run as they were on the program that the patch leaves, and the rewritten ones as they are now
// on the program that was there: what fails on either side shows what a test proves. It owns
// which files tests are made of, what the two runs tell, and the holds and findings that come of
// it. It starts no box and runs nothing; package verify does.
package trial

import (
	"path"
	"slices"
	"strings"

	"agent/sandbox/workspace"
	"agent/sandbox/workspace/lang"
	"agent/verify/check"
	"agent/verify/node"
	"agent/verify/python"
)

// aidNames are files that a test runner reads by itself, wherever they lie.
var aidNames = []string{
	"conftest.py", "sitecustomize.py", "usercustomize.py", "pytest.ini", ".pytest.ini", "pyproject.toml", "tox.ini", "setup.cfg", "noxfile.py",
	"package.json", "jest.config.*", "jest.setup.*", "vitest.config.*", "vitest.setup.*", "vite.config.*", "babel.config.*", ".babelrc", ".mocharc.*", "ava.config.*", ".taprc", "*.pth", "*.snap",
}

// named reports whether a test runner reads the file at p by its name.
func named(p string) bool {
	return slices.ContainsFunc(aidNames, func(pattern string) bool { ok, _ := path.Match(pattern, path.Base(p)); return ok })
}

// isAid reports whether tests are made of the file at p: configuration, plugins,
// helpers, data. A test itself is none.
func isAid(p string) bool {
	if named(p) {
		return true
	}
	return !isTestModule(p) && check.InAidDirectory(p)
}

// isData reports whether an aid is what tests compare with or read, and neither runs nor
// configures what does: it cannot tell one program from another.
func isData(p string) bool {
	if path.Ext(p) == ".snap" {
		return true
	}
	l := lang.Of(p)
	return !named(p) && l != nil && l.Values != lang.Code
}

// isTestModule reports whether a file holds tests that a runner here collects by its name.
func isTestModule(p string) bool {
	return python.IsTest(p) || node.IsTest(p) || strings.HasSuffix(p, "_test.go")
}

// A Split is a patch in two.
type Split struct {
	// What it does to the program, and what to tests and to what they are made of.
	Program, Tests workspace.Changeset
	// What of Tests is no test itself, sorted; in a patch that brings nothing but new tests, those that may change the program
	// for others.
	Aids []string
	// Of Aids the code of which it changes nothing but values that stand there as they are, as in a table.
	Values []string
	// Some of Tests was there before, and still is; some is deleted; something is written that may hold tests.
	Old, Deleted, Written bool
}

// SplitPatch separates what a patch does to the program from what it does to tests.
func SplitPatch(base *workspace.Manifest, cs workspace.Changeset) (s Split) {
	before := check.NewView(base, workspace.Changeset{})
	plugins := python.TestPlugins(before, check.NewView(base, cs))
	test := node.Collects(before) // whatever its name
	helpers := assertedBy(base, cs)
	aid := func(p string) bool {
		return isAid(p) && !test(p) || slices.Contains(plugins, p) || slices.Contains(helpers, p)
	}
	s.Tests, s.Program = check.SplitChanges(cs, func(p string) bool { return aid(p) || isTestModule(p) || test(p) })
	var reaching []string
	for _, c := range s.Tests.Changes {
		if c.Op == workspace.Create && reaches(c.Path, string(c.After)) {
			reaching = append(reaching, c.Path)
		}
		s.Old = s.Old || c.Op == workspace.Modify || c.Op == workspace.Rename
		s.Deleted = s.Deleted || c.Op == workspace.Delete
		if aid(c.Path) || aid(check.OldPath(c)) {
			s.Aids = append(s.Aids, c.Path)
			if onlyValues(c) {
				s.Values = append(s.Values, c.Path)
			}
		}
	}
	s.Written = slices.ContainsFunc(cs.Changes, func(c workspace.Change) bool {
		l := lang.Of(c.Path)
		return c.Op != workspace.Delete && l != nil && l.Values == lang.Code
	})
	if len(s.Aids) == 0 && !s.Old && len(s.Program.Changes) > 0 {
		s.Aids = reaching
	}
	return s
}

// Wanted reports whether the tests have to be run as they were. New tests beside the old
// ones make no difference, unless they come in the place of some that are deleted.
func (s Split) Wanted() bool { return !s.OnlyRemoves() || s.Deleted && s.Written }

// OnlyRemoves reports whether the patch leaves the tests alone, and what they are made of, that it does not remove.
func (s Split) OnlyRemoves() bool { return len(s.Aids) == 0 && !s.Old }

// Lost are the names that the program loses with the patch, which after shows; nil where the patch does more to it
// than to take away, or takes no test away.
func (s Split) Lost(after check.View) map[string]bool {
	if !s.Old && !s.Deleted {
		return nil
	}
	return lastWords(s.Program, after)
}
