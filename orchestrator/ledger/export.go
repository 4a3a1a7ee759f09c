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

// Summaries are a model's descriptions of a workspace; missing ones are made from the ledger.
type Summaries struct {
	// Project is two sentences about the whole; Files has one about each file, by path.
	Project string            `json:"project"`
	Files   map[string]string `json:"files"`
}

// maxShown bounds the names in one list of an analysis; the count in its title includes all of them.
const maxShown = 100

// Analysis writes ANALYSIS.md: a summary of the project, then for each file one line and its imports and definitions,
// folded. It escapes all text from the workspace and from a model. The output is for people and for prompts; the same
// ledger always gives the same bytes, so that an unchanged workspace makes no diff. Errors come from w.
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

// A section is one list of names of a file, ready for display.
type section struct {
	title string
	items []string
}

// sections lists what f imports and defines, without the empty lists. It leaves out variables and fields: there are
// many, and they say little about the purpose of a file.
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

// write writes a folded section, with the count of all items and the first maxShown of them. The buffer behind w keeps
// errors; its Flush reports the first.
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

// String returns the line of the definition and how it is used.
func (d Definition) String() string {
	return fmt.Sprintf("%d: %s", d.Line, d.title())
}

// String returns the import on one line. "3: shop.tax rate as r" is rate of shop.tax under the name r; an export of the
// file's own under another name reads "9: this file f as g".
func (i Import) String() string {
	name := i.Name
	if i.Alias != "" && i.Alias != i.Name {
		name += " as " + i.Alias
	}
	return strings.TrimSpace(fmt.Sprintf("%d: %s %s", i.Line, cmp.Or(i.Module, "this file"), name))
}

// inline makes text safe inside a line of Markdown: no tags, no markup, no second line. "# <b>x</b>" comes out as text:
// otherwise a heading in a summary would open a section of no file, and an unclosed tag would swallow the rest.
func inline(s string) string {
	s = html.EscapeString(strings.Join(strings.Fields(s), " "))
	return strings.NewReplacer("`", "&#96;", "*", "&#42;", "_", "&#95;", "[", "&#91;", "]", "&#93;", "|", "&#124;", "#", "&#35;").Replace(s)
}

// summary describes f in its own words, or else by its content. A file without a description reads "2 classes, 1
// function, 80 lines."; the kinds have a fixed order, since the order of a map would change with every call.
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

// project describes the workspace by its languages. The language with the most files comes first; languages with
// equally many files are in alphabetical order.
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

// Symbols is the content of SYMBOLS.json.
type Symbols struct {
	Project string                 `json:"project"`
	Files   map[string]FileSymbols `json:"files"` // by path
}

// FileSymbols is the part of SYMBOLS.json about one file.
type FileSymbols struct {
	Language    string       `json:"language,omitempty"`
	Summary     string       `json:"summary"`
	Definitions []Definition `json:"definitions"`
	References  []Reference  `json:"references"`
	Imports     []Import     `json:"imports"`
}

// Symbols writes SYMBOLS.json in the form of the type: what the project is, and every file with its summary,
// definitions, references and imports. File and parent distinguish a name, so that equal names never collide.
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
		// Written file by file: as one value, the whole would double the memory for a large workspace.
		name, err := json.Marshal(p)
		if err != nil {
			return err
		}
		body, err := json.Marshal(FileSymbols{
			f.Language, l.Line(p, s),
			// A list is never null, so that a reader need not distinguish an empty list from a missing one.
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

// maxFileLines is the number of lines above which a file counts as hard to read.
const maxFileLines = 800

// Lazy finds code that avoids a decision: types that say nothing, and a file that should have been split. Only a bare
// Any or any, or one from typing, counts: a method called any() is not a type. The findings are hints for a model that
// looks for work, each on one line, and never a reason to refuse a change.
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
