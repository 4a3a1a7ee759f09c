package report

import (
	"fmt"
	"slices"
	"strings"

	"agent/sandbox/workspace/lazyregexp"
	"agent/verify/check"
)

// missing matches what checkers say about a package that is not installed, or about its names: that concerns the
// machine, not the code.
var missing = lazyregexp.New(`(?i)import-not-found|undeclared-name|reportMissing|unresolved-import|no-unresolved|cannot find (?:module|implementation|name)|could not be resolved|TS2307`)

// denseAt is the number of findings in 1,000 lines of code at which a value is 0.5.
const denseAt = 10.0

// density is a value that falls with the number of findings in 1,000 lines: 1 with none, 0.5 with 10, 0.33 with 20. The
// findings are only notes; a value below 0.5 adds a warning.
func (f *Facts) density(what, gate string, keep func(check.Standing) bool) value {
	if f.Checks == nil {
		return unmeasured("what "+what+" find", f.NoChecks)
	}
	judged, reasons := f.of(gate, keep)
	if len(reasons) > 0 {
		return unmeasured("what "+what+" find", strings.Join(reasons, "; "))
	}
	if len(judged) == 0 {
		return value{idle: true}
	}
	details := slices.DeleteFunc(findings(judged, Note, nextOf), func(d Detail) bool { return vendored(d.File) || missing.MatchString(d.Message) })
	if gate == check.GateTypes && len(details) > 0 && len(f.Lacking) > 0 {
		// The types of missing packages are unknown to their users.
		return unmeasured("what "+what+" find", "not everything that it needs could be installed: "+f.Lacking[0])
	}
	n := 0
	for _, e := range f.Files {
		if e.isCode() {
			n += e.Lines
		}
	}
	per := float64(len(details)) * 1000 / float64(max(n, 1))
	v := value{score: 1 / (1 + per/denseAt), details: details, words: fmt.Sprintf("%s of %s", some(len(details), "finding"), what)}
	if len(details) > 0 && v.score < 0.5 {
		v.details = append(v.details, Detail{
			Status: Warn, Message: fmt.Sprintf("%s find %s in %s", what, some(len(details), "thing"), some(n, "line")),
			Next: "fix the most frequent rule first, or switch off what you do not want reported in the tool's configuration: " + commonest(judged),
		})
	}
	return v
}

// nextOf says what to do about a finding of a static check.
func nextOf(x check.Finding) string {
	switch {
	case x.Fixable:
		return "the tool can repair it by itself"
	case x.Help != "":
		return "see " + x.Help
	}
	return "correct it, or mark it as intended in the tool's configuration"
}

// commonest names the rule with the most findings, and their number; of equal ones, the first by name.
func commonest(list []check.Standing) string {
	count := map[string]int{}
	best := ""
	for _, s := range list {
		for _, x := range s.Gate.Findings {
			count[x.Rule]++
			if n := count[x.Rule] - count[best]; best == "" || n > 0 || n == 0 && x.Rule < best {
				best = x.Rule
			}
		}
	}
	return fmt.Sprintf("%s, %d times", best, count[best])
}

// qualityLint falls with the findings of linters.
func qualityLint(f *Facts) value { return f.density("linters", check.GateLint, nil) }

// qualityTypes falls with the findings of type checkers other than compilers.
func qualityTypes(f *Facts) value {
	return f.density("type checkers", check.GateTypes, func(s check.Standing) bool { return !isCompiler(s) })
}

// longFile is the number of lines above which a file is hard to read.
const longFile = 800

// qualitySize is the share of code lines that are in files of at most 800 lines.
func qualitySize(f *Facts) value {
	all, long, details := 0, 0, []Detail{}
	for _, e := range f.code() {
		all += e.Lines
		if e.Lines > longFile {
			long += e.Lines
			details = append(details, Detail{
				Status: Note, File: e.Path, Message: fmt.Sprintf("it has %d lines, more than %d", e.Lines, longFile), Next: "move what belongs together into separate files",
			})
		}
	}
	return share(long, all, details)
}
