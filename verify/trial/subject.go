package trial

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"agent/sandbox/workspace"
	"agent/sandbox/workspace/lang"
	"agent/sandbox/workspace/lazyregexp"
	"agent/verify/check"
	"agent/verify/compare"
	"agent/verify/policy"
)

// A patch may remove a test together with its subject. No measure tells a lost check from one that has become void,
// unless nothing of the subject is left that could be wrong: the patch removes code from the program and adds none,
// so that the subject has no new name and no new place, and no file mentions it any more.

// lastWords returns the names that the program loses with a patch: names in code that the patch removes and that occur nowhere in the
// patched workspace except in prose and comments. It returns nil if the patch adds anything to the program, or renames a file of it.
func lastWords(program workspace.Changeset, after check.View) map[string]bool {
	names := map[string]bool{}
	var cut []string
	for _, c := range program.Changes {
		l := lang.Of(c.Path)
		if l != nil && l.Prose {
			continue
		}
		old, kept := code(l, string(c.Before)), code(l, string(c.After))
		gone, ok := takesAway(old, kept)
		if c.Op != workspace.Modify && c.Op != workspace.Delete || !ok {
			return nil
		}
		cut = append(cut, gone...)
		if l == nil || l.Values != lang.Code {
			continue
		}
		for _, line := range old {
			for _, w := range line.words {
				if isName(w) {
					names[w] = true
				}
			}
		}
	}
	for _, p := range after.Paths() {
		l := lang.Of(p)
		if len(names) == 0 {
			return nil
		}
		if l != nil && l.Prose {
			continue
		}
		for _, line := range code(l, after.Text(p)) {
			for _, w := range line.words {
				delete(names, w)
			}
		}
	}
	if slices.ContainsFunc(cut, func(w string) bool { return !names[w] }) {
		return nil
	}
	return names
}

const literals = "None|True|False|true|false|null|nil|undefined"

var (
	// name matches a name of some length: shorter ones occur everywhere.
	name = lazyregexp.New(`^[\p{L}_$][\w$]{2,}$`)
	// keyword matches a word of the languages whose tests are read: it is not a name, and is never removed on its own.
	keyword = lazyregexp.New(`^(?:and|or|not|is|in|if|elif|else|for|while|do|return|yield|raise|try|except|finally|with|as|lambda|def|class|import|from|pass|break|continue|global|nonlocal|del|assert|async|await|func|var|const|let|type|struct|interface|map|chan|go|goto|defer|select|switch|case|default|range|fallthrough|package|function|export|extends|new|typeof|instanceof|void|delete|throw|catch|static|of|this|super|match|` + literals + `)$`)
	// constant matches a word that may be the value of a name.
	constant = lazyregexp.New(`^(?:` + literals + `)$`)
	// sign matches a sign that may be removed with a name.
	sign = lazyregexp.New("^[,.=:*\"'`(){}\\[\\]]$")
	// word matches a name, a number, or one sign.
	word = lazyregexp.New(`[\p{L}\d_$]+|[^\s\p{L}\d_$]`)
	// docstring matches the beginning of documentation: it comes first in a file, or after the head of a block.
	docstring = lazyregexp.New(`^[rRuU]?(?:"""|''')`)
)

// isName reports whether a word is a name that can be missing.
func isName(w string) bool { return name.MatchString(w) && !keyword.MatchString(w) }

// A codeLine is a line of code, split into words.
type codeLine struct {
	indent int
	words  []string
}

// code returns a text without its comments and empty lines, and without docstrings in Python. It keeps the contents
// of strings, since a name may be looked up by its text.
func code(l *lang.Language, text string) (list []codeLine) {
	opens, documents := true, false
	for _, line := range l.Lex(text) {
		raw, code := line.Raw, strings.TrimSpace(line.Code)
		for _, note := range line.Notes {
			if i := strings.LastIndex(raw, note); i >= 0 {
				raw = raw[:i] + raw[i+len(note):]
			}
		}
		if !line.Inside {
			documents = l == lang.Named("python") && opens && docstring.MatchString(strings.TrimSpace(raw))
		}
		if code != "" {
			opens = strings.HasSuffix(code, ":")
		}
		if words := word.FindAllString(raw, -1); len(words) > 0 && !documents {
			list = append(list, codeLine{len(raw) - len(strings.TrimLeft(raw, " \t")), words})
		}
	}
	return list
}

// mostLines bounds the files, in lines, for which takesAway finds out what is left.
const mostLines = 20_000

// takesAway reports whether kept is what is left of old after whole lines, or names in lines, are removed, and each
// line that is left is in the same blocks as before: the head of one function with the body of another is a new
// function. cut lists the names that are removed from lines.
func takesAway(old, kept []codeLine) (cut []string, ok bool) {
	if len(old) > mostLines {
		return nil, false
	}
	stays, next := make([]bool, len(old)), 0
	for _, line := range kept {
		i := slices.IndexFunc(old[next:], func(o codeLine) bool { return slices.Equal(o.words, line.words) })
		if i < 0 {
			i = slices.IndexFunc(old[next:], func(o codeLine) bool { _, ok := shortened(o.words, line.words); return ok })
			if i < 0 {
				return nil, false
			}
			names, _ := shortened(old[next+i].words, line.words)
			cut = append(cut, names...)
		}
		stays[next+i], next = true, next+i+1
	}
	return cut, standing(old, stays)
}

// standing reports whether each line that stays is in the same block as before, judging by the indentation.
func standing(old []codeLine, stays []bool) bool {
	var around []int // the lines that may enclose the next one
	for i, line := range old {
		for len(around) > 0 && old[around[len(around)-1]].indent >= line.indent {
			around = around[:len(around)-1]
		}
		if stays[i] && len(around) > 0 && !stays[around[len(around)-1]] {
			return false
		}
		around = append(around, i)
	}
	return true
}

// shortened returns the names that are missing in part of the words of a line. Besides names, only signs and
// constants may be missing: without a "not", a line says the opposite.
func shortened(whole, part []string) (cut []string, ok bool) {
	for _, w := range whole {
		switch {
		case len(part) > 0 && part[0] == w:
			part = part[1:]
		case isName(w):
			cut = append(cut, w)
		case !sign.MatchString(w) && !constant.MatchString(w):
			return nil, false
		}
	}
	return cut, len(part) == 0 && len(cut) > 0
}

// missing matches the message of a test that needs a name that does not exist, in the words of each language. Some
// runners do not report the class of the error.
var missing = lazyregexp.New(`^(?:ImportError|ModuleNotFoundError|AttributeError|NameError|TypeError|ReferenceError|SyntaxError)\b|\bundefined\b|unknown field|is not a (?:function|constructor)|is not defined|does not provide an export|[Cc]annot find (?:module|package)`)

// lostSubject reports whether a removed test was about what the patch removes: as it was, it fails on the patched program
// because such a name is missing, and everything that it asserts refers to one. why is the message of the failure.
func (t *Trial) lostSubject(old check.TestResult, alone map[string]check.TestResult) (why string, lost bool) {
	file, test, isTest := strings.Cut(old.ID, "::")
	if len(t.Names) == 0 || !isTest {
		return "", false
	}
	r, ran := alone[old.ID]
	if !ran { // its file, or its package, does not load
		if r = alone[file]; !r.Bad() {
			r = alone[path.Dir(file)]
		}
	}
	if !r.Bad() || !missing.MatchString(r.Message) || !slices.ContainsFunc(word.FindAllString(r.Message, -1), func(w string) bool { return t.Names[w] }) {
		return "", false
	}
	return r.Message, policy.SpeaksOnlyOf(file, t.Before.Text(file), test, t.Names)
}

// excuse removes from a judgement the findings against tests that were removed with their subject, and returns the
// holds that show them instead, one for each file.
func (t *Trial) excuse(g *check.Gate, base check.Outcome, d check.Diff) (shown []policy.Hold) {
	alone, count := byID(t.Old.Tests), map[string]int{}
	for _, old := range base.Tests {
		id := d.NewID(old.ID)
		i := slices.IndexFunc(g.Findings, func(f check.Finding) bool {
			return f.Rule == compare.RuleTestRemoved && f.Message == compare.Removed(id)
		})
		if i < 0 {
			continue
		}
		why, lost := t.lostSubject(old, alone)
		if !lost {
			continue
		}
		file := g.Findings[i].File
		g.Findings = slices.Delete(g.Findings, i, i+1)
		if count[file]++; count[file] == 1 {
			shown = append(shown, policy.Hold{Path: file, Kind: policy.ChangedTest, Reason: fmt.Sprintf(
				"%s is removed with its subject: it fails on the patched program (%s), and no file mentions that subject any more", check.Shorten(id), brief(why))})
		}
	}
	for i, h := range shown {
		if n := count[h.Path] - 1; n > 0 {
			shown[i].Reason += fmt.Sprintf("; the same of %s in this file", plural(n))
		}
	}
	if len(shown) > 0 && len(g.Findings) == 0 {
		g.Verdict = check.Pass
	}
	return shown
}

// byID indexes results by the ID of the test, or of what was not collected.
func byID(tests []check.TestResult) map[string]check.TestResult {
	list := map[string]check.TestResult{}
	for _, r := range tests {
		list[r.ID] = r
	}
	return list
}
