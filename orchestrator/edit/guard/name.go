package guard

import (
	"slices"
	"strings"

	"agent/orchestrator/edit/lex"
)

// A listing is a text as tokens, with the brackets around each. The guards for imports and definitions look up names in it.
type listing struct {
	text  string
	lang  lex.Grammar
	toks  []lex.Lexeme
	outer []int // the token that opens the innermost bracket around each, or -1
	shuts []int // for an opening bracket: the token that closes it; -1 elsewhere
}

// newListing reads a text; it returns false if the text cannot be read with certainty.
func newListing(text string, lang lex.Grammar) (*listing, bool) {
	toks, ok := lex.LexAll(text, lang)
	l := &listing{text: text, lang: lang, toks: toks, outer: make([]int, len(toks)), shuts: make([]int, len(toks))}
	var open []int
	for i, t := range toks {
		c := l.punct(i)
		if n := len(open); n > 0 && lex.Closes[c] != 0 {
			l.shuts[open[n-1]] = i
			open = open[:n-1]
		}
		l.outer[i], l.shuts[i] = -1, -1
		if len(open) > 0 {
			l.outer[i] = open[len(open)-1]
		}
		if t.Kind == lex.TokenPunct && (c == '(' || c == '[' || c == '{') {
			open = append(open, i)
		}
	}
	return l, ok
}

// is returns the text of token i, or "" beyond the ends.
func (l *listing) is(i int) string {
	if i < 0 || i >= len(l.toks) {
		return ""
	}
	return l.text[l.toks[i].Lo:l.toks[i].Hi]
}

// punct returns the punctuation byte of token i, or 0 for any other token.
func (l *listing) punct(i int) byte {
	if i < 0 || i >= len(l.toks) || l.toks[i].Kind != lex.TokenPunct {
		return 0
	}
	return l.text[l.toks[i].Lo]
}

// column returns the distance of token i from the start of its line, in bytes. A tab counts as one, which is enough to tell the
// first column from the rest.
func (l *listing) column(i int) int {
	at := l.toks[i].Lo
	return at - strings.LastIndexAny(l.text[:at], "\r\n") - 1
}

// line returns the number of the line of token i, from 1.
func (l *listing) line(i int) int {
	return 1 + strings.Count(l.text[:l.toks[i].Lo], "\n")
}

// uses returns the tokens that refer to name as the file or the module defines it. bound tells that something in the file gives that
// name a meaning of its own in some scope: then it is unknown what a use refers to without resolving scopes, and the guards do
// nothing.
//
// After a dot a name is an attribute and neither: a.x says nothing about x. After three dots it is spread: f(...x) is a use.
func (l *listing) uses(name string) (refs []int, bound bool) {
	for i, t := range l.toks {
		if t.Kind == lex.TokenString && l.lang == lex.PythonGrammar && l.listed(i, name) {
			refs = append(refs, i)
		}
		if t.Kind != lex.TokenWord || l.is(i) != name || l.punct(i-1) == '.' && !strings.HasSuffix(l.text[:t.Lo], "...") {
			continue
		}
		ref, binds := l.pythonUse(i), false
		if l.lang == lex.PythonGrammar {
			binds = l.pythonBinds(i)
		} else {
			ref, binds = l.scriptUse(i), l.scriptBinds(i)
		}
		if binds {
			return nil, true
		}
		if ref {
			refs = append(refs, i)
		}
	}
	return refs, false
}

// listed reports whether token i is the string name in an assignment to __all__, which counts as a use of the name: __all__ = ["x"]
// and __all__ += ["x"].
func (l *listing) listed(i int, name string) bool {
	if strings.Trim(l.is(i), `"'`) != name || l.outer[i] < 0 {
		return false
	}
	o := l.outer[i]
	return l.punct(o-1) == '=' && (l.is(o-2) == "__all__" || l.is(o-3) == "__all__")
}

// assigns reports whether token i is a lone "=". The lexer returns "==", "=>" and "<=" byte by byte, so the neighbouring bytes
// distinguish them.
func (l *listing) assigns(i int) bool {
	if l.punct(i) != '=' {
		return false
	}
	at := l.toks[i].Lo
	next := at+1 < len(l.text) && (l.text[at+1] == '=' || l.text[at+1] == '>')
	return !next && strings.IndexByte("=!<>", l.text[at-1]) < 0
}

// pythonUse reports whether the name at i is a use rather than the name of an argument in a call: f(x=1) refers to the x of f.
func (l *listing) pythonUse(i int) bool {
	return !(l.outer[i] >= 0 && l.assigns(i+1) && (l.punct(i-1) == '(' || l.punct(i-1) == ','))
}

// pythonBinds reports whether the name at i is given a meaning there: declared, imported, a parameter, the variable of a loop, or
// assigned to.
//
// In doubt it reports true. A binding seen where there is none costs the file a guard; a binding that is missed would refuse a
// sound edit.
func (l *listing) pythonBinds(i int) bool {
	if slices.Contains([]string{"def", "class", "as", "for", "import", "global", "nonlocal", "lambda", "del", "case", "type"}, l.is(i-1)) {
		return true
	}
	if l.punct(i+1) == ':' && l.assignsAt(l.toks[i+1].Hi) {
		return true // name := value
	}
	first := i // the token that begins the statement
	for first > 0 && l.toks[first-1].Kind != lex.TokenLine {
		if first--; i-first > maxReach {
			return true
		}
	}
	if l.is(first) == "def" || l.is(first) == "async" || l.is(first) == "import" || l.is(first) == "from" {
		p, o := l.punct(i-1), l.outer[i]
		if l.is(first) != "async" && l.is(first) != "def" || o >= 0 && l.punct(o) == '(' && (p == '(' || p == ',' || p == '*') {
			return true // an imported name or a parameter
		}
	}
	// Parameters are between "lambda" and its colon, variables between "for" and its "in"; a name after those is a use.
	for j := first; j < i; j++ {
		w := l.is(j)
		if w != "lambda" && w != "for" || l.outer[j] != l.outer[i] || l.between(j, i, ':') {
			continue
		}
		if w == "lambda" || !l.word(j, i, "in") {
			return true // a parameter or the variable of a loop
		}
	}
	return l.target(i)
}

// maxReach bounds the tokens of a statement, or the brackets around a name, that are examined for one name. Longer ones are not
// judged.
const maxReach = 500

// target reports whether the statement of the name at i assigns to it.
//
// "x = 1", "a, x = f()" and "(a, x) = f()" bind x. "x.a = 1", "a[x] = 1", "f(x).a = 1" and "a: x = 1" use an existing x.
func (l *listing) target(i int) bool {
	if p := l.punct(i - 1); p == ':' || p == '>' || l.punct(i+1) == '.' || l.punct(i+1) == '(' || l.punct(i+1) == '[' {
		return false // an annotation, or part of a longer target
	}
	for j := i + 1; j < min(len(l.toks), i+maxReach) && l.toks[j].Kind != lex.TokenLine; j++ {
		if l.outer[j] < 0 && l.assigns(j) {
			return l.outer[i] < 0 || l.punct(l.outer[i]) != '[' && !l.called(l.outer[i])
		}
	}
	return false
}

// assignsAt reports whether "=" is at a byte of the text.
func (l *listing) assignsAt(at int) bool { return at < len(l.text) && l.text[at] == '=' }

// called reports whether the bracket at token i follows a name, as in a call.
func (l *listing) called(i int) bool { return i > 0 && l.toks[i-1].Kind == lex.TokenWord }

// between reports whether the punctuation c is between tokens lo and hi, inside the same brackets as lo.
func (l *listing) between(lo, hi int, c byte) bool {
	for j := lo + 1; j < hi; j++ {
		if l.outer[j] == l.outer[lo] && l.punct(j) == c {
			return true
		}
	}
	return false
}

// word reports whether the word w is between tokens lo and hi.
func (l *listing) word(lo, hi int, w string) bool {
	for j := lo + 1; j < hi; j++ {
		if l.is(j) == w {
			return true
		}
	}
	return false
}

// scriptUse reports whether the name at i is a use rather than a key, a method name or a name that is exported from elsewhere:
// { x: 1 }, x() { } in a class, export { x } from "m".
func (l *listing) scriptUse(i int) bool {
	if l.punct(i+1) == ':' && l.punct(i-1) == '{' {
		return false
	}
	if l.punct(i+1) == '(' && l.shuts[i+1] >= 0 && l.punct(l.shuts[i+1]+1) == '{' {
		return false
	}
	o := l.outer[i]
	return !(o >= 0 && l.is(o-1) == "export" && l.shuts[o] >= 0 && l.is(l.shuts[o]+1) == "from")
}

// scriptBinds reports whether the name at i is given a meaning there, or may be.
//
// It looks at the words around the name, then outwards through its brackets. Braces and square brackets may destructure a value,
// round ones may hold parameters, and the first round ones decide. As in Python, doubt counts as a binding.
func (l *listing) scriptBinds(i int) bool {
	declares := []string{"const", "let", "var", "function", "class", "interface", "type", "enum", "namespace"}
	if slices.Contains(declares, l.is(i-1)) {
		return true
	}
	if l.assigns(i+1) && l.punct(i-1) != ':' {
		return true
	}
	if l.arrow(i+1) || l.importedAt(i) {
		return true
	}
	if p := l.punct(i - 1); l.punct(i+1) == ':' && (p == '(' || p == ',' || p == '.') || l.punct(i+1) == '?' && l.punct(i+2) == ':' {
		return true // a parameter with its type: (x: T), (a, x?: T)
	}
	depth := 0
	for o := l.outer[i]; o >= 0; o = l.outer[o] {
		if depth++; depth > maxReach {
			return true
		}
		if w := l.is(o - 1); l.punct(o) != '(' && (w == "const" || w == "let" || w == "var" || w == "import") {
			return true // destructured
		}
		if l.punct(o) == '(' {
			return l.parameters(o)
		}
	}
	return false
}

// importedAt reports whether an import gives the name at i its meaning: the x of import x from "m", import a, { b as x } from "m"
// and import * as x from "m".
func (l *listing) importedAt(i int) bool {
	for j := i - 1; j >= max(0, i-maxReach); j-- {
		switch p := l.punct(j); {
		case l.is(j) == "import" && l.toks[j].Kind == lex.TokenWord:
			return l.outer[j] < 0 && l.punct(j-1) != '.'
		case l.toks[j].Kind != lex.TokenWord && p != '{' && p != ',' && p != '*' && p != '}':
			return false // an import statement ends in a string, or in a call
		}
	}
	return false
}

// arrow reports whether token i begins "=>".
func (l *listing) arrow(i int) bool { return l.punct(i) == '=' && l.punct(i+1) == '>' }

// parameters reports whether the bracket at token o holds parameters: an arrow or a body follows it. The body of an "if" or a loop
// follows its condition in the same way, so the word before the bracket is checked too.
func (l *listing) parameters(o int) bool {
	end := l.shuts[o]
	if end < 0 || slices.Contains([]string{"if", "while", "for", "switch", "with"}, l.is(o-1)) {
		return false
	}
	if l.punct(end+1) == ':' { // the result's type, or the other half of a condition
		return l.toks[o].Lo > 0 && !l.called(o) || l.is(o-2) == "function"
	}
	return l.arrow(end+1) || l.punct(end+1) == '{'
}

// removed returns the whole lines of before that after does not have at that place: everything between their common beginning and
// their common end.
//
// It spares most edits the guards below: these lines alone show that an edit removes no import and no definition. For "a\nb\nc"
// turned into "a\nc" they are "b". Two distant edits give everything between them as one range.
func removed(before, after string) (lo, hi int) {
	for lo < min(len(before), len(after)) && before[lo] == after[lo] {
		lo++
	}
	hi = len(before)
	for end := len(after); hi > lo && end > lo && before[hi-1] == after[end-1]; end-- {
		hi--
	}
	lo = strings.LastIndexByte(before[:lo], '\n') + 1
	if hi > lo && before[hi-1] == '\n' {
		return lo, hi
	}
	if i := strings.IndexByte(before[hi:], '\n'); i >= 0 {
		return lo, hi + i
	}
	return lo, len(before)
}

// longImport is the assumed maximum length of an import statement, in bytes.
const longImport = 4 << 10

// mayDropImport reports whether an import may be among the lines removed. The word may be some lines above them: an edit can remove
// one name from a statement of many lines.
func mayDropImport(before, after string) bool {
	lo, hi := removed(before, after)
	last := strings.LastIndex(before[:hi], "import")
	return last >= lo-longImport && last >= 0
}

// mayDropDefinition reports whether a definition may be among the lines removed.
func mayDropDefinition(before, after string) bool {
	lo, hi := removed(before, after)
	for _, w := range append([]string{"def", "func"}, declaring...) {
		if strings.Contains(before[lo:hi], w) {
			return true
		}
	}
	return false
}

// declaring are the words that precede a name that a script declares.
var declaring = []string{"function", "class", "const", "let", "var", "interface", "type", "enum"}
