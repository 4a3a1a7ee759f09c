package tools

import (
	"context"
	"fmt"
	"path"
	"strings"

	"agent/sandbox/workspace"
)

// listTool shows a directory, or finds files by name.
var listTool = Tool{
	Name: "list",
	About: "List a directory: its files with their bytes, and its directories with the number of files in them. " +
		"With name: all files below it whose path contains that text.",
	Fields: []Field{
		{Name: "path", Kind: "string", About: "directory, relative to the workspace; the workspace itself when left out"},
		{Name: "name", Kind: "string", About: "text that the path of a file contains, in any case of letters"},
	},
	run: func(_ context.Context, b *Bench, args []byte) (Answer, error) {
		a := arguments[struct{ Path, Name string }](args)
		now := b.Draft.Now()
		dir, wrong := directory(now, a.Path)
		switch {
		case wrong != "":
			return failed("%s", wrong), nil
		case a.Name != "":
			return Answer{Text: named(now, dir, a.Name)}, nil
		}
		return Answer{Text: listed(now, dir)}, nil
	},
}

// directory returns a directory as a prefix of paths, "" for the workspace.
func directory(m *workspace.Manifest, given string) (prefix, wrong string) {
	name := clean(given)
	if given == "" || name == "." || name == "/work" {
		return "", ""
	}
	if err := workspace.CheckPath(name); err != nil {
		return "", fmt.Sprintf("%s cannot be listed: %v", name, err)
	}
	e, ok := m.Lookup(name)
	switch {
	case !ok:
		return "", name + " is not there"
	case e.Kind != workspace.Dir:
		return "", fmt.Sprintf("%s is a %s", name, e.Kind)
	}
	return name + "/", ""
}

// within calls do for the entries below a prefix. In a manifest they stand together, except for what sorts between a
// directory and its contents.
func within(m *workspace.Manifest, prefix string, do func(e workspace.Entry, rel string)) {
	for _, e := range m.Entries {
		if rel, ok := strings.CutPrefix(e.Path, prefix); ok {
			do(e, rel)
		}
	}
}

// listed shows one directory.
func listed(m *workspace.Manifest, prefix string) string {
	var out strings.Builder
	count := map[string]int{}
	within(m, prefix, func(e workspace.Entry, rel string) {
		if top, _, deeper := strings.Cut(rel, "/"); deeper && e.Kind == workspace.File {
			count[top]++
		}
	})
	within(m, prefix, func(e workspace.Entry, rel string) {
		switch {
		case strings.Contains(rel, "/"):
		case e.Kind == workspace.Dir:
			fmt.Fprintf(&out, "%s/ %s\n", rel, number(count[rel], "file"))
		case e.Kind == workspace.Symlink:
			fmt.Fprintf(&out, "%s -> %s\n", rel, e.Target)
		default:
			fmt.Fprintf(&out, "%s %d\n", rel, e.Size)
		}
	})
	if out.Len() == 0 {
		return "an empty directory\n"
	}
	return out.String()
}

// named shows the files below a prefix whose path contains a text.
func named(m *workspace.Manifest, prefix, text string) string {
	var out strings.Builder
	text = strings.ToLower(text)
	within(m, prefix, func(e workspace.Entry, rel string) {
		if e.Kind == workspace.File && strings.Contains(strings.ToLower(rel), text) {
			fmt.Fprintf(&out, "%s %d\n", path.Join(prefix, rel), e.Size)
		}
	})
	if out.Len() == 0 {
		return "no file has it in its path\n"
	}
	return out.String()
}

// number words a count: "1 file", "3 files".
func number(n int, thing string) string {
	if n != 1 {
		thing += "s"
	}
	return fmt.Sprintf("%d %s", n, thing)
}
