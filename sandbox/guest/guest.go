package guest

import (
	"bytes"
	"fmt"
	"maps"
	"path"
	"strings"
	"time"
)

// workDir is the copy of the workspace that the programs in a box see and change.
const workDir = "/work"

// A Command is one child process that the guest runs.
type Command struct {
	// Args is the program and its arguments. Args[0] is an absolute path in the box: the guest looks nothing up,
	// because the workspace could put another program in the way.
	Args []string `json:"args"`
	// Dir is the absolute path of its working directory; "" means /work.
	Dir string `json:"dir,omitempty"`
	// Env is added to PATH, HOME, HOSTNAME and LANG, to TERM on a terminal, and to the names of the proxy or, without
	// one, how often npm and pip retry. A command gets nothing else. Env may replace these.
	Env map[string]string `json:"env,omitempty"`
	// Stdin is its standard input; nil means /dev/null.
	Stdin []byte `json:"stdin,omitempty"`
	// Timeout is how long it may run. Then its process group gets TERM. 0 means 60 s.
	Timeout time.Duration `json:"timeout"`
	// Grace is how long it may take after TERM, before everything in the box gets KILL. 0 means 2 s.
	Grace time.Duration `json:"grace"`
	// MaxOutput is how many bytes of each stream are kept, half of them head and half tail. 0 means 1 MiB.
	MaxOutput int `json:"max_output"`
	// Collect names regular files to return when it has ended, by absolute path, of at most MaxCollectSize each.
	// Results are returned in files because any program can print text that looks like a result.
	Collect []string `json:"collect,omitempty"`
	// Watch ends the command when it is ready; nil lets it run.
	Watch *Watch `json:"watch,omitempty"`
	// Stream also sends what it writes while it runs, up to MaxStreamed bytes.
	Stream bool `json:"stream,omitempty"`
	// Terminal gives it a terminal of this size in place of pipes and Stdin; its output is Stdout. Nil gives it none.
	Terminal *Size `json:"terminal,omitempty"`
	// Egress gives it a way out: an HTTP proxy on the loopback, named in its environment, whose connections the host
	// serves.
	Egress bool `json:"egress,omitempty"`
}

// A Size is the size of a terminal in characters.
type Size struct {
	Rows    uint16 `json:"rows"`
	Columns uint16 `json:"columns"`
}

// The bounds of a Command. A larger one is refused before it runs.
const (
	// MaxCollect is how many files one command may return.
	MaxCollect = 16
	// MaxCollectSize is the size of such a file in bytes; a larger one counts as absent. The longest known suites have
	// some 60,000 tests, for which pytest's record is 14 MiB.
	MaxCollectSize = 32 << 20
	// MaxKept is the largest MaxOutput in bytes. The longest known Go suite has some 70,000 tests, for which go test
	// writes 46 MiB.
	MaxKept = 64 << 20
	// MaxStdin is the most bytes of Stdin.
	MaxStdin = 16 << 20
	// MaxStreamed is how many bytes of output are streamed at most.
	MaxStreamed = 256 << 20
	// maxArguments is how many bytes all arguments and variables may have together. The kernel takes about 2 MiB.
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

// Check reports why no guest would accept c. It expects the defaults to be filled in.
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
		return fmt.Errorf("command %s: a terminal needs streamed input and output", c.Args[0])
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

// checkStrings refuses arguments and variables that execve would not accept.
func (c Command) checkStrings() error {
	total := 0
	for _, arg := range c.Args {
		total += len(arg)
	}
	for name, value := range maps.All(c.Env) {
		if name == "" || strings.ContainsAny(name, "=\x00") || strings.Contains(value, "\x00") {
			return fmt.Errorf("command %s: variable %q: its name is empty or has = or NUL, or its value has NUL", c.Args[0], name)
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
	// Head is the whole output, or its beginning if it was too long.
	Head []byte `json:"head"`
	// Tail is the last bytes, if bytes before them were dropped.
	Tail []byte `json:"tail,omitempty"`
	// Dropped counts the bytes between Head and Tail that were not kept.
	Dropped int64 `json:"dropped,omitempty"`
}

// A Result describes how a command ended.
type Result struct {
	// Exit is the exit status, or -1 when a signal ended the command.
	Exit int `json:"exit"`
	// Signal names that signal, such as "SIGSEGV".
	Signal string `json:"signal,omitempty"`
	// TimedOut says that it was still running at Timeout. Exit and Signal still say how it ended afterwards.
	TimedOut bool `json:"timed_out,omitempty"`
	// Settled says that the Watch found it ready and that the guest ended it for that reason. As with TimedOut, Exit
	// and Signal still say how it ended.
	Settled bool `json:"settled,omitempty"`
	// Ports are the ports that the Watch saw last, by number.
	Ports []Port `json:"ports,omitempty"`
	// OOM says that the kernel killed something in the box for memory, even if only a child of a command that itself
	// ended well.
	OOM bool `json:"oom,omitempty"`
	// Killed says that the box itself died or had to be killed. The fields below may be empty then, and the box is no
	// longer usable.
	Killed bool `json:"killed,omitempty"`

	Stdout Output `json:"stdout"`
	Stderr Output `json:"stderr"`
	// Files are the collected files that exist, by path.
	Files map[string][]byte `json:"files,omitempty"`

	// Wall is the time until the end of the command itself.
	Wall time.Duration `json:"wall"`
	// CPU is the user and system time of all its processes.
	CPU time.Duration `json:"cpu"`
	// Waited is how long the processes alive at the deadline had been ready to run without a processor; 0 if the kernel
	// does not report it.
	Waited time.Duration `json:"waited"`
	// Rested is how long, before the end of a Watch, no process had done or wanted to do anything; 0 if the kernel does
	// not report it.
	Rested time.Duration `json:"rested,omitempty"`
	// PeakBytes is the peak memory of the box so far, including the files in its in-memory file systems.
	PeakBytes int64 `json:"peak_bytes"`
	// Survivors counts the processes that were left behind and killed.
	Survivors int `json:"survivors,omitempty"`
	// Reached names the limits of the box that it ran into, such as ReachedTmp.
	Reached []string `json:"reached,omitempty"`
}

// Bytes returns Head, a line that says how much was dropped, and Tail.
func (o Output) Bytes() []byte {
	if o.Dropped == 0 {
		return bytes.Clone(append(o.Head[:len(o.Head):len(o.Head)], o.Tail...))
	}
	line := fmt.Sprintf("\n… %d bytes dropped …\n", o.Dropped)
	return bytes.Join([][]byte{o.Head, []byte(line), o.Tail}, nil)
}
