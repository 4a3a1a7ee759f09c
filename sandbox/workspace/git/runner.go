package git

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"slices"
	"time"
)

// hardening are the options that keep a repository from having programs run: hooks,
// monitors, pagers, signature checks, diff drivers, fetches of what a partial clone left
// out. Options on the command line outrank the configuration of the repository.
var hardening = []string{
	"--no-pager", "--no-optional-locks",
	"-c", "core.hooksPath=" + os.DevNull, "-c", "core.fsmonitor=false", "-c", "core.untrackedCache=false",
	"-c", "log.showSignature=false", "-c", "gpg.program=" + os.DevNull, "-c", "diff.external=", "-c", "core.quotePath=false",
	"-c", "core.sshCommand=" + os.DevNull, "-c", "core.attributesFile=" + os.DevNull,
	"-c", "maintenance.auto=false", "-c", "gc.auto=0",
}

// environment is all that git inherits: variables such as GIT_CONFIG_COUNT or GIT_TRACE
// would make it do what somebody else wants.
func environment(program, dir string) []string {
	return []string{
		"PATH=" + path.Dir(program) + ":/usr/bin:/bin", "HOME=" + os.DevNull, "LC_ALL=C.UTF-8",
		"GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=" + os.DevNull, "GIT_ATTR_NOSYSTEM=1",
		// Set to nothing it allows no protocol at all, whatever protocol.NAME.allow of
		// the repository says: that outranks protocol.allow (git(1)).
		"GIT_ALLOW_PROTOCOL=",
		"GIT_TERMINAL_PROMPT=0", "GIT_NO_LAZY_FETCH=1", "GIT_OPTIONAL_LOCKS=0", "GIT_CEILING_DIRECTORIES=" + path.Dir(dir),
	}
}

// ErrAbsent means that the git program is not installed.
var ErrAbsent = errors.New("git is not installed")

// ErrTooLong means that git printed more than the caller reads.
var ErrTooLong = errors.New("more output than is read")

// An ExitError is a call that git ended with a status of its own.
type ExitError struct {
	Code   int
	Status string // as the system tells it: "exit status 1", "signal: killed"
	Stderr string // the first 4 KiB
}

// Error gives the status and what git wrote about it.
func (e *ExitError) Error() string { return e.Status + ": " + e.Stderr }

// Run runs git in the directory dir, which must itself be a work tree, and returns what it
// printed. The repository is not trusted: no program that its configuration names is run, no
// remote is reached, nothing is asked of a person, and neither the machine's configuration
// nor the caller's environment takes part.
//
// At most limit bytes are returned; when there are more they come with ErrTooLong. The error
// wraps ErrAbsent without the program, the context's when that ended, and *ExitError where
// git refused.
func Run(ctx context.Context, dir string, limit int, args ...string) ([]byte, error) {
	return call{dir: dir, args: args, limit: limit}.run(ctx)
}

// An Input is what a call of git is given beside its arguments.
type Input struct {
	Stdin io.Reader
	// Env adds to the environment, as "GIT_INDEX_FILE=…"; it must not name a program or a
	// configuration.
	Env []string
}

// RunWith is Run with an input.
func RunWith(ctx context.Context, dir string, limit int, in Input, args ...string) ([]byte, error) {
	return call{dir: dir, args: args, env: in.Env, in: in.Stdin, limit: limit}.run(ctx)
}

// A call is one run of git.
type call struct {
	dir   string
	args  []string
	env   []string // beside the environment of every call
	in    io.Reader
	out   io.Writer // takes the output in place of the result; nil for the result
	limit int       // bytes of the result
}

// run runs git; see Run.
func (c call) run(ctx context.Context) ([]byte, error) {
	// LookPath never finds a program in the current directory, so the workspace cannot
	// offer its own.
	program, err := exec.LookPath("git")
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrAbsent, err)
	}
	cmd := exec.CommandContext(ctx, program, append(slices.Clone(hardening), c.args...)...)
	cmd.Dir, cmd.Stdin = c.dir, c.in
	cmd.Env = append(environment(program, c.dir), c.env...)
	// A child that outlives git must not keep us waiting for its output.
	cmd.WaitDelay = time.Second
	out, problem := &capped{limit: c.limit}, &capped{limit: 4 << 10, lossy: true}
	cmd.Stdout, cmd.Stderr = out, problem
	if c.out != nil {
		cmd.Stdout = c.out
	}
	err = cmd.Run()
	var exit *exec.ExitError
	switch {
	case out.full:
		return out.kept.Bytes(), ErrTooLong
	case err == nil:
		return out.kept.Bytes(), nil
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case errors.As(err, &exit):
		return nil, &ExitError{exit.ExitCode(), exit.String(), string(bytes.TrimSpace(problem.kept.Bytes()))}
	}
	return nil, err
}

// exited reports whether err says that git ended with this status.
func exited(err error, code int) bool {
	var exit *ExitError
	return errors.As(err, &exit) && exit.Code == code
}

// A capped buffer keeps the first limit bytes. Then it ends the program that writes to it
// or, if lossy, drops the rest. It offers io.Copy no ReadFrom, which would go around the limit.
type capped struct {
	kept  bytes.Buffer
	limit int
	lossy bool
	full  bool
}

// Write takes p while there is room.
func (c *capped) Write(p []byte) (int, error) {
	if room := c.limit - c.kept.Len(); len(p) > room {
		c.full = true
		c.kept.Write(p[:room])
		if c.lossy {
			return len(p), nil
		}
		return room, ErrTooLong
	}
	return c.kept.Write(p)
}
