package trial

import (
	"path"
	"slices"
	"strings"

	"agent/sandbox/workspace"
	"agent/sandbox/workspace/lang"
	"agent/sandbox/workspace/lazyregexp"
)

// A table of what tests expect is data, even in a code file: no value in it can tell one program from another.

// pieces matches the next piece of code: a literal on one line, a word, a number, or a sign. A comparison or an assignment is one sign.
var pieces = lazyregexp.New(`"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|\d[\w.]*|[\p{L}_$][\w$]*|[^\w\s\[\](){}'"$]?==?|\S`)

// readByRunner matches an assignment to a name that a test runner reads.
var readByRunner = lazyregexp.New(`\b(?:pytest\w*|collect_ignore\w*|__\w+__)\s*(?::[^=\n]*)?=[^=]`)

// onlyValues reports whether a change of code changes only values that are assigned or returned as written: numbers, texts and
// constants, and lists, tuples and tables of them. An argument of a call does not count: it may name what the call replaces.
func onlyValues(c workspace.Change) bool {
	l := lang.Of(c.Path)
	if l == nil || l.Values != lang.Code || named(c.Path) && path.Base(c.Path) != "conftest.py" || c.Op != workspace.Modify || l.Family != lang.Python && l.Family != lang.Script {
		return false
	}
	before, after := string(c.Before), string(c.After)
	return !readByRunner.MatchString(before) && !readByRunner.MatchString(after) && slices.Equal(withoutValues(l, before), withoutValues(l, after))
}

// aValue stands for a value in the pieces of a text.
const aValue = "\x00value"

// constants are words that are values.
var constants = []string{"True", "False", "None", "true", "false", "null", "undefined"}

// withoutValues lists the pieces of a text, with aValue in place of each value that is assigned or returned as written.
func withoutValues(l *lang.Language, text string) []string {
	type bracket struct {
		at   int // the index of its piece
		call bool
	}
	var out []string
	var open []bracket
	last := func() string {
		if len(out) == 0 {
			return ""
		}
		return out[len(out)-1]
	}
	// Whether the next piece is neither an argument, nor an index, nor a part of an expression that is more than a value.
	free := func() bool {
		if slices.ContainsFunc(open, func(b bracket) bool { return b.call }) {
			return false
		}
		if len(open) > 0 {
			return slices.Contains([]string{"(", "[", "{", ",", ":"}, last())
		}
		return last() == "=" || last() == "return"
	}
	lines := l.Lex(text)
	for i, line := range lines {
		if line.Inside || i+1 < len(lines) && lines[i+1].Inside || strings.Contains(line.Raw, "`") {
			out = append(out, line.Raw) // a literal on several lines, or one with code in it
			continue
		}
		raw := line.Raw
		for _, note := range line.Notes {
			raw = strings.Replace(raw, note, "", 1)
		}
		for _, piece := range pieces.FindAllString(strings.TrimSpace(raw), -1) {
			switch first := piece[0]; {
			case strings.ContainsRune("([{", rune(first)):
				before := last()
				call := before != "return" && before != "" && !strings.ContainsAny(before[len(before)-1:], "=([{,:\n")
				open = append(open, bracket{len(out), call})
				out = append(out, piece)
			case strings.ContainsRune(")]}", rune(first)):
				out = append(out, piece)
				if len(open) == 0 {
					continue
				}
				b := open[len(open)-1]
				open = open[:len(open)-1]
				if !b.call && !slices.ContainsFunc(out[b.at+1:len(out)-1], func(s string) bool { return s != aValue && s != "," && s != ":" }) {
					out = append(out[:b.at], aValue)
				}
			case (first == '"' || first == '\'' || first >= '0' && first <= '9' || slices.Contains(constants, piece)) && free():
				out = append(out, aValue)
			default:
				out = append(out, piece)
			}
		}
		if len(open) == 0 {
			out = append(out, "\n")
		}
	}
	return out
}
