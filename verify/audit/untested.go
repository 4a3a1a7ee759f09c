package audit

import (
	"cmp"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"agent/sandbox/workspace/lang"
	"agent/verify/check"
	"agent/verify/golang"
	"agent/verify/node"
	"agent/verify/python"
)

// maxTestReads bounds how many files are read to find out whether they contain tests.
const maxTestReads = 200

// A suite is the tests of one language in one project of the workspace.
type suite struct {
	language *lang.Tests
	root     string
	// files counts the files that are tests by name, first is the first of them, and unsure are those whose text must
	// decide.
	files  int
	first  string
	unsure []string
	// ran, skipped and failed count its judged tests by how they ended.
	ran, skipped, failed int
	// broken is the message of one of its modules that did not load.
	broken string
	// blocked says why its project could not be judged, "" if it could.
	blocked string
	// runner is a runner that was to run it, "" for none.
	runner string
}

// A tests records which tests of a workspace ran, by language and project.
type tests struct {
	e      *Evidence
	view   check.View
	suites map[string]*suite
	// roots has the project directories, by language.
	roots map[string]map[string]string
	// commands has the commands of JavaScript test scripts that nothing runs, by project directory.
	commands map[string][]node.NotRun
	// list has what was not judged; the opening words of each reason are added last.
	list []Unproven
	// unrun has the suites that no check runs.
	unrun []*suite
	// told has the keys of the suites that list already covers.
	told map[string]bool
	// counts says that tests ran and count; ran says that tests ran and do not count.
	counts, ran bool
}

// newTests returns a record in which nothing is counted yet.
func (e *Evidence) newTests(v check.View) *tests {
	t := &tests{
		e: e, view: v, suites: map[string]*suite{}, told: map[string]bool{}, commands: node.NotRunCommands(v),
		roots: map[string]map[string]string{"Python": check.Rooted(python.TestRoots(v)), "Go": check.Rooted(golang.Roots(v)), "JavaScript": {".": ""}},
	}
	for _, p := range node.Roots(v) {
		if p.Dir == "." || !offstage(p.Dir+"/") && !lang.InTests(p.Dir+"/") {
			t.roots["JavaScript"][p.Dir] = ""
		}
	}
	return t
}

// suiteOf returns the suite that a file belongs to.
func (t *tests) suiteOf(l *lang.Tests, p string) *suite {
	root := "."
	if roots := t.roots[l.Name]; roots != nil {
		root = check.Nearest(roots, path.Dir(p))
	}
	return t.suiteAt(l, root)
}

// suiteAt returns the suite of a project.
func (t *tests) suiteAt(l *lang.Tests, root string) *suite {
	key := l.Name + " " + root
	if t.suites[key] == nil {
		t.suites[key] = &suite{language: l, root: root}
	}
	return t.suites[key]
}

// untested lists what was not tested.
func (t *tests) untested() []Unproven {
	for _, c := range t.e.checksOf(check.GateTests) {
		if t.e.Skipped[c.Name] == SyntaxStops {
			return []Unproven{{Gate: check.GateTests, Kind: NotRun, Reason: "no test ran: a touched file has a syntax error"}}
		}
		t.count(c)
	}
	t.look()
	for _, key := range slices.Sorted(maps.Keys(t.suites)) {
		t.judge(key, t.suites[key])
	}
	t.notRun()
	for _, root := range slices.Sorted(maps.Keys(t.commands)) {
		t.script(root)
	}
	own := t.e.ownGate(nil, true)
	if len(t.list) == 0 && !t.counts && !own {
		t.list = []Unproven{t.none()}
	}
	for i := range t.list {
		u := &t.list[i]
		u.Gate, u.Part = check.GateTests, t.counts || own
		switch {
		case u.Part:
			u.Reason = "not all tests ran: " + u.Reason
		case t.ran:
			u.Reason = "no test judged the patch: " + u.Reason
		default:
			u.Reason = "no test ran: " + u.Reason
		}
	}
	return t.list
}

// runnerLanguage returns the language whose tests a runner runs.
func runnerLanguage(name string) *lang.Tests {
	switch name {
	case python.PytestName:
		return lang.Named("python").Tests
	case golang.TestsName:
		return lang.Named("go").Tests
	}
	return lang.Named("javascript").Tests
}

// count adds the results of one runner.
func (t *tests) count(c check.Check) {
	cand, attempted := t.e.Candidate[c.Name]
	if !attempted {
		return
	}
	l := runnerLanguage(c.Name)
	places := slices.Collect(maps.Keys(t.roots[l.Name]))
	if c.Places != nil {
		places = c.Places(t.view)
	}
	reason, skipped := t.e.Skipped[c.Name]
	g, judged := t.e.Judged[c.Name]
	if !skipped && judged && (g.Verdict == check.Infra || g.Verdict == check.Timeout || g.Verdict == check.OOM) {
		skipped, reason = true, g.Detail
	}
	if skipped {
		t.ran = t.ran || slices.ContainsFunc(cand.Tests, check.TestResult.Ran)
		u := Unproven{Kind: NotJudged, Reason: c.Name + ": " + reason}
		switch {
		case node.IsAbsent(c.Name, cand):
			u.Kind, u.Reason = NotInstalled, cand.Blocked
		case !cand.AnyBlocked() && cand.Verdict == "" && len(cand.Tests) == 0:
			u.Kind, u.Reason = NoneFound, c.Name+" found no tests"
		case c.Name == node.CommandsName && strings.Contains(reason, notInBox):
			u.Kind = NoRunner
		case cand.Verdict == check.Timeout:
			u.Reason += moreTime
		}
		if !t.e.ownGate(l, true) {
			t.list = append(t.list, u)
		}
		for _, root := range places {
			t.told[l.Name+" "+root] = true
		}
		return
	}
	if c.Name == node.CommandsName && !t.e.ownGate(l, true) {
		t.commandsBefore()
	}
	if said := t.e.Near[c.Name]; said != "" && !t.e.ownGate(l, true) {
		t.list = append(t.list, Unproven{Kind: NotRun, Reason: c.Name + ": " + said + moreTime})
		for _, root := range places {
			t.told[l.Name+" "+root] = true
		}
	}
	for _, root := range places {
		s := t.suiteAt(l, root)
		s.runner = cmp.Or(s.runner, c.Name)
		s.blocked = cmp.Or(s.blocked, t.e.Before[c.Name].Roots[root])
	}
	for _, result := range cand.Tests {
		file, _, _ := strings.Cut(result.ID, "::")
		switch s := t.suiteOf(l, file); {
		case s.blocked != "":
			t.ran = t.ran || result.Ran()
		case counts(g, result):
			s.ran++
			t.counts = true
		case result.Ran():
			s.failed, s.runner = s.failed+1, cmp.Or(s.runner, c.Name)
			t.ran = true
		case result.Skipped():
			s.skipped++
		default:
			s.broken = cmp.Or(s.broken, check.Shorten(file)+": "+check.Shorten(result.Message))
		}
	}
}

// moreTime is a hint for tests that do not end in time.
const moreTime = "; with more time (AGENT_TIMEOUT=20m, or timeout in your own configuration) they may"

// look finds the files that hold tests, by their names.
func (t *tests) look() {
	for _, p := range t.view.Paths() {
		l := testsOf(p)
		if l == nil {
			continue
		}
		possible, unsure := l.Candidate(p)
		if !possible || offstage(p) {
			continue
		}
		s := t.suiteOf(l, p)
		if unsure {
			s.unsure = append(s.unsure, p)
		} else {
			s.files, s.first = s.files+1, cmp.Or(s.first, p)
		}
	}
}

// read decides by their text which of the unsure files hold tests. A file that cannot be read holds none.
func (t *tests) read(s *suite) {
	for _, p := range s.unsure[:min(len(s.unsure), maxTestReads)] {
		if data, err := t.view.Read(p); err == nil && s.language.Text.Match(data) {
			s.files, s.first = s.files+1, cmp.Or(s.first, p)
		}
	}
}

// judge reports a suite of which no test ran.
func (t *tests) judge(key string, s *suite) {
	if s.ran > 0 || t.told[key] || t.e.ownGate(s.language, true) {
		return
	}
	if t.read(s); s.files == 0 && s.skipped == 0 && s.failed == 0 && s.broken == "" {
		return
	}
	t.told[key] = true
	where, found := "", s.found()
	if s.root != "." {
		where = " in " + s.root
	}
	unrun := t.commands[s.root]
	if s.language.Name != "JavaScript" {
		unrun = nil
	}
	var u Unproven
	switch {
	case s.blocked != "":
		u.Kind, u.Reason = NotJudged, s.runner+where+": even before the patch, "+s.blocked
	case s.broken != "":
		u.Kind, u.Reason = NotCollected, s.runner+" could not load "+s.broken
	case s.failed > 0:
		u.Kind, u.Reason = NotJudged, fmt.Sprintf("%s: each test that ran%s fails as before the patch, %d of them", s.runner, where, s.failed)
	case s.skipped > 0:
		u.Kind, u.Reason = AllSkipped, fmt.Sprintf("%s skipped all of its tests, %d%s", s.runner, s.skipped, where)
	case s.runner != "":
		u.Kind, u.Reason = NoneFound, found+" and "+s.runner+" ran none of them"
	case len(unrun) > 0:
		u.Kind, u.Reason = unrunKinds[node.Cannot(unrun)], found+" and "+node.WhyNotRun(unrun)
	default:
		t.unrun = append(t.unrun, s)
		return
	}
	t.list = append(t.list, u)
}

// found says how many files of a suite are tests, where they are, and which is the first.
func (s *suite) found() string {
	text := fmt.Sprintf("%d %s test files were found", s.files, s.language.Name)
	if s.files == 1 {
		text = fmt.Sprintf("1 %s test file was found", s.language.Name)
	}
	if s.root != "." {
		text += " in " + s.root
	}
	if s.first != "" {
		text += " (" + check.Shorten(s.first) + ")"
	}
	return text
}

// maxNamed is how many projects are named among those whose tests nothing runs.
const maxNamed = 5

// notRun reports the suites that no check runs, one entry per language: a workspace may have an example in each of
// twenty directories.
func (t *tests) notRun() {
	byLanguage := map[string][]*suite{}
	for _, s := range t.unrun {
		byLanguage[s.language.Name] = append(byLanguage[s.language.Name], s)
	}
	for _, name := range slices.Sorted(maps.Keys(byLanguage)) {
		list := byLanguage[name]
		found := list[0].found()
		if len(list) > 1 {
			files, roots := 0, []string{}
			for _, s := range list {
				files, roots = files+s.files, append(roots, s.root)
			}
			if more := len(roots) - maxNamed; more > 0 {
				roots = append(roots[:maxNamed], fmt.Sprintf("%d more", more))
			}
			found = fmt.Sprintf("%d %s test files were found in %d projects (%s)", files, name, len(list), strings.Join(roots, ", "))
		}
		t.list = append(t.list, Unproven{Kind: NoRunner, Reason: found + " and nothing here runs them; a [[gate]] in agent.toml can"})
	}
}

// unrunKinds maps node.Cannot to the kind of what node.WhyNotRun says.
var unrunKinds = map[bool]Kind{true: NoRunner, false: TestScript}

// script reports the commands of a test script that are not run: test commands always, all others only if nothing of
// the package, or of the packages inside it, has run.
func (t *tests) script(root string) {
	l := lang.Named("javascript").Tests
	list, cannot := t.commands[root], node.Cannot(t.commands[root])
	if t.e.ownGate(l, true) || t.told[l.Name+" "+root] && !cannot {
		return
	}
	for at := range t.roots[l.Name] {
		s := t.suites[l.Name+" "+at]
		if !cannot && check.Below(at, root) && (t.told[l.Name+" "+at] || s != nil && s.ran > 0) {
			return
		}
	}
	u := Unproven{Kind: unrunKinds[cannot], Reason: node.WhyNotRun(list)}
	if !slices.ContainsFunc(t.list, func(o Unproven) bool { return strings.HasSuffix(o.Reason, u.Reason) }) {
		t.list = append(t.list, u)
	}
}

// notInBox is the result of a shell that cannot find a program.
const notInBox = "failed: exit status 127"

// commandsBefore reports the commands of test scripts that fail as they did before the patch.
func (t *tests) commandsBefore() {
	kinds := map[bool]Kind{true: NoRunner, false: NotJudged}
	for _, why := range node.FailedBefore(t.e.Before[node.CommandsName], t.e.Candidate[node.CommandsName]) {
		t.list = append(t.list, Unproven{Kind: kinds[strings.Contains(why, notInBox)], Reason: "not judged: even before the patch, " + why})
	}
}

// drivers are the files that say how tests are run, each with the text that says so.
var drivers = []struct {
	base  string
	text  string
	tells string
}{
	{"Makefile", `(?m)^(?:test|tests|check)\s*:[^=]?`, "has a target for tests"},
	{"GNUmakefile", `(?m)^(?:test|tests|check)\s*:[^=]?`, "has a target for tests"},
	{"justfile", `(?m)^@?test\b[^=\n]*:`, "has a recipe for tests"},
	{"Taskfile.yml", `(?m)^\s+test:`, "has a task for tests"},
	{"Rakefile", `\b(?:TestTask|RSpec|task\s+:?test)\b`, "has a task for tests"},
	{"tox.ini", ``, "configures tox"},
	{"noxfile.py", ``, "configures nox"},
	{"pytest.ini", ``, "configures pytest"},
	{"pyproject.toml", `(?m)^\s*\[\s*tool\s*\.\s*pytest\b`, "configures pytest"},
	{"setup.cfg", `(?m)^\[tool:pytest\]`, "configures pytest"},
	{"phpunit.xml", ``, "configures phpunit"},
	{"CMakeLists.txt", `(?i)\benable_testing\b`, "enables tests"},
}

// none says why there was no test to run.
func (t *tests) none() Unproven {
	for _, d := range drivers {
		if t.view.Has(d.base) && re(d.text).MatchString(t.view.Text(d.base)) {
			return Unproven{Kind: TestScript, Reason: d.base + " " + d.tells + ", which is not run here, and no test file was found; a [[gate]] in agent.toml can run it"}
		}
	}
	return Unproven{Kind: NoTests, Reason: "no tests were found in the workspace"}
}

// ownGate reports whether a gate that the workspace defines has judged the candidate with a tool of a language and, if
// tests is true, is a gate for tests. What its command finally does cannot be determined; its author has stated the
// purpose.
func (e *Evidence) ownGate(l *lang.Tests, tests bool) bool {
	for name, command := range e.Own {
		_, judged := e.Judged[name]
		if judged && (!tests || testWords.MatchString(name+" "+strings.Join(command, " "))) && (l == nil || startsTool(command, l)) {
			return true
		}
	}
	return false
}

// startsTool reports whether a command starts a tool of a language, or one of the workspace's own scripts, which may
// start anything.
func startsTool(command []string, l *lang.Tests) bool {
	return slices.ContainsFunc(command, func(word string) bool {
		base := path.Base(word)
		script := word == command[0] && strings.Contains(word, "/") && !path.IsAbs(word)
		return script || slices.Contains(anyTools, base) || slices.Contains(l.Tools, base)
	})
}

// testWords matches the names or commands of gates that run tests.
var testWords = re(`(?i)test|spec|\bcheck\b|\bverify\b|\b(?:bats|ava|tap|tox|nox|mocha|jasmine|karma|playwright|cypress|busted|prove|behave|cucumber|robot|rake|testthat)\b`)
