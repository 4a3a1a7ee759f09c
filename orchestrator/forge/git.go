package forge

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path"
	"slices"
	"strings"
	"time"
)

// Bounds of one call of git.
const (
	gitTimeout = 10 * time.Second
	maxOutput  = 8 << 20 // bytes
)

// ErrNoGit means that there is nothing to read: no git program, or no
// repository, or one that git does not trust.
var ErrNoGit = errors.New("no git repository that can be read")

// neutral are the settings that keep a repository from having programs run:
// hooks, monitors, pagers, signature checks, diff drivers, fetches of what a
// partial clone left out. Options on the command line outrank those of the
// repository.
var neutral = []string{
	"--no-pager", "--no-optional-locks", "--literal-pathspecs",
	"-c", "core.hooksPath=" + os.DevNull, "-c", "core.fsmonitor=false", "-c", "core.untrackedCache=false",
	"-c", "log.showSignature=false", "-c", "gpg.program=" + os.DevNull, "-c", "diff.external=", "-c", "core.quotePath=false",
	"-c", "core.sshCommand=" + os.DevNull, "-c", "core.attributesFile=" + os.DevNull,
	"-c", "maintenance.auto=false", "-c", "gc.auto=0",
}

// git runs git in dir and returns what it printed.
func git(ctx context.Context, dir string, args ...string) ([]byte, error) {
	program, err := exec.LookPath("git")
	if err != nil {
		return nil, ErrNoGit
	}
	ctx, cancel := context.WithTimeout(ctx, gitTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, append(slices.Clone(neutral), args...)...)
	cmd.Dir = dir
	cmd.WaitDelay = time.Second
	cmd.Env = []string{
		"PATH=" + path.Dir(program) + ":/usr/bin:/bin", "HOME=" + os.DevNull, "LC_ALL=C.UTF-8", "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=" + os.DevNull,
		// Set to nothing it allows no protocol at all, whatever protocol.NAME.allow of
		// the repository says: that outranks protocol.allow (git(1)).
		"GIT_ALLOW_PROTOCOL=",
		"GIT_TERMINAL_PROMPT=0", "GIT_NO_LAZY_FETCH=1", "GIT_ATTR_NOSYSTEM=1", "GIT_CEILING_DIRECTORIES=" + path.Dir(dir),
	}
	out, problem := &capped{limit: maxOutput}, &capped{limit: 4 << 10}
	cmd.Stdout, cmd.Stderr = out, problem
	if err := cmd.Run(); err != nil && !out.full {
		if ctx.Err() != nil {
			return nil, fmt.Errorf("read the history of %s: %w", dir, ctx.Err())
		}
		return nil, fmt.Errorf("%w: %s", ErrNoGit, strings.TrimSpace(problem.String()))
	}
	return out.Bytes(), nil
}

// A capped buffer keeps the first limit bytes and then ends the program that
// writes to it.
type capped struct {
	bytes.Buffer
	limit int
	full  bool
}

// Write takes p while there is room.
func (c *capped) Write(p []byte) (int, error) {
	if room := c.limit - c.Len(); len(p) > room {
		c.full = true
		c.Buffer.Write(p[:max(0, room)])
		return room, errors.New("more output than is read")
	}
	return c.Buffer.Write(p)
}

// hotspotCommits is how far back Hotspots looks.
const hotspotCommits = "300"

// Hotspots returns up to n files of the repository at dir that the last
// commits changed most often, the most often changed first; ties by name.
// Files that are gone may be among them. The error wraps ErrNoGit when there
// is no history to read.
func Hotspots(ctx context.Context, dir string, n int) ([]string, error) {
	out, err := git(ctx, dir, "log", "-z", "--no-show-signature", "--no-ext-diff", "--no-textconv", "--no-renames",
		"--no-merges", "--name-only", "--relative", "--format=", "-n", hotspotCommits)
	if err != nil {
		return nil, err
	}
	changes := map[string]int{}
	for _, name := range strings.Split(string(out), "\x00") {
		if name = strings.TrimSpace(name); name != "" {
			changes[name]++
		}
	}
	files := make([]string, 0, len(changes))
	for name := range changes {
		files = append(files, name)
	}
	slices.SortFunc(files, func(a, b string) int {
		if d := changes[b] - changes[a]; d != 0 {
			return d
		}
		return strings.Compare(a, b)
	})
	return files[:min(n, len(files))], nil
}
