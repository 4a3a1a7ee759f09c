// Package guard judges the result of an edit by the rules of its language.
//
// It owns four checks: imports that a block dropped although the file still uses them, definitions that are gone although they are
// used, results that no longer parse although the text before did, and results that lost most of a file. It compares with the file
// before the edit: faults that were already there do not count against the edit. Anything that it cannot judge is left to the
// gates.
package guard

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"agent/orchestrator/edit/document"
	"agent/orchestrator/edit/explain"
	"agent/orchestrator/edit/lex"
	"agent/orchestrator/edit/match"
	"agent/orchestrator/edit/parse"
	"agent/orchestrator/edit/problem"
)

// guardLines belongs to the guard against a response that empties a file. It is the least number of lines of a file for which a
// result of less than half its size is refused. Diffs are exempt, since they spell out every removed line and their number.
const guardLines = 40

// CheckBlock refuses a block that could never be applied, before its place is looked up.
//
// An empty SEARCH would match everywhere. It is sound only for a file that is empty or absent, and such blocks were turned into
// whole contents earlier.
func CheckBlock(d *document.Document, op *parse.Operation) *problem.Problem {
	p := &problem.Problem{Block: op.Block, Path: d.Path, Kind: problem.KindRefused}
	if lo, hi := lex.Outer(op.Search); lo == hi {
		p.Reason = "there are no lines to replace, and the file is not empty: nothing says where the new ones would go"
		p.Advice = "send SEARCH, or the hunk's context, with lines from that place"
		if d.Len() == 0 {
			return nil
		}
		return p
	}
	find := sync.OnceValue(func() match.Finding { return match.Find(d, op) })
	if line, ok := promised(d, op, find); ok {
		if f := find(); len(f.Places) == 0 { // both faults are reported at once
			return explain.Unplaced(d, op, f)
		}
		p.Reason = fmt.Sprintf("REPLACE holds the placeholder %s instead of the code it stands for", problem.Quote(line))
		p.Advice = "send the whole text of the lines to replace, or a smaller block"
		return p
	}
	return nil
}

// CheckEdit judges the result of the edits of one file.
func CheckEdit(d *document.Document, ops []*parse.Operation, left int) *problem.Problem {
	if len(ops) == 0 || slices.ContainsFunc(ops, func(op *parse.Operation) bool { return op.Hunk != nil }) {
		return nil
	}
	return CheckSize(d, ops[0].Block, left)
}

// CheckSize refuses a result of left bytes that lost more than half of the file.
//
// Emptying a file is a known failure of models that lose the thread: they repeat the beginning of a file and stop. Small files are
// exempt, because honest edits soon reach half of their text.
func CheckSize(d *document.Document, block, left int) *problem.Problem {
	if d.Len() < guardLines || 2*left >= len(d.Text) {
		return nil
	}
	return &problem.Problem{
		Block: block, Path: d.Path, Kind: problem.KindRefused,
		Reason: fmt.Sprintf("%d bytes would be left of %d: more than half of the file would go", left, len(d.Text)),
		Advice: "send a unified diff, which names every line that goes, or delete the file",
	}
}

// CheckInterpreter refuses a result with text above the line that names a script's interpreter: there that line is only a comment.
func CheckInterpreter(d *document.Document, ops []*parse.Operation, after string) *problem.Problem {
	first, _, _ := strings.Cut(d.Text, "\n")
	if !strings.HasPrefix(first, "#!") || strings.HasPrefix(after, "#!") || !strings.Contains(after, "\n"+first) {
		return nil
	}
	return &problem.Problem{
		Block: ops[0].Block, Path: d.Path, Kind: problem.KindRefused, Reason: fmt.Sprintf("the line %s would no longer be the first, where alone it means something", problem.Quote(first)),
		Advice: "put the new lines below it",
	}
}
