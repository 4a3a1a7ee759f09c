// Package owner gives a process a permanent name, for the labels of what it makes on an engine, so that another process
// can tell whether it is alive.
package owner

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// An identity names one process permanently. Process IDs are reused, so the start time is part of it, and they mean
// something only in their PID namespace of one boot.
type identity struct {
	host string
	// boot is the beginning of the kernel's boot ID: 8 characters distinguish any two boots that matter.
	boot string
	// space is the inode of the PID namespace, 0 on a system that has none.
	space uint64
	pid   int
	// start is when the process began, in the system's own unit and from its own origin.
	start uint64
}

// String returns the form that the label agent.owner carries.
func (id identity) String() string {
	return fmt.Sprintf("%s/%s/%d/%d/%d", id.host, id.boot, id.space, id.pid, id.start)
}

// parseIdentity reads what String wrote.
func parseIdentity(text string) (identity, error) {
	part := strings.Split(text, "/")
	if len(part) != 5 {
		return identity{}, fmt.Errorf("owner %q has %d parts instead of 5", text, len(part))
	}
	space, err1 := strconv.ParseUint(part[2], 10, 64)
	pid, err2 := strconv.Atoi(part[3])
	start, err3 := strconv.ParseUint(part[4], 10, 64)
	if err := errors.Join(err1, err2, err3); err != nil {
		return identity{}, fmt.Errorf("owner %q: %w", text, err)
	}
	if pid <= 0 {
		return identity{}, fmt.Errorf("owner %q: %d is not a process", text, pid)
	}
	return identity{host: part[0], boot: part[1], space: space, pid: pid, start: start}, nil
}

// Name names this process: host, boot, PID namespace, pid and start time, so that another process can tell whether it
// is alive. It is "" if the system does not provide them, as on Linux without /proc; then no process can tell.
func Name() string {
	id, err := self()
	if err != nil {
		return ""
	}
	return id.String()
}

// self returns the identity of this process.
func self() (identity, error) {
	host, err := os.Hostname()
	if err != nil {
		return identity{}, err
	}
	boot, space, err := bootAndSpace()
	if err != nil {
		return identity{}, err
	}
	pid := os.Getpid()
	start, _, err := processStart(pid)
	if err != nil {
		return identity{}, err
	}
	host = strings.ReplaceAll(host, "/", "_")
	return identity{host: host, boot: fmt.Sprintf("%.8s", boot), space: space, pid: pid, start: start}, nil
}

// Alive reports whether the process that Name named still runs. known is false for a process on another host, in
// another container, or of an earlier boot, which cannot be distinguished from another host.
func Alive(owner string) (alive, known bool) {
	id, err := parseIdentity(owner)
	if err != nil {
		return false, false
	}
	me, err := self()
	if err != nil || me.boot != id.boot || me.space != id.space {
		return false, false
	}
	start, zombie, err := processStart(id.pid)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ESRCH) {
		return false, true
	}
	if err != nil {
		return false, false
	}
	return start == id.start && !zombie, true
}
