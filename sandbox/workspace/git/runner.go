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

// hardening are the options that keep a repository from running programs: hooks, monitors, pagers, signature checks,
// diff drivers, fetches of what a partial clone left out. Command-line options outrank the configuration of the
// repository.
var hardening = []string{
	"--no-pager", "--no-optional-locks",
	"-c", "core.hooksPath=" + os.DevNull, "-c", "core.fsmonitor=false", "-c", "core.untrackedCache=false",
	"-c", "log.showSignature=false", "-c", "gpg.program=" + os.DevNull, "-c", "diff.external=", "-c", "core.quotePath=false",
	"-c", "core.sshCommand=" + os.DevNull, "-c", "core.attributesFile=" + os.DevNull,
	"-c", "maintenance.auto=false", "-c", "gc.auto=0",
}

// environment returns everything that git inherits: variables such as GIT_CONFIG_COUNT or GIT_TRACE would make it do
// what someone else wants.
func environment(program, dir string) []string {
	return []string{
		"PATH=" + path.Dir(program) + ":/usr/bin:/bin", "HOME=" + os.DevNull, "LC_ALL=C.UTF-8",
		"GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=" + os.DevNull, "GIT_ATTR_NOSYSTEM=1",
		// Set to the empty string it allows no protocol at all, whatever the repository's protocol.NAME.allow says,
		// which outranks protocol.allow (git(1)).
		"GIT_ALLOW_PROTOCOL=",
		"GIT_TERMINAL_PROMPT=0", "GIT_NO_LAZY_FETCH=1", "GIT_OPTIONAL_LOCKS=0", "GIT_CEILING_DIRECTORIES=" + path.Dir(dir),
	}
}

// ErrAbsent means that the git program is not installed.
var ErrAbsent = errors.New("git is not installed")

// ErrTooLong means that git printed more than the caller reads.
var ErrTooLong = errors.New("the output is too long")

// An ExitError is a call in which git ran and did not succeed.
type ExitError struct {
	Code   int
	Status string // as the system reports it: "exit status 1", "signal: killed"
	Stderr string // the first 4 KiB
}

// Error returns the status and what git wrote about it.
func (e *ExitError) Error() string { return e.Status + ": " + e.Stderr }

// Run runs git in the directory dir, which must itself be a work tree, and returns what it printed. It does not trust
// the repository: it runs no program that the repository's configuration names, reaches no remote and asks no
// questions. Neither the machine's configuration nor the caller's environment takes part.
//
// Run returns at most limit bytes; if there are more, it returns them with ErrTooLong. The error wraps ErrAbsent if the
// program is not installed, the context's error if that ended, and *ExitError if git refused.
func Run(ctx context.Context, dir string, limit int, args ...string) ([]byte, error) {
	return call{dir: dir, args: args, limit: limit}.run(ctx)
}

// An Input is what a call of git receives besides its arguments.
type Input struct {
	Stdin io.Reader
	// Env adds to the environment, such as "GIT_INDEX_FILE=…"; it must not name a program or a configuration.
	Env []string
}

// RunWith is like Run, with an input.
func RunWith(ctx context.Context, dir string, limit int, in Input, args ...string) ([]byte, error) {
	return call{dir: dir, args: args, env: in.Env, in: in.Stdin, limit: limit}.run(ctx)
}

// A call is one run of git.
type call struct {
	dir   string
	args  []string
	env   []string // in addition to the environment of every call
	in    io.Reader
	out   io.Writer // receives the output in place of the result; nil for the result
	limit int       // bytes of the result
}

// run runs git; see Run.
func (c call) run(ctx context.Context) ([]byte, error) {
	// LookPath never finds a program in the current directory, so the workspace cannot supply its own.
	program, err := exec.LookPath("git")
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrAbsent, err)
	}
	cmd := exec.CommandContext(ctx, program, append(slices.Clone(hardening), c.args...)...)
	cmd.Dir, cmd.Stdin = c.dir, c.in
	cmd.Env = append(environment(program, c.dir), c.env...)
	// A child that outlives git must not make us wait for its output.
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

// A capped buffer keeps the first limit bytes. After that it ends the program that writes to it or, if lossy, drops the
// rest. It offers io.Copy no ReadFrom, which would bypass the limit.
type capped struct {
	kept  bytes.Buffer
	limit int
	lossy bool
	full  bool
}

// Write accepts p as long as there is room.
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
