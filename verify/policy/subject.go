package policy

import (
	"slices"
	"strings"

	"agent/sandbox/workspace/lang"
	"agent/sandbox/workspace/lazyregexp"
	"agent/verify/policy/testform"
)

var (
	// assigned matches the targets to which a statement gives a value.
	assigned = lazyregexp.New(`^(?:(?:const|let|var)\s+)?([\w$.,\s{}\[\]*()]+?)\s*(?::\s*[\w.\[\], ]+)?:?=(?:[^=]|$)|\bas\s+(\w+)|\bfor\s+([\w, ()]+?)\s+(?:in|of)\b`)
	// parameters matches the parameters in the name of a test, whose words do not mean what they mean elsewhere.
	parameters = lazyregexp.New(`\[.*\]$`)
)

// SpeaksOnlyOf reports whether everything that a test asserts refers to one of the names, or to a value made with
// one. Such a test proves nothing where these names are gone. test is its name as results have it, and text is the
// content of the file at path. A test that cannot be found, or that asserts nothing itself, does not qualify.
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
	// If several tests have the name, the result does not say which one ran, so all must qualify.
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

// statements returns the statements of a block, in order.
func (b *block) statements() []statement {
	return slices.SortedStableFunc(slices.Values(slices.Concat(b.assertions, b.others)), func(x, y statement) int { return x.line - y.line })
}

// joined returns the statements of a block, in order, each on one line.
func (b *block) joined() (list []string) {
	for _, s := range b.statements() {
		list = append(list, b.file.joined(s))
	}
	return list
}

// mostJoined bounds the lines of one statement.
const mostJoined = 30

// joined returns a statement together with the lines up to where its brackets close. In Python, a statement that
// opens a block includes the line after it.
func (f sourceFile) joined(s statement) string {
	code, depth := s.code, open(s.code)
	for i := s.line + 1; i < min(len(f.lines), s.line+mostJoined) && (depth > 0 || f.lang == lang.Python && strings.HasSuffix(code, ":")); i++ {
		line := strings.TrimSpace(f.lines[i].Code)
		code, depth = code+" "+line, depth+open(line)
	}
	return code
}

// open counts the brackets that a piece of code leaves open.
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
