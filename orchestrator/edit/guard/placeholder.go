package guard

import (
	"slices"
	"strings"

	"agent/orchestrator/edit/document"
	"agent/orchestrator/edit/lex"
	"agent/orchestrator/edit/match"
	"agent/orchestrator/edit/parse"
)

// placeholders returns the indexes of the lines of replace that promise code instead of giving it. A line that the file already
// holds is the file's own text: a template, or documentation about placeholders.
func placeholders(d *document.Document, replace, search []string) (at []int) {
	for i := range replace {
		if line, ok := lex.Promised(d.Lang, replace[i:i+1], search); ok && !d.HasLine(line) {
			at = append(at, i)
		}
	}
	return at
}

// promised returns the first line of op that promises code instead of giving it.
//
// A block that removes no lines cannot lose code this way: there dots may be text, as in an example within a documentation comment.
// See texts.
func promised(d *document.Document, op *parse.Operation, f func() match.Finding) (string, bool) {
	line, ok := lex.Promised(d.Lang, op.Replace, op.Search)
	if !ok || d.Unindexed {
		return line, ok && !d.HasLine(line)
	}
	at := placeholders(d, op.Replace, op.Search)
	if len(at) == 0 {
		return "", false
	}
	line = op.Replace[at[0]]
	if !addsOnly(op.Search, op.Replace) {
		return line, true
	}
	places := f().Places
	if len(places) != 1 {
		return line, true
	}
	p := places[0]
	lines := make([]string, 0, d.Len()+len(p.Replace))
	for i := range p.Lo {
		lines = append(lines, d.Line(i))
	}
	lines = append(lines, p.Replace...)
	for i := p.Hi; i < d.Len(); i++ {
		lines = append(lines, d.Line(i))
	}
	given := map[string]bool{}
	for _, s := range op.Search {
		given[s] = true
	}
	isNew := func(i int) bool { return i >= p.Lo && i < p.Lo+len(p.Replace) && !given[lines[i]] }
	text := newTexts(d.Lang, lines)
	for _, i := range placeholders(d, p.Replace, p.Search) {
		if !text.holds(p.Lo+i, isNew) {
			return p.Replace[i], true
		}
	}
	return "", false
}

// PromisedContent returns the first line of the content of a new file that promises code instead of giving it, outside examples in
// its comments and strings.
func PromisedContent(path, content string) (string, bool) {
	d := document.New(path, nil)
	lines := parse.SplitBody(content)
	at := placeholders(d, lines, nil)
	if len(at) == 0 {
		return "", false
	}
	text := newTexts(d.Lang, lines)
	for _, i := range at {
		if !text.holds(i, func(int) bool { return true }) {
			return lines[i], true
		}
	}
	return "", false
}

// addsOnly reports whether replace has all lines of search in order.
func addsOnly(search, replace []string) bool {
	for _, s := range replace {
		if len(search) > 0 && strings.TrimRight(s, " \t") == strings.TrimRight(search[0], " \t") {
			search = search[1:]
		}
	}
	return len(search) == 0
}

// A texts tells which lines of a text are within strings or comments of several lines, or in prose within fences.
type texts struct {
	lines  []string
	opened []int // for each line, the line that opens what it is within, or -1
}

// newTexts reads lines. If the language's scanner is lost, no line counts as within anything.
func newTexts(l *lex.Language, lines []string) texts {
	t := texts{lines, make([]int, len(lines))}
	scan := l.ScanOver(slices.Clone(lines)).Within
	sure := len(lines) > 0 && scan[len(lines)] == lex.InCode
	open, fence := -1, -1
	for i, s := range lines {
		t.opened[i] = -1
		if sure && scan[i] != lex.InCode && scan[i+1] != lex.InCode {
			t.opened[i] = open
		}
		if scan[i] == lex.InCode {
			open = i
		}
		if !l.Fenced() {
			continue
		}
		if t.opened[i] < 0 {
			t.opened[i] = fence
		}
		if !strings.HasPrefix(strings.TrimSpace(s), "```") {
			continue
		}
		if fence = i; t.opened[i] >= 0 {
			fence = -1
		}
	}
	return t
}

// holds reports whether line i is text that may hold dots: the string, comment or fence around it is new as a whole, or the line is
// only dots.
func (t texts) holds(i int, isNew func(int) bool) bool {
	if t.opened[i] < 0 {
		return false
	}
	return isNew(t.opened[i]) || strings.Trim(strings.TrimSpace(t.lines[i]), "/*#.\u2026 ") == ""
}
