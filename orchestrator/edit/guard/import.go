package guard

import (
	"slices"
	"strings"

	"agent/orchestrator/edit/document"
	"agent/orchestrator/edit/lex"
)

// An imported is one name that an import at the top of a file binds.
type imported struct {
	name   string // in this file
	module string // as written
	text   string // an import of this name alone, in the style of its file
	lo, hi int    // the lines of the whole statement, from 0
}

// KeepImports restores the imports that an edit drops while the file still uses their names, and returns them with the text.
//
// An import whose name is no longer used is removed as requested; an import that moved is not dropped. If anything else in the file
// or the language itself gives the name a meaning, or the file cannot be read with certainty, nothing is restored.
func KeepImports(name, before, after string) (text string, kept []string) {
	if !mayDropImport(before, after) || !parsable(before) || !parsable(after) {
		return after, nil
	}
	if strings.HasSuffix(strings.ToLower(name), ".go") {
		return keepGoImports(before, after)
	}
	lang := lex.GrammarOf(name)
	if lang == lex.NoGrammar || lang == lex.StyleGrammar {
		return after, nil
	}
	was, ok1 := newListing(strings.TrimPrefix(before, lex.BOM), lang)
	is, ok2 := newListing(strings.TrimPrefix(after, lex.BOM), lang)
	if !ok1 || !ok2 {
		return after, nil
	}
	old, now := was.imports(), is.imports()
	if is.hasStar() {
		return after, nil
	}
	back := slices.DeleteFunc(slices.Clone(old), func(m imported) bool {
		return slices.ContainsFunc(now, func(n imported) bool { return n.name == m.name })
	})
	if len(back) > maxDropped {
		return after, nil
	}
	back = slices.DeleteFunc(back, func(m imported) bool {
		if builtin(lang, m.name) {
			return true
		}
		refs, bound := is.uses(m.name)
		return len(refs) == 0 || bound
	})
	for i, m := range back {
		back[i] = was.alone(m, old)
	}
	// Each restored line moves those below, so the places are determined anew.
	for _, m := range back {
		d := document.New(name, []byte(after))
		after = d.Mark + insert(d, placeOf(d, is, m, old, now), m.text)
		kept = append(kept, m.text)
		is.toks, is.outer, is.shuts = nil, nil, nil // frees memory for the next one
		is, _ = newListing(strings.TrimPrefix(after, lex.BOM), lang)
		now = is.imports()
	}
	return after, kept
}

// alone restores the original text of an import that had its lines to itself, so that "import os  # noqa" keeps its remark.
//
// An import that shared its statement, or had several lines, keeps the text made for it: "from m import b" for the b of
// "from m import a, b".
func (l *listing) alone(m imported, all []imported) imported {
	for _, o := range all {
		if o.lo == m.lo && o.name != m.name {
			return m
		}
	}
	d := document.New("", []byte(l.text))
	if m.hi == m.lo+1 {
		m.text = d.Line(m.lo)
	}
	return m
}

// placeOf returns the line before which a dropped import goes: after the remainder of its own statement, else next to the import
// that was its neighbour, else after the head of the file.
//
// So a linter of import order that was content before stays content. Of two neighbours at equal distance, the one above counts.
func placeOf(d *document.Document, is *listing, m imported, old, now []imported) int {
	for _, n := range now {
		if n.module == m.module {
			return n.hi
		}
	}
	same := func(o imported) int {
		return slices.IndexFunc(now, func(n imported) bool { return n.name == o.name && n.module == o.module })
	}
	best, distance := -1, 0 // in lines of the file before the edit
	for _, o := range old {
		i := same(o)
		if i < 0 {
			continue
		}
		at, far := now[i].hi, m.lo-o.hi
		if o.lo >= m.hi {
			at, far = now[i].lo, o.lo-m.hi
		}
		if best < 0 || far < distance {
			best, distance = at, far
		}
	}
	if best >= 0 {
		return best
	}
	return is.head(d)
}

// head returns the line after the part that must stay at the top of a file: a first line for the system, a docstring or directive,
// imports from __future__.
//
// An import above a docstring would turn it into a plain string, one above "use client" would void the directive, and one above an
// import from __future__ is an error in Python.
func (l *listing) head(d *document.Document) int {
	at := 0
	for at < d.Len() && (strings.HasPrefix(d.Line(at), "#!") || strings.HasPrefix(d.Line(at), "# -*-")) {
		at++
	}
	for i := 0; i < len(l.toks); i++ {
		// A statement ends with its logical line in Python, and with its line or a semicolon in a script.
		first := i
		for i+1 < len(l.toks) && l.toks[i].Kind != lex.TokenLine && l.punct(i) != ';' && (l.lang == lex.PythonGrammar || l.line(i+1) == l.line(first)) {
			i++
		}
		if l.toks[first].Kind != lex.TokenString && l.is(first+1) != "__future__" {
			break
		}
		at = l.line(i)
		if l.toks[i].Kind == lex.TokenLine { // the end of a line belongs to it
			at = l.line(i-1) + strings.Count(strings.TrimRight(l.is(i-1), "\r\n"), "\n")
		}
	}
	return min(at, d.Len())
}

// imports lists the imports of the statements at the top level of a file. It leaves out a statement unless it is certain in all its
// parts.
//
// Only statements that begin in the first column count. An import within a function, or below "if" or "try", is there for a reason
// that a line at the top would defeat.
func (l *listing) imports() []imported {
	var list []imported
	for i := range l.toks {
		w := l.is(i)
		if w != "import" && w != "from" || l.outer[i] >= 0 || l.column(i) != 0 {
			continue
		}
		if l.lang == lex.PythonGrammar {
			list = append(list, l.pythonImport(i)...)
		} else if w == "import" {
			list = append(list, l.scriptImport(i)...)
		}
	}
	return list
}

// hasStar reports whether the file imports names that it does not list, as in "from m import *". Any name may come from there, so
// none is missing.
func (l *listing) hasStar() bool {
	for i := range l.toks {
		if l.lang == lex.PythonGrammar && l.is(i) == "import" && l.punct(i+1) == '*' {
			return true
		}
	}
	return false
}

// pythonImport reads the statement that begins at token i: "import a.b as c, d" or "from m import (a as b, c)".
//
//	import a.b, c as d         gives  a: "import a.b"          d: "import c as d"
//	from m import (a as b, c)  gives  b: "from m import a as b"  c: "from m import c"
//
// It leaves out a statement that shares its line by a semicolon, since the line is not its own to restore. It also leaves out
// __future__, which changes the language and whose names nothing refers to.
func (l *listing) pythonImport(i int) []imported {
	end := i
	for end < len(l.toks) && l.toks[end].Kind != lex.TokenLine {
		if l.punct(end) == ';' {
			return nil
		}
		end++
	}
	lo, hi := l.line(i)-1, l.line(end-1)
	head, module, from := "import ", "", i
	if l.is(i) == "from" {
		for from++; from < end && l.is(from) != "import"; from++ {
			module += l.is(from)
		}
		if module == "__future__" || from == end {
			return nil
		}
		head = "from " + module + " import "
	}
	var list []imported
	for j := from + 1; j < end; j++ {
		whole, name := "", ""
		for ; j < end && l.punct(j) != ','; j++ {
			switch {
			case l.punct(j) == '(' || l.punct(j) == ')':
			case l.is(j) == "as":
				whole, name = whole+" as "+l.is(j+1), l.is(j+1)
				j++
			default:
				whole += l.is(j)
			}
		}
		if name == "" { // "import a.b" binds only a
			name, _, _ = strings.Cut(whole, ".")
		}
		if head == "import " {
			module = whole
		}
		if whole != "" {
			list = append(list, imported{name: name, module: module, text: head + whole, lo: lo, hi: hi})
		}
	}
	return list
}

// scriptImport reads the statement that begins at token i: import [type] a, { b as c }, * as d from "m".
//
// It gives each name its own import in the style of the statement: its quotation marks, its semicolon, its "type" and the space in
// its braces. Two imports from one module are as good as one to every reader of the file.
func (l *listing) scriptImport(i int) []imported {
	end := i + 1
	for end < len(l.toks) && l.toks[end].Kind != lex.TokenString {
		if p := l.punct(end); p == '(' || p == '.' || p == '=' || p == ';' {
			return nil // a call, import.meta, or TypeScript's import a = b
		}
		end++
	}
	if end == len(l.toks) || end == i+1 || l.is(end-1) != "from" || l.is(end+1) == "with" || l.is(end+1) == "assert" {
		return nil // imported for its side effect, or with attributes
	}
	// "type" is itself the imported name in: import type from "m", import type, { a } from "m".
	lead, tail := "import ", " from "+l.is(end)
	if l.punct(end+1) == ';' {
		tail += ";"
	}
	j := i + 1
	if l.is(j) == "type" && l.is(j+1) != "from" && l.punct(j+1) != ',' {
		lead, j = "import type ", j+1
	}
	proto := imported{module: l.is(end), lo: l.line(i) - 1, hi: l.line(end)}
	var list []imported
	add := func(name, what string) {
		m := proto
		m.name, m.text = name, lead+what+tail
		list = append(list, m)
	}
	for ; j < end-1; j++ {
		switch {
		case l.punct(j) == '*':
			add(l.is(j+2), "* as "+l.is(j+2))
			j += 2
		case l.punct(j) == '{':
			l.named(j, add)
			j = l.shuts[j]
		case l.punct(j) != ',':
			add(l.is(j), l.is(j))
		}
	}
	return list
}

// named reads the names in the braces that token o opens, and calls add with each name and the braces that import only that name:
// for {a,b as c} with "a", "{a}" and with "c", "{b as c}". The last word of a part is the name in this file.
func (l *listing) named(o int, add func(name, what string)) {
	space := " "
	if l.toks[o+1].Lo == l.toks[o].Hi {
		space = ""
	}
	for j := o + 1; j < l.shuts[o]; j++ {
		var words []string
		for ; j < l.shuts[o] && l.punct(j) != ','; j++ {
			words = append(words, l.is(j))
		}
		if len(words) > 0 {
			add(words[len(words)-1], "{"+space+strings.Join(words, " ")+space+"}")
		}
	}
}
