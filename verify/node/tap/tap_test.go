package tap

import (
	"strings"
	"testing"
)

// A report that breaks off, or that something else wrote into, is not a result.
func TestBrokenTAPIsNoReport(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ text, want string }{
		"nothing":          {"", "plan of -1"},
		"no plan":          {"TAP version 13\nok 1\n", "plan of -1 does not match its 1"},
		"less than it":     {"1..2\nok 1\n", "plan of 2 does not match its 1"},
		"more than it":     {"ok 1\nok 2\n1..1\n", "plan of 1 does not match its 2"},
		"two plans":        {"1..1\nok 1\n1..1\n", "two plans"},
		"given up":         {"ok 1\nBail out! no\n1..1\n", "Bail out! no"},
		"an open subtest":  {"# Subtest: a\n    ok 1\n    1..1\n1..1\n", "has no end"},
		"one cut inside":   {"# Subtest: a\n    ok 1\n    1..2\nok 1 - a\n1..1\n", "in a: its plan of 2"},
		"braces left open": {"ok 1 - a {\n    ok 1\n    1..1\n1..1\n", "has no end"},
		"none planned":     {"1..0 # skip all\n", ""},
		"printed in it":    {"# Subtest: a\n    ok 1\nprinted\n  {\n    1..1\n# log\nok 1 - a\n1..1\n", ""},
		"braces behind it": {"not ok 1 - a # time=1ms\n  ---\n  exitCode: 1\n  ...\n{\n    not ok 1 - b\n    1..1\n}\nok 2 - c\n1..2\n", ""},
		"braces cut":       {"not ok 1 - a\n  ---\n  ...\n{\n    not ok 1 - b\n    1..1\n", "has no end"},
		"points outside":   {"# Subtest: a\n    ok 1\nok 2\n    1..1\nok 1 - a\n1..1\n", "in a: its plan of -1"},
		"plain":            {"ok\nnot ok\n1..2\n", ""},
	} {
		_, err := Read([]byte(c.text))
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}
