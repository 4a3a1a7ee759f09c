package guest

import (
	"slices"
	"testing"

	"golang.org/x/sys/unix"
)

func TestParseCountReadsBothVersions(t *testing.T) {
	tests := []struct {
		text    string
		kills   int64
		counted bool
	}{
		{"oom_kill_disable 0\nunder_oom 0\noom_kill 3\n", 3, true},
		{"low 0\nhigh 0\nmax 7\noom 2\noom_kill 1\noom_group_kill 0\n", 1, true},
		{"oom_kill_disable 0\nunder_oom 0\n", 0, false}, // kernels before 4.13
		{"oom_kill many\n", 0, false},
		{"", 0, false},
	}
	for _, test := range tests {
		kills, counted := parseCount(test.text, "oom_kill ")
		if kills != test.kills || counted != test.counted {
			t.Errorf("%q: %d, %v", test.text, kills, counted)
		}
	}
}

// This covers what needs no box; the tests of the limits cover the rest.
func TestReachedNamesWhatTheKernelTells(t *testing.T) {
	if got := reached(3, true); len(got) < 2 || got[0] != ReachedProcesses || got[1] != ReachedFileSize {
		t.Errorf("three forks refused and a file too large: %q", got)
	}
	if n, counted := parseCount("max 12\n", "max "); n != 12 || !counted {
		t.Errorf("%d, %v", n, counted)
	}
	for _, name := range reached(1, true) {
		if !slices.Contains(reachable, name) {
			t.Errorf("no host takes %q", name)
		}
	}
}

func TestEndingNamesStatusAndSignal(t *testing.T) {
	tests := []struct {
		status unix.WaitStatus
		exit   int
		signal string
	}{
		{0, 0, ""},
		{1 << 8, 1, ""},
		{255 << 8, 255, ""},
		{9, -1, "SIGKILL"},
		{11 | 0x80, -1, "SIGSEGV"}, // with a core dump
		{40, -1, "SIG40"},
	}
	for _, test := range tests {
		exit, signal := ending(test.status)
		if exit != test.exit || signal != test.signal {
			t.Errorf("status %#x: %d %q, want %d %q", test.status, exit, signal, test.exit, test.signal)
		}
	}
}
