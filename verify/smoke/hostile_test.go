package smoke

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"agent/sandbox/guest"
	"agent/verify/check"
	"agent/verify/checktest"
	"agent/verify/verifytest"
)

func TestSignatureOfACrashKeepsWhatMatters(t *testing.T) {
	t.Parallel()
	report := func(line string) []string {
		return readEnding(verifytest.Ended(1, nil, []byte("Traceback (most recent call last):\n  File \"/work/a.py\", line 3, in f\n"+line+"\n"))).Crashes
	}
	for _, c := range []struct {
		a, b string
		same bool
	}{
		{"OSError: [Errno 98] port 8080", "OSError: [Errno 98] port 9999", true},
		{"E: <X object at 0x7fAB>", "E: <X object at 0x1234>", true},
		{"KeyError: 'a'", "KeyError: 'b'", false},
		{"KeyError: 'a'", "ValueError: 'a'", false},
		{"\x1b[31mKeyError\x1b[0m: 'a'", "KeyError: 'a'", true},
	} {
		if got := cmp.Equal(report(c.a), report(c.b)); got != c.same {
			t.Errorf("%q and %q: the same is %v", c.a, c.b, got)
		}
	}
	twice := readEnding(verifytest.Ended(1, nil, []byte(strings.Repeat("Exception in thread T:\nTraceback (most recent call last):\nValueError: port 1\n", 50))))
	if len(twice.Crashes) != 1 {
		t.Errorf("a crash that repeats itself is %d", len(twice.Crashes))
	}
}

func TestEndingOfAProgramThatWasStoppedIsNotItsOwn(t *testing.T) {
	t.Parallel()
	e := readEnding(guest.Result{TimedOut: true, Exit: -1, Signal: "SIGKILL", Wall: 10, CPU: 6})
	if !e.Running || !e.Busy || e.Signal != "" || e.Crashed() {
		t.Errorf("%+v", e)
	}
	for name, res := range map[string]guest.Result{
		"waits":           {TimedOut: true, Wall: 10, CPU: 5},
		"ended by itself": {Wall: 10, CPU: 9},
		"no time known":   {TimedOut: true, CPU: 9},
	} {
		if e := readEnding(res); e.Busy {
			t.Errorf("%s: %+v counts as busy", name, e)
		}
	}
}

// FuzzToolOutput gives the reader of crash reports any bytes: no finding may be outside the workspace.
func FuzzToolOutput(f *testing.F) {
	for _, name := range []string{"../../crash/testdata/crash-python.txt", "../../crash/testdata/crash-node.txt"} {
		f.Add(verifytest.Golden(f, name), 1)
		f.Add(verifytest.Golden(f, name), 2)
	}
	f.Fuzz(func(t *testing.T, data []byte, exit int) {
		end := readEnding(verifytest.Ended(exit, data, data))
		checktest.Inside(t, []check.Finding{end.Where, end.Told})
	})
}
