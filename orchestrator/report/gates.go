package report

import (
	"fmt"
	"slices"
	"strings"

	"agent/sandbox/workspace/lazyregexp"
	"agent/verify/check"
)

// of returns the checks of a gate that came to a judgement, and the reasons why others that applied did not.
func (f *Facts) of(gate string, keep func(s check.Standing) bool) (judged []check.Standing, reasons []string) {
	for _, s := range f.Checks {
		if s.Gate.Name != gate || keep != nil && !keep(s) {
			continue
		}
		switch {
		case s.Skipped != "":
		case s.Gate.Verdict == check.Pass || s.Gate.Verdict == check.Fail || s.Gate.Verdict == check.Policy:
			judged = append(judged, s)
		default:
			reasons = append(reasons, s.Check+": "+orElse(s.Gate.Detail, string(s.Gate.Verdict)))
		}
	}
	return judged, reasons
}

// orElse returns text, or other if text is empty.
func orElse(text, other string) string {
	if strings.TrimSpace(text) == "" {
		return other
	}
	return text
}

// unmeasured returns a value that is unknown.
func unmeasured(what, why string) value { return value{unmeasured: what + ": " + why} }

// findings returns details for what checks found; next says what to do if a finding does not.
func findings(list []check.Standing, status Status, next func(check.Finding) string) (details []Detail) {
	for _, s := range list {
		for _, x := range s.Gate.Findings {
			message := x.Message
			if x.Rule != "" && x.Rule != "test-failed" && !strings.Contains(message, x.Rule) {
				message = x.Rule + ": " + message
			}
			details = append(details, Detail{Status: status, File: x.File, Line: x.Line, Message: message + " (" + s.Check + ")", Next: next(x)})
		}
	}
	return details
}

// tests returns the number of test files.
func (f *Facts) tests() (n int) {
	for _, e := range f.Files {
		if e.Test && !vendored(e.Path) {
			n++
		}
	}
	return n
}

// testsThere is 1 if there is a test file.
func testsThere(f *Facts) value {
	n := f.tests()
	if n == 0 {
		return lacks(Detail{Status: Fail, Message: "there are no tests", Next: "write a first test of what the project is for, and the command that runs it"})
	}
	return whole(some(n, "file") + " of tests")
}

// testsPass is the share of passing tests among those that ran. Failures do not count if packages could not be
// installed, and neither does a runner that did not finish.
func testsPass(f *Facts) value {
	const what = "whether the tests pass"
	if f.tests() == 0 {
		return value{}
	}
	if f.Checks == nil {
		return unmeasured(what, f.NoChecks)
	}
	judged, reasons := f.of(check.GateTests, nil)
	passed, failed, idle := 0, 0, 0
	for _, s := range judged {
		passed, failed, idle = passed+s.Passed, failed+s.Failed, idle+s.Idle
	}
	details := findings(judged, Fail, func(check.Finding) string {
		return "fix what the test reports, or the test itself; tests run without a network"
	})
	for i, d := range details {
		// Some runners report the place where they were started.
		if file, _, ok := strings.Cut(d.Message, "::"); ok && d.File != file && manifestOf(d.File) != nil && f.has(file) {
			details[i].File, details[i].Line = file, 0
		}
	}
	bad := max(failed, len(details))
	for _, s := range judged {
		for _, id := range s.Flaky {
			file, _, _ := strings.Cut(id, "::")
			details = append(details, Detail{Status: Note, File: file, Message: id + " failed, and passed when it ran again", Next: "find out what it depends on: order, time, or how busy the machine is"})
		}
	}
	words := fmt.Sprintf("%d passed, %d failed, %d skipped", passed, failed, idle)
	switch {
	case len(reasons) > 0:
		return value{unmeasured: what + ": " + strings.Join(reasons, "; "), details: details, words: words}
	case bad > 0 && len(f.Lacking) > 0:
		return value{unmeasured: what + ": " + some(bad, "test") + " failed, but not everything that they need could be installed: " + f.Lacking[0], words: words}
	case passed+bad == 0:
		return unmeasured(what, f.idleTests())
	}
	return value{score: float64(passed) / float64(passed+bad), details: details, words: words}
}

// idleTests says why no test ran.
func (f *Facts) idleTests() string {
	for _, s := range f.Checks {
		if s.Gate.Name == check.GateTests && s.Skipped == "" {
			return orElse(s.Gate.Detail, "none ran")
		}
	}
	return "no test runner in the boxes runs them"
}

// Resolved are the languages whose imports the ledger resolves.
var Resolved = []string{"python", "javascript", "typescript", "go"}

// configures matches files that tools read by themselves, and declarations without code.
var configures = lazyregexp.New(`(?i)(?:^|/)(?:setup|conf|conftest|noxfile|tasks|manage|gulpfile|gruntfile|dangerfile)\.\w+$|\.config\.[cm]?[jt]s$|\.d\.[cm]?ts$|-d\.ts$|(?:^|/)\.`)

// testsReach is the share of the files with definitions that some test reaches through imports, near or far.
func testsReach(f *Facts) value {
	if f.tests() == 0 {
		return value{}
	}
	if f.Ledger == nil {
		return unmeasured("what the tests reach", f.NoLedger)
	}
	test := map[string]bool{}
	for _, e := range f.Files {
		test[e.Path] = e.Test
	}
	all, bad := 0, []Detail{}
	for _, e := range f.code() {
		known, ok := f.Ledger.File(e.Path)
		if !ok || len(known.Definitions) == 0 && known.Problem == "" || !slices.Contains(Resolved, e.Language) || configures.MatchString(e.Path) {
			continue
		}
		all++
		if !slices.ContainsFunc(f.Ledger.Dependants(e.Path), func(p string) bool { return test[p] }) {
			bad = append(bad, Detail{Status: Note, File: e.Path, Message: "no test reaches it by imports", Next: "test what it defines, or what uses it"})
		}
	}
	return share(len(bad), all, bad)
}

// compilers are the checks of the types gate without which nothing can be built.
var compilers = []string{"go build", "tsc"}

func isCompiler(s check.Standing) bool { return slices.Contains(compilers, s.Check) }

// buildParses falls with each file of Python, Go or shell code that does not parse. Files in tests, examples and
// templates are broken on purpose.
func buildParses(f *Facts) value {
	if f.Ledger == nil {
		return unmeasured("whether every file parses", f.NoLedger)
	}
	all, bad := 0, []Detail{}
	for _, e := range f.code() {
		known, ok := f.Ledger.File(e.Path)
		if !ok || known.Language != "python" && known.Language != "go" && known.Language != "shell" {
			continue
		}
		all++
		// Only an error at a line is a syntax error; the rest is about the parser.
		var n int
		if _, err := fmt.Sscanf(known.Problem, "line %d:", &n); err == nil {
			bad = append(bad, Detail{Status: Fail, File: e.Path, Line: n, Message: "it does not parse: " + known.Problem, Next: "correct the syntax"})
		}
	}
	return value{idle: all == 0, score: falling(len(bad)), details: bad}
}

// buildCompiles is 1 if the compilers of the languages that have one find nothing, and falls with each finding.
func buildCompiles(f *Facts) value {
	return f.allFine("whether it compiles", check.GateTypes, isCompiler, "correct what the compiler reports")
}

// exitRule is the rule of a finding about a program that ended with an exit status and without a crash report.
const exitRule = "exit"

// buildStarts is 1 if the program starts, or if what others may import can be imported. A program that ends with a
// message and an exit status may only lack arguments, a terminal or a network: then it is unknown whether it starts.
func buildStarts(f *Facts) value {
	g := *f
	g.Checks = slices.Clone(f.Checks)
	for i, s := range g.Checks {
		if s.Gate.Name == check.GateSmoke && len(s.Gate.Findings) == 1 && s.Gate.Findings[0].Rule == exitRule {
			said := strings.TrimPrefix(s.Gate.Findings[0].Message, "the program did not run as before: ")
			g.Checks[i].Gate.Verdict, g.Checks[i].Gate.Findings = check.Infra, nil
			g.Checks[i].Gate.Detail = said + ": it may need arguments, a terminal or a network; [smoke] command in agent.toml says how it is started"
		}
	}
	return g.allFine("whether it starts", check.GateSmoke, nil, "start it by hand and correct what it reports; [smoke] command in agent.toml says how it is started")
}

// buildOwn is 1 if the workspace's own gates pass.
func buildOwn(f *Facts) value {
	builtIn := []string{check.GateFormat, check.GateSyntax, check.GateLint, check.GateTypes, check.GateSmoke, check.GateTests}
	if f.Checks == nil {
		return value{idle: true}
	}
	var v value
	v.idle, v.score = true, 1
	for _, s := range f.Checks {
		if !slices.Contains(builtIn, s.Gate.Name) {
			one := f.allFine("whether "+s.Gate.Name+" passes", s.Gate.Name, nil, "run the command of [[gate]] "+s.Gate.Name+" and correct what it reports")
			v.details, v.idle, v.unmeasured = append(v.details, one.details...), v.idle && one.idle, orElse(v.unmeasured, one.unmeasured)
			v.score = min(v.score, one.score)
		}
	}
	return v
}

// allFine is 1 if the checks of a gate find nothing, and falls with each finding. Failures do not count if packages
// could not be installed.
func (f *Facts) allFine(what, gate string, keep func(check.Standing) bool, next string) value {
	if f.Checks == nil {
		return unmeasured(what, f.NoChecks)
	}
	judged, reasons := f.of(gate, keep)
	details := findings(judged, Fail, func(check.Finding) string { return next })
	switch {
	case len(details) > 0 && len(f.Lacking) > 0:
		return unmeasured(what, "not everything that it needs could be installed: "+f.Lacking[0])
	case len(reasons) > 0:
		return value{unmeasured: what + ": " + strings.Join(reasons, "; "), details: details}
	case len(judged) == 0:
		return value{idle: true}
	}
	words := ""
	if len(details) == 0 && judged[0].Gate.Detail != "" && gate == check.GateSmoke {
		words = judged[0].Gate.Detail
	}
	return value{score: falling(len(details)), details: details, words: words}
}
