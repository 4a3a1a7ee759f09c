package policy

import (
	"cmp"

	"agent/sandbox/workspace"
	"agent/sandbox/workspace/lang"
)

// mostRead bounds what is read of the text before, in bytes. A file that is
// larger counts as empty, so what it holds may be called new.
const mostRead = 4 * workspace.MaxContent

// sides tells the files of a changeset apart, before and after. A file is
// named by its path after on both sides.
func sides(cs workspace.Changeset) (before, after []sourceFile) {
	side := func(c workspace.Change, name string, text []byte) []sourceFile {
		s := string(text[:min(len(text), mostRead)])
		l := lang.Detect(name, s)
		if l == nil || l.Family == "" || len(text) > mostRead {
			return nil
		}
		return []sourceFile{{c.Path, l.Family, l.MayTest(name), l.Lex(s), c.Op == workspace.Create}}
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

// addsSuppression is what is said of a new suppression.
const addsSuppression = "adds a suppression"

// weakHolds lists the places where cs weakens a check, so that each gate passes because it
// was told to look away or has less to look at: suppressions, tests that
// test less, and types and handlers that let everything through. It compares
// sums over the changeset, so that moving is no weakening.
func weakHolds(cs workspace.Changeset) []Hold {
	before, after := sides(cs)
	holds := holdsOf(Suppression, addsSuppression, newSuppressions(each(before, suppressionsIn), each(after, suppressionsIn)))
	holds = append(holds, testHolds(before, after)...)
	return append(holds, typeHolds(before, after)...)
}
