package guest

import (
	"fmt"
	"slices"
	"time"
)

// Protocol is the version of the frames and messages. Host and guest must have the same version.
const Protocol = 5

// Ready is the first message of a guest.
type Ready struct {
	// Protocol is the guest's protocol version.
	Protocol int `json:"protocol"`
	// Digest is the hex SHA-256 of the guest program itself.
	Digest string `json:"digest"`
	// Files, Dirs and Links count what was unsealed from /snapshot; Bytes is the total content of the files.
	Files int   `json:"files"`
	Dirs  int   `json:"dirs"`
	Links int   `json:"links"`
	Bytes int64 `json:"bytes"`
	// SeesOOM says that the control group counts out-of-memory kills.
	// Otherwise the host must ask the engine.
	SeesOOM bool `json:"sees_oom"`
	// Problem says why /work could not be filled, such as "no space left".
	Problem string `json:"problem,omitempty"`
}

// MaxReady is the largest payload of a Ready or Applied frame.
const MaxReady = 64 << 10

// maxKey is the largest payload of a Key frame.
const maxKey = 1 << 10

// maxRequest is the largest payload of a request. JSON writes bytes as base64, a third longer.
const maxRequest = 2 * (MaxStdin + maxArguments)

// Check refuses a guest that speaks another protocol or that could not fill /work.
func (r Ready) Check() error {
	switch {
	case r.Protocol != Protocol:
		return fmt.Errorf("the guest in the image speaks protocol %d, this program %d: build the images again", r.Protocol, Protocol)
	case r.Problem != "":
		return fmt.Errorf("fill /work: %.500s", r.Problem)
	}
	return nil
}

// A Patch introduces a changeset on its way into the box. The guest first deletes what it names, so that a directory
// can replace a file, and a file an emptied directory. Then a tar stream of regular files follows, each with its exact
// mode.
type Patch struct {
	// Delete lists files and links, relative to /work.
	Delete []string `json:"delete,omitempty"`
}

// Applied is the answer to a Patch.
type Applied struct {
	// Deleted and Written count files.
	Deleted int `json:"deleted"`
	Written int `json:"written"`
	// Problem says what went wrong, in which case the workspace in the box is neither as before nor as intended.
	Problem string `json:"problem,omitempty"`
}

// An Answer is the answer to a Command.
type Answer struct {
	// Result is how it ended.
	Result Result `json:"result"`
	// Problem says why the command was not run at all, if it was not.
	Problem string `json:"problem,omitempty"`
}

// AnswerLimit is the largest payload that an Answer to c may have.
func AnswerLimit(c Command) int {
	content := 2*c.MaxOutput + len(c.Collect)*MaxCollectSize
	return content/3*4 + maxArguments + MaxReady
}

// Check reports what an honest guest could never answer to c. The guest shares its user ID with untrusted programs. If
// one ever spoke in its place, it could still return no file that was not asked for and no more bytes than were asked
// for.
func (a Answer) Check(c Command) error {
	r := a.Result
	for _, out := range []Output{r.Stdout, r.Stderr} {
		if len(out.Head)+len(out.Tail) > c.MaxOutput || out.Dropped < 0 {
			return fmt.Errorf("answer to %s: more output than the %d bytes asked for", c.Args[0], c.MaxOutput)
		}
	}
	for name, content := range r.Files {
		if !slices.Contains(c.Collect, name) || len(content) > MaxCollectSize {
			return fmt.Errorf("answer to %s: file %q of %d bytes was not asked for", c.Args[0], name, len(content))
		}
	}
	if r.Exit < -1 || r.Exit > 255 || len(r.Signal) > 16 || (r.Exit == -1) != (r.Signal != "") {
		return fmt.Errorf("answer to %s: exit status %d with signal %q", c.Args[0], r.Exit, r.Signal)
	}
	if c.Watch == nil && (r.Settled || len(r.Ports) > 0) || r.Settled && r.TimedOut || len(r.Ports) > MaxPorts {
		return fmt.Errorf("answer to %s: it reports more than was asked for", c.Args[0])
	}
	for _, p := range r.Ports {
		if p.Port < 1 || p.Port > 65535 || p.Status < 0 || p.Status > 599 || p.Latency < 0 {
			return fmt.Errorf("answer to %s: port %d with status %d", c.Args[0], p.Port, p.Status)
		}
	}
	if len(r.Reached) > len(reachable) || slices.ContainsFunc(r.Reached, func(name string) bool { return !slices.Contains(reachable, name) }) {
		return fmt.Errorf("answer to %s: it reached a limit that no box has", c.Args[0])
	}
	if r.Killed || r.Survivors < 0 || r.CPU < 0 || r.Waited < 0 || r.Rested < 0 || r.PeakBytes < 0 || r.Wall < 0 || r.Wall > c.Timeout+c.Grace+time.Minute {
		return fmt.Errorf("answer to %s: impossible figures", c.Args[0])
	}
	return nil
}
