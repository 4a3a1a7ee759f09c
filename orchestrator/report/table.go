package report

import "agent/verify/check"

// ownGates stands for the gates that a workspace defines.
const ownGates = check.GateOwn

// table lists the analyzers in the order of a report.
var table = []Analyzer{
	{Name: "readme", About: "what a visitor learns: what the project is, how it is used", parts: []part{
		{weight: 4, value: readmeThere}, {weight: 2, value: readmeSays}, {weight: 2, value: readmeUse}, {weight: 2, value: readmeLinks},
	}},
	{Name: "ci", About: "build servers: configured, sound, run the tests, on pull requests", parts: []part{
		{weight: 5, value: ciThere}, {weight: 2, value: ciSound}, {weight: 2, value: ciTests}, {weight: 1, value: ciPulls}, {weight: 1, value: ciAlive},
	}},
	{Name: "tests", About: "there are tests, they pass, and they reach the code", none: noTests, parts: []part{
		{weight: 3, value: testsThere}, {weight: 5, gates: []string{check.GateTests}, value: testsPass}, {weight: 2, ledger: true, value: testsReach},
	}},
	{Name: "build", About: "it parses, compiles, starts or can be imported, and passes its own gates", none: noCode, parts: []part{
		{weight: 3, ledger: true, value: buildParses},
		{weight: 4, gates: []string{check.GateTypes}, value: buildCompiles},
		{weight: 3, gates: []string{check.GateSmoke}, value: buildStarts},
		{weight: 2, gates: []string{ownGates}, value: buildOwn},
	}},
	{Name: "security", About: "credentials, workflows that run strangers' code, a way to report", parts: []part{
		{weight: 5, value: securitySecrets}, {weight: 2, value: securityFiles}, {weight: 2, value: securityWorkflows}, {weight: 1, value: securityPolicy},
	}},
	{Name: "quality", About: "what linters and type checkers find, and how long files are", none: noCode, parts: []part{
		{weight: 5, gates: []string{check.GateLint}, value: qualityLint}, {weight: 3, gates: []string{check.GateTypes}, value: qualityTypes}, {weight: 2, value: qualitySize},
	}},
	{Name: "dependencies", About: "manifests can be read, versions are bounded and locked, lock files agree", none: noManifests, parts: []part{
		{weight: 3, value: depsRead}, {weight: 3, value: depsLocked}, {weight: 2, value: depsBounded}, {weight: 2, value: depsAgree},
	}},
	{Name: "documentation", About: "a guide, files that say what they are for, links that lead somewhere", none: noDocs, parts: []part{
		{weight: 4, value: docsGuide}, {weight: 2, ledger: true, value: docsDescribed}, {weight: 2, value: docsLinks}, {weight: 1, value: docsChanges}, {weight: 1, value: docsContributing},
	}},
	{Name: "licence", About: "a licence exists, is known, is filled in, and manifests agree with it", parts: []part{
		{weight: 6, value: licenceThere}, {weight: 2, value: licenceKnown}, {weight: 2, value: licenceSaid},
	}},
	{Name: "structure", About: "what should not be in a repository: conflicts, built files, names that not every system allows", parts: []part{
		{weight: 3, value: structureConflicts}, {weight: 2, value: structureBuilt}, {weight: 2, value: structureLarge}, {weight: 2, value: structureNames}, {weight: 1, value: structureLinks},
	}},
}

// noCode says that there is nothing to build or test, or returns "".
func noCode(f *Facts) string {
	for _, e := range f.Files {
		if e.isCode() {
			return ""
		}
	}
	return "no code of a known language"
}

// noDocs says that there is nothing to document, or returns "".
func noDocs(f *Facts) string {
	if f.readme() == "" && noCode(f) != "" && !f.hasDir("docs") {
		return "nothing to document"
	}
	return ""
}

// fewLines is the number of lines of code below which nobody misses tests.
const fewLines = 100

// noTests says that there is too little to test, or returns "".
func noTests(f *Facts) string {
	if why := noCode(f); why != "" || f.tests() > 0 {
		return why
	}
	if n := lines(f.code()); n < fewLines {
		return some(n, "line") + " of code"
	}
	return ""
}
