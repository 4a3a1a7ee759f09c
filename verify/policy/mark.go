package policy

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"agent/sandbox/workspace/lang"
	"agent/sandbox/workspace/secret"
)

// A mark is one place that weakens a check.
type mark struct {
	path string
	line int // from 1
	// What places are compared by: those of one form that went make up for
	// those that came.
	form string
	// Of a suppression: what it is for, sorted and joined by spaces; "" for all.
	codes string
	// Of a suppression: it counts for more than its own line.
	wide bool
	// The line, without the space around it.
	text string
}

// A sourceFile is one side of a change, told apart.
type sourceFile struct {
	path  string
	lang  lang.Family
	test  bool // or a helper of tests
	lines []lang.Line
	// The file is new with the changeset.
	created bool
}

// mark is the mark of a line, counted from 0.
func (f sourceFile) mark(line int, form, codes string, wide bool) mark {
	return mark{f.path, line + 1, form, codes, wide, strings.TrimSpace(f.lines[line].Raw)}
}

// mostBlank bounds how far the next line of code is looked for.
//
// A handler whose body is further away than this is not what a person would call
// empty.
const mostBlank = 50

// codeAfter returns the next line that holds code, "" for none near.
func (f sourceFile) codeAfter(i int) string {
	for _, line := range f.lines[i+1 : min(len(f.lines), i+1+mostBlank)] {
		if code := strings.TrimSpace(line.Code); code != "" {
			return code
		}
	}
	return ""
}

// filter returns the files that are such.
func filter(files []sourceFile, such func(sourceFile) bool) []sourceFile {
	return slices.DeleteFunc(slices.Clone(files), func(f sourceFile) bool { return !such(f) })
}

// each collects the marks of all files.
func each(files []sourceFile, in func(sourceFile) []mark) (list []mark) {
	for _, f := range files {
		list = append(list, in(f)...)
	}
	return list
}

// surplus returns the marks of after that none of before makes up for, by each key in turn. The first keys are the closest, so that what
// is left is what a person would call new.
func surplus(before, after []mark, keys ...func(mark) string) (rest, gone []mark) {
	for _, key := range keys {
		before, after = cancel(before, after, key)
	}
	return after, before
}

// cancel takes out of both lists what has the same key, one for one.
func cancel(before, after []mark, key func(mark) string) (_, _ []mark) {
	count := map[string]int{}
	for _, m := range before {
		count[key(m)]++
	}
	matched := map[string]int{}
	after = slices.DeleteFunc(slices.Clone(after), func(m mark) bool {
		k := key(m)
		if count[k] == 0 {
			return false
		}
		count[k]--
		matched[k]++
		return true
	})
	before = slices.DeleteFunc(slices.Clone(before), func(m mark) bool {
		k := key(m)
		matched[k]--
		return matched[k] >= 0
	})
	return before, after
}

// byLine, byFile and byForm are keys of surplus, from close to loose.
func byLine(m mark) string { return byForm(m) + "\x00" + m.text[:min(len(m.text), secret.MaxLine)] }

func byFile(m mark) string { return byForm(m) + "\x00" + m.path }

func byForm(m mark) string { return fmt.Sprint(m.form, "\x00", m.wide, "\x00", m.codes) }

// mostHolds bounds the holds of one kind and reason: who looks at ten of them
// has seen enough to decide.
const mostHolds = 10

// holdsOf makes a hold of each mark, and of those over the bound one together.
func holdsOf(kind, what string, marks []mark) (holds []Hold) {
	slices.SortStableFunc(marks, func(a, b mark) int {
		return cmp.Or(cmp.Compare(a.path, b.path), cmp.Compare(a.line, b.line))
	})
	marks = slices.CompactFunc(marks, func(a, b mark) bool { return a.path == b.path && a.line == b.line })
	for i, m := range marks {
		reason := fmt.Sprintf("Line %d %s: %s", m.line, what, quote(m.text))
		if i == mostHolds {
			reason = fmt.Sprintf("Line %d %s, and so do %d more in this and other files.", m.line, what, len(marks)-i-1)
		}
		holds = append(holds, Hold{Path: m.path, Kind: kind, Block: true, Reason: reason})
		if i == mostHolds {
			break
		}
	}
	return holds
}

// mostQuoted is the most of a line that is shown, in characters.
const mostQuoted = 80

// quote is a line as a person may be shown it: clipped, without anything that
// a terminal obeys or that looks like something else, and without a secret.
func quote(line string) string {
	if len(line) > secret.MaxLine {
		return fmt.Sprintf("(a line of %d bytes)", len(line))
	}
	if rule, ok := secret.InLine(line); ok {
		return "(not shown, for it holds what looks like " + rule + ")"
	}
	clean := strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) && !unicode.IsSpace(r) {
			return unicode.ReplacementChar
		}
		return r
	}, line)
	runes := []rune(strings.Join(strings.Fields(clean), " "))
	// What weakens stands at either end.
	if len(runes) > mostQuoted {
		return string(runes[:mostQuoted/2]) + "…" + string(runes[len(runes)-mostQuoted/2:])
	}
	return string(runes)
}
