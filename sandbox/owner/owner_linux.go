package owner

import (
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// bootAndSpace returns the ID of this boot, and the inode of the PID namespace.
func bootAndSpace() (boot string, space uint64, err error) {
	text, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return "", 0, err
	}
	var st unix.Stat_t
	if err := unix.Stat("/proc/self/ns/pid", &st); err != nil {
		return "", 0, err
	}
	return string(text), st.Ino, nil
}

// processStart returns when a process began, in clock ticks after boot, and whether it is only waiting to be reaped.
// Both are in /proc/PID/stat as described in proc(5): fields 22 and 3, counted after the name, which may contain
// anything.
func processStart(pid int) (ticks uint64, zombie bool, err error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, false, err
	}
	fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
	if len(fields) < 20 {
		return 0, false, fmt.Errorf("/proc/%d/stat has %d fields", pid, len(fields))
	}
	ticks, err = strconv.ParseUint(fields[19], 10, 64)
	return ticks, fields[0] == "Z" || fields[0] == "X", err
}
