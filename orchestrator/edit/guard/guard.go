// Package guard judges the result of an edit by what its language says.
//
// It owns the imports that a block dropped although the file still uses them,
// definitions that are gone although they are used, results that no longer parse
// where the text before did, and results that lost most of a file. It compares with the file
// before: what was broken already is no fault of the edit, and what cannot be
// judged is left to the gates.
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

// The guard against a response that empties a file: shorter than half of what
// it was, when it had at least this many lines. Diffs are exempt, since their
// form spells out every line that goes and how many.
const guardLines = 40

// CheckBlock refuses a block that could never be applied, before it is looked for.
//
// An empty SEARCH would match everywhere. It is sound only for a file that
// is empty or absent, and such blocks have become whole contents before.
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
		if f := find(); len(f.Places) == 0 { // both faults are told at once
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
// Emptying a file is a known failure of models that lose the thread: they
// repeat a file's beginning and stop. Small files are exempt, because there
// half of the text is soon reached by honest edits.
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

// CheckInterpreter refuses a result in which something is above the line
// that names the interpreter of a script: there it is but a comment.
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
