package node

import (
	"encoding/json"
	"net/url"
	"path"
	"slices"
	"strings"

	"agent/sandbox/guest"
	"agent/sandbox/workspace/lazyregexp"
	"agent/verify/check"
)

// typecheckPlace moves the state of the compiler that vitest starts for type tests. By default vitest keeps it inside its
// own package, where nothing can be written in a box. The code runs in every node process that vitest starts, and looks only
// at its arguments.
const typecheckPlace = `const a=process.argv,o="/tmp/agent-"+process.pid+".tsbuildinfo",i=a.indexOf("--tsBuildInfoFile");` +
	`if(i>0)a[i+1]=o;else if(a.some(x=>/tsconfig\.vitest-temp\.json$/.test(x)))a.push("--tsBuildInfoFile",o);`

// typechecks matches a configuration of vitest that asks for type tests.
var typechecks = lazyregexp.New(`\btypecheck\b`)

// vitestTypes reports whether a use, or any configuration of vitest in the workspace, makes vitest test types.
func vitestTypes(v check.View, u packageUse) bool {
	if slices.ContainsFunc(u.args, func(a string) bool { return strings.HasPrefix(a, "--typecheck") }) {
		return true
	}
	return slices.ContainsFunc(v.Paths(), func(p string) bool {
		name := path.Base(p)
		return (strings.HasPrefix(name, "vitest.") || strings.HasPrefix(name, "vite.config.")) && !strings.Contains("/"+p, "/node_modules/") && typechecks.MatchString(v.Text(p))
	})
}

// vitestEnv returns the variables with which vitest starts if it tests types.
func vitestEnv(v check.View, u packageUse) map[string]string {
	if !vitestTypes(v, u) {
		return nil
	}
	option := "--import=data:text/javascript," + strings.ReplaceAll(url.QueryEscape(typecheckPlace), "+", "%20")
	return map[string]string{"NODE_OPTIONS": strings.TrimSpace(u.env["NODE_OPTIONS"] + " " + option)}
}

// typeTrouble matches what vitest writes if its compiler cannot store its state.
var typeTrouble = lazyregexp.New(`EROFS|read-only file system|TS5033`)

// typesTested matches what vitest writes if it tests types.
var typesTested = lazyregexp.New(`Testing types with .* is an experimental feature`)

// vitestAgain switches off vitest's compiler where that cannot work. Otherwise the compiler may object to the program, which
// fails vitest apart from its tests. Such objections are for the types gate.
func vitestAgain(written string) []string {
	switch {
	case typeTrouble.MatchString(written):
		return []string{"--typecheck.enabled=false"}
	case typesTested.MatchString(written):
		return []string{"--typecheck.ignoreSourceErrors"}
	}
	return nil
}

// faultsSuffix is what vitest_faults.mjs appends to the name of vitest's report for its own.
const faultsSuffix = ".faults"

// vitestFaults is the content of that file.
type vitestFaults struct {
	Unhandled int               `json:"unhandled"`
	Files     map[string]string `json:"files"`
}

// vitestEnds matches what vitest writes about a fault after its report, mostly under a heading of its own.
var vitestEnds = lazyregexp.New(`(?i)\bunhandled |\berror during |error\s*⎯`)

// vitestAlone requires that nothing failed outside of tests, which vitest's own report leaves out.
func vitestAlone(res guest.Result, report string) bool {
	var f vitestFaults
	return json.Unmarshal(res.Files[report+faultsSuffix], &f) == nil && f.Files != nil && f.Unhandled == 0 && !vitestEnds.MatchString(check.Clean(check.Bytes(res.Stderr)))
}
