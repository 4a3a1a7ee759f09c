package trial

import (
	"path"
	"slices"
	"strings"

	"agent/sandbox/workspace"
	"agent/sandbox/workspace/lang"
	"agent/sandbox/workspace/lazyregexp"
)

// A table of what tests expect is data, though it stands in a file of code: no value of it can tell one program from another.

// pieces matches the next piece of code: a literal on one line, a word, a number, or a sign; of comparisons and assignments the whole one.
var pieces = lazyregexp.New(`"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|\d[\w.]*|[\p{L}_$][\w$]*|[^\w\s\[\](){}'"$]?==?|\S`)

// readByRunner matches names of values that a runner of tests goes by.
var readByRunner = lazyregexp.New(`\b(?:pytest\w*|collect_ignore\w*|__\w+__)\s*(?::[^=\n]*)?=[^=]`)

// onlyValues reports whether a change of code leaves all as it was but for values that are assigned or returned as they stand:
// numbers, texts and constants, and lists, tuples and tables of them. An argument of a call is none: it may name what the call replaces.
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

// withoutValues lists the pieces of a text, where each value that is assigned or returned as it stands is the same.
func withoutValues(l *lang.Language, text string) []string {
	type bracket struct {
		at   int // of its piece
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
	// What stands here is no argument, no index and no part of an expression that is more than a value.
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
			out = append(out, line.Raw) // a literal of several lines, or one with code in it
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
