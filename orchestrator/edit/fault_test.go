package edit_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"agent/orchestrator/edit"
	"agent/orchestrator/edit/problem"
)

// A work is a file in one language together with an edit of known result.
type work struct {
	path    string
	file    []string
	lo, hi  int      // the lines of SEARCH, from 0
	replace []string // the lines of REPLACE
	comment string   // a comment line of the language, or "" if it has none
}

// works are small, but each contains what is difficult in its language: depth, braces, a "#" that starts no comment, repeated lines.
var works = []work{
	{
		path: "shop/stock.py",
		file: []string{
			"import math", "", "", "class Stock:", "    def level(self, items):", "        total = 0", "        for item in items:",
			"            if item.name == \"x\":", "                total += item.count", "        return total", "", "    def price(self, item):", "        return item.price", "",
		},
		lo: 5, hi: 9,
		replace: []string{"        total = 0", "        for item in sorted(items):", "            if item.name == \"x\":", "                total += item.count", "                self.log(total)"},
		comment: "        # why",
	},
	{
		path: "stock.go",
		file: []string{
			"package stock", "", "// Level counts.", "func Level(items []Item) int {", "\ttotal := 0", "\tfor _, item := range items {",
			"\t\tif item.Name == \"x\" {", "\t\t\ttotal += item.Count", "\t\t}", "\t}", "\treturn total", "}", "",
		},
		lo: 4, hi: 9,
		replace: []string{"\ttotal := start()", "\tfor _, item := range items {", "\t\tif item.Name == \"x\" {", "\t\t\ttotal += item.Count", "\t\t\tlog(total)", "\t\t}"},
		comment: "\t// why",
	},
	{
		path: "stock.ts",
		file: []string{
			"export function level(items: Item[]) {", "  let total = 0;", "  for (const item of items) {", "    if (item.name === 'x') {",
			"      total += item.count;", "    }", "  }", "  return total;", "}", "",
		},
		lo: 1, hi: 5,
		replace: []string{"  let total = 0;", "  for (const item of items) {", "    if (item.name === 'y') {", "      total += item.count;"},
		comment: "  // why",
	},
	{
		path: "shop.css",
		file: []string{"#shop {", "  color: #fff;", "  margin: 0;", "}", "", "#stock {", "  color: #000;", "  margin: 0;", "}", ""},
		lo:   5, hi: 8,
		replace: []string{"#stock {", "  color: #123;", "  padding: 1em;", "  margin: 0;"},
		comment: "  /* why */",
	},
	{
		path: "shop.html",
		file: []string{"<ul>", "  <li class=\"a\">one</li>", "  <li class=\"b\">two</li>", "</ul>", "<p>", "  text", "</p>", ""},
		lo:   1, hi: 4,
		replace: []string{"  <li class=\"a\">one</li>", "  <li class=\"b\">three</li>", "  <li>four</li>", "</ul>"},
		comment: "  <!-- why -->",
	},
	{
		path: "shop.yaml",
		file: []string{"shop:", "  stock:", "    - name: \"a\"", "      count: 1", "    - name: \"b\"", "      count: 2", "  open: true", ""},
		lo:   4, hi: 7,
		replace: []string{"    - name: \"b\"", "      count: 3", "    - name: \"c\"", "      count: 4", "  open: true"},
		comment: "    # why",
	},
	{
		path: "README.md",
		file: []string{"# Shop", "", "Counts the \"stock\".", "", "## Use", "", "    make level", "    make price", "", "It's all.", ""},
		lo:   4, hi: 8,
		replace: []string{"## How to use", "", "    make level", "    make all"},
	},
	{
		path: "run.sh",
		file: []string{"#!/bin/sh", "set -e", "for f in \"$@\"; do", "\tif [ -f \"$f\" ]; then", "\t\techo \"$f\"", "\tfi", "done", ""},
		lo:   2, hi: 5,
		replace: []string{"for f in \"$@\"; do", "\tif [ -s \"$f\" ]; then", "\t\techo \"$f\"", "\t\tcount \"$f\""},
		comment: "\t# why",
	},
}

func text(lines []string) string { return strings.Join(lines, "\n") }

// each applies f to the lines that are not blank.
func each(lines []string, f func(string) string) []string {
	var out []string
	for _, l := range lines {
		if strings.TrimSpace(l) != "" {
			l = f(l)
		}
		out = append(out, l)
	}
	return out
}

// A fault changes a file, a block, or both, as people and models do. want is the result of the edit, or "" if it must be refused.
type fault struct {
	name  string
	spoil func(w work) (file string, b edit.Block, want string)
}

// sound returns the edit without a fault.
func (w work) sound() (string, edit.Block, string) {
	want := slices.Concat(w.file[:w.lo], w.replace, w.file[w.hi:])
	return text(w.file), edit.Block{Search: text(w.file[w.lo:w.hi]) + "\n", Replace: text(w.replace) + "\n"}, text(want)
}

// around applies f to both bodies of the sound block.
func around(f func([]string) []string) func(work) (string, edit.Block, string) {
	return func(w work) (string, edit.Block, string) {
		file, _, want := w.sound()
		return file, edit.Block{Search: text(f(w.file[w.lo:w.hi])) + "\n", Replace: text(f(w.replace)) + "\n"}, want
	}
}

// harmless are faults that leave no doubt: the edit must apply, with this result.
var harmless = []fault{
	{"none", work.sound},
	{"no final newline in the bodies", func(w work) (string, edit.Block, string) {
		file, b, want := w.sound()
		return file, edit.Block{Search: strings.TrimSuffix(b.Search, "\n"), Replace: strings.TrimSuffix(b.Replace, "\n")}, want
	}},
	{"trailing space in SEARCH", func(w work) (string, edit.Block, string) {
		file, b, want := w.sound()
		b.Search = text(each(w.file[w.lo:w.hi], func(s string) string { return s + "  " })) + "\n"
		return file, b, want
	}},
	{"trailing space in the file", func(w work) (string, edit.Block, string) {
		_, b, _ := w.sound()
		pad := func(l []string) []string { return each(l, func(s string) string { return s + " " }) }
		file := slices.Concat(w.file[:w.lo], pad(w.file[w.lo:w.hi]), w.file[w.hi:])
		want := slices.Clone(w.replace)
		for i, l := range want { // the repeated lines keep theirs
			if strings.TrimSpace(l) != "" && slices.Contains(w.file[w.lo:w.hi], l) {
				want[i] = l + " "
			}
		}
		return text(file), b, text(slices.Concat(w.file[:w.lo], want, w.file[w.hi:]))
	}},
	{"blank lines around", around(func(l []string) []string { return slices.Concat([]string{"", ""}, l, []string{""}) })},
	{"a level deeper", around(func(l []string) []string { return each(l, func(s string) string { return "    " + s }) })},
	{"a fence", func(w work) (string, edit.Block, string) {
		file, b, want := w.sound()
		return file, edit.Block{Search: "```\n" + b.Search + "```\n", Replace: "```\n" + b.Replace + "```\n"}, want
	}},
	{"typographic quotes in SEARCH", func(w work) (string, edit.Block, string) {
		file, b, want := w.sound()
		b.Search = strings.NewReplacer(`"`, "\u201d", "'", "\u2019").Replace(b.Search)
		return file, b, want
	}},
	{"CRLF in the file", func(w work) (string, edit.Block, string) {
		file, b, want := w.sound()
		crlf := strings.NewReplacer("\n", "\r\n")
		return crlf.Replace(file), b, crlf.Replace(want)
	}},
	{"CRLF in the block", func(w work) (string, edit.Block, string) {
		file, b, want := w.sound()
		crlf := strings.NewReplacer("\n", "\r\n")
		return file, edit.Block{Search: crlf.Replace(b.Search), Replace: crlf.Replace(b.Replace)}, want
	}},
	{"byte order mark", func(w work) (string, edit.Block, string) {
		file, b, want := w.sound()
		return "\ufeff" + file, b, "\ufeff" + want
	}},
	{"no newline at the end of the file", func(w work) (string, edit.Block, string) {
		file, b, want := w.sound()
		return strings.TrimSuffix(file, "\n"), b, strings.TrimSuffix(want, "\n")
	}},
	{"the same lines elsewhere with more after them", func(w work) (string, edit.Block, string) {
		file, b, want := w.sound()
		tail := text(each(w.file[w.lo:w.hi], func(s string) string { return s + "x" }))
		return file + tail, b, want + tail
	}},
}

// harmful are faults that leave a doubt, or no place at all: the edit must be refused.
var harmful = []fault{
	{"the lines stand twice", func(w work) (string, edit.Block, string) {
		file, b, _ := w.sound()
		return file + text(w.file[w.lo:w.hi]) + "\n", b, ""
	}},
	{"the lines stand twice, at another depth, and the block at a third", func(w work) (string, edit.Block, string) {
		file, b, _ := w.sound()
		deeper := func(by string) func(string) string { return func(s string) string { return by + s } }
		b.Search = text(each(w.file[w.lo:w.hi], deeper(" "))) + "\n"
		return file + text(each(w.file[w.lo:w.hi], deeper("      "))) + "\n", b, ""
	}},
	{"a letter differs in the middle", func(w work) (string, edit.Block, string) {
		file, b, _ := w.sound()
		lines := slices.Clone(w.file[w.lo:w.hi])
		lines[len(lines)/2] += "z"
		b.Search = text(lines) + "\n"
		return file, b, ""
	}},
	{"a line was put in", func(w work) (string, edit.Block, string) {
		_, b, _ := w.sound()
		return text(slices.Insert(slices.Clone(w.file), w.lo+1, "new_line_of_the_user")), b, ""
	}},
	{"a line was taken out", func(w work) (string, edit.Block, string) {
		_, b, _ := w.sound()
		mid := w.lo + 1
		for strings.TrimSpace(w.file[mid]) == "" {
			mid++
		}
		return text(slices.Delete(slices.Clone(w.file), mid, mid+1)), b, ""
	}},
	{"two lines changed places", func(w work) (string, edit.Block, string) {
		_, b, _ := w.sound()
		lines := slices.Clone(w.file)
		lines[w.lo], lines[w.hi-1] = lines[w.hi-1], lines[w.lo]
		return text(lines), b, ""
	}},
	{"it is applied already", func(w work) (string, edit.Block, string) {
		_, b, want := w.sound()
		return want, b, ""
	}},
	{"another file", func(w work) (string, edit.Block, string) {
		_, b, _ := w.sound()
		return "one\ntwo\nthree\n", b, ""
	}},
	{"only part of a line", func(w work) (string, edit.Block, string) {
		file, b, _ := w.sound()
		line := strings.TrimSpace(w.file[w.lo])
		return file, edit.Block{Search: line[:len(line)-2], Replace: b.Replace}, ""
	}},
	{"a placeholder in REPLACE", func(w work) (string, edit.Block, string) {
		file, b, _ := w.sound()
		b.Replace += "// ... rest of the code unchanged ...\n"
		return file, b, ""
	}},
}

func TestHarmlessFaultsApplyInEveryLanguage(t *testing.T) {
	t.Parallel()
	for _, w := range works {
		for _, f := range harmless {
			file, b, want := f.spoil(w)
			got, _, err := edit.ApplyBlocks(w.path, []byte(file), []edit.Block{b})
			if err != nil || string(got) != want {
				t.Errorf("%s, %s: %v\n%s\nwant\n%s", w.path, f.name, err, got, want)
			}
		}
	}
}

func TestHarmfulFaultsAreRefusedInEveryLanguage(t *testing.T) {
	t.Parallel()
	for _, w := range works {
		for _, f := range harmful {
			file, b, _ := f.spoil(w)
			got, applied, err := edit.ApplyBlocks(w.path, []byte(file), []edit.Block{b})
			var refusal *problem.Refusal
			if !errors.As(err, &refusal) {
				t.Errorf("%s, %s: applied by %v, %v\n%s", w.path, f.name, applied, err, got)
			}
		}
	}
}

// A user's comment between two lines that SEARCH repeats unchanged survives the edit. If the lines around it change, the edit is refused.
func TestCommentsOfTheUserSurvive(t *testing.T) {
	t.Parallel()
	kept := 0
	for _, w := range works {
		if w.comment == "" {
			continue
		}
		for at := w.lo + 1; at < w.hi; at++ {
			_, b, _ := w.sound()
			file := text(slices.Insert(slices.Clone(w.file), at, w.comment))
			got, _, err := edit.ApplyBlocks(w.path, []byte(file), []edit.Block{b})
			var refusal *problem.Refusal
			switch {
			case err == nil && strings.Count(string(got), w.comment) == 1:
				kept++
			case err == nil:
				t.Errorf("%s, line %d: the comment is lost\n%s", w.path, at+1, got)
			case !errors.As(err, &refusal):
				t.Errorf("%s, line %d: %v", w.path, at+1, err)
			}
		}
	}
	if kept < 4 {
		t.Errorf("only %d edits beside a comment were applied", kept)
	}
}

// The engine is a pure function: the same input gives the same answer, to concurrent callers too.
func TestTheSameInputGivesTheSameAnswer(t *testing.T) {
	t.Parallel()
	var response strings.Builder
	files := memory{text: map[string]string{}}
	for _, w := range works {
		file, b, _ := w.sound()
		files.text[w.path] = file
		fmt.Fprintf(&response, "<EDIT file=\"%s\">\n<SEARCH>\n%s</SEARCH>\n<REPLACE>\n%s</REPLACE>\n</EDIT>\n", w.path, b.Search, b.Replace)
	}
	answer := func() string {
		cs, applied, err := edit.Apply(files, []byte(response.String()), "")
		return fmt.Sprintf("%v %v %v", cs, applied, err)
	}
	want := answer()
	answers := make(chan string)
	for range 8 {
		go func() { answers <- answer() }()
	}
	for range 8 {
		if got := <-answers; got != want {
			t.Errorf("%s\nand\n%s", got, want)
		}
	}
}
