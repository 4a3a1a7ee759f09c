package check

import (
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"agent/sandbox/guest"
)

// An Entry is how the smoke gate starts the program. HTML pages, styles and
// libraries are none: nothing but the interpreter of its own language starts a file.
type Entry struct {
	// The file, "" for a configured command: the latter cannot be followed
	// through a rename.
	Path string
	// The command, its program as an absolute path; empty when there is none.
	Args []string
	// The command of Go that makes the program first, nil where nothing needs to.
	Build []string
	// Besides the configured variables.
	Env map[string]string
	// Nothing in the workspace says that it is started: unless it listens, a look is enough.
	Guess bool
}

// String names the command for people.
func (e Entry) String() string {
	if len(e.Args) == 0 {
		return "nothing"
	}
	args := slices.Clone(e.Args)
	if len(e.Build) > 0 {
		return Shorten("go run " + e.Build[len(e.Build)-1])
	}
	args[0] = path.Base(args[0])
	// env and its "--" are how it is started, not what a person configured.
	if args[0] == "env" {
		if args = args[1:]; len(args) > 0 && args[0] == "--" {
			args = args[1:]
		}
	}
	return Shorten(strings.Join(args, " "))
}

// An ImportResult is how an import ended.
type ImportResult struct {
	Name string `json:"name"`
	// It did not come to its end, for this reason.
	Failed bool    `json:"failed,omitempty"`
	Why    Finding `json:"why"`
	// The reason is a module that is nowhere in the workspace: it is not installed.
	// What a workspace needs and the box lacks is nobody's fault.
	Outside bool `json:"outside,omitempty"`
}

// Check reports what is wrong with how the smoke test is configured.
func (s Smoke) Check() error {
	_, err := s.Watch()
	return err
}

// Watch translates Ready for the guest.
func (s Smoke) Watch() (guest.Watch, error) {
	rest, port := strings.CutPrefix(s.Ready, "port:")
	switch {
	// What has the form of one of these and is none is a mistake, not a text.
	case port:
		number, path, _ := strings.Cut(rest, "/")
		n, err := strconv.ParseUint(number, 10, 16)
		if path = "/" + path; err != nil || n == 0 || !guest.ValidPath(path) {
			return guest.Watch{}, fmt.Errorf("ready %q: give port:NUMBER/PATH, as port:8080/health", Shorten(s.Ready))
		}
		return guest.Watch{Port: int(n), Path: path}, nil
	case strings.HasPrefix(s.Ready, "/"):
		if !guest.ValidPath(s.Ready) {
			return guest.Watch{}, fmt.Errorf("ready %q: a path has no spaces, and only ASCII characters", Shorten(s.Ready))
		}
		return guest.Watch{Path: s.Ready}, nil
	case strings.HasPrefix(s.Ready, "http://"), strings.HasPrefix(s.Ready, "https://"):
		return guest.Watch{}, fmt.Errorf("ready %q: give the path alone, as /health, or port:8080/health", Shorten(s.Ready))
	case len(s.Ready) > MaxMessage || strings.ContainsAny(s.Ready, "\n\r"):
		return guest.Watch{}, fmt.Errorf("ready %.40q: give a piece of one line, of %d bytes at most", s.Ready, MaxMessage)
	}
	return guest.Watch{Text: s.Ready}, nil
}

// Served tells people of the ports, "" when there are none.
func Served(ports []guest.Port) string {
	var parts []string
	for _, p := range ports {
		text := fmt.Sprintf("listens on port %d", p.Port)
		if p.Status != 0 {
			text = fmt.Sprintf("server responded on :%d (%d)", p.Port, p.Status)
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, ", ")
}

// An Ending is how the program of the smoke gate behaved.
type Ending struct {
	// The command that started it, its program as an absolute path; in front of it "go"
	// where Go made the program first.
	Command []string `json:"command,omitempty"`
	// The exit status; -1 with a signal.
	Exit   int    `json:"exit"`
	Signal string `json:"signal,omitempty"`
	// Still there when the watch was over, as a server is.
	Running bool `json:"running,omitempty"`
	// Running and listening on nothing when the look at a guess was over.
	Glanced bool `json:"glanced,omitempty"`
	// Running, and it was ready for its work: it answered, or wrote the text that
	// is configured. It was not watched any longer then.
	Settled bool `json:"settled,omitempty"`
	// What makes it ready is configured.
	Asked bool `json:"asked,omitempty"`
	// Those on which it listened at the end of the watch.
	Ports []guest.Port `json:"ports,omitempty"`
	// Running, and at work for more than half of the time, or ready for it on a
	// machine that has other things to do: a loop, not a wait.
	Busy bool `json:"busy,omitempty"`
	// What its crash reports say, each once, volatile parts removed.
	Crashes []string `json:"crashes,omitempty"`
	// It ended with the status that means a wrong command line, and showed the right one.
	Usage bool `json:"usage,omitempty"`
	// How long it ran, the processor time of all its processes, and how many
	// bytes it wrote on both streams.
	Wall  time.Duration `json:"wall,omitempty"`
	CPU   time.Duration `json:"cpu,omitempty"`
	Wrote int64         `json:"wrote,omitempty"`
	// How long, at the end of the watch, it had not been at work.
	Rested time.Duration `json:"rested,omitempty"`
	// The last crash with a place in the workspace, else the last one.
	Where Finding `json:"where"`
	// The last report of an exception, be it one that was caught.
	Told Finding `json:"told"`
	// What it does of what it did before the patch; nil where nobody has asked.
	Does *Does `json:"does,omitempty"`
}

// Does counts lines of the files that a patch touches which a program executes. Nothing was measured where
// there are none of before.
type Does struct {
	// Of those that stood there before, and of those that stand there now.
	Then int `json:"then"`
	Now  int `json:"now"`
	// Of the latter those that stood there before.
	Kept int `json:"kept"`
	// Lines that stand there as before, and that it executes no more.
	Lost int `json:"lost"`
}

// String tells an ending to people.
func (e Ending) String() string {
	switch ports := Served(e.Ports); {
	case e.Settled:
		if slices.ContainsFunc(e.Ports, func(p guest.Port) bool { return p.Status != 0 }) {
			return ports
		}
		return strings.TrimPrefix(ports+", ready", ", ")
	case e.Glanced:
		return "still running after a short look, for nothing says that it is the program"
	case e.Running:
		return strings.TrimSuffix("still running when the watch was over, "+ports, ", ")
	case e.Signal != "":
		return "ended by " + e.Signal
	}
	return fmt.Sprintf("exit status %d", e.Exit)
}

// Crashed reports whether the ending alone is one of a crash.
func (e Ending) Crashed() bool { return !e.Running && (e.Exit != 0 || e.Signal != "") }

// Smoke says how the smoke test starts the program.
type Smoke struct {
	// Program and arguments, looked up in the box's PATH without a shell. When
	// empty the program is found by convention.
	Command []string `toml:"command"`
	// How long it is watched; 0 means 10, and more counts as 10.
	Seconds int               `toml:"seconds"`
	Env     map[string]string `toml:"env"`
	// What shows that the program is ready for its work: a path that it answers,
	// as "/health"; the same on one port, as "port:8080/health"; or a text that it
	// writes. When empty "/" on any port. Once ready it is not watched any longer.
	Ready string `toml:"ready"`
}
