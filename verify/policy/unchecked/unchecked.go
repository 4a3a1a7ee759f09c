// Package unchecked finds the lines by which a change of a program has type checkers pass over code that runs, or take anything for right: branches
// that they skip, attributes that are all there, functions that lost their types, and declarations that nothing stands behind. Lines are read
// by form; nothing is run, and what becomes of a changeset that has such a line is the business of package policy.
package unchecked

import (
	"strings"

	"agent/sandbox/workspace/lang"
	"agent/sandbox/workspace/secret"
)

// A File is one of a changeset, before and after it. Before is nil for a new one.
type File struct {
	Path          string
	Family        lang.Family
	Before, After []lang.Line
	Created       bool
}

// A Place is a line after the change, counted from 0, and what it does, as a part of a sentence.
type Place struct {
	Path string
	Line int
	What string
}

// Find lists the places in the files of a changeset that are part of the program. Of new files those are listed that change what is said of
// others: in the rest of them nothing was checked before.
func Find(files []File) (places []Place) {
	defs := definitions(files)
	for _, f := range files {
		add := func(what string, lines []int) {
			for _, i := range lines {
				places = append(places, Place{f.Path, i, what})
			}
		}
		switch {
		case f.Family == lang.Python && !f.Created && !strings.HasSuffix(f.Path, ".pyi"):
			add("hides from type checkers what they saw before", hidden(f))
			add("is in a branch that type checkers never look into, and that runs", skipped(f))
			add("has type checkers take any attribute for one that is there, and gives none", anyAttribute(f))
			add("takes the types from a function, for what it is decorated with says none", undecorated(f, defs))
		case f.Family == lang.Script:
			add("declares for what the language has something that nothing gives it", augments(f, files))
			add("declares any module to be there", anyModule(f))
			if !f.Created {
				add("has the type checker take any name for a member", anyMember(f))
			}
		}
	}
	return places
}

// code is the code of a line without the space around it, "" of one of data.
func code(line lang.Line) string {
	if len(line.Code) > secret.MaxLine {
		return ""
	}
	return strings.TrimSpace(line.Code)
}

// known holds the lines of a text, as code and without the space around them.
func known(lines []lang.Line) map[string]bool {
	is := map[string]bool{}
	for _, line := range lines {
		is[code(line)] = true
	}
	return is
}
