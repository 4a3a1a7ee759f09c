package process

import (
	"os"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func TestAliveReadsTheStateBehindAnyName(t *testing.T) {
	for stat, want := range map[string]bool{
		"7 (sh) S 1 7 7 0 -1": true,
		"7 (sh) R 1":          true,
		"7 (sh) Z 1 7 7 0 -1": false,
		"7 (sh) X 1":          false,
		"7 (a) Z (b) S 1 7":   true,
		"7 (a b\n) D) Z 1 7":  false,
		"":                    false,
		"7 (sh)":              false,
	} {
		if got := alive(stat); got != want {
			t.Errorf("alive(%q) = %v", stat, got)
		}
	}
	own, err := os.ReadFile("/proc/self/stat")
	if err != nil {
		t.Fatal(err)
	}
	if !alive(string(own)) {
		t.Errorf("this very process is not alive: %s", own)
	}
}

// Some kernels report nothing more exact than ticks.
func TestTicksOfReadsTheTimesBehindAnyName(t *testing.T) {
	for stat, want := range map[string]time.Duration{
		"7 (sh) S 1 7 7 0 -1 4194560 1 2 3 4 25 17 8 9 20 0":          420 * time.Millisecond,
		"7 (a) S 1 1 1 (b) R 1 7 7 0 -1 4194560 1 2 3 4 0 1 8 9 20 0": 10 * time.Millisecond,
		"7 (sh) S 1 7 7 0 -1 4194560 1 2 3 4 -5 many 8 9 20 0":        0,
		"7 (sh) S 1 7 7 0 -1 4194560 1 2 3 4 25":                      0,
		"":                                                            0,
	} {
		if got := ticksOf(stat); got != want {
			t.Errorf("ticksOf(%q) = %v", stat, got)
		}
	}
	var used unix.Rusage
	for used.Utime.Nano()+used.Stime.Nano() < int64(50*time.Millisecond) {
		if err := unix.Getrusage(unix.RUSAGE_SELF, &used); err != nil {
			t.Fatal(err)
		}
	}
	own, err := os.ReadFile("/proc/self/stat")
	if err != nil {
		t.Fatal(err)
	}
	if got := ticksOf(string(own)); got < 30*time.Millisecond { // both times are rounded down
		t.Errorf("after 50 ms of work: %v", got)
	}
}
