package parse

import (
	"fmt"
	"strings"

	"agent/orchestrator/edit/problem"
	"agent/sandbox/workspace/lazyregexp"
)

// ends reports whether the line s at p.i no longer belongs to the hunk; full says that the header's counts are used up. That alone
// does not end a hunk, since counts that are too low would drop the rest of it. But a removed "-- x" looks like a file's header.
// There the counts decide, and if they are wrong, the hunk that must follow a header.
//
// So "--- a note" followed by "+++ b" inside a hunk is the removal of an SQL comment and an addition, unless the counts are used up
// or "@@" comes next.
func (p *diffParser) ends(s string, full bool) bool {
	next := func(n int) string {
		if p.i+n < len(p.lines) {
			return p.lines[p.i+n]
		}
		return ""
	}
	switch {
	case s == "":
		return false
	case strings.IndexByte(` +-\`, s[0]) < 0:
		return true
	case strings.HasPrefix(s, "--- ") && strings.HasPrefix(next(1), "+++ "):
		return full || strings.HasPrefix(next(2), "@@")
	case s == "-- " || s == "--":
		return full || mailEnd.MatchString(next(1)) // the signature under a mailed patch
	}
	return false
}

// mailEnd matches the version that git writes below a mailed patch.
var mailEnd = lazyregexp.New(`^\d+\.\d+`)

// cutOff refuses a hunk at the end of the response that lacks lines: its header promises more on one side and no less on the other,
// or the fence around it is open. If something follows a hunk, its counts are merely wrong; here a wrong count looks the same as a
// lost change.
func (p *diffParser) cutOff(op *Operation, oldLeft, newLeft int, counted bool) error {
	if p.i < len(p.lines) {
		return nil
	}
	if counted && oldLeft >= 0 && newLeft >= 0 {
		old, added := len(op.Search), len(op.Replace)
		return p.fault(problem.KindTruncated,
			fmt.Sprintf("the last hunk has %d old and %d new lines and its header promises %d and %d: the response was cut off, or the counts are wrong", old, added, old+oldLeft, added+newLeft),
			"send the whole diff again, with true counts or with none: @@ @@")
	}
	if fenceOpen(p.prose, p.fenced) {
		return p.fault(problem.KindTruncated, "the fence around the diff is opened and never closed: the response was cut off", "send the whole diff again")
	}
	return nil
}

// unmarked refuses a hunk with doubtful counts that stops at a line without a mark although more marked lines follow. The line may
// be context that lost its space, and stopping there would drop the rest. If the header promises more lines, lines that look like
// file names may also belong to the hunk.
//
// A dash or plus, one space and a word is a list item in the prose: as a line of a hunk it would stand for text that is indented by
// one space.
func (p *diffParser) unmarked(promised bool) error {
	if p.i >= len(p.lines) {
		return nil
	}
	s := p.lines[p.i]
	if s == "" || strings.HasPrefix(s, "@@") || strings.HasPrefix(s, "diff ") || strings.HasPrefix(s, "--- ") || strings.HasPrefix(s, "```") || strings.HasPrefix(s, "Index: ") || s == "-- " {
		return nil
	}
	for k, l := range p.lines[p.i+1:] {
		names := !promised && strings.HasPrefix(l, "--- ") && p.i+k+2 < len(p.lines) && strings.HasPrefix(p.lines[p.i+k+2], "+++ ")
		if names || strings.HasPrefix(l, "@@") || strings.HasPrefix(l, "diff ") || strings.HasPrefix(l, "```") {
			return nil
		}
		if l != "" && (l[0] == '+' || l[0] == '-') && !listItem.MatchString(l) {
			return p.fault(problem.KindParse, fmt.Sprintf("line %s of the hunk begins with none of space, + and -", problem.Quote(s)), "begin every line of a hunk with its mark")
		}
	}
	return nil
}

// listItem matches a line of prose that looks like a hunk line.
var listItem = lazyregexp.New("^[+-] [\\pL`*\"]")
