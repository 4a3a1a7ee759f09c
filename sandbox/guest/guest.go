package guest

import (
	"bytes"
	"fmt"
	"maps"
	"path"
	"strings"
	"time"
)

// workDir is the copy of the workspace that programs of a box see and change.
const workDir = "/work"

// A Command is one child process that the guest runs.
type Command struct {
	// Args is the program and its arguments. Args[0] is an absolute path
	// in the box: nothing is looked up, because the workspace could put
	// another program in the way.
	Args []string `json:"args"`
	// Dir is where it starts, absolute; "" means /work.
	Dir string `json:"dir,omitempty"`
	// Env is added to PATH, HOME, HOSTNAME and LANG, which with the names of
	// the proxy, or with how often npm and pip ask again where there is none,
	// are all that a command gets otherwise. It may replace these.
	Env map[string]string `json:"env,omitempty"`
	// Stdin is what it reads; nil means /dev/null.
	Stdin []byte `json:"stdin,omitempty"`
	// Timeout is how long it may run. Then its process group gets TERM.
	// 0 means 60 s.
	Timeout time.Duration `json:"timeout"`
	// Grace is how long it may take after TERM, before everything in
	// the box gets KILL. 0 means 2 s.
	Grace time.Duration `json:"grace"`
	// MaxOutput is how many bytes are kept of each stream, half of them
	// head and half tail. 0 means 1 MiB.
	MaxOutput int `json:"max_output"`
	// Collect names regular files to return when it has ended, by
	// absolute path, of 8 MiB each at most. Results come this way rather
	// than out of text that anybody could have printed.
	Collect []string `json:"collect,omitempty"`
	// Watch ends the command when it is ready; nil lets it run.
	Watch *Watch `json:"watch,omitempty"`
	// Stream sends what it writes while it runs too, up to MaxStreamed bytes.
	Stream bool `json:"stream,omitempty"`
	// Terminal gives it a terminal of this size in place of pipes and Stdin; its output is that of
	// Stdout. Nil gives it none.
	Terminal *Size `json:"terminal,omitempty"`
	// Egress gives it a way out: a proxy of HTTP on the loopback, named by its
	// environment, whose connections the host serves.
	Egress bool `json:"egress,omitempty"`
}

// A Size is that of a terminal in characters.
type Size struct {
	Rows    uint16 `json:"rows"`
	Columns uint16 `json:"columns"`
}

// The bounds of a Command. What is larger is refused before it runs.
const (
	// MaxCollect is how many files one command may return.
	MaxCollect = 16
	// MaxCollectSize is the size of such a file in bytes; a larger one
	// counts as absent.
	// The longest known suites have some 60,000 tests, of which pytest's record is 14 MiB.
	MaxCollectSize = 32 << 20
	// MaxKept is the largest MaxOutput in bytes. The longest known suite of Go has some 70,000 tests, of which go test writes 46 MiB.
	MaxKept = 64 << 20
	// MaxStdin is the most bytes of Stdin.
	MaxStdin = 16 << 20
	// MaxStreamed is the most bytes of output that are streamed.
	MaxStreamed = 256 << 20
	// maxArguments is the most bytes of all arguments and variables
	// together. The kernel takes about 2 MiB.
	maxArguments = 1 << 20
)

// WithDefaults returns c with its zero fields filled in.
func (c Command) WithDefaults() Command {
	if c.Dir == "" {
		c.Dir = workDir
	}
	if c.Timeout == 0 {
		c.Timeout = time.Minute
	}
	if c.Grace == 0 {
		c.Grace = 2 * time.Second
	}
	if c.MaxOutput == 0 {
		c.MaxOutput = 1 << 20
	}
	return c
}

// Check reports what makes c a command that no guest accepts. It
// expects the defaults to be filled in.
func (c Command) Check() error {
	if len(c.Args) == 0 || !path.IsAbs(c.Args[0]) {
		return fmt.Errorf("command %q: the program must be an absolute path", c.Args)
	}
	if !path.IsAbs(c.Dir) {
		return fmt.Errorf("command %s: directory %q must be absolute", c.Args[0], c.Dir)
	}
	if c.Timeout < 0 || c.Grace < 0 || c.MaxOutput < 0 || c.MaxOutput > MaxKept {
		return fmt.Errorf("command %s: time limits and output limit must lie between 0 and their maximum", c.Args[0])
	}
	if len(c.Stdin) > MaxStdin {
		return fmt.Errorf("command %s: %d bytes of standard input, at most %d", c.Args[0], len(c.Stdin), MaxStdin)
	}
	if c.Terminal != nil && (c.Stdin != nil || !c.Stream) {
		return fmt.Errorf("command %s: a terminal has its input and output streamed", c.Args[0])
	}
	if len(c.Collect) > MaxCollect {
		return fmt.Errorf("command %s: %d files to collect, at most %d", c.Args[0], len(c.Collect), MaxCollect)
	}
	for _, name := range c.Collect {
		if !path.IsAbs(name) || path.Clean(name) != name {
			return fmt.Errorf("command %s: collect %q: must be a clean absolute path", c.Args[0], name)
		}
	}
	if c.Watch != nil {
		if err := c.Watch.check(); err != nil {
			return fmt.Errorf("command %s: %w", c.Args[0], err)
		}
	}
	return c.checkStrings()
}

// checkStrings refuses arguments and variables that execve would not
// take.
func (c Command) checkStrings() error {
	total := 0
	for _, arg := range c.Args {
		total += len(arg)
	}
	for name, value := range maps.All(c.Env) {
		if name == "" || strings.ContainsAny(name, "=\x00") || strings.Contains(value, "\x00") {
			return fmt.Errorf("command %s: variable %q has no valid name and value", c.Args[0], name)
		}
		total += len(name) + len(value)
	}
	if total > maxArguments {
		return fmt.Errorf("command %s: %d bytes of arguments and variables, at most %d", c.Args[0], total, maxArguments)
	}
	return nil
}

// Output is what a command wrote on one stream.
type Output struct {
	// Head is the whole output, or its beginning when it was too long.
	Head []byte `json:"head"`
	// Tail is the last bytes, when some before them were dropped.
	Tail []byte `json:"tail,omitempty"`
	// Dropped counts the bytes between Head and Tail that were not kept.
	Dropped int64 `json:"dropped,omitempty"`
}

// A Result is how a command ended.
type Result struct {
	// Exit is the exit status, or -1 when a signal ended the command.
	Exit int `json:"exit"`
	// Signal names that signal, as "SIGSEGV".
	Signal string `json:"signal,omitempty"`
	// TimedOut says that it was still running at Timeout. How it ended
	// afterwards is told by Exit and Signal all the same.
	TimedOut bool `json:"timed_out,omitempty"`
	// Settled says that the Watch found it ready, and that it was told to
	// end for that; as with TimedOut, how it did is told all the same.
	Settled bool `json:"settled,omitempty"`
	// Ports are those that the Watch saw last, by number.
	Ports []Port `json:"ports,omitempty"`
	// OOM says that the kernel killed something in the box for memory,
	// be it a child of a command that itself ended well.
	OOM bool `json:"oom,omitempty"`
	// Killed says that the box itself died or had to be killed. The
	// fields below may be empty then, and the box is of no more use.
	Killed bool `json:"killed,omitempty"`

	Stdout Output `json:"stdout"`
	Stderr Output `json:"stderr"`
	// Files are the collected files that exist, by path.
	Files map[string][]byte `json:"files,omitempty"`

	// Wall is the time until the end of the command itself.
	Wall time.Duration `json:"wall"`
	// CPU is the user and system time of all its processes.
	CPU time.Duration `json:"cpu"`
	// Waited is how long those that the deadline found alive had been ready
	// to run and had no processor; 0 where the kernel does not tell.
	Waited time.Duration `json:"waited"`
	// Rested is how long, before the end of a Watch, none of them had done
	// anything or wanted to; 0 where the kernel does not tell.
	Rested time.Duration `json:"rested,omitempty"`
	// PeakBytes is the peak memory of the box so far, the files in its
	// file systems in memory included.
	PeakBytes int64 `json:"peak_bytes"`
	// Survivors counts the processes that were left behind and killed.
	Survivors int `json:"survivors,omitempty"`
	// Reached names the limits of the box that it ran into, as ReachedTmp.
	Reached []string `json:"reached,omitempty"`
}

// Bytes returns head, a line that says how much was dropped, and tail.
func (o Output) Bytes() []byte {
	if o.Dropped == 0 {
		return bytes.Clone(append(o.Head[:len(o.Head):len(o.Head)], o.Tail...))
	}
	line := fmt.Sprintf("\n… %d bytes dropped …\n", o.Dropped)
	return bytes.Join([][]byte{o.Head, []byte(line), o.Tail}, nil)
}
