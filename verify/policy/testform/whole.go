package testform

import (
	"slices"
	"strings"

	"agent/sandbox/workspace/lang"
	"agent/sandbox/workspace/lazyregexp"
)

var (
	// assignment matches a name, group 1, and the value given to it, group 2.
	assignment = lazyregexp.New(`^(?:(?:const|let|var)\s+)?(\w+)\s*(?::\s*[\w.\[\], ]+)?=\s*([^=\s].*?);?$`)
	// oneCall matches a call and nothing else.
	oneCall = lazyregexp.New(`^(?:await\s+)?[\w.]+\(.*\)$`)
	// ownWord matches a word that is not an attribute of another one.
	ownWord = lazyregexp.New(`(?:^|[^\w.])([A-Za-z_]\w*)`)
	// anyWord matches a word.
	anyWord = lazyregexp.New(`[A-Za-z_]\w*`)
	// constant matches code that consists only of literals, whose text is empty here, once its words are removed.
	constant = lazyregexp.New(`^[\s"'\x60\d.,\[\](){}:+\-\\]*$`)
	// called matches a call.
	called = lazyregexp.New(`\w\s*\(`)
)

// equalities matches assertions that a value, group 1, equals another one, group 2.
var equalities = map[lang.Family][]*lazyregexp.Regexp{
	lang.Python: {
		lazyregexp.New(`^assert\s+(.+?)\s*==\s*(.+)$`),
		lazyregexp.New(`^self\.assertEqual\(\s*(.+),\s*([^,]+?),?\s*\)$`),
	},
	lang.Script: {
		// toEqual compares only the enumerable properties of objects, so `{}` is equal to many.
		lazyregexp.New(`^expect\(\s*(.+?)\s*\)\.(?:toBe|toStrictEqual)\(\s*(.+?)\s*\);?$`),
		lazyregexp.New(`^expect\(\s*(.+?)\s*\)\.toEqual\(\s*([^{]+?)\s*\);?$`),
		lazyregexp.New(`^assert\.(?:strictEqual|deepStrictEqual)\(\s*(.+),\s*([^,]+?)\s*\);?$`),
	},
}

// knownWords lists words that say nothing about where a value comes from.
var knownWords = []string{
	"assert", "expect", "self", "True", "False", "None", "true", "false", "null", "undefined", "not", "in", "is", "and", "or", "for", "if", "else", "await", "typeof", "instanceof", "new", "of",
	"len", "str", "int", "list", "tuple", "dict", "set", "sorted", "isinstance", "any", "all", "repr", "bytes", "String", "Array", "Object", "JSON", "Number",
}

// mostStatements bounds the statements of a test in which an assertion about a whole value is looked for.
const mostStatements = 400

// Whole returns a function that reports, for a removed assertion about a part of a value, whether the test now asserts the
// whole value. It does if a call with the same arguments is now compared with a constant, and everything that the assertion
// refers to was made from the result of that call. before and after are the statements of the test, in order, each on one line.
func Whole(family lang.Family, before, after []string) func(lost string) bool {
	whole := map[string]bool{}
	if len(before)+len(after) <= mostStatements {
		now := madeOf(after)
		for _, s := range after {
			for _, form := range equalities[family] {
				if m := form.FindStringSubmatch(s); m != nil && now.constant(m[2]) {
					whole[now.call(m[1])] = true
				}
			}
		}
		delete(whole, "")
	}
	if len(whole) == 0 {
		return func(string) bool { return false }
	}
	was, origins := madeOf(before), map[string]string{}
	return func(lost string) bool {
		spoken := ownWords(lost)
		return len(spoken) > 0 && !slices.ContainsFunc(spoken, func(word string) bool { return !whole[was.origin(word, origins)] })
	}
}

// made maps the names in a test to what they were given, or to "" if they were given something more than once.
type made map[string]string

func madeOf(statements []string) made {
	of := made{}
	for _, s := range statements {
		if m := assignment.FindStringSubmatch(s); m != nil {
			if _, again := of[m[1]]; again {
				m[2] = ""
			}
			of[m[1]] = m[2]
		}
	}
	return of
}

// call returns the single call that a piece of code, or the value of the name that it is, consists of, without space.
func (of made) call(code string) string {
	code = strings.TrimSpace(code)
	if to, named := of[code]; named {
		code = to
	}
	if !oneCall.MatchString(code) || split(code) {
		return ""
	}
	return strings.Join(strings.Fields(strings.TrimPrefix(code, "await ")), "")
}

// split reports whether the parenthesis that ends a piece of code does not close the first one: `f(a).g(b)`.
func split(code string) bool {
	depth := 0
	for i, c := range code {
		switch c {
		case '(':
			depth++
		case ')':
			if depth--; depth == 0 && i < len(code)-1 {
				return true
			}
		}
	}
	return depth != 0
}

// origin returns the single call that everything in a name's value comes from, or "" if there is not exactly one. known caches results.
func (of made) origin(name string, known map[string]string) string {
	if from, found := known[name]; found {
		return from
	}
	known[name] = "" // in case it is made of itself
	code := of[name]
	if call := of.call(code); call != "" {
		callee := ownWords(code[:strings.IndexByte(code, '(')])
		if len(callee) > 0 && of[callee[0]] == "" { // not a method of something made, nor `len`
			known[name] = call
			return call
		}
	}
	from := ""
	for i, word := range ownWords(code) {
		call := of.origin(word, known)
		if call == "" || i > 0 && call != from {
			return ""
		}
		from = call
	}
	known[name] = from
	return from
}

// constant reports whether a piece of code consists of literals and of names that were given only literals.
func (of made) constant(code string) bool {
	for _, word := range ownWords(code) {
		if to := of[word]; to == "" || len(ownWords(to)) > 0 || !literal(to) {
			return false
		}
	}
	return literal(code)
}

// literal reports whether a piece of code calls nothing and consists of literals and names.
func literal(code string) bool {
	return !called.MatchString(code) && constant.MatchString(anyWord.ReplaceAllString(code, ""))
}

// ownWords lists the words of a piece of code that may be names of values.
func ownWords(code string) (words []string) {
	for _, m := range ownWord.FindAllStringSubmatch(code, -1) {
		if !slices.Contains(knownWords, m[1]) {
			words = append(words, m[1])
		}
	}
	return words
}
