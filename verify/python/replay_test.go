package python

import (
	"strings"
	"testing"
	"time"

	"agent/sandbox/guest"
	"agent/verify/check"
	"agent/verify/checktest"
	"agent/verify/verifytest"
)

// If tests do not end, the test that was running is named.
func TestATestThatHangsIsNamed(t *testing.T) {
	t.Parallel()
	begun := `{"kind": "start", "id": "a.py::t"}` + "\n" + `{"kind": "test", "id": "a.py::t", "outcome": "passed"}` + "\n"
	for record, want := range map[string]string{
		begun + `{"kind": "start", "id": "a.py::loop"}` + "\n": "a.py::loop did not finish: pytest was stopped after 7s",
		begun: "python3 did not finish within 7s",
	} {
		b, _ := checktest.Replayed(map[string]guest.Result{"run_tests.py": {TimedOut: true, Exit: -1, Signal: "SIGTERM", Files: map[string][]byte{recordOf(nil, "."): []byte(record)}}})
		b.Timeout = 7 * time.Second
		if out := runTests(t.Context(), b); out.Verdict != check.Timeout || out.Detail != want || len(out.Tests) != 1 {
			t.Errorf("%+v, want %q", out, want)
		}
	}
}

func TestTestsThatEndTheirProcessAreTheirOwnDoing(t *testing.T) {
	t.Parallel()
	begun := []byte(`{"kind": "test", "id": "a.py::t", "outcome": "passed"}` + "\n")
	for _, c := range []struct {
		name             string
		res              guest.Result
		verdict          check.Verdict
		blocked, results bool
	}{
		{"signal", guest.Result{Exit: -1, Signal: "SIGSEGV"}, "", true, true},
		{"os._exit(127)", guest.Result{Exit: 127}, "", true, true},
		{"pytest not installed", verifytest.Ended(127, nil, []byte("pytest: No module named 'pytest'\n")), check.Infra, false, true},
		{"box died", guest.Result{Exit: -1, Signal: "SIGKILL", Killed: true}, check.Infra, false, true},
		{"late", guest.Result{TimedOut: true, Exit: -1, Signal: "SIGTERM"}, check.Timeout, false, true},
		{"out of memory", guest.Result{OOM: true}, check.OOM, false, true},
	} {
		c.res.Files = map[string][]byte{record: begun}
		b, _ := checktest.Replayed(map[string]guest.Result{"run_tests.py": c.res})
		out := runTests(t.Context(), b)
		if out.Verdict != c.verdict || (out.Blocked != "") != c.blocked || (len(out.Tests) == 1) != c.results {
			t.Errorf("%s: %+v", c.name, out)
		}
	}
	b, _ := checktest.Replayed(map[string]guest.Result{"run_tests.py": {Files: map[string][]byte{record: []byte("passed\n")}}})
	if out := runTests(t.Context(), b); !strings.Contains(out.Blocked, "record of the tests is broken") || out.Tests != nil {
		t.Errorf("forged record: %+v", out)
	}
}
