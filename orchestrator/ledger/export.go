package ledger

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"html"
	"io"
	"maps"
	"slices"
	"strings"
)

// Summaries are the words of a model about a workspace; what is missing is made from the ledger.
type Summaries struct {
	// Project is two sentences about the whole, Files one about each file, by path.
	Project string            `json:"project"`
	Files   map[string]string `json:"files"`
}

// maxShown is the most names in one list of an analysis; the count in its title is that of all.
const maxShown = 100

// Analysis writes ANALYSIS.md: a summary of the project, then for each file one line and what it imports and defines,
// folded away. All text from the workspace and from a model is escaped.
// The output is for people and for prompts, and the same ledger always gives the same bytes, so that an unchanged
// workspace makes no diff. Errors are those of w.
func (l *Ledger) Analysis(w io.Writer, s Summaries) error {
	b := bufio.NewWriter(w)
	fmt.Fprintf(b, "# Analysis\n\n%s\n", inline(l.Project(s)))
	for _, p := range l.Paths() {
		f := l.files[p]
		fmt.Fprintf(b, "\n## %s\n\n%s\n", inline(p), inline(l.Line(p, s)))
		for _, section := range f.sections() {
			section.write(b)
		}
		for _, finding := range f.Lazy() {
			fmt.Fprintf(b, "\n- %s\n", inline(finding))
		}
	}
	return b.Flush()
}

// A section is one list of names of a file, ready to be shown.
type section struct {
	title string
	items []string
}

// sections lists what f imports and defines, without the empty lists.
// Variables and fields are left out: there are many, and they say little about what a file is for.
func (f *File) sections() []section {
	list := []section{{title: "Imports"}, {title: "Classes"}, {title: "Functions"}, {title: "Constants"}}
	for _, i := range f.Imports {
		list[0].items = append(list[0].items, i.String())
	}
	place := map[string]int{Class: 1, Type: 1, Selector: 1, ID: 1, Function: 2, Method: 2, Constant: 3, Key: 3}
	for _, d := range f.Definitions {
		if n := place[d.Kind]; n > 0 {
			list[n].items = append(list[n].items, d.String())
		}
	}
	return slices.DeleteFunc(list, func(s section) bool { return len(s.items) == 0 })
}

// write shows a section folded away, with the count of all and the first maxShown of them.
// Errors are kept by the buffer behind w, whose Flush reports the first.
func (s section) write(w io.Writer) {
	fmt.Fprintf(w, "\n<details><summary>%s (%d)</summary>\n\n", s.title, len(s.items))
	for i, item := range s.items {
		if i == maxShown {
			fmt.Fprintf(w, "- and %d more\n", len(s.items)-i)
			break
		}
		fmt.Fprintf(w, "- <code>%s</code>\n", inline(item))
	}
	fmt.Fprint(w, "\n</details>\n")
}

// String shows where the definition is, and how it is used.
func (d Definition) String() string {
	return fmt.Sprintf("%d: %s", d.Line, d.title())
}

// String shows the import on one line.
// "3: shop.tax rate as r" is rate of shop.tax under the name r; an export of the file's own under another name reads
// "9: this file f as g".
func (i Import) String() string {
	name := i.Name
	if i.Alias != "" && i.Alias != i.Name {
		name += " as " + i.Alias
	}
	return strings.TrimSpace(fmt.Sprintf("%d: %s %s", i.Line, cmp.Or(i.Module, "this file"), name))
}

// inline makes text safe inside a line of Markdown: no tags, no markup, no second line.
// "# <b>x</b>" comes out as text: a heading of a summary would otherwise open a section that no file has, and an
// unclosed tag would swallow all that follows.
func inline(s string) string {
	s = html.EscapeString(strings.Join(strings.Fields(s), " "))
	return strings.NewReplacer("`", "&#96;", "*", "&#42;", "_", "&#95;", "[", "&#91;", "]", "&#93;", "|", "&#124;", "#", "&#35;").Replace(s)
}

// summary describes f in its own words, or by what is in it.
// A file without a description reads "2 classes, 1 function, 80 lines."; the kinds stand in a fixed order, since that
// of a map would change with every call.
func (f *File) summary() string {
	if f.Problem != "" {
		return "Not read in full: " + f.Problem + "."
	}
	if f.Summary != "" {
		return f.Summary
	}
	count := map[string]int{}
	for _, d := range f.Definitions {
		count[d.Kind]++
	}
	var parts []string
	for _, k := range []struct{ one, many, kind string }{
		{"class", "classes", Class},
		{"type", "types", Type},
		{"function", "functions", Function},
		{"selector", "selectors", Selector},
		{"id", "ids", ID},
		{"constant", "constants", Constant},
		{"key", "keys", Key},
	} {
		switch n := count[k.kind]; {
		case n == 1:
			parts = append(parts, "1 "+k.one)
		case n > 1:
			parts = append(parts, fmt.Sprintf("%d %s", n, k.many))
		}
	}
	return strings.Join(append(parts, counted(f.Lines, "line")), ", ") + "."
}

// counted words a number of things.
func counted(n int, thing string) string {
	if n != 1 {
		thing += "s"
	}
	return fmt.Sprintf("%d %s", n, thing)
}

// project describes the workspace by its languages.
// The language with the most files comes first; those with equally many are in the order of the alphabet.
func (l *Ledger) project() string {
	count := map[string]int{}
	definitions := 0
	for _, f := range l.files {
		if f.Language != "" && f.Language != "module" {
			count[f.Language]++
		}
		definitions += len(f.Definitions)
	}
	names := slices.SortedFunc(maps.Keys(count), func(a, b string) int {
		return cmp.Or(cmp.Compare(count[b], count[a]), cmp.Compare(a, b))
	})
	for i, n := range names {
		names[i] = fmt.Sprintf("%s (%d)", n, count[n])
	}
	return fmt.Sprintf("%s with %s. Languages by files: %s.", counted(len(l.files), "file"), counted(definitions, "definition"), cmp.Or(strings.Join(names, ", "), "none"))
}

// Symbols is what SYMBOLS.json holds.
type Symbols struct {
	Project string                 `json:"project"`
	Files   map[string]FileSymbols `json:"files"` // by path
}

// FileSymbols is what SYMBOLS.json says of one file.
type FileSymbols struct {
	Language    string       `json:"language,omitempty"`
	Summary     string       `json:"summary"`
	Definitions []Definition `json:"definitions"`
	References  []Reference  `json:"references"`
	Imports     []Import     `json:"imports"`
}

// Symbols writes SYMBOLS.json, as the type says: what the project is, and every file with its summary, definitions and references. A name
// is told apart by file and parent, so that equal names never collide.
func (l *Ledger) Symbols(w io.Writer, s Summaries) error {
	b := bufio.NewWriter(w)
	project, err := json.Marshal(l.Project(s))
	if err != nil {
		return err
	}
	fmt.Fprintf(b, "{\"project\":%s,\n\"files\":{", project)
	for i, p := range l.Paths() {
		if i > 0 {
			fmt.Fprint(b, ",")
		}
		f := l.files[p]
		// Written file by file: the whole as one value would double the memory of a large workspace.
		name, err := json.Marshal(p)
		if err != nil {
			return err
		}
		body, err := json.Marshal(FileSymbols{
			f.Language, l.Line(p, s),
			// A list is never null, so that a reader need not tell none from nothing.
			append([]Definition{}, f.Definitions...), append([]Reference{}, f.References...), append([]Import{}, f.Imports...),
		})
		if err != nil {
			return err
		}
		fmt.Fprintf(b, "\n%s:%s", name, body)
	}
	fmt.Fprint(b, "\n}}\n")
	return b.Flush()
}

// maxFileLines is how long a file may be before it counts as hard to read.
const maxFileLines = 800

// Lazy finds code that avoids a decision: types that say nothing, and a file that nobody split.
// Only Any and any that are bare or come from typing count: a method that is called any() is no type. The findings
// are hints for a model that looks for work, each in one line, never a reason to refuse a change.
func (f File) Lazy() (list []string) {
	if f.Lines > maxFileLines {
		list = append(list, fmt.Sprintf("%d lines, more than %d", f.Lines, maxFileLines))
	}
	word := map[string]string{"python": "Any", "typescript": "any"}[f.Language]
	for _, r := range f.refs(word) {
		if r.On == "" || r.On == "typing" || r.On == "t" {
			for _, n := range r.Lines {
				list = append(list, fmt.Sprintf("line %d: the type %s says nothing", n, word))
			}
		}
	}
	return list
}
