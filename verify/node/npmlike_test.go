package node

import (
	"slices"
	"strings"
	"testing"

	"agent/verify/check"
	"agent/verify/node/npmscript"
)

// What tests are started with is what npm starts them with, and what their script says: a NODE_ENV that nobody set has Babel and
// others build something else, and libraries for colours test what they do by FORCE_COLOR.
func TestNothingSaysToProgramsThatTheyAreTested(t *testing.T) {
	t.Parallel()
	b := check.Bench{Tools: check.Tools{Env: "/usr/bin/env", Node: "/usr/bin/node"}}
	for _, given := range []map[string]string{nil, {"NODE_ENV": "production"}} {
		for name, env := range map[string]map[string]string{
			"a command of a script": stepCommand(b, ".", npmscript.Step{Text: "babel src -d .", Env: given}).Env,
			"a package":             useCommand(b, packageUse{root: ".", env: given}, installedPackage{}).Env,
			"node --test":           nodeCommand(b, nodeProject{root: ".", env: given}).Env,
		} {
			if got, ok := env["NODE_ENV"]; got != given["NODE_ENV"] || ok != (given != nil) {
				t.Errorf("%s: NODE_ENV=%q where the script says %v", name, got, given)
			}
			if got, ok := env["FORCE_COLOR"]; ok {
				t.Errorf("%s: FORCE_COLOR=%q, which nobody said", name, got)
			}
		}
	}
}

func TestESLintIsAskedForWhatItsVersionHas(t *testing.T) {
	t.Parallel()
	for version, want := range map[string]bool{"4.19.1": false, "6.7.2": false, "6.8.0": true, "10.0.0": true, "9.1.0-beta": true, "next": true} {
		args := eslint.args(version, "/r")
		if got := slices.Contains(args, "--no-error-on-unmatched-pattern"); got != want || !strings.Contains(strings.Join(args, " "), "--output-file=/r") {
			t.Errorf("%s: %q", version, args)
		}
	}
}
