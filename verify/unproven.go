package verify

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"agent/sandbox/workspace"
	"agent/sandbox/workspace/lang"
)

// An Unproven is something that the gates of a candidate did not judge. It changes no
// verdict: a candidate in which no test ran may pass, and this is what says so.
type Unproven struct {
	// The gate that would have judged it; for a language that no gate reads, syntax.
	Gate string `json:"gate"`
	// Why, for programs.
	Kind UnprovenKind `json:"kind"`
	// Why, a sentence for people. Where no test ran at all it begins with that.
	Reason string `json:"reason"`
	// The gate judged something else. Without it the gate judged nothing.
	Part bool `json:"part,omitempty"`
}

// An UnprovenKind says why something was not judged.
type UnprovenKind string

// The kinds.
const (
	NoTests      UnprovenKind = "no-tests"      // the workspace has none
	NoRunner     UnprovenKind = "no-runner"     // there are test files, and nothing here runs them
	TestScript   UnprovenKind = "script"        // a script would run the tests, in a way that is not understood here
	NotInstalled UnprovenKind = "not-installed" // the tool is named and not there
	NotCollected UnprovenKind = "not-collected" // the test files do not load
	NoneFound    UnprovenKind = "none-found"    // the runner ran, and found none in the test files
	AllSkipped   UnprovenKind = "all-skipped"   // every test was skipped
	NotJudged    UnprovenKind = "not-judged"    // the tool ran, and its result could not be compared
	NotRun       UnprovenKind = "not-run"       // another gate ended the judgement before
	NoGate       UnprovenKind = "no-gate"       // no gate reads the language of a changed file
	Unknown      UnprovenKind = "unknown"       // it was not recorded
)

// NothingRan reports whether a gate judged nothing, whatever its verdict.
func NothingRan(list []Unproven, gate string) bool {
	return slices.ContainsFunc(list, func(u Unproven) bool { return u.Gate == gate && !u.Part })
}

// syntaxStops is why programs are not run.
const syntaxStops = "not run: a touched file has a syntax error"

// unproven lists what of the candidate was not judged; empty, not nil, when all was. It
// is called with mu held, when everything is judged.
func (r *results) unproven() []Unproven {
	list := []Unproven{}
	// Whoever corrects a README wants no word of tests: there is nothing that they
	// could say of it.
	if !slices.ContainsFunc(r.final.Changes, func(c workspace.Change) bool { return !isProse(c.Path) || !isProse(oldPath(c)) }) {
		return list
	}
	t := r.newTestAudit(newView(r.request.Base, r.final))
	list = append(list, t.untested()...)
	list = append(list, r.unread()...)
	return append(list, r.unjudged()...)
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
			Gate: gateSyntax, Kind: NoGate, Reason: fmt.Sprintf("no gate reads %s: %s; a [[gate]] in agent.toml can", l.Name, some(files[l])), Part: r.judgedAny(gateSyntax),
		})
		delete(files, l) // several rows may share the name
	}
	return list
}

// some names the first of some files, and how many there are besides.
func some(files []string) string {
	if len(files) == 1 {
		return shorten(files[0])
	}
	return fmt.Sprintf("%s and %d more", shorten(files[0]), len(files)-1)
}

// judgedAny reports whether a check of a gate came to a judgement.
func (r *results) judgedAny(gate string) bool {
	return slices.ContainsFunc(r.checksOf(gate), func(c check) bool {
		_, judged := r.judged[c.name]
		_, skipped := r.skipped[c.name]
		return judged && !skipped
	})
}

// unjudged tells of checks other than tests that ran and could not judge, where the
// patch touches what they look at.
func (r *results) unjudged() (list []Unproven) {
	for _, c := range r.all() {
		reason, skipped := r.skipped[c.name]
		cand, ran := r.cand[c.name]
		if c.gate == gateTests || !skipped || !ran || !r.concerns(c) {
			continue
		}
		u := Unproven{Gate: c.gate, Kind: NotJudged, Reason: c.gate + ": " + c.name + " did not judge the patch: " + reason, Part: r.judgedAny(c.gate)}
		if isAbsent(c.name, cand) {
			u.Kind, u.Reason = NotInstalled, c.gate+": "+cand.Blocked
		}
		list = append(list, u)
	}
	return list
}

// looksAt are the extensions of what a check looks at; for one that is not listed,
// everything.
var looksAt = map[string][]string{
	checkRuff: pythonExtensions, checkMypy: pythonExtensions, checkPyright: pythonExtensions, checkTy: pythonExtensions, checkImports: pythonExtensions,
	checkShell: append(lang.Extensions("shell"), ""), checkVet: goExtensions, checkStatic: goExtensions, checkGoTypes: goExtensions,
	checkStylelint: lang.Extensions("css", "scss", "sass", "less", "vue", "svelte", "html"),
	checkBiome:     scriptExtensions, checkScript: scriptExtensions, checkCompiler: scriptExtensions, checkESLint: scriptExtensions,
}

// The extensions of Python, of Go with its modules, and of JavaScript, TypeScript and what
// holds either.
var (
	pythonExtensions = lang.Extensions("python")
	goExtensions     = slices.Concat(lang.Extensions("go"), lang.Named("go").Also)
	scriptExtensions = lang.Extensions("javascript", "typescript", "vue", "svelte", "astro", "html", "css", "json")
)

// concerns reports whether the patch touches a file that a check looks at.
func (r *results) concerns(c check) bool {
	list, known := looksAt[c.name]
	return !known || slices.ContainsFunc(r.final.Changes, func(ch workspace.Change) bool {
		return slices.Contains(list, path.Ext(ch.Path)) || slices.Contains(list, path.Ext(oldPath(ch)))
	})
}

// ownGate reports whether a gate that the workspace defines has judged the candidate
// with a tool of a language, and is for tests where that is asked. What the command
// does in the end nobody here can tell; whoever defined the gate has said so.
func (r *results) ownGate(l *lang.Tests, tests bool) bool {
	return slices.ContainsFunc(r.request.Config.Gates, func(g CustomGate) bool {
		if _, judged := r.judged[g.Name]; !judged || tests && !g.forTests() {
			return false
		}
		return l == nil || slices.ContainsFunc(g.Command, func(word string) bool {
			base := path.Base(word)
			script := word == g.Command[0] && strings.Contains(word, "/") && !path.IsAbs(word) // of the workspace's own
			return script || slices.Contains(anyTools, base) || slices.Contains(l.Tools, base)
		})
	})
}

// testWords are in the names or commands of gates that run tests.
var testWords = re(`(?i)test|spec|\bcheck\b|\bverify\b|\b(?:bats|ava|tap|tox|nox|mocha|jasmine|karma|playwright|cypress|busted|prove|behave|cucumber|robot|rake|testthat)\b`)

// forTests reports whether a gate says of itself that it runs tests.
func (g CustomGate) forTests() bool {
	return testWords.MatchString(g.Name + " " + strings.Join(g.Command, " "))
}
