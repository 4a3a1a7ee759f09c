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

// typecheckPlace gives the compiler that vitest starts for tests of types another place for what
// it keeps: vitest has it inside its own package, where nothing can be written in a box. It runs
// in every process of node that vitest starts, and looks at its arguments alone.
const typecheckPlace = `const a=process.argv,o="/tmp/agent-"+process.pid+".tsbuildinfo",i=a.indexOf("--tsBuildInfoFile");` +
	`if(i>0)a[i+1]=o;else if(a.some(x=>/tsconfig\.vitest-temp\.json$/.test(x)))a.push("--tsBuildInfoFile",o);`

// typechecks matches the configuration of vitest that asks for tests of types.
var typechecks = lazyregexp.New(`\btypecheck\b`)

// vitestTypes reports whether a use, or a configuration beside it, has vitest test types.
func vitestTypes(v check.View, u packageUse) bool {
	if slices.ContainsFunc(u.args, func(a string) bool { return strings.HasPrefix(a, "--typecheck") }) {
		return true
	}
	return slices.ContainsFunc(v.Paths(), func(p string) bool {
		name := path.Base(p)
		return (strings.HasPrefix(name, "vitest.") || strings.HasPrefix(name, "vite.config.")) && !strings.Contains("/"+p, "/node_modules/") && typechecks.MatchString(v.Text(p))
	})
}

// vitestEnv is what vitest is started with where it tests types.
func vitestEnv(v check.View, u packageUse) map[string]string {
	if !vitestTypes(v, u) {
		return nil
	}
	option := "--import=data:text/javascript," + strings.ReplaceAll(url.QueryEscape(typecheckPlace), "+", "%20")
	return map[string]string{"NODE_OPTIONS": strings.TrimSpace(u.env["NODE_OPTIONS"] + " " + option)}
}

// typeTrouble matches what vitest writes when its compiler cannot keep what it found out.
var typeTrouble = lazyregexp.New(`EROFS|read-only file system|TS5033`)

// typesTested matches what vitest writes where it tests types.
var typesTested = lazyregexp.New(`Testing types with .* is an experimental feature`)

// vitestAgain takes its compiler away where that cannot work. Else its compiler may have something against the program, which fails
// vitest beside its tests; that is the types gate's.
func vitestAgain(written string) []string {
	switch {
	case typeTrouble.MatchString(written):
		return []string{"--typecheck.enabled=false"}
	case typesTested.MatchString(written):
		return []string{"--typecheck.ignoreSourceErrors"}
	}
	return nil
}

// faultsSuffix is what stands behind the name of vitest's report in that of vitest_faults.mjs.
const faultsSuffix = ".faults"

// vitestFaults is what that holds.
type vitestFaults struct {
	Unhandled int               `json:"unhandled"`
	Files     map[string]string `json:"files"`
}

// vitestEnds matches what vitest writes of a fault behind its report, mostly in a heading of its own.
var vitestEnds = lazyregexp.New(`(?i)\bunhandled |\berror during |error\s*⎯`)

// vitestAlone wants that nothing failed outside of tests: vitest's own report leaves that out.
func vitestAlone(res guest.Result, report string) bool {
	var f vitestFaults
	return json.Unmarshal(res.Files[report+faultsSuffix], &f) == nil && f.Files != nil && f.Unhandled == 0 && !vitestEnds.MatchString(check.Clean(check.Bytes(res.Stderr)))
}
