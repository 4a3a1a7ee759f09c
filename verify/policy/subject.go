package policy

import (
	"slices"
	"strings"

	"agent/sandbox/workspace/lang"
	"agent/sandbox/workspace/lazyregexp"
	"agent/verify/policy/testform"
)

var (
	// assigned matches what gets a value by a statement.
	assigned = lazyregexp.New(`^(?:(?:const|let|var)\s+)?([\w$.,\s{}\[\]*()]+?)\s*(?::\s*[\w.\[\], ]+)?:?=(?:[^=]|$)|\bas\s+(\w+)|\bfor\s+([\w, ()]+?)\s+(?:in|of)\b`)
	// parameters matches those of a test, which are names that do not mean what they mean elsewhere.
	parameters = lazyregexp.New(`\[.*\]$`)
)

// SpeaksOnlyOf reports whether all that a test asserts speaks of one of the names, or of what was
// made with one: then it proves nothing where these are gone. The test is that of its name, as
// results have it, in the text of the file at path. One that cannot be found, or asserts nothing by itself, does not.
func SpeaksOnlyOf(path, text, test string, names map[string]bool) bool {
	l := lang.Of(path)
	if l == nil || !testform.Known(path) {
		return false
	}
	f := sourceFile{path: path, lang: l.Family, test: true, lines: l.Lex(text)}
	short := parameters.ReplaceAllString(test, "")
	if l.Family == lang.Go {
		short, _, _ = strings.Cut(short, "/")
	}
	var exact, alike []*block
	for _, b := range blocksOf(f) {
		switch {
		case !b.test:
		case short == strings.ReplaceAll(b.name, "\x00", "::") || short == strings.ReplaceAll(b.name, "\x00", " > "):
			exact = append(exact, b)
		case strings.HasSuffix(short, "::"+b.short) || strings.HasSuffix(short, " > "+b.short):
			alike = append(alike, b)
		}
	}
	if len(exact) == 0 {
		exact = alike
	}
	// Of several with one name nobody knows which it was.
	return len(exact) > 0 && !slices.ContainsFunc(exact, func(b *block) bool { return !b.speaksOnlyOf(names) })
}

// speaksOnlyOf is SpeaksOnlyOf for one test.
func (b *block) speaksOnlyOf(names map[string]bool) bool {
	made, asserts := map[string]bool{}, false
	about := func(code string) bool {
		return slices.ContainsFunc(anyWord.FindAllString(code, -1), func(w string) bool { return names[w] || made[w] })
	}
	for _, s := range b.statements() {
		if s.line == b.from && !testform.Of(b.file.lang).Assertion.MatchString(s.code) {
			continue // the test's own name
		}
		code := b.file.joined(s)
		if about(code) {
			for _, m := range assigned.FindAllStringSubmatch(s.code, -1) {
				for _, w := range anyWord.FindAllString(m[1]+" "+m[2]+" "+m[3], -1) {
					made[w] = true
				}
			}
		} else if asserting.MatchString(s.code) || b.file.lang == lang.Go && goHelper.MatchString(s.code) || testform.Of(b.file.lang).Assertion.MatchString(s.code) {
			return false
		}
		asserts = asserts || testform.Of(b.file.lang).Assertion.MatchString(s.code)
	}
	return asserts
}

// statements are those of a block, in order.
func (b *block) statements() []statement {
	return slices.SortedStableFunc(slices.Values(slices.Concat(b.assertions, b.others)), func(x, y statement) int { return x.line - y.line })
}

// joined are the statements of a block, in order, each on one line.
func (b *block) joined() (list []string) {
	for _, s := range b.statements() {
		list = append(list, b.file.joined(s))
	}
	return list
}

// mostJoined bounds the lines of one statement.
const mostJoined = 30

// joined is a statement with the lines up to where its brackets close, and what it opens in Python
// with the line behind it.
func (f sourceFile) joined(s statement) string {
	code, depth := s.code, open(s.code)
	for i := s.line + 1; i < min(len(f.lines), s.line+mostJoined) && (depth > 0 || f.lang == lang.Python && strings.HasSuffix(code, ":")); i++ {
		line := strings.TrimSpace(f.lines[i].Code)
		code, depth = code+" "+line, depth+open(line)
	}
	return code
}

// open counts the brackets of a piece of code that stay open.
func open(code string) (n int) {
	for _, c := range code {
		if strings.ContainsRune("([{", c) {
			n++
		} else if strings.ContainsRune(")]}", c) {
			n--
		}
	}
	return n
}
