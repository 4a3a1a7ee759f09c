package parse

import (
	"fmt"
	"strings"

	"agent/orchestrator/edit/problem"
	"agent/sandbox/workspace/lazyregexp"
)

// ends reports whether the line s at p.i no longer belongs to the hunk; full
// says that the header's counts are used up. That alone ends nothing: counts
// that are too low would drop the rest of the hunk. But a removed "-- x" looks
// like a file's header; there the counts tell, and where they are wrong, the
// hunk that must follow a header.
//
// So "--- a note" followed by "+++ b" inside a hunk is the removal of a comment
// of SQL and an addition, unless the counts are used up or "@@" comes next.
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

// mailEnd is the version that git writes under a mailed patch.
var mailEnd = lazyregexp.New(`^\d+\.\d+`)

// cutOff refuses a hunk at the end of the response that lacks lines: its header
// promises more on one side and no less on the other, or the fence around it
// is open. Where something follows a hunk its counts are merely wrong; here
// nothing tells a wrong count from a lost change.
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

// unmarked refuses a hunk of doubtful counts that stops at a line without a mark
// though more marked lines follow: the line may be context that lost its space,
// and to stop there would drop the rest. Where the header promises more lines
// they may even be those of a file's name.
//
// A dash or plus, one space and a word is an item of a list in the prose: as a
// line of a hunk it would stand for text that is indented by one space.
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

// listItem is a line of prose that looks like one of a hunk.
var listItem = lazyregexp.New("^[+-] [\\pL`*\"]")
