// Probe is what runs in the boxes of the tests: each act is one way of a program to behave badly, or well.
// It is static, so that an image needs nothing else.
package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

func main() {
	if len(os.Args) < 2 {
		fmt.Fprintln(os.Stderr, "probe: no act at all") // as when it takes the guest's place
		os.Exit(99)
	}
	act, args := os.Args[1], os.Args[2:]
	f, found := map[string]func([]string){
		"exit":         func(a []string) { os.Exit(number(a[0])) },
		"say":          say,
		"cat":          func([]string) { _, _ = io.Copy(os.Stdout, os.Stdin) },
		"env":          func([]string) { fmt.Println(strings.Join(os.Environ(), "\n")) },
		"pwd":          pwd,
		"tree":         tree,
		"read":         read,
		"flood":        flood,
		"sleep":        func(a []string) { time.Sleep(time.Duration(number(a[0])) * time.Millisecond) },
		"stubborn":     func([]string) { stubborn() },
		"gentle":       gentle,
		"orphan":       orphan,
		"escape":       escape,
		"raise":        func(a []string) { die(unix.Kill(os.Getpid(), unix.Signal(number(a[0])))); time.Sleep(time.Hour) },
		"closed":       closed,
		"eat":          func([]string) { eat() },
		"eat-in-child": eatInChild,
		"forks":        forks,
		"zombies":      zombies,
		"abandon":      abandon,
		"spin":         spin,
		"fill":         fill,
		"inodes":       inodes,
		"sparse":       sparse,
		"fifo":         func(a []string) { die(unix.Mkfifo(a[0], 0o644)) },
		"link":         func(a []string) { die(os.Symlink(a[0], a[1])) },
		"mkdir":        func(a []string) { die(os.MkdirAll(a[0], 0o755)) },
		"attack":       attack,
		"signals":      signals,
		"surface":      surface,
		"evaluate":     func([]string) { evaluate() },
		"serve":        serve,
		"announce":     announce,
		"names":        names,
		"write":        write,
		"processes":    processes,
		"group":        group,
		"inherited":    inherited,
		"ask":          ask,
		"crowd":        crowd,
		"deaf":         deaf,
		"linger":       linger,
		"cling":        cling,
	}[act]
	if !found {
		fmt.Fprintln(os.Stderr, "probe: no act", act)
		os.Exit(99)
	}
	f(args)
}

func number(s string) int {
	n, err := strconv.Atoi(s)
	die(err)
	return n
}

func die(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "probe:", err)
		os.Exit(98)
	}
}

func say(args []string) {
	fmt.Fprint(os.Stdout, args[0])
	fmt.Fprint(os.Stderr, args[1])
}

func pwd([]string) {
	dir, err := os.Getwd()
	die(err)
	fmt.Print(dir)
}

// tree prints each path below args[0] with its mode and content.
func tree(args []string) {
	die(filepath.Walk(args[0], func(path string, info os.FileInfo, err error) error {
		die(err)
		line := path + " " + info.Mode().String()
		if info.Mode().IsRegular() {
			content, err := os.ReadFile(path)
			die(err)
			line += fmt.Sprintf(" %q", content)
		}
		if info.Mode()&os.ModeSymlink != 0 {
			target, err := os.Readlink(path)
			die(err)
			line += " -> " + target
		}
		fmt.Println(line)
		return nil
	}))
}

func read(args []string) {
	content, err := os.ReadFile(args[0])
	die(err)
	_, _ = os.Stdout.Write(content)
}

func write(args []string) { die(os.WriteFile(args[0], []byte(args[1]), 0o644)) }

// flood writes args[0] lines of 100 bytes, then a last word.
func flood(args []string) {
	line := append(bytes.Repeat([]byte("y"), 99), '\n')
	fmt.Print("first")
	for range number(args[0]) {
		_, _ = os.Stdout.Write(line)
	}
	fmt.Print("last")
}

// stubborn ignores every signal that can be ignored.
func stubborn() {
	signal.Ignore()
	fmt.Println("ready")
	time.Sleep(time.Hour)
}

// gentle ends with args[0] when it is asked to.
func gentle(args []string) {
	c := make(chan os.Signal, 1)
	signal.Notify(c, unix.SIGTERM)
	<-c
	os.Exit(number(args[0]))
}

// again starts this program with another act.
func again(attr *syscall.SysProcAttr, act ...string) *exec.Cmd {
	cmd := exec.Command("/bin/probe", act...)
	cmd.Stdout, cmd.Stderr, cmd.SysProcAttr = os.Stdout, os.Stderr, attr
	die(cmd.Start())
	return cmd
}

// orphan leaves args[0] stubborn processes behind, each in its own session and holding the output open, and exits 0.
func orphan(args []string) {
	for range number(args[0]) {
		cmd := exec.Command("/bin/probe", "stubborn")
		out, err := cmd.StdoutPipe()
		die(err)
		cmd.Stderr, cmd.SysProcAttr = os.Stdout, &syscall.SysProcAttr{Setsid: true}
		die(cmd.Start())
		_, err = out.Read(make([]byte, 8))
		die(err)
	}
}

// escape does as orphan, then ignores TERM itself.
func escape(args []string) {
	signal.Ignore()
	orphan(args)
	stubborn()
}

// group starts a child in its own process group and ends with the status of that child.
func group([]string) {
	signal.Ignore(unix.SIGTERM)
	attr := &syscall.SysProcAttr{}
	err := again(attr, "gentle", "5").Wait()
	if exit, ok := err.(*exec.ExitError); ok {
		os.Exit(exit.ExitCode())
	}
	die(err)
}

// inherited prints the descriptors beyond the standard three that are not its own runtime's, and whether this
// process leads its session.
func inherited([]string) {
	for fd := 3; fd < 1024; fd++ {
		target, err := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", fd))
		if err == nil && !strings.Contains(target, "[event") && !strings.HasPrefix(target, "/sys/fs/cgroup/") {
			fmt.Print(fd, " ", target, " ")
		}
	}
	session, err := unix.Getsid(0)
	die(err)
	fmt.Print(session == os.Getpid() && unix.Getpgrp() == os.Getpid())
}

// processes counts all processes but the first and itself.
func processes([]string) {
	entries, err := filepath.Glob("/proc/[0-9]*")
	die(err)
	fmt.Print(len(entries) - 2)
}

func closed([]string) {
	os.Stdout.Close()
	os.Stderr.Close()
	time.Sleep(time.Hour)
}

func eat() {
	var held [][]byte
	for {
		b := make([]byte, 8<<20)
		for i := 0; i < len(b); i += 4096 {
			b[i] = 1
		}
		held = append(held, b)
		_ = held
	}
}

// eatInChild lets a child be killed for memory and pretends that nothing happened.
func eatInChild([]string) {
	_ = again(nil, "eat").Wait()
	fmt.Print("all is well")
}

// forks makes copies of itself, which do the same, and says "full" each time it is told that there are too many.
//
// The copies are bare forks of one thread, so that how many there are depends on the limit alone: a Go program
// takes more threads the slower its machine is, and ends where it gets none. Such a fork has no runtime, so all
// that it does are raw system calls.
func forks([]string) {
	signal.Ignore(unix.SIGTERM)
	full, pause := []byte("full\n"), unix.Timespec{Nsec: 10e6}
	for {
		if _, _, errno := unix.RawSyscall6(unix.SYS_CLONE, uintptr(unix.SIGCHLD), 0, 0, 0, 0, 0); errno != 0 {
			unix.RawSyscall(unix.SYS_WRITE, 1, uintptr(unsafe.Pointer(&full[0])), uintptr(len(full)))
			unix.RawSyscall(unix.SYS_NANOSLEEP, uintptr(unsafe.Pointer(&pause)), 0, 0)
		}
	}
}

// zombies makes args[0] orphans that end at once, which are left to the first process, and ends when
// none of them is there any more.
func zombies(args []string) {
	for left := number(args[0]); left > 0; {
		if exec.Command("/bin/probe", "abandon", "10").Run() == nil {
			left -= 10
		} else {
			time.Sleep(time.Millisecond)
		}
	}
	for left := 1; left > 0; { // the last of them may still be at their end
		processes, err := filepath.Glob("/proc/[0-9]*")
		die(err)
		if left = len(processes) - 2; left > 0 { // the box's first and this one stay
			time.Sleep(time.Millisecond)
		}
	}
	fmt.Print("done")
}

// abandon starts args[0] children, each as soon as there is room for it, and ends before they do.
func abandon(args []string) {
	for left := number(args[0]); left > 0; {
		if exec.Command("/bin/probe", "exit", "0").Start() == nil {
			left--
		} else {
			time.Sleep(time.Millisecond)
		}
	}
}

func spin(args []string) {
	for range number(args[0]) {
		go func() {
			for os.Getpid() > 0 { // always
			}
		}()
	}
	time.Sleep(time.Duration(number(args[1])) * time.Millisecond)
}

// fill writes to the file args[0] until an error and prints the size and the error.
func fill(args []string) {
	signal.Ignore(unix.SIGXFSZ)
	f, err := os.Create(args[0])
	die(err)
	total, block := 0, make([]byte, 1<<20)
	for err == nil {
		var n int
		n, err = f.Write(block)
		total += n
	}
	fmt.Printf("%d %v", total>>20, err.(*os.PathError).Err)
}

// inodes makes args[1] empty files in args[0], or as many as there may be.
func inodes(args []string) {
	for n := range number(args[1]) {
		f, err := os.Create(filepath.Join(args[0], strconv.Itoa(n)))
		if err != nil {
			fmt.Printf("%d %v", n, err.(*os.PathError).Err)
			return
		}
		f.Close()
	}
	fmt.Print(args[1], " all of them")
}

// sparse makes a file with a hole of args[1] MiB.
func sparse(args []string) {
	f, err := os.Create(args[0])
	die(err)
	die(f.Truncate(int64(number(args[1])) << 20))
}

// attack does to the first process all that the same user could try, and prints what worked.
func attack([]string) {
	report := func(what string, err error) {
		if err == nil {
			fmt.Println(what)
		}
	}
	for _, name := range []string{"fd/0", "fd/1", "fd/2", "mem", "environ", "root", "cwd", "exe", "auxv", "maps"} {
		for _, flag := range []int{unix.O_RDONLY, unix.O_WRONLY} {
			path := "/proc/1/" + name
			fd, err := unix.Open(path, flag, 0)
			report(fmt.Sprintf("open %s %d", path, flag), err)
			if err == nil && name == "fd/1" {
				_, _ = unix.Write(fd, []byte("\x00\x00\x00\x02E{}"))
			}
		}
	}
	_, err := unix.Open("/proc/1/oom_score_adj", unix.O_WRONLY, 0)
	report("write oom_score_adj", err)
	report("ptrace", unix.PtraceAttach(1))
	limit := unix.Rlimit{}
	report("prlimit", unix.Prlimit(1, unix.RLIMIT_NOFILE, &limit, nil))
	local, remote := []unix.Iovec{{}}, []unix.RemoteIovec{{}}
	_, err = unix.ProcessVMReadv(1, local, remote, 0)
	report("process_vm_readv", err)
	if fd, err := unix.PidfdOpen(1, 0); err == nil {
		_, err = unix.PidfdGetfd(fd, 1, 0)
		report("pidfd_getfd", err)
	}
	fmt.Println("still here")
}

// signals sends the first process the signal args[0], or for 0 every signal there is.
func signals(args []string) {
	if sig := number(args[0]); sig != 0 {
		_ = unix.Kill(1, unix.Signal(sig))
		time.Sleep(time.Hour)
	}
	for range 3 {
		for sig := 1; sig <= 64; sig++ {
			_ = unix.Kill(1, unix.Signal(sig))
		}
		_ = unix.Kill(1, unix.SIGSTOP)
	}
	fmt.Println("still here")
}

// serve listens on an address and answers its n-th visitor with the n-th text, the last one for ever; "-" hangs up
// without a word. It says the request of the first.
func serve(args []string) {
	l, err := net.Listen("tcp", args[0])
	die(err)
	for n := 1; ; n++ {
		conn, err := l.Accept()
		die(err)
		buf := make([]byte, 1<<10)
		got, _ := conn.Read(buf)
		if n == 1 {
			fmt.Printf("%.*q", got, buf)
		}
		if text := args[min(n, len(args)-1)]; text != "-" {
			_, _ = io.WriteString(conn, text)
		}
		conn.Close()
	}
}

// announce writes each text with a pause after it, on both streams in turn, and stays.
func announce(args []string) {
	for _, text := range args {
		_, _ = io.WriteString(os.Stdout, text)
		_, _ = io.WriteString(os.Stderr, ".")
		time.Sleep(100 * time.Millisecond)
	}
	time.Sleep(time.Hour)
}

// names says what each name means, and what the box is told of name servers.
func names(args []string) {
	for _, name := range args {
		found, err := net.LookupHost(name)
		var wrong *net.DNSError
		fmt.Println(name, found, errors.As(err, &wrong) && wrong.IsNotFound, err == nil)
	}
	servers, err := os.ReadFile("/etc/resolv.conf")
	fmt.Printf("%q %v\n", servers, err)
}

// exit connects to where the box's way out begins and sends a text, as Go quotes it.
func exit(text string) net.Conn {
	conn, err := net.Dial("tcp", "127.0.0.1:19128")
	die(err)
	text, err = strconv.Unquote(text)
	die(err)
	_, err = io.WriteString(conn, text)
	die(err)
	return conn
}

// ask sends args[0] through the way out and prints all that comes back.
func ask(args []string) {
	_, _ = io.Copy(os.Stdout, exit(args[0]))
}

// crowd opens args[0] connections, of which each sends args[1] and waits for no answer, closes all of them, and asks
// with args[2].
func crowd(args []string) {
	var open []net.Conn
	for range number(args[0]) {
		open = append(open, exit(args[1]))
	}
	time.Sleep(100 * time.Millisecond) // those that got a place hold it, idle
	for _, conn := range open {
		conn.Close()
	}
	ask(args[2:])
}

// deaf asks with args[0] and never reads what comes back; meanwhile it asks with args[1].
func deaf(args []string) {
	conn := exit(args[0])
	time.Sleep(200 * time.Millisecond) // what comes has filled every buffer
	ask(args[1:])
	_ = conn
}

// linger leaves a process behind that clings to a connection.
func linger(args []string) {
	cmd := exec.Command("/bin/probe", "cling", args[0])
	out, err := cmd.StdoutPipe()
	die(err)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	die(cmd.Start())
	_, err = out.Read(make([]byte, 8))
	die(err)
}

// cling asks with args[0], says so when an answer begins, and ignores whoever would end it.
func cling(args []string) {
	conn := exit(args[0])
	_, err := conn.Read(make([]byte, 8))
	die(err)
	stubborn()
}
