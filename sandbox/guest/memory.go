package guest

import (
	"os"
	"strconv"
	"strings"
)

// memory is what the control group reports for the whole box.
type memory struct {
	// kills is how often the kernel has killed a process for memory.
	kills int64
	// peak is the highest use so far in bytes, or the current use on kernels that keep no peak (version 2 before Linux
	// 5.19).
	peak int64
}

// The control group's files in a box: first version 2, then version 1.
var (
	killFiles = []string{"/sys/fs/cgroup/memory.events", "/sys/fs/cgroup/memory/memory.oom_control"}
	peakFiles = []string{
		"/sys/fs/cgroup/memory.peak", "/sys/fs/cgroup/memory/memory.max_usage_in_bytes",
		"/sys/fs/cgroup/memory.current",
	}
)

// readMemory reads the figures; a figure that cannot be read is zero.
func readMemory() memory {
	kills, _ := readKills()
	var m memory
	m.kills = kills
	for _, name := range peakFiles {
		text, err := os.ReadFile(name)
		if err != nil {
			continue
		}
		if peak, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64); err == nil {
			m.peak = peak
			break
		}
	}
	return m
}

// readKills reads the counter of out-of-memory kills; counted is false if there is none.
func readKills() (kills int64, counted bool) {
	for _, name := range killFiles {
		text, err := os.ReadFile(name)
		if err != nil {
			continue
		}
		if kills, counted = parseCount(string(text), "oom_kill "); counted {
			return kills, true
		}
	}
	return 0, false
}

// parseCount finds the line that begins with name, since both versions of control groups write "oom_kill N".
func parseCount(text, name string) (n int64, counted bool) {
	for line := range strings.Lines(text) {
		value, found := strings.CutPrefix(strings.TrimSpace(line), name)
		if !found {
			continue
		}
		n, err := strconv.ParseInt(value, 10, 64)
		return n, err == nil
	}
	return 0, false
}
