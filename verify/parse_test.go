package verify

import (
	"strings"
	"testing"

	"agent/sandbox/guest"
	"agent/verify/check"
	"agent/verify/syntax"
	"agent/verify/verifytest"
)

func TestSyntaxAnswerMustAccountForEveryFile(t *testing.T) {
	t.Parallel()
	good := []byte(`{"findings": [], "checked": ["a.py"], "skipped": [{"file": "b.bin", "reason": "x"}], "trouble": []}`)
	if _, err := syntax.Parse(verifytest.Ended(0, good, nil), 2); err != nil {
		t.Error(err)
	}
	for name, res := range map[string]guest.Result{
		"status 1":       verifytest.Ended(1, good, nil),
		"partial":        verifytest.Ended(0, good[:40], nil),
		"empty":          verifytest.Ended(0, nil, nil),
		"a file missing": verifytest.Ended(0, []byte(`{"checked": ["a.py"]}`), nil),
		"dropped":        {Stdout: guest.Output{Head: good, Dropped: 3}},
	} {
		if _, err := syntax.Parse(res, 2); err == nil {
			t.Errorf("%s is taken for an answer", name)
		}
	}
}

func TestOutputIsSafeToShow(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"\x1b[31mred\x1b[0m":            "red",
		"\x1b]0;title\x07text":          "text",
		"\x1b]8;;http://x\x1b\\link":    "link",
		"\x1b(Bplain\x1b7":              "plain",
		"bell\x07 back\x08 nul\x00":     "bell back nul",
		"\xff\xfe":                      "\uFFFD",
		"one\r\ntwo\rthree\t.":          "one\ntwo\nthree\t.",
		"c1 \u009b31m":                  "c1 31m",
		"abc\u202edcba\u2066x\u2069":    "abcdcbax",
		"::set-output name=x::1":        "::set-output name=x::1",
		"unfinished \x1b[38;5;":         "unfinished 38;5;",
		"\x1b\x1b[1mnested\x1b\x1b[0m?": "nested?",
	} {
		if got := check.Clean([]byte(in)); got != want {
			t.Errorf("clean(%q) = %q, want %q", in, got, want)
		}
		if strings.ContainsRune(check.Clean([]byte(in)), 0x1b) {
			t.Errorf("an escape is left of %q", in)
		}
	}
}

func TestTailKeepsTheEndOnARuneAndALine(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("é", 100) + "\n" + strings.Repeat("z", 90) + "\n\n"
	for n, want := range map[int]string{1000: strings.TrimSpace(long), 95: strings.Repeat("z", 90), 96: strings.Repeat("z", 90), 50: strings.Repeat("z", 50)} {
		if got := check.Tail(long, n); got != want {
			t.Errorf("tail %d = %q", n, got)
		}
	}
	if got := check.Tail(strings.Repeat("é", 10), 5); got != "éé" {
		t.Errorf("half a rune is kept: %q", got)
	}
}
