package guest

import (
	"os"

	"golang.org/x/sys/unix"
)

// forkFiles count the forks that the process limit refused: first for control groups version 2, then version 1.
var forkFiles = []string{"/sys/fs/cgroup/pids.events", "/sys/fs/cgroup/pids/pids.events"}

// readForks reads that counter; 0 when there is none.
func readForks() int64 {
	for _, name := range forkFiles {
		text, err := os.ReadFile(name)
		if err != nil {
			continue
		}
		if n, counted := parseCount(string(text), "max "); counted {
			return n
		}
	}
	return 0
}

// reached names the limits that a command has run into and not left since. refused is the number of forks refused
// meanwhile, and large says that the kernel ended the command for the size of a file. It is called before anything is
// killed.
func reached(refused int64, large bool) []string {
	var list []string
	if refused > 0 {
		list = append(list, ReachedProcesses)
	}
	if large {
		list = append(list, ReachedFileSize)
	}
	for _, place := range []struct{ dir, bytes, files string }{{"/work", ReachedWork, ReachedWorkFiles}, {"/tmp", ReachedTmp, ""}} {
		var st unix.Statfs_t
		if unix.Statfs(place.dir, &st) != nil || st.Type != unix.TMPFS_MAGIC {
			continue // not a file system with the box's limits
		}
		if st.Bavail == 0 {
			list = append(list, place.bytes)
		}
		// gVisor's tmpfs has no such limit, and counts none.
		if st.Files > 0 && st.Ffree == 0 && place.files != "" {
			list = append(list, place.files)
		}
	}
	return list
}
