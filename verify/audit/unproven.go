package audit

import (
	"fmt"
	"path"
	"slices"

	"agent/sandbox/workspace"
	"agent/sandbox/workspace/lang"
	"agent/verify/check"
	"agent/verify/golang"
	"agent/verify/node"
	"agent/verify/python"
	"agent/verify/shell"
	"agent/verify/smoke"
	"agent/verify/web"
)

// Unproven lists what was not judged in the candidate; empty, not nil, if everything was.
func (e *Evidence) Unproven() []Unproven {
	list := []Unproven{}
	// A correction to a README needs no remark about tests, which could say nothing about it.
	if !slices.ContainsFunc(e.Final.Changes, func(c workspace.Change) bool { return !isProse(c.Path) || !isProse(check.OldPath(c)) }) {
		return list
	}
	t := e.newTests(check.NewView(e.Base, e.Final))
	list = append(append(list, e.inert()...), t.untested()...)
	// If no test ran, that is the news, and it implies the rest.
	if e.Tested() {
		list = append(append(list, e.unexecutedFiles()...), e.unmeasuredFiles()...)
	}
	list = append(list, e.unread()...)
	return append(list, e.unjudged()...)
}

// unread reports changed files in languages that no gate reads.
func (e *Evidence) unread() (list []Unproven) {
	files := map[*lang.Tests][]string{}
	for _, c := range e.Final.Changes {
		if l := lang.ByExtension(c.Path); l != nil && l.Tests != nil && !l.Checked && c.Op != workspace.Delete {
			files[l.Tests] = append(files[l.Tests], c.Path)
		}
	}
	for _, row := range lang.All() {
		l := row.Tests
		if len(files[l]) == 0 || e.ownGate(l, false) {
			continue
		}
		list = append(list, Unproven{
			Gate: check.GateSyntax, Kind: NoGate, Reason: fmt.Sprintf("no gate reads %s: %s; a [[gate]] in agent.toml can", l.Name, some(files[l])), Part: e.judgedAny(check.GateSyntax),
		})
		delete(files, l) // several rows may share the name
	}
	return list
}

// some names the first of files, and how many more there are.
func some(files []string) string {
	if len(files) == 1 {
		return check.Shorten(files[0])
	}
	return fmt.Sprintf("%s and %d more", check.Shorten(files[0]), len(files)-1)
}

// judgedAny reports whether any check of a gate reached a judgement.
func (e *Evidence) judgedAny(gate string) bool {
	return slices.ContainsFunc(e.checksOf(gate), func(c check.Check) bool {
		_, judged := e.Judged[c.Name]
		_, skipped := e.Skipped[c.Name]
		return judged && !skipped
	})
}

// unjudged reports checks other than tests that ran and could not judge, if the patch touches what they examine.
func (e *Evidence) unjudged() (list []Unproven) {
	for _, c := range e.Checks {
		reason, skipped := e.Skipped[c.Name]
		cand, ran := e.Candidate[c.Name]
		if c.Gate == check.GateTests || !skipped || !ran || !e.concerns(c) {
			continue
		}
		u := Unproven{Gate: c.Gate, Kind: NotJudged, Reason: c.Gate + ": " + c.Name + " did not judge the patch: " + reason, Part: e.judgedAny(c.Gate)}
		if node.IsAbsent(c.Name, cand) {
			u.Kind, u.Reason = NotInstalled, c.Gate+": "+cand.Blocked
		}
		list = append(list, u)
	}
	return list
}

// looksAt has the file extensions that a check examines. A check that is not listed examines everything.
var looksAt = map[string][]string{
	python.RuffName: pythonExtensions, python.MypyName: pythonExtensions, python.PyrightName: pythonExtensions, python.TyName: pythonExtensions, smoke.ImportsName: pythonExtensions,
	shell.Name: append(slices.Clone(shell.Extensions), ""), golang.VetName: goExtensions, golang.StaticcheckName: goExtensions, golang.TypesName: goExtensions,
	node.StylelintName: lang.Extensions("css", "scss", "sass", "less", "vue", "svelte", "html"),
	web.BiomeName:      scriptExtensions, node.ScriptName: scriptExtensions, node.CompilerName: scriptExtensions, node.ESLintName: scriptExtensions,
}

// The extensions of Python, of Go and its modules, and of JavaScript, TypeScript and files that contain either.
var (
	pythonExtensions = lang.Extensions("python")
	goExtensions     = slices.Concat(lang.Extensions("go"), lang.Named("go").Also)
	scriptExtensions = lang.Extensions("javascript", "typescript", "vue", "svelte", "astro", "html", "css", "json")
)

// concerns reports whether the patch touches a file that a check examines.
func (e *Evidence) concerns(c check.Check) bool {
	list, known := looksAt[c.Name]
	return !known || slices.ContainsFunc(e.Final.Changes, func(ch workspace.Change) bool {
		return slices.Contains(list, path.Ext(ch.Path)) || slices.Contains(list, path.Ext(check.OldPath(ch)))
	})
}

// Hidden returns a copy of list with hide applied to its reasons, since they may quote a test script. It returns nil
// for nil, which means unknown.
func Hidden(list []Unproven, hide func(string) string) []Unproven {
	if list == nil || hide == nil {
		return list
	}
	hidden := make([]Unproven, len(list))
	for i, u := range list {
		u.Reason = hide(u.Reason)
		hidden[i] = u
	}
	return hidden
}
