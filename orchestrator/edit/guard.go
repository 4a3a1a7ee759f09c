package edit

import (
	"fmt"
	"slices"
	"strings"
)

// The guard against a response that empties a file: shorter than half of what
// it was, when it had at least this many lines. Diffs are exempt, since their
// form spells out every line that goes and how many.
const guardLines = 40

// checkBlock refuses a block that could never be applied, before it is looked for.
//
// An empty SEARCH would match everywhere. It is sound only for a file that
// is empty or absent, and such blocks have become whole contents before.
func checkBlock(d *document, op *operation) *Problem {
	p := &Problem{Block: op.block, Path: d.path, Kind: kindRefused}
	if lo, hi := outer(op.search); lo == hi {
		p.Reason = "there are no lines to replace, and the file is not empty: nothing says where the new ones would go"
		p.Advice = "send SEARCH, or the hunk's context, with lines that stand at that place"
		if d.len() == 0 {
			return nil
		}
		return p
	}
	// A placeholder that the file holds already is the file's own text: a
	// template, or documentation about placeholders.
	if line, ok := promised(d.lang, op.replace, op.search); ok && !d.holds(line) {
		if f := find(d, op); len(f.places) == 0 { // both faults are told at once
			return unplaced(d, op, f)
		}
		p.Reason = fmt.Sprintf("REPLACE holds the placeholder %s instead of the code it stands for", quote(line))
		p.Advice = "send the whole text of the lines to replace, or a smaller block"
		return p
	}
	return nil
}

// promised returns a line of replace that promises code instead of giving
// it, unless search elides lines too.
//
// A model that writes "# ... rest unchanged" means the elision of the
// block's form; in a block without elisions in SEARCH the words would land
// in the file and the code they stand for would be gone.
func promised(lang *language, replace, search []string) (string, bool) {
	i := slices.IndexFunc(replace, func(s string) bool {
		return placeholder(s) || stands(s) || lang.promises(s)
	})
	elides := func(s string) bool { yes, _ := elision(s); return yes || placeholder(s) || stands(s) }
	if i < 0 || slices.ContainsFunc(search, elides) { // few blocks promise anything: search is read for those
		return "", false
	}
	return replace[i], true
}

// guardEdit judges the result of the edits of one file.
func guardEdit(d *document, ops []*operation, left int) *Problem {
	if len(ops) == 0 || slices.ContainsFunc(ops, func(op *operation) bool { return op.hunk != nil }) {
		return nil
	}
	return guardSize(d, ops[0].block, left)
}

// guardSize refuses a result of left bytes that lost more than half of the file.
//
// Emptying a file is a known failure of models that lose the thread: they
// repeat a file's beginning and stop. Small files are exempt, because there
// half of the text is soon reached by honest edits.
func guardSize(d *document, block, left int) *Problem {
	if d.len() < guardLines || 2*left >= len(d.text) {
		return nil
	}
	return &Problem{
		Block: block, Path: d.path, Kind: kindRefused,
		Reason: fmt.Sprintf("%d bytes would be left of %d: more than half of the file would go", left, len(d.text)),
		Advice: "send a unified diff, which names every line that goes, or delete the file",
	}
}

// guardInterpreter refuses a result in which something stands above the line
// that names the interpreter of a script: there it is but a comment.
func guardInterpreter(d *document, ops []*operation, after string) *Problem {
	first, _, _ := strings.Cut(d.text, "\n")
	if !strings.HasPrefix(first, "#!") || strings.HasPrefix(after, "#!") || !strings.Contains(after, "\n"+first) {
		return nil
	}
	return &Problem{
		Block: ops[0].block, Path: d.path, Kind: kindRefused, Reason: fmt.Sprintf("the line %s would no longer be the first, where alone it means something", quote(first)),
		Advice: "put the new lines below it",
	}
}

// judge guards the result of a response for one file by what its language
// says: imports that are still used are put back, and a result that no longer
// parses or lost a definition that it uses is a problem.
//
// A unified diff spells out each line that goes, imports and definitions too:
// for it only the parser counts. In Go a definition may have moved to another
// file of the package, so that only a response about one file is judged.
func (p *planner) judge(s *fileState, ops []*operation, text []byte, applied []Applied) []byte {
	after, diff := string(text), slices.ContainsFunc(ops, func(op *operation) bool { return op.hunk != nil })
	d := newDocument(s.path, s.before)
	if !diff {
		var kept []string
		after, kept = keepImports(s.path, string(s.before), after)
		for i := range applied {
			if applied[i].Block == dropper(ops, kept) {
				applied[i].Kept = kept
			}
		}
	}
	bad := guardParse(d, ops, after)
	if bad == nil {
		bad = guardInterpreter(d, ops, after)
	}
	if after == string(s.before) && after != string(text) {
		bad = &Problem{
			Block: ops[0].block, Path: s.path, Kind: kindNoop, Reason: "it only drops imports that the file still uses, and they stay",
			Advice: "leave the block out, or change what uses the imports too",
		}
	}
	if moved := strings.HasSuffix(s.path, ".go") && len(p.states) > 1; bad == nil && !diff && !moved {
		bad = guardDefinitions(d, ops, after, s.whole != nil)
	}
	if bad != nil {
		p.problems = append(p.problems, *bad)
	}
	return []byte(after)
}

// dropper returns the block that named the first of the kept imports, else the
// first of all; 0 when nothing was kept.
func dropper(ops []*operation, kept []string) int {
	if len(kept) == 0 {
		return 0
	}
	for _, op := range ops {
		if slices.ContainsFunc(op.search, func(s string) bool { return strings.Contains(s, kept[0]) }) {
			return op.block
		}
	}
	return ops[0].block
}
