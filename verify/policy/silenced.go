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

// A Silenced is a suppression that a changeset adds to one line and that can be removed again to measure what it hides.
type Silenced struct {
	// The hold, as ReviewText lists it.
	Hold Hold
	// The name by which a person knows the suppression, for example "noqa".
	Family string
}

// SilencedBy lists the suppressions of cs that can be measured, and returns cs without them, line for line. It leaves out those that
// do not block, those in the code, which are part of it, and those wider than their line, which also hide code yet to be written.
func SilencedBy(cs workspace.Changeset) (list []Silenced, bare workspace.Changeset) {
	marks, _ := addedSuppressions(sides(cs))
	all := holdsOf(Suppression, addsSuppression, slices.Clone(marks))
	// Beyond the number that a person is shown, one hold stands for several suppressions.
	if len(all) > mostHolds {
		return nil, cs
	}
	bare.Changes = slices.Clone(cs.Changes)
	for _, h := range all {
		i := slices.IndexFunc(marks, func(m mark) bool { return holdsOf(Suppression, addsSuppression, []mark{m})[0] == h })
		m := marks[i]
		// Several suppressions on one line must all apply to that line alone and have the same form.
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

// AddsSuppression reports whether a changeset makes a tool report less, in any file and for any number of lines.
func AddsSuppression(cs workspace.Changeset) bool {
	blocking, shown := addedSuppressions(sides(cs))
	return len(blocking)+len(shown) > 0
}

// addedSuppressions returns the new suppressions that block, and the holds of those that do not: of coverage, which
// fails no gate, of how a program reads, and of one line of a test, which hides nothing of the program. A file that
// the changeset creates may have the name of a test and still be part of the program, which then names it. Tests are
// compared with tests: a suppression that a test no longer has is no excuse for the program.
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
	shown = append(shown, notBlocking(Suppression, addsSuppression, styled, " (of style only)")...)
	return blocking, append(shown, notBlocking(Suppression, addsSuppression, tested, " (in a test, for one line)")...)
}

// partOfProgram reports whether a file is new and named by a file that is not a test.
func partOfProgram(files []sourceFile, f sourceFile) bool {
	stem := strings.TrimSuffix(path.Base(f.path), path.Ext(f.path))
	return f.created && slices.ContainsFunc(files, func(o sourceFile) bool {
		return !o.test && slices.ContainsFunc(o.lines, func(l lang.Line) bool { return strings.Contains(l.Raw, stem) })
	})
}

// coverageFamilies lists the families of suppressions that keep lines from being counted as not executed.
var coverageFamilies = []string{"no cover", "coverage"}

// notBlocking returns the holds of holdsOf as ones that are shown to a person and need no approval. It appends why to each reason.
func notBlocking(kind, what string, marks []mark, why string) []Hold {
	holds := holdsOf(kind, what, marks)
	for i := range holds {
		holds[i].Block, holds[i].Reason = false, holds[i].Reason+why
	}
	return holds
}

// uncommented returns the text of a change without the comments on m's line that contain suppressions, and whether it removed any.
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

// Checks reports whether, by all that its configuration and builds say, the project checks what a family of suppressions hides.
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

// Harmless returns the hold of a suppression that was measured to hide nothing: it is shown and does not block.
func (s Silenced) Harmless() Hold {
	h := s.Hold
	h.Block, h.Reason = false, h.Reason+hidesNothing
	return h
}

// hidesNothing is what Harmless appends to the reason.
const hidesNothing = " (without it no gate reports anything that counts)"

// measured removes from text the holds of suppressions that gates measured, since gates has holds that replace them.
func measured(text, gates []Hold) []Hold {
	return slices.DeleteFunc(text, func(h Hold) bool {
		return h.Kind == Suppression && slices.ContainsFunc(gates, func(g Hold) bool {
			return g.Kind == h.Kind && g.Path == h.Path && g.Reason == h.Reason+hidesNothing
		})
	})
}
