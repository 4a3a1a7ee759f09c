package smoke

import (
	"testing"

	"agent/verify/check"
)

func TestSmokeIsWatchedTenSecondsAtMost(t *testing.T) {
	t.Parallel()
	for seconds, want := range map[int]string{0: "10s", 3: "3s", 10: "10s", 600: "10s", -1: "10s"} {
		cmd, err := smokeCommand(check.Bench{Smoke: check.Smoke{Seconds: seconds}, Entry: check.Entry{Args: []string{"/bin/true"}}})
		if err != nil || cmd.Timeout.String() != want || cmd.Grace != smokeGrace {
			t.Errorf("%d seconds: %s", seconds, cmd.Timeout)
		}
	}
}
