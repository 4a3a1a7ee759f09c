package ledger

import (
	"cmp"
	"fmt"
	"strings"
)

// The bounds on an outline, of which a prompt holds some dozens: names of one kind, and bytes of all of them together.
const (
	maxOutlined = 30
	maxNames    = 400
)

// Project describes the workspace with the text of s, or else by its languages.
func (l *Ledger) Project(s Summaries) string { return cmp.Or(s.Project, l.project()) }

// Count returns the number of definitions in all files.
func (l *Ledger) Count() int {
	n := 0 // counted each time, since a command asks only once
	for _, f := range l.files {
		n += len(f.Definitions)
	}
	return n
}

// Line describes the file at path with the text of s, or else with its own. It returns "" for a file that does not exist.
func (l *Ledger) Line(path string, s Summaries) string {
	f := l.files[path]
	if f == nil {
		return ""
	}
	return cmp.Or(s.Files[path], f.summary())
}

// Outline says on one line how the file describes itself, what it imports and what it defines: enough to say what it is
// for without its text. For example "a.py: Taxes. python, 80 lines; imports decimal; defines rate, Cart".
func (f File) Outline() string {
	// Members, fields and variables say little about the purpose of a file, and there are many.
	var imports, names []string
	for _, i := range f.Imports {
		imports = append(imports, strings.Trim(i.Module+" "+i.Name, " "))
	}
	for _, d := range f.Definitions {
		if d.Parent == "" && d.Kind != Package && d.Kind != Variable {
			names = append(names, d.Name)
		}
	}
	line := fmt.Sprintf("%s: %s %s, %d lines", f.Path, f.summary(), cmp.Or(f.Language, "not read"), f.Lines)
	if len(imports) > 0 {
		line += "; imports " + few(imports)
	}
	if len(names) > 0 {
		line += "; defines " + few(names)
	}
	return line
}

// few joins the first names of a list, and says how many more there are. Otherwise a generated file with thousands of
// names would push all others out of a prompt.
func few(list []string) string {
	size := 0
	for i, name := range list {
		if size += len(name) + 2; i == maxOutlined || size > maxNames {
			return strings.Join(append(list[:i:i], fmt.Sprintf("%d more", len(list)-i)), ", ")
		}
	}
	return strings.Join(list, ", ")
}
