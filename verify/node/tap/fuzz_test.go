package tap

import "testing"

// FuzzRead reads any text as a report: each test has a known outcome, and there are no more tests than lines.
func FuzzRead(f *testing.F) {
	f.Add([]byte("TAP version 13\n# Subtest: a\n    ok 1 - b\n    1..1\nok 1 - a\n  ---\n  duration_ms: 1\n  ...\n1..1\n"))
	f.Add([]byte("TAP version 14\nnot ok 1 - a # todo x\nok 2 # SKIP\n1..2\n"))
	f.Add([]byte("Bail out! x\n"))
	f.Add([]byte("1..99999999999999999999\nok 18446744073709551616\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		tests, err := Read(data)
		if err != nil {
			return
		}
		lines := 1
		for _, b := range data {
			if b == '\n' {
				lines++
			}
		}
		if n := counted(t, tests); n > lines {
			t.Errorf("%d tests in %d lines", n, lines)
		}
	})
}

// counted counts tests, including those inside them.
func counted(t *testing.T, tests []Test) (n int) {
	t.Helper()
	for _, test := range tests {
		if test.Outcome != "passed" && test.Outcome != "failed" && test.Outcome != "skipped" {
			t.Errorf("%q ends as %q", test.Name, test.Outcome)
		}
		n += 1 + counted(t, test.Inner)
	}
	return n
}
