package policy

import (
	"bytes"
	"path"
	"slices"
	"strings"

	"agent/sandbox/workspace"
	"agent/sandbox/workspace/lang"
	"agent/verify/check"
	"agent/verify/policy/checker"
	"agent/verify/policy/directive"
)

// A Silenced is a suppression of one line that a changeset adds, and that can be taken out again, so that what it hides can be measured.
type Silenced struct {
	// As ReviewText has it.
	Hold Hold
	// What a person knows the suppression by, as "noqa".
	Family string
}

// SilencedBy lists them, and returns the changeset without them, line for line. What counts for more than its line hides what is yet to
// be written too, and what stands in the code is part of it: neither is in the list, nor is what does not block.
func SilencedBy(cs workspace.Changeset) (list []Silenced, bare workspace.Changeset) {
	marks, _ := addedSuppressions(sides(cs))
	all := holdsOf(Suppression, addsSuppression, slices.Clone(marks))
	// Of more than a person is shown one hold stands for several.
	if len(all) > mostHolds {
		return nil, cs
	}
	bare.Changes = slices.Clone(cs.Changes)
	for _, h := range all {
		i := slices.IndexFunc(marks, func(m mark) bool { return holdsOf(Suppression, addsSuppression, []mark{m})[0] == h })
		m := marks[i]
		// Of several on one line each has to be such a one.
		if slices.ContainsFunc(marks, func(o mark) bool { return o.path == m.path && o.line == m.line && (o.wide || o.form != m.form) }) {
			continue
		}
		j := slices.IndexFunc(bare.Changes, func(c workspace.Change) bool { return c.Path == m.path && c.Op != workspace.Delete })
		if text, ok := uncommented(m, bare.Changes[j]); ok {
			bare.Changes[j].After = text
			list = append(list, Silenced{h, m.form})
		}
	}
	return list, bare
}

// AddsSuppression reports whether a changeset has a tool report less, in whatever file and for however many lines.
func AddsSuppression(cs workspace.Changeset) bool {
	blocking, shown := addedSuppressions(sides(cs))
	return len(blocking)+len(shown) > 0
}

// addedSuppressions returns the suppressions that are new, and the holds of those that do not block: of coverage, by which no gate fails,
// of how a program reads, and of a line of a test, which hides nothing of the program. A file that comes with the changeset may have the
// name of a test and be a part of the program, which then names it. Tests are compared with tests: what one no longer suppresses is no
// excuse for the program.
func addedSuppressions(before, after []sourceFile) (blocking []mark, shown []Hold) {
	var counted, tested, styled []mark
	for _, tests := range []bool{false, true} {
		of := func(f sourceFile) bool { return f.test == tests }
		for _, m := range newSuppressions(each(filter(before, of), suppressionsIn), each(filter(after, of), suppressionsIn)) {
			switch program := partOfProgram(after, fileAt(after, m.path)); {
			case slices.Contains(coverageFamilies, m.form):
				counted = append(counted, m)
			case directive.OfStyle(m.form, m.codes):
				styled = append(styled, m)
			case tests && !m.wide && !program:
				tested = append(tested, m)
			default:
				blocking = append(blocking, m)
			}
		}
	}
	shown = notBlocking(Suppression, addsSuppression, counted, " (no gate depends on it; executed lines are measured without it)")
	shown = append(shown, notBlocking(Suppression, addsSuppression, styled, " (of what is about style alone)")...)
	return blocking, append(shown, notBlocking(Suppression, addsSuppression, tested, " (in a test, for one line)")...)
}

// partOfProgram reports whether a file is new and one of those that are no tests names it.
func partOfProgram(files []sourceFile, f sourceFile) bool {
	stem := strings.TrimSuffix(path.Base(f.path), path.Ext(f.path))
	return f.created && slices.ContainsFunc(files, func(o sourceFile) bool {
		return !o.test && slices.ContainsFunc(o.lines, func(l lang.Line) bool { return strings.Contains(l.Raw, stem) })
	})
}

// coverageFamilies are those of suppressions that keep lines from being counted as not executed.
var coverageFamilies = []string{"no cover", "coverage"}

// notBlocking makes holds, as holdsOf, that a person is shown and that need no approval.
func notBlocking(kind, what string, marks []mark, why string) []Hold {
	holds := holdsOf(kind, what, marks)
	for i := range holds {
		holds[i].Block, holds[i].Reason = false, holds[i].Reason+why
	}
	return holds
}

// uncommented is the text of a change without the comments of a line that hold suppressions, and reports whether that is all of them.
func uncommented(m mark, c workspace.Change) ([]byte, bool) {
	lines := bytes.Split(c.After, []byte("\n"))
	l := lang.Detect(c.Path, string(c.After))
	told := l.Lex(string(c.After))
	line := told[m.line-1]
	text := line.Raw
	for _, note := range line.Notes {
		if directive.Suppresses(l.Family, note) && strings.ContainsRune("#/<", rune(note[0])) && strings.Contains(text, note) {
			at := strings.LastIndex(text, note) // a string before it may read the same
			text = text[:at] + text[at+len(note):]
		}
	}
	text = strings.TrimRight(text, " \t\r")
	if text == line.Raw || !bytes.Contains(lines[m.line-1], []byte(line.Raw)) {
		return nil, false
	}
	lines[m.line-1] = bytes.Replace(lines[m.line-1], []byte(line.Raw), []byte(text), 1)
	return bytes.Join(lines, []byte("\n")), true
}

// Checks reports whether the project has what a family of suppressions hides checked, for all that its configuration and builds say.
func Checks(base check.View, family string) bool {
	return checker.Named(family, func(yield func(p, text string) bool) {
		for _, p := range base.Paths() {
			rule, known := ruleFor(p)
			if (known || configuresTools(p)) && rule.kind != Agent && !strings.Contains("/"+p, "/node_modules/") && !yield(p, base.Text(p)) {
				return
			}
		}
	})
}

// Harmless is the hold of a suppression that was measured: it is shown and does not block.
func (s Silenced) Harmless() Hold {
	h := s.Hold
	h.Block, h.Reason = false, h.Reason+hidesNothing
	return h
}

// hidesNothing is what is added to its reason.
const hidesNothing = " (without it no gate reports anything that counts)"

// measured puts the holds that gates measured in the place of those that the text alone tells.
func measured(text, gates []Hold) []Hold {
	return slices.DeleteFunc(text, func(h Hold) bool {
		return h.Kind == Suppression && slices.ContainsFunc(gates, func(g Hold) bool {
			return g.Kind == h.Kind && g.Path == h.Path && g.Reason == h.Reason+hidesNothing
		})
	})
}
