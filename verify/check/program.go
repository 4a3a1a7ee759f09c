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

// An Entry is how the smoke gate starts the program. HTML pages, styles and libraries are not entries: only the
// interpreter of its own language starts a file.
type Entry struct {
	// Path is the file; "" for a configured command, which cannot be followed through a rename.
	Path string
	// Args is the command, its program as an absolute path; empty if there is none.
	Args []string
	// Build is the Go command that builds the program first; nil if no build is needed.
	Build []string
	// Env is added to the configured variables.
	Env map[string]string
	// Guess says that nothing in the workspace declares the program: unless it listens, a short look is enough.
	Guess bool
}

// String returns the command for display.
func (e Entry) String() string {
	if len(e.Args) == 0 {
		return "nothing"
	}
	args := slices.Clone(e.Args)
	if len(e.Build) > 0 {
		return Shorten("go run " + e.Build[len(e.Build)-1])
	}
	args[0] = path.Base(args[0])
	// env and its "--" are how the command is started, not what a person configured.
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
	// Failed says that the import did not complete, for the reason in Why.
	Failed bool    `json:"failed,omitempty"`
	Why    Finding `json:"why"`
	// Outside says that the cause is a module that is nowhere in the workspace: it is not installed. A package that the
	// workspace needs and the box lacks is not the patch's fault.
	Outside bool `json:"outside,omitempty"`
}

// Check reports what is wrong with the configuration of the smoke test.
func (s Smoke) Check() error {
	_, err := s.Watch()
	return err
}

// Watch translates Ready into a guest.Watch.
func (s Smoke) Watch() (guest.Watch, error) {
	rest, port := strings.CutPrefix(s.Ready, "port:")
	switch {
	// A value that looks like one of these forms but is not valid is a mistake, not a text.
	case port:
		number, path, _ := strings.Cut(rest, "/")
		n, err := strconv.ParseUint(number, 10, 16)
		if path = "/" + path; err != nil || n == 0 || !guest.ValidPath(path) {
			return guest.Watch{}, fmt.Errorf("ready %q: give port:NUMBER/PATH, such as port:8080/health", Shorten(s.Ready))
		}
		return guest.Watch{Port: int(n), Path: path}, nil
	case strings.HasPrefix(s.Ready, "/"):
		if !guest.ValidPath(s.Ready) {
			return guest.Watch{}, fmt.Errorf("ready %q: a path has only ASCII characters and no spaces", Shorten(s.Ready))
		}
		return guest.Watch{Path: s.Ready}, nil
	case strings.HasPrefix(s.Ready, "http://"), strings.HasPrefix(s.Ready, "https://"):
		return guest.Watch{}, fmt.Errorf("ready %q: give only the path, such as /health, or port:8080/health", Shorten(s.Ready))
	case len(s.Ready) > MaxMessage || strings.ContainsAny(s.Ready, "\n\r"):
		return guest.Watch{}, fmt.Errorf("ready %.40q: give part of one line, at most %d bytes", s.Ready, MaxMessage)
	}
	return guest.Watch{Text: s.Ready}, nil
}

// Served describes the ports for display, "" if there are none.
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
	// Command is the command that started it, its program as an absolute path, preceded by "go" if Go built the program
	// first.
	Command []string `json:"command,omitempty"`
	// Exit is the exit status; -1 with a signal.
	Exit   int    `json:"exit"`
	Signal string `json:"signal,omitempty"`
	// Running says that it was still running when the watch was over, as a server is.
	Running bool `json:"running,omitempty"`
	// Glanced says that it was running and listening on nothing when the short look at a guess was over.
	Glanced bool `json:"glanced,omitempty"`
	// Settled says that it was running and ready: it answered, or wrote the configured text. The watch ended then.
	Settled bool `json:"settled,omitempty"`
	// Asked says that the sign of readiness is configured.
	Asked bool `json:"asked,omitempty"`
	// Ports are those on which it listened at the end of the watch.
	Ports []guest.Port `json:"ports,omitempty"`
	// Busy says that it was running and worked for more than half of the time, or was ready to work on a machine that
	// was busy otherwise: a loop, not a wait.
	Busy bool `json:"busy,omitempty"`
	// Crashes has what its crash reports say, without duplicates and without volatile parts.
	Crashes []string `json:"crashes,omitempty"`
	// Usage says that it exited with the status for a wrong command line, and printed the correct usage.
	Usage bool `json:"usage,omitempty"`
	// Wall is how long it ran, CPU the processor time of all its processes, and Wrote how many bytes it wrote on both
	// streams.
	Wall  time.Duration `json:"wall,omitempty"`
	CPU   time.Duration `json:"cpu,omitempty"`
	Wrote int64         `json:"wrote,omitempty"`
	// Rested is how long, at the end of the watch, it had not worked.
	Rested time.Duration `json:"rested,omitempty"`
	// Where is the last crash with a place in the workspace, or else the last crash.
	Where Finding `json:"where"`
	// Told is the last report of an exception, even if it was caught.
	Told Finding `json:"told"`
	// Does says how much it does of what it did before the patch; nil if that was not measured.
	Does *Does `json:"does,omitempty"`
}

// Does counts the lines that a program executes in files that a patch touches. If Then is 0, nothing was measured.
type Does struct {
	// Then counts executed lines before the patch, Now after it.
	Then int `json:"then"`
	Now  int `json:"now"`
	// Kept counts the lines in Now that were there before the patch.
	Kept int `json:"kept"`
	// Lost counts the lines that are unchanged and no longer executed.
	Lost int `json:"lost"`
}

// String returns a description of the ending for display.
func (e Ending) String() string {
	switch ports := Served(e.Ports); {
	case e.Settled:
		if slices.ContainsFunc(e.Ports, func(p guest.Port) bool { return p.Status != 0 }) {
			return ports
		}
		return strings.TrimPrefix(ports+", ready", ", ")
	case e.Glanced:
		return "still running after a short look, because nothing says that it is the program"
	case e.Running:
		return strings.TrimSuffix("still running when the watch was over, "+ports, ", ")
	case e.Signal != "":
		return "ended by " + e.Signal
	}
	return fmt.Sprintf("exit status %d", e.Exit)
}

// Crashed reports whether the ending by itself is a crash.
func (e Ending) Crashed() bool { return !e.Running && (e.Exit != 0 || e.Signal != "") }

// Smoke says how the smoke test starts the program.
type Smoke struct {
	// Command is the program and its arguments, looked up in the box's PATH without a shell. If it is empty, the
	// program is found by convention.
	Command []string `toml:"command"`
	// Seconds is how long the program is watched; 0 means 10, and more counts as 10.
	Seconds int               `toml:"seconds"`
	Env     map[string]string `toml:"env"`
	// Ready is the sign that the program is ready: a path that it answers, such as "/health"; a path on one port, such
	// as "port:8080/health"; or a text that it writes. Empty means "/" on any port. The watch ends when it is ready.
	Ready string `toml:"ready"`
}
