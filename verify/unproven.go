package verify

import (
	"fmt"
	"path"
	"slices"
	"strings"

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

// unproven lists what of the candidate was not judged; empty, not nil, when all was. It
// is called with mu held, when everything is judged.
func (r *results) unproven() []Unproven {
	list := []Unproven{}
	// Whoever corrects a README wants no word of tests: there is nothing that they
	// could say of it.
	if !slices.ContainsFunc(r.final.Changes, func(c workspace.Change) bool { return !isProse(c.Path) || !isProse(check.OldPath(c)) }) {
		return list
	}
	t := r.newTestAudit(check.NewView(r.request.Base, r.final))
	list = append(list, t.untested()...)
	list = append(list, r.unexecutedFiles()...)
	list = append(list, r.unread()...)
	return append(list, r.unjudged()...)
}

// Uninstalled returns the report for a workspace whose packages could not be installed: of a tool that is not there it
// names that cause, and no lock file as the cure.
func (r Report) Uninstalled() Report {
	const cause = ", since it could not be"
	r.Unproven, r.Skipped = slices.Clone(r.Unproven), slices.Clone(r.Skipped)
	for i := range r.Unproven {
		r.Unproven[i].Reason = strings.ReplaceAll(r.Unproven[i].Reason, node.AbsentCure, cause)
	}
	for i := range r.Skipped {
		r.Skipped[i].Reason = strings.ReplaceAll(r.Skipped[i].Reason, node.AbsentCure, cause)
	}
	return r
}

// unread tells of changed files in languages that no gate reads.
func (r *results) unread() (list []Unproven) {
	files := map[*lang.Tests][]string{}
	for _, c := range r.final.Changes {
		if l := lang.ByExtension(c.Path); l != nil && l.Tests != nil && !l.Checked && c.Op != workspace.Delete {
			files[l.Tests] = append(files[l.Tests], c.Path)
		}
	}
	for _, row := range lang.All() {
		l := row.Tests
		if len(files[l]) == 0 || r.ownGate(l, false) {
			continue
		}
		list = append(list, Unproven{
			Gate: check.GateSyntax, Kind: NoGate, Reason: fmt.Sprintf("no gate reads %s: %s; a [[gate]] in agent.toml can", l.Name, some(files[l])), Part: r.judgedAny(check.GateSyntax),
		})
		delete(files, l) // several rows may share the name
	}
	return list
}

// some names the first of some files, and how many there are besides.
func some(files []string) string {
	if len(files) == 1 {
		return check.Shorten(files[0])
	}
	return fmt.Sprintf("%s and %d more", check.Shorten(files[0]), len(files)-1)
}

// judgedAny reports whether a check of a gate came to a judgement.
func (r *results) judgedAny(gate string) bool {
	return slices.ContainsFunc(r.checksOf(gate), func(c check.Check) bool {
		_, judged := r.judged[c.Name]
		_, skipped := r.skipped[c.Name]
		return judged && !skipped
	})
}

// unjudged tells of checks other than tests that ran and could not judge, where the
// patch touches what they look at.
func (r *results) unjudged() (list []Unproven) {
	for _, c := range r.all() {
		reason, skipped := r.skipped[c.Name]
		cand, ran := r.cand[c.Name]
		if c.Gate == check.GateTests || !skipped || !ran || !r.concerns(c) {
			continue
		}
		u := Unproven{Gate: c.Gate, Kind: NotJudged, Reason: c.Gate + ": " + c.Name + " did not judge the patch: " + reason, Part: r.judgedAny(c.Gate)}
		if node.IsAbsent(c.Name, cand) {
			u.Kind, u.Reason = NotInstalled, c.Gate+": "+cand.Blocked
		}
		list = append(list, u)
	}
	return list
}

// looksAt are the extensions of what a check looks at; for one that is not listed,
// everything.
var looksAt = map[string][]string{
	python.RuffName: pythonExtensions, python.MypyName: pythonExtensions, python.PyrightName: pythonExtensions, python.TyName: pythonExtensions, smoke.ImportsName: pythonExtensions,
	shell.Name: append(slices.Clone(shell.Extensions), ""), golang.VetName: goExtensions, golang.StaticcheckName: goExtensions, golang.TypesName: goExtensions,
	node.StylelintName: lang.Extensions("css", "scss", "sass", "less", "vue", "svelte", "html"),
	web.BiomeName:      scriptExtensions, node.ScriptName: scriptExtensions, node.CompilerName: scriptExtensions, node.ESLintName: scriptExtensions,
}

// The extensions of Python, of Go with its modules, and of JavaScript, TypeScript and what
// holds either.
var (
	pythonExtensions = lang.Extensions("python")
	goExtensions     = slices.Concat(lang.Extensions("go"), lang.Named("go").Also)
	scriptExtensions = lang.Extensions("javascript", "typescript", "vue", "svelte", "astro", "html", "css", "json")
)

// concerns reports whether the patch touches a file that a check looks at.
func (r *results) concerns(c check.Check) bool {
	list, known := looksAt[c.Name]
	return !known || slices.ContainsFunc(r.final.Changes, func(ch workspace.Change) bool {
		return slices.Contains(list, path.Ext(ch.Path)) || slices.Contains(list, path.Ext(check.OldPath(ch)))
	})
}
