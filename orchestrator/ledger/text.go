package ledger

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
)

// Text writes the analysis for a terminal: a summary of the project, then for each file its purpose, and the names that
// it defines and the modules that it imports, one line for each kind. Analysis also gives their places. Text of the
// workspace and of a model is put on one line and not altered otherwise; the caller cleans it. Errors come from w.
func (l *Ledger) Text(w io.Writer, s Summaries) error {
	b := bufio.NewWriter(w)
	fmt.Fprintln(b, oneLine(l.Project(s)))
	for _, p := range l.Paths() {
		f := l.files[p]
		fmt.Fprintf(b, "\n%s\n  %s\n", oneLine(p), oneLine(l.Line(p, s)))
		for _, n := range f.names() {
			fmt.Fprintf(b, "  %-10s %s\n", n.title, strings.Join(n.items, ", "))
		}
		for _, finding := range f.Lazy() {
			fmt.Fprintf(b, "  %-10s %s\n", "note", oneLine(finding))
		}
	}
	return b.Flush()
}

// names lists what f defines and the modules that it imports, each name once, without the empty lists.
func (f *File) names() []section {
	list := []section{{title: "classes"}, {title: "functions"}, {title: "constants"}, {title: "imports"}}
	place := map[string]int{Class: 1, Type: 1, Selector: 1, ID: 1, Function: 2, Method: 2, Constant: 3, Key: 3}
	add := func(to *section, name string) {
		if name = oneLine(name); name != "" && !slices.Contains(to.items, name) {
			to.items = append(to.items, name)
		}
	}
	for _, d := range f.Definitions {
		if n := place[d.Kind]; n > 0 {
			add(&list[n-1], d.full())
		}
	}
	for _, i := range f.Imports {
		add(&list[3], cmp.Or(i.Module, i.Name))
	}
	return slices.DeleteFunc(list, func(s section) bool { return len(s.items) == 0 })
}

// oneLine returns a text as one line, however many lines it has.
func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }
