package verify

import (
	"slices"
	"strings"
	"testing"

	"agent/verify/check"
	"agent/verify/checktest"
)

const script = "#!/bin/bash\nset -eu\nname=${1:-world}\necho \"hello $name\"\n"

func TestShellScriptsAreLinted(t *testing.T) {
	t.Parallel()
	s := newSite(t, map[string]string{"bin/hello.sh": script, "old.sh": "#!/bin/sh\necho \"$old\"\n"})
	r := s.verify(t, map[string]string{"bin/hello.sh": strings.Replace(script, "hello $name", "$name $nam", 1)})
	g := find(t, r, check.GateLint)
	expect(t, r, check.Fail, check.GateLint)
	f := checktest.Single(t, g, "SC2154", "bin/hello.sh", 4)
	if f.Source != "echo \"$name $nam\"" || g.Old != 1 || !strings.Contains(g.Tool, "shellcheck") {
		t.Errorf("%+v", g)
	}
	r = s.verify(t, map[string]string{"bin/hello.sh": strings.Replace(script, "hello", "good day", 1)})
	expect(t, r, check.Pass)
	if got := skipped(r, check.GateTypes); !strings.Contains(got, "no Python file") {
		t.Errorf("types skipped with %q", got)
	}
}

// Both tools of the gate judge, and each reports its own findings.
func TestAGateIsAllItsChecksTogether(t *testing.T) {
	t.Parallel()
	s := newSite(t, map[string]string{"a.py": "x = 1\n", "a.sh": script})
	r := s.verify(t, map[string]string{"a.py": "x = 1\nprint(y)\n", "a.sh": script + "echo \"$z\"\n"})
	g := find(t, r, check.GateLint)
	var rules []string
	for _, f := range g.Findings {
		rules = append(rules, f.File+" "+f.Rule)
	}
	if r.Verdict != check.Fail || !slices.Equal(rules, []string{"a.py F821", "a.sh SC2154"}) || !strings.Contains(g.Tool, "ruff") || !strings.Contains(g.Tool, "shellcheck") {
		t.Errorf("%s: %+v", r.Verdict, g)
	}
}

func TestConfigurationOfShellcheckIsThatOfTheBase(t *testing.T) {
	t.Parallel()
	s := newSite(t, map[string]string{"a.sh": script})
	broken := script + "echo \"$z\"\n"
	r := s.verify(t, map[string]string{"a.sh": broken, ".shellcheckrc": "disable=SC2154\n"})
	expect(t, r, check.Fail, check.GateLint)
	// The workspace's own choice counts in both directions.
	s = newSite(t, map[string]string{"a.sh": script, ".shellcheckrc": "disable=SC2154\n"})
	expect(t, s.verify(t, map[string]string{"a.sh": broken}), check.Pass)
	r = s.verify(t, map[string]string{"a.sh": script + "rm $1\n"})
	expect(t, r, check.Fail, check.GateLint)
	checktest.Single(t, find(t, r, check.GateLint), "SC2086", "a.sh", 5)
}
