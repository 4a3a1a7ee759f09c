package owner

import (
	"errors"

	"golang.org/x/sys/unix"
)

// zombie is SZOMB of sys/proc.h: a process that only waits to be reaped.
const zombie = 5

// bootAndSpace returns the ID of this boot. There are no PID namespaces.
func bootAndSpace() (boot string, space uint64, err error) {
	boot, err = unix.Sysctl("kern.bootsessionuuid")
	return boot, 0, err
}

// processStart returns when a process began, in microseconds since 1970, and whether it is only waiting to be reaped.
// For a process that does not exist the error is ESRCH.
func processStart(pid int) (start uint64, dead bool, err error) {
	info, err := unix.SysctlKinfoProc("kern.proc.pid", pid)
	if errors.Is(err, unix.EIO) { // the answer was empty
		return 0, false, unix.ESRCH
	}
	if err != nil {
		return 0, false, err
	}
	begun := info.Proc.P_starttime
	return uint64(begun.Sec)*1e6 + uint64(begun.Usec), info.Proc.P_stat == zombie, nil
}
