package compare

import (
	"slices"
	"strings"

	"agent/sandbox/workspace"
	"agent/sandbox/workspace/lang"
	"agent/verify/check"
)

// Lines returns the lines of the text after a change that the change wrote, counted from 1 and
// without those that hold nothing but comments. Where lines only went, these are their
// neighbours: what stands there now is what the change made. A file that moved as it was has none.
func Lines(c workspace.Change) (list []int) {
	if c.Op == workspace.Delete {
		return nil
	}
	l := lang.Detect(c.Path, string(c.After))
	code := codeLines(l, c.After)
	before := codeLines(l, c.Before)
	for _, r := range Regions(c.Before, c.After) {
		wrote := false
		for n := r.NewFrom; n < r.NewTo; n++ {
			if at(code, n) {
				list, wrote = append(list, n), true
			}
		}
		gone := false
		for n := r.OldFrom; n < r.OldTo; n++ {
			gone = gone || at(before, n)
		}
		if wrote || !gone {
			continue
		}
		for n := r.NewFrom - 1; n > 0; n-- {
			if at(code, n) {
				list = append(list, n)
				break
			}
		}
		for n := r.NewTo; n <= len(code); n++ {
			if at(code, n) {
				list = append(list, n)
				break
			}
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// codeLines says of each line of a text whether it holds more than comments.
func codeLines(l *lang.Language, text []byte) (code []bool) {
	for _, line := range l.Lex(string(text)) {
		code = append(code, line.Inside || strings.TrimSpace(line.Code) != "")
	}
	return code
}

// at reports whether line n, counted from 1, is in a list and true there.
func at(code []bool, n int) bool { return n > 0 && n <= len(code) && code[n-1] }

// Kept returns the lines that stand in the text before a change and in that after it: their numbers before, in order, and
// those of the same lines after.
func Kept(c workspace.Change) (before, after []int) {
	o, n := 1, 1
	for _, r := range append(Regions(c.Before, c.After), check.Region{NewFrom: countLines(string(c.After)) + 1}) {
		for ; n < r.NewFrom; o, n = o+1, n+1 {
			before, after = append(before, o), append(after, n)
		}
		o, n = r.OldTo, r.NewTo
	}
	return before, after
}
