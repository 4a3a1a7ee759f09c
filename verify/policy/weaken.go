package policy

import (
	"cmp"
	"path"
	"slices"

	"agent/sandbox/workspace"
	"agent/sandbox/workspace/lang"
	"agent/sandbox/workspace/lazyregexp"
	"agent/verify/check"
	"agent/verify/policy/directive"
	"agent/verify/policy/runner"
)

// mostRead bounds the text that is read of a file, in bytes. A larger text counts as empty: after a larger one,
// anything may be called new.
const mostRead = 4 * workspace.MaxContent

// sides returns the source files of a changeset before and after it. Both sides name a file by its path after the changeset.
func sides(cs workspace.Changeset) (before, after []sourceFile) {
	side := func(c workspace.Change, name string, text []byte) []sourceFile {
		s := string(text[:min(len(text), mostRead)])
		l := lang.Detect(name, s)
		if l == nil || l.Family == "" || len(text) > mostRead {
			return nil
		}
		return []sourceFile{{c.Path, l.Family, l.MayTest(name), lang.AsRead(l.Family, l.Lex(s)), c.Op == workspace.Create}}
	}
	for _, c := range cs.Sorted() {
		if from := cmp.Or(c.From, c.Path); c.Op != workspace.Create {
			before = append(before, side(c, from, c.Before)...)
		}
		if c.Op != workspace.Delete {
			after = append(after, side(c, c.Path, c.After)...)
		}
	}
	return before, after
}

// fileAt returns the file at a path, or the zero file if there is none.
func fileAt(files []sourceFile, p string) (file sourceFile) {
	for _, f := range files {
		if f.path == p {
			file = f
		}
	}
	return file
}

// addsSuppression is how a hold describes a new suppression.
const addsSuppression = "adds a suppression"

// weakHolds lists the places where cs weakens a check, so that a gate passes because it looks away or has less to
// look at: suppressions, tests that test less, and types and handlers that let everything through. It compares sums
// over the changeset, so that moving code is not weakening.
func weakHolds(cs workspace.Changeset) []Hold {
	before, after := sides(cs)
	blocking, shown := addedSuppressions(before, after)
	holds := append(holdsOf(Suppression, addsSuppression, blocking), shown...)
	holds = append(holds, holdsOf(Suppression, "made a tool report more than its configuration says, and is gone", dropped(before, after))...)
	commands, _ := surplus(each(before, saying(directive.Commands)), each(after, saying(directive.Commands)), byLine)
	holds = append(holds, notBlocking(Tooling, "is run by `go generate`", commands, "")...)
	holds = append(holds, testHolds(before, after)...)
	return append(holds, typeHolds(before, after)...)
}

// runnerHolds lists the places where program code in cs begins to reach for what runs its tests. What the file, or
// the program of the base elsewhere, already did is not new.
func runnerHolds(base check.View, cs workspace.Changeset) (holds []Hold) {
	before, after := sides(cs)
	for _, f := range after {
		if f.test || aidsTests(f.path) {
			continue
		}
		was := fileAt(before, f.path).lines
		holds = append(holds, shapeHolds(f, was)...)
		was, now := runner.Resolve(f.lang, was), runner.Resolve(f.lang, f.lines)
		for _, r := range runner.Rows(f.lang) {
			if r.Helpers && helping.MatchString(f.path) {
				continue
			}
			var marks []mark
			for i, line := range now {
				if r.Found(line) {
					marks = append(marks, f.mark(i, r.What, "", false))
				}
			}
			if len(marks) > 0 && !slices.ContainsFunc(was, r.Found) && !doesAlready(base, f.lang, r) {
				// The shape of the code may have given the same hold.
				holds = append(holds, slices.DeleteFunc(holdsOf(Runner, r.What, marks), func(h Hold) bool { return slices.Contains(holds, h) })...)
			}
		}
	}
	return holds
}

// shapeHolds lists the places where a program file begins to make values that are equal to anything, or to replace
// functions of the language. Each place counts, since one that a program has had for long says nothing about any other.
func shapeHolds(f sourceFile, was []lang.Line) (holds []Hold) {
	if helping.MatchString(f.path) {
		return nil
	}
	for _, shape := range []func(lang.Family, []lang.Line) ([]int, string){runner.EqualsAnything, runner.Replaced} {
		now, what := shape(f.lang, f.lines)
		then, _ := shape(f.lang, was)
		if len(now) <= len(then) {
			continue
		}
		var marks []mark
		for _, i := range now {
			marks = append(marks, f.mark(i, what, "", false))
		}
		holds = append(holds, holdsOf(Runner, what, marks)...)
	}
	return holds
}

// aidFiles matches the names of files that tests are made of: tests run without the patch's changes to them. helping
// matches the words in a path that mark other files as helping tests.
var (
	aidFiles = lazyregexp.New(`^(?:conftest|noxfile|sitecustomize|usercustomize)\.py$|^(?:jest|vitest|vite|ava|babel|karma|playwright|cypress)\.(?:config|setup)\.|^\.mocharc\.`)
	helping  = lazyregexp.New(`(?i)test|mock|fixture|bench|e2e|spec`)
)

// aidsTests reports whether tests are made of a file.
func aidsTests(p string) bool {
	return aidFiles.MatchString(path.Base(p)) || check.InAidDirectory(p)
}

// doesAlready reports whether the program of the base, apart from its tests, does anywhere what r describes. It
// cannot vouch for a file that cannot be read.
func doesAlready(base check.View, family lang.Family, r runner.Row) bool {
	for _, p := range base.Paths() {
		l := lang.Of(p)
		if l == nil || l.Family != family || l.MayTest(p) || aidsTests(p) || check.Installed(p) {
			continue
		}
		if text := base.Text(p); r.In([]byte(text)) && slices.ContainsFunc(runner.Resolve(l.Family, lang.AsRead(l.Family, l.Lex(text))), r.Found) {
			return true
		}
	}
	return false
}
