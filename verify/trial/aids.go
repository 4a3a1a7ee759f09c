// Package trial judges what a patch does to tests and to what they are made of. The tests run as they were on the
// patched program, and the rewritten ones run as they are now on the program as it was. What fails on either side
// shows what a test proves. The package owns which files tests are made of, what the two runs show, and the resulting
// holds and findings. It starts no box: package verify does, and provides the boxes in which mutants are tried.
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

// aidNames lists files that a test runner reads on its own, wherever they are.
var aidNames = []string{
	"conftest.py", "sitecustomize.py", "usercustomize.py", "pytest.ini", ".pytest.ini", "pyproject.toml", "tox.ini", "setup.cfg", "noxfile.py",
	"package.json", "jest.config.*", "jest.setup.*", "vitest.config.*", "vitest.setup.*", "vite.config.*", "babel.config.*", ".babelrc", ".mocharc.*", "ava.config.*", ".taprc", "*.pth", "*.snap",
}

// named reports whether a test runner reads the file at p because of its name.
func named(p string) bool {
	return slices.ContainsFunc(aidNames, func(pattern string) bool { ok, _ := path.Match(pattern, path.Base(p)); return ok })
}

// isAid reports whether tests are made of the file at p: configuration, plugins, helpers, data. A test itself is not an aid.
func isAid(p string) bool {
	if named(p) {
		return true
	}
	return !isTestModule(p) && check.InAidDirectory(p)
}

// isData reports whether an aid is only compared with or read by tests, and neither runs nor configures anything that
// runs: such an aid cannot tell one program from another.
func isData(p string) bool {
	if path.Ext(p) == ".snap" {
		return true
	}
	l := lang.Of(p)
	return !named(p) && l != nil && l.Values != lang.Code
}

// isTestModule reports whether a file contains tests that a runner here collects because of its name.
func isTestModule(p string) bool {
	return python.IsTest(p) || node.IsTest(p) || strings.HasSuffix(p, "_test.go")
}

// A Split is a patch in two parts.
type Split struct {
	// The changes to the program, and the changes to tests and to what they are made of.
	Program, Tests workspace.Changeset
	// The files of Tests that are not tests themselves, sorted. If there are none, the program changes and no
	// existing test is edited, these are the new tests that may change the program for others.
	Aids []string
	// The code files among Aids in which the patch changes only values that are written out, as in a table.
	Values []string
	// Whether some of Tests was there before and still is, whether some is deleted, and whether something is written that may hold tests.
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

// Wanted reports whether the tests must run as they were. New tests next to the old ones make no difference, unless
// they replace deleted ones.
func (s Split) Wanted() bool { return !s.OnlyRemoves() || s.Deleted && s.Written }

// OnlyRemoves reports whether the patch leaves alone all tests that it does not remove, and what they are made of.
func (s Split) OnlyRemoves() bool { return len(s.Aids) == 0 && !s.Old }

// Lost returns the names that the program loses with the patch; after is the patched workspace. It returns nil if the
// patch does more to the program than remove from it, or neither edits nor removes a test.
func (s Split) Lost(after check.View) map[string]bool {
	if !s.Old && !s.Deleted {
		return nil
	}
	return lastWords(s.Program, after)
}
