package doctor

import (
	"testing"

	"agent/sandbox"
	"agent/sandbox/guest"
)

// A probe detects an output that a box must not give; an empty output is no pass if there must be one.
func TestAProbeSeesAHole(t *testing.T) {
	t.Parallel()
	holes := map[string][]string{
		"capabilities":    {"", "CapPrm: 0000000000000000 CapEff: 0000000000000000 CapBnd: 00000000a80425fb CapAmb: 0000000000000000 ", "CapPrm: 0 CapEff: 0 "},
		"privileges":      {"", "0\n", "1\n0\n"},
		"system calls":    {"", "0\n", "1\n"},
		"user":            {"", "0\n", "1000\n", "20\n"},
		"user namespaces": {"made\n"},
		"root directory":  {"written\n"},
		"network":         {"  eth0: 0 0\n"},
		"first process":   {"P", "\x00"},
		"memory":          {"written\n"},
		"processes":       {"", "0\n", "12\n", "120\n"},
	}
	for _, p := range probes {
		if len(holes[p.name]) == 0 {
			t.Errorf("%s: no hole is known that it must see", p.name)
		}
		for _, said := range holes[p.name] {
			if got := p.judge(guest.Result{Stdout: guest.Output{Head: []byte(said)}}); got.Status != Miss || got.Cure == "" {
				t.Errorf("%s %q: %+v", p.name, said, got)
			}
		}
		if got := p.judge(guest.Result{TimedOut: true}); got.Status != Miss {
			t.Errorf("%s without an answer: %+v", p.name, got)
		}
	}
}

func TestTheModeOfAnEngineIsTold(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, names := range [][]string{{"seccomp"}, {"seccomp", "rootless"}, {"userns"}} {
		got := checkMode(sandbox.Info{Security: names})
		if got.Status != OK || seen[got.Detail] {
			t.Errorf("%v: %+v", names, got)
		}
		seen[got.Detail] = true
	}
	for _, c := range []struct {
		wanted, want string
		has          []string
	}{{"auto", "runsc", []string{"runc", "runsc"}}, {"auto", "", []string{"runc"}}, {"runsc", "runsc", nil}, {"", "", []string{"runsc"}}} {
		if got := boxRuntime(c.wanted, c.has); got != c.want {
			t.Errorf("%q of %v: %q, want %q", c.wanted, c.has, got, c.want)
		}
	}
}
