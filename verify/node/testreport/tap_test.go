package testreport

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// If files crash, ava counts them separately in its report, and counts in its plan the tests that they did not reach.
func TestFilesThatCrashLeaveTheReportOfTheOthers(t *testing.T) {
	t.Parallel()
	const report = `TAP version 13
ok 1 - a › one
not ok 2 - Error [ERR_MODULE_NOT_FOUND]: Cannot find module '/work/nope.js'
  ---
    message: Cannot find module '/work/nope.js'
  ...
not ok 3 - b.test.js exited with a non-zero exit code: 1
not ok 4 - c › two
  ---
    message: not equal
  ...
ok 5 - c › three # SKIP
not ok 6 - c.test.js exited due to SIGKILL
not ok 7 - No tests found in lib/d.test.js, make sure to import "ava" at the top of your test file

1..4
# tests 4
# pass 1
# skip 1
# fail 5
`
	place := func(file string) string {
		if file == "" {
			return "package.json"
		}
		return file
	}
	results, err := Ava([]byte(report), Reading{Place: place})
	var got []string
	for _, r := range results {
		got = append(got, fmt.Sprint(r.ID, " ", r.Outcome))
	}
	want := []string{
		"package.json::a › one passed", "package.json::Error [ERR_MODULE_NOT_FOUND]: Cannot find module '/work/nope.js' failed", "package.json::c › two failed",
		"package.json::c › three skipped", "b.test.js error", "c.test.js error", "lib/d.test.js error",
	}
	if err != nil || !slices.Equal(got, want) || !strings.HasPrefix(results[4].Message, "Error [ERR_MODULE_NOT_FOUND]: Cannot find module") || !strings.Contains(results[5].Message, "SIGKILL") {
		t.Errorf("%v: %q\n%+v", err, got, results)
	}
	for what, broken := range map[string]string{
		"no end":                       strings.Split(report, "\n1..")[0],
		"no counts":                    strings.Split(report, "# tests")[0],
		"one passed more":              strings.Replace(report, "# pass 1", "# pass 2", 1),
		"more failed than were told":   strings.Replace(report, "# fail 5", "# fail 3", 1),
		"counts that a test has said":  strings.Replace(strings.Split(report, "# tests")[0], "ok 1", "# pass 1\n# fail 5\nok 1", 1),
		"nothing failed and none fits": "TAP version 13\nok 1 - a\n1..2\n# pass 1\n# fail 0\n",
	} {
		if results, err := Ava([]byte(broken), Reading{Place: place}); err == nil {
			t.Errorf("%s: %+v", what, results)
		}
	}
}
