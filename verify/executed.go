package verify

import (
	"fmt"
	"slices"
	"strings"

	"agent/sandbox/workspace"
	"agent/sandbox/workspace/lang"
	"agent/verify/check"
	"agent/verify/policy"
	"agent/verify/smoke"
)

// unexecuted holds a candidate that passed and of which nothing that ran has executed the
// change: a test that fails on it, or a program that crashes on it, would not have been
// seen. list is what was not judged. It is called with mu held, when everything is judged.
//
// Code that only tools looked at counts as not executed, and so does what an import alone
// runs. A change of data, of text for people and of comments has nothing to execute.
func (r *results) unexecuted(list []Unproven) []policy.Hold {
	var changed []workspace.Change
	for _, c := range r.final.Changes {
		if l := programOf(c); l != nil {
			if r.executes(l) {
				return nil
			}
			changed = append(changed, c)
		}
	}
	if len(changed) == 0 {
		return nil
	}
	reason := "Nothing that ran has executed the change"
	if i := slices.IndexFunc(list, func(u Unproven) bool { return u.Gate == check.GateTests }); i >= 0 {
		reason += ": " + list[i].Reason
	} else {
		reason += ": the tests that ran are of another language"
	}
	return []policy.Hold{{Path: changed[0].Path, Kind: policy.Unproven, Reason: strings.TrimSuffix(reason, ".") + ".", Block: true}}
}

// programOf is the language of the code that a change makes different, nil for none.
func programOf(c workspace.Change) *lang.Language {
	name := c.Path
	l := lang.Detect(name, string(c.After))
	if c.Op == workspace.Delete {
		l = lang.Detect(name, string(c.Before))
	}
	if l == nil || l.Tests == nil || l.Values != lang.Code {
		return nil
	}
	if c.Op == workspace.Modify && code(l, c.Before) == code(l, c.After) {
		return nil
	}
	return l
}

// code is a text without the lines that hold nothing but comments.
func code(l *lang.Language, text []byte) string {
	var kept strings.Builder
	for _, line := range l.Lex(string(text)) {
		if line.Inside || strings.TrimSpace(line.Code) != "" {
			fmt.Fprintln(&kept, strings.TrimRight(line.Raw, " \t\r"))
		}
	}
	return kept.String()
}

// executes reports whether programs of a language ran and were judged: a test that was not
// skipped, a gate of the workspace's own that runs tests, or the program that the smoke test
// starts.
func (r *results) executes(l *lang.Language) bool {
	if r.ownGate(l.Tests, true) {
		return true
	}
	for _, c := range r.checksOf(check.GateTests) {
		if _, judged := r.judged[c.Name]; judged && runnerLanguage(c.Name) == l.Tests && r.testedBy(c) {
			return true
		}
	}
	_, judged := r.judged[smoke.Program.Name]
	end := r.cand[smoke.Program.Name].Ending
	return judged && end != nil && startsTool(end.Command, l.Tests)
}
