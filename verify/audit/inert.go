package audit

import (
	"fmt"
	"slices"
	"strings"

	"agent/sandbox/workspace"
	"agent/sandbox/workspace/lang"
	"agent/sandbox/workspace/lazyregexp"
	"agent/verify/check"
	"agent/verify/policy"
)

// Inert reports whether a changeset changes nothing that is run or that a tool reads: in programs only comments, blank
// lines and, where it has no meaning, indentation. It is false for an empty changeset.
func Inert(cs workspace.Changeset) bool {
	// A comment that a tool obeys is not mere text.
	if policy.AddsSuppression(cs) {
		return false
	}
	return !cs.Empty() && !slices.ContainsFunc(cs.Changes, func(c workspace.Change) bool {
		l := lang.Detect(c.Path, string(c.After))
		return c.Op != workspace.Modify || c.OldMode != 0 && c.OldMode != c.Mode ||
			l == nil || l.Values != lang.Code || bare(l, c.Before) != bare(l, c.After)
	})
}

// directive matches comments that a compiler or a kernel obeys.
var directive = lazyregexp.New(`^(?:#!|//go:|//line |//export |// ?\+build|#.*coding[:=]|///)`)

// bare returns the code in a text, without comments and blank lines.
func bare(l *lang.Language, text []byte) string {
	var kept strings.Builder
	for _, line := range l.Lex(string(text)) {
		raw := line.Raw
		switch obeyed := slices.ContainsFunc(line.Notes, directive.MatchString); {
		case obeyed:
		case !line.Inside && strings.TrimSpace(line.Code) == "":
			raw = ""
		case len(line.Notes) > 0:
			raw = strings.TrimSuffix(strings.TrimRight(raw, " \t\r"), strings.TrimRight(line.Notes[len(line.Notes)-1], " \t\r"))
		}
		if !line.Inside {
			raw = strings.TrimRight(raw, " \t\r")
			if !l.Offside {
				raw = strings.TrimLeft(raw, " \t")
			}
		}
		if line.Inside || raw != "" {
			fmt.Fprintln(&kept, raw)
		}
	}
	return kept.String()
}

// inert reports a change that contains nothing that could be at fault.
func (e *Evidence) inert() []Unproven {
	if !Inert(e.Final) {
		return nil
	}
	var files []string
	for _, c := range e.Final.Changes {
		files = append(files, c.Path)
	}
	return []Unproven{{
		Gate: check.GateTests, Kind: NotExecuted, Part: true,
		Reason: fmt.Sprintf("nothing that runs was changed: only comments and blank space in %s", some(files)),
	}}
}
