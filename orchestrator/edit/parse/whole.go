package parse

import (
	"fmt"
	"path"
	"strings"

	"agent/orchestrator/edit/lex"
	"agent/orchestrator/edit/problem"
)

// parseWhole reads whole files in fences, each directly below a line with its name and nothing else:
//
//	shop/stock.py
//	```python
//	the whole content
//	```
//
// Fences without a name are examples. A fence extends to its closing line and no further; if that line cannot be told from one in
// the content, the response is refused. Nothing here shows whether the content is that of the whole file, so the operations are
// marked as doubtful.
func parseWhole(text string, tags []tag) ([]*Operation, error) {
	w := &wholeParser{text: text, tags: tags}
	for w.at < len(text) {
		line := w.next()
		mark, info := fenceLine(line)
		if mark == "" || inThought(tags, w.at-len(line)) {
			continue
		}
		if err := w.fence(mark, info, nameAbove(text, w.at-len(line))); err != nil {
			return nil, err
		}
	}
	return w.ops, nil
}

// A wholeParser walks the lines of a response with whole files.
type wholeParser struct {
	text string
	tags []tag
	at   int // the next line
	ops  []*Operation
	open string // the last file, if a fence without a name after it may be part of it
}

// next steps over a line and returns it, including its end.
func (w *wholeParser) next() string {
	line := w.text[w.at:]
	line = line[:length(line, "\n")]
	w.at += len(line)
	return line
}

// fence reads a fence to its end. It skips a fence without a name.
//
// A fence within a Markdown text looks like the end of the fence around the text, and the rest of the text looks like prose: after
// such a file, every fence must have a name.
func (w *wholeParser) fence(mark, info, name string) error {
	if name == "" && w.open != "" {
		return w.unclear(w.open)
	}
	var lines []string
	for {
		if w.at == len(w.text) {
			if name == "" && len(w.ops) == 0 {
				return nil // an unclosed example without a file before it
			}
			return problem.Refuse(problem.Problem{
				Block: len(w.ops) + 1, Path: name, Kind: problem.KindTruncated, Reason: "a fence is opened and never closed: the response was cut off",
				Advice: "send the whole response again",
			})
		}
		line := strings.TrimSuffix(strings.TrimSuffix(w.next(), "\n"), "\r")
		inner, more := fenceLine(line)
		if strings.HasPrefix(inner, mark) && more == "" {
			break
		}
		if inner == mark && name != "" {
			return w.unclear(name)
		}
		lines = append(lines, line)
	}
	if name == "" {
		return nil
	}
	if w.open = ""; nests(name) {
		w.open = name
	}
	if lo, hi := lex.Outer(lines); lo == hi {
		return w.unclear(name)
	}
	if showsChange(info, name, lines) {
		return problem.Refuse(problem.Problem{
			Block: len(w.ops) + 1, Path: name, Kind: problem.KindParse, Reason: "the fence holds an edit that is in no known form, not the content of the file",
			Advice: formAdvice,
		})
	}
	w.ops = append(w.ops, &Operation{Kind: OpWrite, Path: name, Text: JoinLines(lines), Doubt: true})
	return nil
}

// showsChange reports whether a fence that names a file shows a change to it: the fence is marked as a diff, or has conflict
// markers with words of their own.
func showsChange(info, name string, lines []string) bool {
	if fencesChange(info, name) {
		return true
	}
	opened := false
	for _, l := range lines {
		opened = opened || strings.HasPrefix(l, "<<<<<<< ")
		if opened && strings.HasPrefix(l, ">>>>>>> ") {
			return true
		}
	}
	return false
}

// unclear refuses a response in which the end of a file is uncertain.
func (w *wholeParser) unclear(name string) error {
	return problem.Refuse(problem.Problem{
		Block: len(w.ops) + 1, Path: name, Kind: problem.KindParse, Reason: "the fence holds no text, or fences itself: where the content of the file ends cannot be told",
		Advice: fmt.Sprintf(`send <FILE file="%s">the whole content</FILE>`, name),
	})
}

// nests reports whether a file may hold fences as text.
func nests(name string) bool {
	switch strings.ToLower(path.Ext(name)) {
	case ".txt", ".rst", ".adoc", ".org", "":
		return true
	}
	return lex.LanguageOf(name) == lex.ProseLanguage
}

// Partial reports whether content that was shown below the name of a file is only a part of it: a run of its lines, less than half
// of its length, or text with neither its first nor its last line.
//
// Authors show a function below the name of its file to talk about it. Taking that for the whole file would delete the rest.
func Partial(text string, before []byte) bool {
	old := SplitBody(string(before))
	lo, hi := lex.Outer(old)
	if lo == hi {
		return false
	}
	lines := map[string]bool{}
	for _, l := range SplitBody(text) {
		lines[lex.TrimSpace(l)] = true
	}
	ends := lines[lex.TrimSpace(old[lo])] || lines[lex.TrimSpace(old[hi-1])]
	plain := "\n" + JoinLines(old)
	return !ends || 2*len(text) < len(plain) || len(text) < len(plain)-1 && strings.Contains(plain, "\n"+text)
}
