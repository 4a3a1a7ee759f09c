package audit

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"agent/sandbox/workspace"
	"agent/sandbox/workspace/lang"
	"agent/sandbox/workspace/lazyregexp"
	"agent/verify/check"
	"agent/verify/compare"
	"agent/verify/policy"
	"agent/verify/smoke"
)

// Hold holds a candidate that passed although nothing that ran has executed the change: a test that fails on it, or a
// program that crashes on it, would not have been seen. list is what was not judged.
//
// Code that only tools examined counts as not executed, and so does code that an import alone runs. A change to data,
// to text for people or to comments has nothing to execute. If it was measured which lines ran, one of the changed
// lines must be among them; otherwise any test of the language is enough.
func (e *Evidence) Hold(list []Unproven) []policy.Hold {
	trace := e.traced()
	var open []workspace.Change
	missed, imports := 0, 0
	for _, c := range toExecute(e.Final.Changes) {
		l := programOf(c)
		code, measured := trace.Code[c.Path]
		switch {
		case e.ownGate(l.Tests, true) || len(trace.Ran[c.Path]) > 0 && !onlyImports(l, c, code, trace.Ran[c.Path]) || e.starts(c.Path):
			return nil
		case measured && len(code) == 0:
			continue
		case measured:
			missed, imports = missed+len(code), imports+len(trace.Ran[c.Path])
		case e.executes(l):
			return nil
		}
		open = append(open, c)
	}
	if len(open) == 0 {
		return nil
	}
	reason := "Nothing that ran executed the change"
	if i := slices.IndexFunc(list, func(u Unproven) bool {
		return u.Gate == check.GateTests && u.Kind != NotExecuted && u.Kind != NotMeasured
	}); i >= 0 {
		reason += ": " + list[i].Reason
	} else if imports > 0 {
		reason = fmt.Sprintf("The tests ran, but of %d changed lines they executed only %d that import something", missed, imports)
	} else if missed > 0 {
		reason = fmt.Sprintf("The tests ran, but executed no changed line: none of %d", missed)
	} else {
		reason += ": the tests that ran are in another language"
	}
	return []policy.Hold{{Path: open[0].Path, Kind: policy.Unproven, Reason: strings.TrimSuffix(reason, ".") + ".", Block: true}}
}

// importLine matches, by language, the beginning of a statement that brings names of other modules into this one.
var importLine = map[lang.Family]*lazyregexp.Regexp{
	lang.Python: lazyregexp.New(`^\s*(?:import|from)\s`),
	lang.Script: lazyregexp.New(`^\s*(?:import\b[^(]|export\s*(?:\*|\{).*(?:\bfrom\b|[{,]\s*$)|(?:const|let|var)\s+(?:\w+|\{[^}]*\})\s*=\s*require\()`),
}

// onlyImports reports whether only imports, which loading a file executes, ran among its changed lines, although others should have run. l
// is the language of the file after the patch; code and ran are the numbers of its changed lines with code and of those that ran.
func onlyImports(l *lang.Language, c workspace.Change, code, ran []int) bool {
	begin := importLine[l.Family]
	if begin == nil {
		return false
	}
	imports, depth := map[int]bool{}, 0
	for i, line := range l.Lex(string(c.After)) {
		if depth > 0 || begin.MatchString(line.Code) {
			imports[i+1] = true
			depth = max(0, depth+strings.Count(line.Code, "(")+strings.Count(line.Code, "{")-strings.Count(line.Code, ")")-strings.Count(line.Code, "}"))
		}
	}
	no := func(n int) bool { return !imports[n] }
	return slices.ContainsFunc(code, no) && !slices.ContainsFunc(ran, no)
}

// toExecute returns the changes of which one has to be executed: those of the program, or those of tests if there are
// no others.
func toExecute(all []workspace.Change) (program []workspace.Change) {
	var tests []workspace.Change
	for _, c := range all {
		switch l := programOf(c); {
		case l == nil:
		case forTests(l, c.Path):
			tests = append(tests, c)
		default:
			program = append(program, c)
		}
	}
	if len(program) == 0 {
		return tests
	}
	return program
}

// forTests reports whether a file is a test or part of what tests are made of.
func forTests(l *lang.Language, p string) bool { return l.MayTest(p) || lang.InTests(p) }

// Asked returns the lines whose execution the tests and the program are to report: the program lines that a changeset
// writes.
func Asked(cs workspace.Changeset) check.Lines {
	var lines check.Lines
	for _, c := range cs.Changes {
		if l := programOf(c); l == nil || forTests(l, c.Path) {
			continue
		}
		if list := compare.Lines(c); len(list) > 0 {
			if lines == nil {
				lines = check.Lines{}
			}
			lines[c.Path] = list
		}
	}
	return lines
}

// Everywhere returns the lines of code that a changeset writes, including those in tests. ok is false if it changes more than
// that and prose: a test may depend on deleted text, or on text that is not code, without executing any of it.
func Everywhere(cs workspace.Changeset) (lines check.Lines, ok bool) {
	lines = check.Lines{}
	for _, c := range cs.Changes {
		list := compare.Lines(c)
		switch {
		case isProse(c.Path):
		case c.Op != workspace.Modify && c.Op != workspace.Create || programOf(c) == nil || len(list) == 0:
			return nil, false
		default:
			lines[c.Path] = list
		}
	}
	return lines, len(lines) > 0
}

// traced combines what every judged run reported about the lines that it was asked about. A line is worth no more than
// the run that executed it: lines do not count if all tests fail as before the patch, or in a project that could not be
// judged before the patch.
func (e *Evidence) traced() check.Trace {
	var sum *check.Trace
	for _, c := range e.Checks {
		trace := e.Candidate[c.Name].Traced
		if _, judged := e.Judged[c.Name]; !judged || trace == nil {
			continue
		}
		roots, ran := e.Before[c.Name].Roots, trace.Ran
		switch {
		case c.Gate == check.GateTests && !e.testedBy(c):
			ran = nil
		case len(roots) > 0:
			ran = ran.Only(func(p string) bool { return roots[check.Nearest(roots, path.Dir(p))] == "" })
		}
		sum = sum.With(&check.Trace{Code: trace.Code, Ran: ran})
	}
	if sum == nil {
		return check.Trace{}
	}
	return *sum
}

// An Execution says how many of the program lines that a patch changes in a file were executed, by tests or by the
// smoke test. There is none for a file that was not measured.
type Execution struct {
	Path string `json:"path"`
	// Lines counts the changed lines on which something can be executed, and Executed those that were.
	Lines    int `json:"lines"`
	Executed int `json:"executed"`
}

// Executions lists what was measured, by path.
func (e *Evidence) Executions() []Execution {
	list := []Execution{}
	trace := e.traced()
	for _, p := range slices.Sorted(maps.Keys(trace.Code)) {
		if n := len(trace.Code[p]); n > 0 && e.changeOf(p) != nil {
			list = append(list, Execution{Path: p, Lines: n, Executed: len(trace.Ran[p])})
		}
	}
	return list
}

// changeOf returns the change of the file at p, or nil.
func (e *Evidence) changeOf(p string) *workspace.Change {
	i := slices.IndexFunc(e.Final.Changes, func(c workspace.Change) bool { return c.Path == p })
	if i < 0 {
		return nil
	}
	return &e.Final.Changes[i]
}

// unexecutedFiles reports the changed files in which no line was executed except imports.
func (e *Evidence) unexecutedFiles() []Unproven {
	var files []string
	trace := e.traced()
	for _, x := range e.Executions() {
		c := e.changeOf(x.Path)
		if l := programOf(*c); x.Executed == 0 || l != nil && onlyImports(l, *c, trace.Code[x.Path], trace.Ran[x.Path]) {
			files = append(files, x.Path)
		}
	}
	if len(files) == 0 {
		return nil
	}
	return []Unproven{{
		Gate: check.GateTests, Kind: NotExecuted, Part: true,
		Reason: fmt.Sprintf("nothing that ran executes what the patch changes in %s", some(files)),
	}}
}

// unmeasuredFiles reports the changed program files of which nothing says which lines ran, although tests of their
// language ran and were asked. Hold then relies on these tests, and this entry says so.
func (e *Evidence) unmeasuredFiles() []Unproven {
	var files []string
	trace, asked, view := e.traced(), Asked(e.Final), check.NewView(e.Base, e.Final)
	for _, p := range slices.Sorted(maps.Keys(asked)) {
		_, measured := trace.Code[p]
		if l := programOf(*e.changeOf(p)); !measured && l != nil && e.executes(l) && !e.ownGate(l.Tests, true) && !e.starts(p) && !check.IsTestData(view, p) {
			files = append(files, p)
		}
	}
	if len(files) == 0 {
		return nil
	}
	return []Unproven{{
		Gate: check.GateTests, Kind: NotMeasured, Part: true,
		Reason: fmt.Sprintf("the tests passed; whether they execute what the patch changes in %s could not be measured", some(files)),
	}}
}

// mainPackage matches the package clause of a Go program.
var mainPackage = lazyregexp.New(`(?m)^package main\b`)

// starts reports whether the smoke test started the program in a file and was judged. For a Go program, which nothing
// measures there, all files of its package count. If it was measured what the program executes in the file, that counts
// and not the start.
func (e *Evidence) starts(p string) bool {
	_, judged := e.Judged[smoke.Program.Name]
	end, traced := e.Candidate[smoke.Program.Name].Ending, e.Candidate[smoke.Program.Name].Traced
	if !judged || end == nil {
		return false
	}
	if traced != nil {
		if _, measured := traced.Code[p]; measured {
			return false
		}
	}
	if path.Ext(p) == ".go" && len(end.Command) > 0 && end.Command[0] == "go" {
		return mainPackage.MatchString(check.NewView(e.Base, e.Final).Text(p))
	}
	return slices.Contains(end.Command, p)
}

// declaration matches the names of files that hold only types, which no interpreter loads.
var declaration = lazyregexp.New(`\.(?:pyi|d\.[cm]?ts)$`)

// programOf returns the language of the code that a change alters, or nil if it alters none.
func programOf(c workspace.Change) *lang.Language {
	name := c.Path
	l := lang.Detect(name, string(c.After))
	if c.Op == workspace.Delete {
		l = lang.Detect(name, string(c.Before))
	}
	if l == nil || l.Tests == nil || l.Values != lang.Code || declaration.MatchString(name) {
		return nil
	}
	if c.Op == workspace.Modify && code(l, c.Before) == code(l, c.After) {
		return nil
	}
	return l
}

// code returns a text without the lines that hold only comments.
func code(l *lang.Language, text []byte) string {
	var kept strings.Builder
	for _, line := range l.Lex(string(text)) {
		if line.Inside || strings.TrimSpace(line.Code) != "" {
			fmt.Fprintln(&kept, strings.TrimRight(line.Raw, " \t\r"))
		}
	}
	return kept.String()
}

// executes reports whether programs in a language ran and were judged: a test that was not skipped, one of the
// workspace's own gates that runs tests, or the program that the smoke test starts.
func (e *Evidence) executes(l *lang.Language) bool {
	if e.ownGate(l.Tests, true) {
		return true
	}
	for _, c := range e.checksOf(check.GateTests) {
		if _, judged := e.Judged[c.Name]; judged && runnerLanguage(c.Name) == l.Tests && e.testedBy(c) {
			return true
		}
	}
	_, judged := e.Judged[smoke.Program.Name]
	end := e.Candidate[smoke.Program.Name].Ending
	return judged && end != nil && startsTool(end.Command, l.Tests)
}
