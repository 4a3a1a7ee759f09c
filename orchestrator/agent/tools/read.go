package tools

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strings"

	"agent/orchestrator/ledger"
	"agent/sandbox/workspace"
)

// readTool shows a file, or the part of an answer that was left out.
var readTool = Tool{
	Name: "read",
	About: "Show a file, or lines from-to of it, as your changes leave it. Of a file that is too long to be shown whole, " +
		"without a range, its definitions are listed with their lines. With answer in place of path: more of an earlier answer that was cut.",
	Fields: []Field{
		{Name: "path", Kind: "string", About: "path of the file, relative to the workspace"},
		{Name: "from", Kind: "integer", About: "first line, from 1"},
		{Name: "to", Kind: "integer", About: "last line"},
		{Name: "answer", Kind: "integer", About: "number of an answer that was cut"},
	},
	run: func(_ context.Context, b *Bench, args []byte) (Answer, error) {
		a := arguments[struct {
			Path             string
			From, To, Answer int
		}](args)
		if a.Answer > 0 {
			text, ok := b.answer(a.Answer)
			if !ok {
				return failed("answer %d was not cut: all of it was shown", a.Answer), nil
			}
			more := part(fmt.Sprintf("answer %d", a.Answer), text, max(1, a.From), a.To)
			more.File = ""
			return more, nil
		}
		name, text, wrong := b.text(a.Path)
		switch {
		case wrong != "":
			return failed("%s", wrong), nil
		case text == "":
			return Answer{Head: name + " is empty"}, nil
		case a.From <= 0 && a.To <= 0 && len(text) > MaxAnswer:
			return b.outline(name, text), nil
		}
		return part(name, text, max(1, a.From), a.To), nil
	},
}

// part shows as many lines of a text as fit into an answer, under a line that says which ones.
func part(name, text string, from, to int) Answer {
	n := lines(text)
	if to <= 0 || to > n {
		to = n
	}
	if from > to {
		return failed("%s has %d lines: there are none from %d to %d", name, n, from, to)
	}
	shown, next := Head(text, from, MaxAnswer)
	if next > to+1 {
		next = to + 1
		shown = strings.Join(strings.SplitAfter(shown, "\n")[:next-from], "")
	}
	head := fmt.Sprintf("%s, %d lines", name, n)
	if from > 1 || next <= n {
		head = fmt.Sprintf("%s, lines %d to %d of %d", name, from, next-1, n)
	}
	if next <= to {
		head += fmt.Sprintf("; read on from line %d", next)
	}
	return Answer{Head: head, Text: shown, File: name}
}

// text reads a file of the draft, or says why it cannot be shown.
func (b *Bench) text(given string) (name, text, wrong string) {
	if given == "" {
		return "", "", `"path" is missing: name a file`
	}
	name = clean(given)
	if err := workspace.CheckPath(name); err != nil {
		return name, "", fmt.Sprintf("%s cannot be read: %v", name, err)
	}
	now := b.Draft.Now()
	e, ok := now.Lookup(name)
	switch {
	case !ok:
		return name, "", name + " is not there" + alike(now, name)
	case e.Kind == workspace.Dir:
		return name, "", name + " is a directory: list shows what is in it"
	case e.Kind != workspace.File:
		return name, "", fmt.Sprintf("%s is a %s to %s, and is not followed", name, e.Kind, e.Target)
	case e.Size > workspace.MaxContent:
		return name, "", fmt.Sprintf("%s has %d bytes: a file of at most %d is shown or edited", name, e.Size, workspace.MaxContent)
	}
	data, err := now.ReadFile(name)
	var changed *workspace.ChangedError
	switch {
	case errors.As(err, &changed):
		return name, "", name + " was changed by somebody else meanwhile: leave it alone"
	case err != nil:
		return name, "", fmt.Sprintf("%s cannot be read: %v", name, err)
	case workspace.IsBinary(data):
		return name, "", fmt.Sprintf("%s is no text: %d bytes", name, len(data))
	}
	return name, strings.ReplaceAll(strings.ToValidUTF8(string(data), "\ufffd"), "\r\n", "\n"), ""
}

// clean returns a path as the workspace writes it: models also name files as commands in a box do.
func clean(name string) string {
	return path.Clean(strings.TrimPrefix(path.Clean(name), "/work/"))
}

// maxAlike bounds how many files are suggested for one that does not exist.
const maxAlike = 5

// alike names files that may be meant: those of the same name elsewhere.
func alike(m *workspace.Manifest, name string) string {
	var found []string
	for _, e := range m.Entries {
		if e.Kind == workspace.File && path.Base(e.Path) == path.Base(name) && len(found) < maxAlike {
			found = append(found, e.Path)
		}
	}
	if len(found) == 0 {
		return ""
	}
	return "; of that name there is " + strings.Join(found, ", ")
}

// outline lists the definitions in a long file with their lines, and says how to read on.
func (b *Bench) outline(name, text string) Answer {
	head := fmt.Sprintf("%s, %d lines, %d bytes: too long to be shown whole; read it by from and to, at most %d bytes at once", name, lines(text), len(text), MaxAnswer)
	var defined []ledger.Definition
	if b.Symbols != nil {
		b.mu.Lock()
		f, _ := b.Symbols.File(name)
		b.mu.Unlock()
		defined = f.Definitions
	}
	if len(defined) == 0 {
		shown, _ := Head(text, 1, MaxAnswer/2)
		return Answer{Head: head + ". It begins", Text: shown, File: name}
	}
	var out strings.Builder
	for i, d := range defined {
		line := fmt.Sprintf("%d-%d: %s %s\n", d.Line, d.End, d.Kind, title(d))
		if out.Len()+len(line) > MaxAnswer {
			head += fmt.Sprintf(". %d definitions, of which the last %d are not shown", len(defined), len(defined)-i)
			break
		}
		out.WriteString(line)
	}
	return Answer{Head: head + ". It defines" + b.moved(name), Text: out.String()}
}

// title returns a definition without its line.
func title(d ledger.Definition) string {
	_, text, _ := strings.Cut(d.String(), ": ")
	return clip(strings.Join(strings.Fields(text), " "), 200)
}

// moved warns that a file has changed since the ledger read it; "" if it has not.
func (b *Bench) moved(name string) string {
	for _, c := range b.Draft.Changes().Changes {
		if c.Path == name || c.From == name {
			return " (before your changes: lines may have moved)"
		}
	}
	return ""
}
