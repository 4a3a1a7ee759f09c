// Package unchecked finds the lines by which a change to a program makes type checkers skip code that runs, or accept anything
// as right: branches that they skip, attributes that all exist, functions that lost their types, and declarations that nothing
// backs. It reads lines by form and runs nothing. What happens to a changeset with such a line is up to package policy.
package unchecked

import (
	"strings"

	"agent/sandbox/workspace/lang"
	"agent/sandbox/workspace/secret"
)

// A File is a file of a changeset, before and after it. Before is nil for a new file.
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

// Find lists the places in the program files of a changeset. In new files it lists only places that change what is
// said about other files: in the rest of a new file, nothing was checked before.
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
			add("is in a branch that runs and that type checkers never look into", skipped(f))
			add("makes type checkers accept any attribute, and provides none", anyAttribute(f))
			add("takes the types from a function, because its decorator states none", undecorated(f, defs))
		case f.Family == lang.Script:
			add("declares a member on the language's own values that nothing provides", augments(f, files))
			add("declares that any module exists", anyModule(f))
			if !f.Created {
				add("makes the type checker accept any name as a member", anyMember(f))
			}
		}
	}
	return places
}

// code returns the code of a line without surrounding space, or "" for a line of data.
func code(line lang.Line) string {
	if len(line.Code) > secret.MaxLine {
		return ""
	}
	return strings.TrimSpace(line.Code)
}

// known returns the set of the lines of a text, as code without surrounding space.
func known(lines []lang.Line) map[string]bool {
	is := map[string]bool{}
	for _, line := range lines {
		is[code(line)] = true
	}
	return is
}
