package contrary

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"

	"agent/sandbox/workspace/lang"
	"agent/sandbox/workspace/lazyregexp"
)

// word matches a word by which a test may name a module.
var word = lazyregexp.New(`\w+`)

// The pattern of a value: a number or a string. Inside brackets or after names it is the first value of what is expected.
const (
	number = `-?\d+(?:\.\d+)?`
	quoted = `"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'`
	ends   = `(?:$|[^\w.])`
	within = `(?:[\w.]*[\[({]\s*)*`
)

// expecting has the patterns for the places where tests in a language state what they expect: in comparisons, in arguments of
// assertions, and under names such as want. The only group is the value. Only expected values are changed, never the inputs of a
// program: a patch may rightly accept more than the program did.
var expecting = map[lang.Family][]*lazyregexp.Regexp{
	lang.Python: {
		lazyregexp.New(`^\s*assert\b.*(?:==|\bis)\s*` + within + `(` + number + `|` + quoted + `)` + ends),
		lazyregexp.New(`\bself\.assert\w+\(\s*(` + number + `|` + quoted + `)\s*,`),
		lazyregexp.New(`\bself\.assert\w+\(.*,\s*(` + number + `|` + quoted + `)\s*\)\s*$`),
		lazyregexp.New(`\bself\.assert\w+\(.*,\s*[\[({]\s*(` + number + `|` + quoted + `)[^()]*\)\s*$`),
		lazyregexp.New(`\bmatch\s*=\s*r?(` + quoted + `)`),
	},
	lang.Go: {
		lazyregexp.New(`^\s*(?:\}\s*else\s+)?if\b.*(?:!=|==)\s*(` + number + `|"(?:[^"\\\n]|\\.)*"|` + "`[^`\n]*`" + `)` + ends),
		lazyregexp.New(`\b(?:[wW]ant|[eE]xpect|[eE]xpected|exp)\w*\s*(?::?=|:)\s*(` + number + `|"(?:[^"\\\n]|\\.)*"|` + "`[^`\n]*`" + `)` + ends),
		lazyregexp.New(`\b(?:assert|require)\.\w+\(t,\s*(` + number + `|"(?:[^"\\\n]|\\.)*"),`),
		lazyregexp.New(`\b(?:assert|require|is)\.\w+\(.*,\s*(` + number + `|"(?:[^"\\\n]|\\.)*")\)\s*$`),
	},
	lang.Script: {
		lazyregexp.New(`\.(?:to\w+|equals?|eql?s?)\(\s*(?:[\[({]\s*|\w+:\s*)*(` + number + `|` + quoted + "|`[^`$\n]*`" + `)` + ends),
		lazyregexp.New(`\b(?:assert|t)\b[\w.]*\(\s*(` + number + `|` + quoted + `)\s*,`),
		lazyregexp.New(`\b(?:assert|t)\b[\w.]*\(.*,\s*(` + number + `|` + quoted + "|`[^`$\n]*`" + `)\s*\)\s*;?\s*$`),
		lazyregexp.New(`\b(?:assert|t)\b[\w.]*\(.*,\s*[\[{]\s*(?:\w+:\s*)?(` + number + `|` + quoted + `)[^()]*\)\s*;?\s*$`),
		lazyregexp.New(`\bassert\w*\(.*===?\s*(` + number + `|` + quoted + `)` + ends),
	},
}

// otherwise returns a text of tests in which each line that states an expectation expects something else. It returns
// text itself if no line does.
func otherwise(l *lang.Language, text string) string {
	var spots []span
	for _, list := range expected(l, text) {
		spots = append(spots, list[0])
	}
	return redrawn(text, spots)
}

// further returns a text of tests that expect something else: at selects a value other than the first in each expectation, and a
// value in each row of a table. It returns text itself if there are none.
func further(l *lang.Language, text string, at uint64) string {
	var spots []span
	for _, list := range expected(l, text) {
		if len(list) > 1 {
			spots = append(spots, list[1:][at%uint64(len(list)-1)])
		}
	}
	for _, list := range expectedInRows(l, text) {
		spots = append(spots, list[at%uint64(len(list))])
	}
	return redrawn(text, spots)
}

// redrawn returns a text with other values in the given places.
func redrawn(text string, spots []span) string {
	slices.SortFunc(spots, func(a, b span) int { return b.from - a.from })
	before := len(text)
	for _, s := range spots {
		if s.to <= before { // a span inside another has changed with it
			text, before = text[:s.from]+other(text[s.from:s.to])+text[s.to:], s.from
		}
	}
	return text
}

// expected lists, for each line that states an expectation, the values that it names there, in order.
func expected(l *lang.Language, text string) (list [][]span) {
	forms := expecting[l.Family]
	if forms == nil {
		return nil
	}
	raw, read, at := strings.Split(text, "\n"), l.Lex(text), 0
	for i, line := range read {
		if i > 0 && i <= len(raw) {
			at += len(raw[i-1]) + 1
		}
		if i >= len(raw) || line.Inside || i+1 < len(read) && read[i+1].Inside || strings.TrimSpace(line.Code) == "" || strings.TrimSuffix(raw[i], "\r") != line.Raw {
			continue
		}
		for _, form := range forms {
			if m := form.FindStringSubmatchIndex(raw[i]); m != nil {
				first := span{at + m[2], at + m[3]}
				list = append(list, append([]span{first}, siblings(text, first)...))
				break
			}
		}
	}
	return list
}

// openings matches what opens the value at the end of a text: brackets, and names before them, after a comparison.
var openings = lazyregexp.New(`(?:==|\bis|\.(?:to\w+|equals?|eql?s?)\(|,)\s*((?:[\w.]*[\[({]\s*)+)(?:\w+:\s*)?$`)

// siblings lists the values of an expectation after its first one: if that is in brackets, up to the closing bracket.
func siblings(text string, first span) []span {
	line := text[strings.LastIndexByte(text[:first.from], '\n')+1 : first.from]
	m := openings.FindStringSubmatchIndex(line)
	if m == nil {
		return nil
	}
	outer := first.from - len(line) + m[2] + strings.IndexAny(line[m[2]:m[3]], "[({")
	end := closing(text, outer)
	if end < first.to {
		return nil
	}
	return literals(text, span{first.to, end})
}

// drawnLetters is how many letters are put in front of a string.
const drawnLetters = 8

// other draws a value of the same kind: a number of similar size, so that it fits the same types, or a string with a
// different beginning.
func other(value string) string {
	if i := strings.IndexAny(value, "\"'`"); i == 0 {
		letters := make([]byte, drawnLetters)
		for k := range letters {
			letters[k] = byte('a' + rand.IntN(26))
		}
		return value[:1] + string(letters) + value[1:]
	}
	m := digits.FindStringIndex(value)
	n, err := strconv.ParseInt(value[m[0]:m[1]], 10, 64)
	if err != nil {
		return value
	}
	now := n/2 + rand.Int64N(max(1, n/2))
	if n < 64 {
		now = 64 + rand.Int64N(64)
	}
	return value[:m[0]] + fmt.Sprint(now) + value[m[1]:]
}

var digits = lazyregexp.New(`\d+`)
