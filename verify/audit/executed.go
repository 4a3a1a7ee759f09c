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

// Hold holds a candidate that passed and of which nothing that ran has executed the
// change: a test that fails on it, or a program that crashes on it, would not have been
// seen. list is what was not judged.
//
// Code that only tools looked at counts as not executed, and so does what an import alone
// runs. A change of data, of text for people and of comments has nothing to execute. Where it
// was measured which lines ran, one of those that the patch changed must be among them;
// elsewhere any test of the language will do.
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
	reason := "Nothing that ran has executed the change"
	if i := slices.IndexFunc(list, func(u Unproven) bool {
		return u.Gate == check.GateTests && u.Kind != NotExecuted && u.Kind != NotMeasured
	}); i >= 0 {
		reason += ": " + list[i].Reason
	} else if imports > 0 {
		reason = fmt.Sprintf("The tests ran, and executed no changed line but %d that import something, of %d", imports, missed)
	} else if missed > 0 {
		reason = fmt.Sprintf("The tests ran, and executed no changed line: none of %d", missed)
	} else {
		reason += ": the tests that ran are of another language"
	}
	return []policy.Hold{{Path: open[0].Path, Kind: policy.Unproven, Reason: strings.TrimSuffix(reason, ".") + ".", Block: true}}
}

// importLine matches where a statement begins that gives names of other modules to this one, by language.
var importLine = map[lang.Family]*lazyregexp.Regexp{
	lang.Python: lazyregexp.New(`^\s*(?:import|from)\s`),
	lang.Script: lazyregexp.New(`^\s*(?:import\b[^(]|export\s*(?:\*|\{).*(?:\bfrom\b|[{,]\s*$)|(?:const|let|var)\s+(?:\w+|\{[^}]*\})\s*=\s*require\()`),
}

// onlyImports reports whether of the changed lines of a file none ran but imports, which loading it executes, and others
// would have had to. It takes the file after the patch by l, and the numbers of its changed lines with code and of those that ran.
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

// toExecute are the changes of which one has to be executed: those of the program, and those of
// tests where there are no others.
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

// forTests reports whether a file is a test, or what tests are made of.
func forTests(l *lang.Language, p string) bool { return l.MayTest(p) || lang.InTests(p) }

// Asked are the lines of which tests and the program are to tell whether they executed
// them: those of the program that a changeset writes.
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

// Everywhere are the lines of code that a changeset writes, in tests too. ok is false where it changes more than that and
// prose: a test may hang on what is not there any more, or is no code, without executing any of it.
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

// traced is what all that ran and was judged says of the lines that it was asked about. A line is worth
// no more than the run that executed it: of tests that all fail as before the patch, and of
// a project that could not be judged before it, none counts.
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

// An Execution says how many of the lines of the program that a patch changes in a file were
// executed, by tests or by the smoke test. A file of which it was not measured has none.
type Execution struct {
	Path string `json:"path"`
	// Changed lines on which something can be executed, and how many of them were.
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

// changeOf is the change of the file at p, nil for none.
func (e *Evidence) changeOf(p string) *workspace.Change {
	i := slices.IndexFunc(e.Final.Changes, func(c workspace.Change) bool { return c.Path == p })
	if i < 0 {
		return nil
	}
	return &e.Final.Changes[i]
}

// unexecutedFiles tells of changed files of which no line was executed, but imports.
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

// unmeasuredFiles tells of changed files of the program of which nothing says which lines ran, though tests of their language
// did, and had been asked: then Hold takes these tests' word, and this is what says so.
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

// mainPackage matches the clause of a program's package in Go.
var mainPackage = lazyregexp.New(`(?m)^package main\b`)

// starts reports whether the smoke test started the program in a file, and was judged. Of a
// program of Go, which nothing measures there, all files of its package count. Where it was measured what the
// program executes, that counts, and not that it was started.
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

// declaration matches the names of files that hold types alone, which no interpreter loads.
var declaration = lazyregexp.New(`\.(?:pyi|d\.[cm]?ts)$`)

// programOf is the language of the code that a change makes different, nil for none.
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
