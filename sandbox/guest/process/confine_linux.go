package process

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The Landlock rights that a confined program has only below the directories opened to it. A kernel knows the rights of
// its own version: truncation came with the third (landlock(7)). A rule set forbids moving a file to another directory
// unless it grants that right.
const (
	writes    = unix.LANDLOCK_ACCESS_FS_WRITE_FILE
	moves     = unix.LANDLOCK_ACCESS_FS_REFER
	truncates = unix.LANDLOCK_ACCESS_FS_TRUNCATE

	sinceMoves, sinceTruncates = 2, 3
)

// onlyRead are the directories below / in which programs may not write. Through /proc a program could change its own
// memory and that of every process that it may trace, such as the one that runs its tests.
var onlyRead = []string{"proc", "sys"}

// landlockVersion returns the kernel's Landlock version. The error says that it has none, or that its use is refused.
func landlockVersion() (int, error) {
	v, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if errno != 0 {
		return 0, errno
	}
	return int(v), nil
}

// confine applies the rules to this thread and what it forks: they write no file below /proc and /sys, whoever owns it,
// and trace no process outside. Without Landlock in the kernel confine changes nothing, and only the settings that the
// box was started with confine them. An error means that a kernel with Landlock refused a rule.
func confine() error {
	version, err := landlockVersion()
	if err != nil || version < sinceMoves {
		return nil
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil { // the kernel requires this; a box has it anyway
		return fmt.Errorf("give up the right to new privileges: %w", err)
	}
	rights := uint64(writes | moves)
	if version >= sinceTruncates {
		rights |= truncates
	}
	attr := unix.LandlockRulesetAttr{Handled_access_fs: rights}
	// The first version has only the first field, and the kernel accepts a structure that short.
	set, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&attr)), unsafe.Sizeof(attr.Handled_access_fs), 0)
	if errno != 0 {
		return fmt.Errorf("make a rule set: %w", errno)
	}
	defer unix.Close(int(set))
	roots, err := os.ReadDir("/")
	if err != nil {
		return err
	}
	for _, root := range roots {
		if !root.IsDir() || slices.Contains(onlyRead, root.Name()) {
			continue
		}
		if err := allow(int(set), "/"+root.Name(), rights); err != nil {
			return err
		}
	}
	if _, _, errno := unix.Syscall(unix.SYS_LANDLOCK_RESTRICT_SELF, set, 0, 0); errno != 0 {
		return fmt.Errorf("apply the rule set: %w", errno)
	}
	return nil
}

// allow grants these rights below dir.
func allow(set int, dir string, rights uint64) error {
	fd, err := unix.Open(dir, unix.O_PATH|unix.O_CLOEXEC, 0)
	if errors.Is(err, unix.ENOENT) {
		return nil // it has gone
	}
	if err != nil {
		return fmt.Errorf("open %s: %w", dir, err)
	}
	defer unix.Close(fd)
	rule := unix.LandlockPathBeneathAttr{Allowed_access: rights, Parent_fd: int32(fd)}
	_, _, errno := unix.Syscall6(unix.SYS_LANDLOCK_ADD_RULE, uintptr(set), unix.LANDLOCK_RULE_PATH_BENEATH, uintptr(unsafe.Pointer(&rule)), 0, 0, 0)
	if errno != 0 {
		return fmt.Errorf("allow writing below %s: %w", dir, errno)
	}
	return nil
}
