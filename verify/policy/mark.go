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
	// The form by which places are compared: removed places of a form make up for added ones.
	form string
	// The codes of a suppression, sorted and joined by spaces; "" means all.
	codes string
	// Whether a suppression applies to more than its own line.
	wide bool
	// The line without surrounding space.
	text string
}

// A sourceFile is one side of a change, split into lines.
type sourceFile struct {
	path  string
	lang  lang.Family
	test  bool // or a test helper
	lines []lang.Line
	// Whether the changeset creates the file.
	created bool
}

// mark returns the mark for a line, counted from 0.
func (f sourceFile) mark(line int, form, codes string, wide bool) mark {
	return mark{f.path, line + 1, form, codes, wide, strings.TrimSpace(f.lines[line].Raw)}
}

// mostBlank bounds, in lines, how far codeAfter looks for the next line of code.
//
// A person would not call a handler empty whose body is further away than this.
const mostBlank = 50

// codeAfter returns the next line that contains code, or "" if there is none nearby.
func (f sourceFile) codeAfter(i int) string {
	for _, line := range f.lines[i+1 : min(len(f.lines), i+1+mostBlank)] {
		if code := strings.TrimSpace(line.Code); code != "" {
			return code
		}
	}
	return ""
}

// filter returns the files for which such is true.
func filter(files []sourceFile, such func(sourceFile) bool) []sourceFile {
	return slices.DeleteFunc(slices.Clone(files), func(f sourceFile) bool { return !such(f) })
}

// each collects the marks that in returns for all files.
func each(files []sourceFile, in func(sourceFile) []mark) (list []mark) {
	for _, f := range files {
		list = append(list, in(f)...)
	}
	return list
}

// surplus cancels the marks of before and after against each other, by each key in turn, and returns what is left of
// after and of before. The first keys are the strictest, so that what is left is what a person would call new.
func surplus(before, after []mark, keys ...func(mark) string) (rest, gone []mark) {
	for _, key := range keys {
		before, after = cancel(before, after, key)
	}
	return after, before
}

// cancel removes marks with the same key from both lists, one for one.
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

// byLine, byFile and byForm are keys for surplus, from strict to loose.
func byLine(m mark) string { return byForm(m) + "\x00" + m.text[:min(len(m.text), secret.MaxLine)] }

func byFile(m mark) string { return byForm(m) + "\x00" + m.path }

func byForm(m mark) string { return fmt.Sprint(m.form, "\x00", m.wide, "\x00", m.codes) }

// mostHolds bounds the holds of one kind and reason: a person who looks at ten of them has seen enough to decide.
const mostHolds = 10

// holdsOf returns a hold for each mark, and one hold for all marks beyond mostHolds.
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

// mostQuoted is the maximum number of characters of a line that is shown.
const mostQuoted = 80

// quote returns a line in a form that is safe to show to a person: clipped, without characters that a terminal obeys
// or that disguise the text, and without a secret.
func quote(line string) string {
	if len(line) > secret.MaxLine {
		return fmt.Sprintf("(a line of %d bytes)", len(line))
	}
	if rule, ok := secret.InLine(line); ok {
		return "(not shown, because it holds what looks like " + rule + ")"
	}
	clean := strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) && !unicode.IsSpace(r) {
			return unicode.ReplacementChar
		}
		return r
	}, line)
	runes := []rune(strings.Join(strings.Fields(clean), " "))
	// The part that weakens may be at either end.
	if len(runes) > mostQuoted {
		return string(runes[:mostQuoted/2]) + "…" + string(runes[len(runes)-mostQuoted/2:])
	}
	return string(runes)
}
