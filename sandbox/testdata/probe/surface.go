package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// attemptTime is how long one attempt may take. Only one that hangs needs it.
const attemptTime = 10 * time.Second

// surface tries the parts of the kernel that no box needs and prints, as JSON, how each attempt ended. Each is
// made by a process of its own: what one changes must not decide how the next ends, and one that stops its
// process (a kernel that lets anybody be traced does so at the next signal) must not stop the others.
func surface(args []string) {
	all := attempts()
	if len(args) > 0 {
		outcome := "allowed"
		if err := all[args[0]](); err != nil {
			outcome = err.Error()
		}
		fmt.Print(outcome)
		return
	}
	result := map[string]string{}
	for what := range all {
		ctx, cancel := context.WithTimeout(context.Background(), attemptTime)
		cmd := exec.CommandContext(ctx, "/bin/probe", "surface", what)
		cmd.WaitDelay = attemptTime // to some kernels a process that stops has ended, and it holds its output open
		out, err := cmd.CombinedOutput()
		if result[what] = string(out); len(out) == 0 {
			result[what] = fmt.Sprint("no answer: ", err)
		}
		cancel()
	}
	die(json.NewEncoder(os.Stdout).Encode(result))
}

// call returns what makes a system call.
func call(nr uintptr, args ...uintptr) func() error {
	return func() error {
		var a [6]uintptr
		copy(a[:], args)
		if _, _, errno := unix.Syscall6(nr, a[0], a[1], a[2], a[3], a[4], a[5]); errno != 0 {
			return errno
		}
		return nil
	}
}

// socket returns what makes a socket, and does nothing with it.
func socket(family, kind, protocol int) func() error {
	return func() error {
		_, err := unix.Socket(family, kind, protocol)
		return err
	}
}

// openToWrite returns what opens a file to be written, and writes nothing.
func openToWrite(path string) func() error {
	return func() error {
		_, err := unix.Open(path, unix.O_WRONLY|unix.O_CREAT, 0o600)
		return err
	}
}

// attempts are all that surface tries.
func attempts() map[string]func() error {
	params := new([256]byte)
	pointer := uintptr(unsafe.Pointer(params))
	all := map[string]func() error{
		"socket alg":        socket(unix.AF_ALG, unix.SOCK_SEQPACKET, 0),
		"socket vsock":      socket(unix.AF_VSOCK, unix.SOCK_STREAM, 0),
		"socket packet":     socket(unix.AF_PACKET, unix.SOCK_RAW, 0),
		"socket raw":        socket(unix.AF_INET, unix.SOCK_RAW, unix.IPPROTO_ICMP),
		"io_uring_setup":    call(unix.SYS_IO_URING_SETUP, 1, pointer),
		"unshare user":      call(unix.SYS_UNSHARE, unix.CLONE_NEWUSER),
		"unshare mount":     call(unix.SYS_UNSHARE, unix.CLONE_NEWNS),
		"unshare time":      call(unix.SYS_UNSHARE, unix.CLONE_NEWTIME),
		"mount":             func() error { return unix.Mount("none", "/tmp", "tmpfs", 0, "") },
		"chroot":            func() error { return unix.Chroot("/tmp") },
		"pivot_root":        func() error { return unix.PivotRoot("/tmp", "/tmp") },
		"bpf":               call(unix.SYS_BPF, 0, pointer, 120),
		"perf_event_open":   call(unix.SYS_PERF_EVENT_OPEN, pointer, 0, ^uintptr(0), ^uintptr(0), 0),
		"userfaultfd":       call(unix.SYS_USERFAULTFD, 0),
		"keyctl":            call(unix.SYS_KEYCTL, 0, 0),
		"add_key":           call(unix.SYS_ADD_KEY, pointer, pointer, pointer, 1),
		"kexec_load":        call(unix.SYS_KEXEC_LOAD, 0, 0, 0, 0),
		"init_module":       call(unix.SYS_INIT_MODULE, pointer, 1, pointer),
		"open_by_handle_at": call(unix.SYS_OPEN_BY_HANDLE_AT, 0, pointer, 0),
		"syslog":            call(unix.SYS_SYSLOG, 3, pointer, 10),
		"settimeofday":      call(unix.SYS_SETTIMEOFDAY, pointer, 0),
		"clock_settime":     func() error { return unix.ClockSettime(unix.CLOCK_REALTIME, new(unix.Timespec)) },
		"ptrace":            call(unix.SYS_PTRACE, 0, 0, 0, 0),
		"mknod char":        func() error { return unix.Mknod("/tmp/null", unix.S_IFCHR|0o666, int(unix.Mkdev(1, 3))) },
		"mknod block":       func() error { return unix.Mknod("/tmp/disk", unix.S_IFBLK|0o666, int(unix.Mkdev(254, 0))) },
	}
	for _, path := range []string{
		"/proc/sys/kernel/core_pattern", "/proc/sysrq-trigger", "/sys/fs/cgroup/memory/release_agent",
		"/sys/fs/cgroup/cgroup.procs", "/sys/fs/cgroup/memory/memory.limit_in_bytes", "/sys/kernel/uevent_helper",
		"/proc/self/mem", "/proc/self/comm", "/new", "/etc/new", "/bin/probe", "/agent/guest", "/snapshot/new", "/dev/new", "/proc/1/oom_score_adj",
	} {
		all["write "+path] = openToWrite(path)
	}
	all["write the parent's memory"] = openToWrite(fmt.Sprintf("/proc/%d/mem", os.Getppid()))
	for _, address := range []string{"tcp 169.254.169.254:80", "tcp 172.17.0.1:5432", "tcp 8.8.8.8:53", "udp 8.8.8.8:53", "tcp [2001:db8::1]:80"} {
		all["connect "+address] = func() error {
			_, err := net.DialTimeout(address[:3], address[4:], time.Second)
			var cause *os.SyscallError
			if errors.As(err, &cause) {
				return cause.Err
			}
			return err
		}
	}
	return all
}
