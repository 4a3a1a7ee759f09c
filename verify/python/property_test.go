package python

import (
	"testing"

	"pgregory.net/rapid"

	"agent/verify/check"
	"agent/verify/checktest"
)

func TestParsersTakeAnythingWithoutTakingItForAPass(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		res := checktest.HostileResult(t)
		found, err := parseRuff(res)
		if err == nil && (res.Exit == 0) != (len(found) == 0) {
			t.Fatalf("ruff: status %d with %+v", res.Exit, found)
		}
		checktest.Inside(t, found)
		found, blocked, err := parseMypy(res)
		if err == nil && blocked == "" && (res.Exit == 0) != (len(found) == 0) {
			t.Fatalf("mypy: status %d with %+v", res.Exit, found)
		}
		checktest.Inside(t, found)
		run, err := check.ParseRecord(res.Stdout.Head)
		if err == nil && trouble(run, res) == "" && (!run.Finished || res.Exit != run.Status) {
			t.Fatalf("tests: %+v", run)
		}
	})
}
