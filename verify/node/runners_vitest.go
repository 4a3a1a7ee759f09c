package node

import (
	"net/url"
	"path"
	"regexp"
	"slices"
	"strings"

	"agent/verify/check"
)

// typecheckPlace gives the compiler that vitest starts for tests of types another place for what
// it keeps: vitest has it inside its own package, where nothing can be written in a box. It runs
// in every process of node that vitest starts, and looks at its arguments alone.
const typecheckPlace = `const a=process.argv,o="/tmp/agent-"+process.pid+".tsbuildinfo",i=a.indexOf("--tsBuildInfoFile");` +
	`if(i>0)a[i+1]=o;else if(a.some(x=>/tsconfig\.vitest-temp\.json$/.test(x)))a.push("--tsBuildInfoFile",o);`

// typechecks matches the configuration of vitest that asks for tests of types.
var typechecks = regexp.MustCompile(`\btypecheck\b`)

// vitestEnv is what vitest is started with where a use, or a configuration beside it, has it
// test types.
func vitestEnv(v check.View, u packageUse) map[string]string {
	asked := slices.ContainsFunc(u.args, func(a string) bool { return strings.HasPrefix(a, "--typecheck") })
	for _, p := range v.Paths() {
		name := path.Base(p)
		if asked {
			break
		}
		if strings.HasPrefix(name, "vitest.") || strings.HasPrefix(name, "vite.config.") {
			asked = !strings.Contains("/"+p, "/node_modules/") && typechecks.MatchString(v.Text(p))
		}
	}
	if !asked {
		return nil
	}
	option := "--import=data:text/javascript," + strings.ReplaceAll(url.QueryEscape(typecheckPlace), "+", "%20")
	return map[string]string{"NODE_OPTIONS": strings.TrimSpace(u.env["NODE_OPTIONS"] + " " + option)}
}

// typeTrouble matches what vitest writes when its compiler cannot keep what it found out.
var typeTrouble = regexp.MustCompile(`EROFS|read-only file system|TS5033`)
