package compare

import (
	"slices"
	"strings"

	"agent/sandbox/workspace"
	"agent/sandbox/workspace/lang"
	"agent/verify/check"
)

// Lines returns the lines that a change wrote, counted from 1 in the text after it, without those that hold only
// comments. Where lines were only removed, it returns their neighbours: the text there now is what the change made. A
// file that moved unchanged has none.
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

// codeLines reports for each line of a text whether it holds more than comments.
func codeLines(l *lang.Language, text []byte) (code []bool) {
	for _, line := range l.Lex(string(text)) {
		code = append(code, line.Inside || strings.TrimSpace(line.Code) != "")
	}
	return code
}

// at reports whether line n, counted from 1, exists in code and is true.
func at(code []bool, n int) bool { return n > 0 && n <= len(code) && code[n-1] }

// Kept returns the lines that a change left unchanged: their numbers before it, in order, and their numbers after it.
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
