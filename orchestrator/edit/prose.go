package edit

import (
	"fmt"
	"slices"
	"strings"

	"agent/orchestrator/edit/lex"
	"agent/orchestrator/edit/parse"
)

// pathFromProse looks at the text above a block that takes its path from the block before it. A line that is the name of a file
// gives the block that file. If the text mentions another file in which the block has a place too, it is unclear which one is
// meant, and pathFromProse returns that as the reason.
//
// The parser recognizes a name by its dot or slash, since it does not know the files. "Makefile", a name with spaces and a name
// within a sentence are recognized here. Applying such a block to the preceding file would change the wrong one.
func (p *planner) pathFromProse(op *parse.Operation) (reason string) {
	if lex.Blank(op.Above) {
		return ""
	}
	for _, l := range parse.Backwards(strings.Split(op.Above, "\n")) {
		if l = strings.TrimSpace(l); l == "" || strings.HasPrefix(l, "```") {
			continue
		}
		if name := parse.Undressed(l); forbidden(name) == "" && p.has(name) {
			op.Path = name
			return ""
		}
		break
	}
	if op.Path == "" {
		return ""
	}
	for _, name := range p.filesMentioned(op) {
		text, err := p.files.Read(name)
		if err != nil || !p.mayHold(text, longestLines([]*parse.Operation{op})) {
			continue
		}
		if p.fit(name, text, []*parse.Operation{op}) {
			return fmt.Sprintf("the block follows one of %s, but the text above it speaks of %s, where it would fit too", op.Path, name)
		}
	}
	return ""
}

// filesMentioned lists the files that a word of the text above op names, by path or by base name. A word that can mean op's own
// file names no other.
func (p *planner) filesMentioned(op *parse.Operation) []string {
	own := strings.TrimPrefix(op.Path, "./")
	var out []string
	for _, w := range strings.FieldsFunc(op.Above, func(r rune) bool { return strings.ContainsRune(" \t\r\n`*:,;()[]<>\"'", r) }) {
		w = strings.TrimPrefix(strings.TrimRight(w, "."), "./")
		names := slices.DeleteFunc(slices.Clone(p.sameBaseName(w)), func(f string) bool { return f != w && !strings.HasSuffix(f, "/"+w) })
		if len(names) > 0 && !slices.Contains(names, own) && !slices.Contains(out, names[0]) {
			out = append(out, names...)
		}
	}
	return out
}
