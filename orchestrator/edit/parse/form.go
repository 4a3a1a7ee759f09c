package parse

import (
	"strings"

	"agent/orchestrator/edit/lex"
	"agent/orchestrator/edit/problem"
)

// The forms that are recognized by where they begin. JSON that is the whole response, and files below their names, are recognized
// otherwise: see parseForm.
const (
	tagsForm    = "tags"
	markersForm = "markers"
	diffForm    = "diff"
	patchForm   = "patch"
)

// The lines that begin and end a patch, and those that name a file in it.
const (
	patchBegin  = "*** Begin Patch"
	patchEnd    = "*** End Patch"
	patchUpdate = "*** Update File:"
	patchMove   = "*** Move to:"
	patchAdd    = "*** Add File:"
	patchDelete = "*** Delete File:"
	patchEOF    = "*** End of File"
)

// patchLine returns which of those lines l is, and the path on it, or "" for any other line. A patch may begin with the name of a
// file.
func patchLine(l string) (kind, path string) {
	l = strings.TrimPrefix(strings.TrimRight(l, " \t\r\n"), lex.BOM)
	switch l {
	case patchBegin, patchEnd, patchEOF:
		return l, ""
	}
	for _, k := range []string{patchUpdate, patchMove, patchAdd, patchDelete} {
		if rest, ok := strings.CutPrefix(l, k); ok {
			return k, strings.TrimSpace(rest)
		}
	}
	return "", ""
}

// marker reports whether a line is a marker of 5 to 9 times c followed by word.
func marker(s string, c byte, word string) (width int, ok bool) {
	s = strings.TrimPrefix(strings.TrimRight(s, " \t\r"), lex.BOM)
	rest := strings.TrimLeft(s, string(c))
	width = len(s) - len(rest)
	return width, width >= 5 && width <= 9 && (rest == word || word != "" && rest == word[1:])
}

// otherForm finds the first line of text[lo:hi] that begins conflict markers, a diff or a patch outside the author's thoughts; at
// is -1 if there is none.
func otherForm(text string, lo, hi int, tags []tag) (form string, at int) {
	for lo < hi {
		next := hi
		if i := strings.IndexByte(text[lo:hi], '\n'); i >= 0 {
			next = lo + i + 1
		}
		if form := beginning(text[lo:next], text[next:hi]); form != "" && !inThought(tags, lo) {
			return form, lo
		}
		lo = next
	}
	return "", -1
}

// beginning returns the form that a line begins, or "" for none; rest is the text after the line.
//
// A diff needs more than three dashes, which Markdown has too: the names of both files, or numbers after the "@@".
func beginning(line, rest string) string {
	line = strings.TrimPrefix(line, lex.BOM) // each block may come from a separate file
	if line == "" || strings.IndexByte("<d-@*", line[0]) < 0 {
		return ""
	}
	if kind, _ := patchLine(line); kind == patchBegin || kind == patchUpdate || kind == patchAdd || kind == patchDelete {
		return patchForm
	}
	if _, ok := marker(line[:len(strings.TrimRight(line, "\n"))], '<', " SEARCH"); ok {
		return markersForm
	}
	numbered := strings.HasPrefix(line, "@@ -") && len(line) > 4 && line[4] >= '0' && line[4] <= '9'
	if numbered || strings.HasPrefix(line, "diff --git ") || strings.HasPrefix(line, "--- ") && strings.HasPrefix(rest, "+++ ") {
		return diffForm
	}
	return ""
}

// otherThan reports whether line i, outside the blocks of a form, begins an edit in another form: skipping it would apply half of a
// change.
func otherThan(form string, lines []string, i int) bool {
	next := strings.Join(lines[i+1:min(i+2, len(lines))], "")
	if other := beginning(lines[i], next); other != "" && other != form {
		return true
	}
	return firstTag(lines[i], scanTags(lines[i])) >= 0
}

// formAdvice shows the form to a model that used none.
const formAdvice = `send <EDIT file="PATH"><SEARCH>lines of the file</SEARCH><REPLACE>new lines</REPLACE></EDIT>, or a unified diff`

// mixedForms refuses a response with edits in two forms.
//
// It is a fault of the response as a whole: the blocks of two forms are not counted together, so no number would lead to the one at
// fault.
func mixedForms() error {
	return problem.Refuse(problem.Problem{Kind: problem.KindParse, Reason: "the response mixes two forms of edit", Advice: "send the whole change in one form"})
}
