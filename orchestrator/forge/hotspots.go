package forge

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"agent/sandbox/workspace/git"
)

// Bounds of one call of git.
const (
	gitTimeout = 10 * time.Second
	maxOutput  = 8 << 20 // bytes
)

// ErrNoGit means that there is nothing to read: no git program, no repository, or one that git does not trust.
var ErrNoGit = errors.New("no readable git repository")

// read asks git about the history of the repository at dir. If the answer is too long, read returns its beginning.
func read(ctx context.Context, dir string, args ...string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, gitTimeout)
	defer cancel()
	out, err := git.Run(ctx, dir, maxOutput, args...)
	var exit *git.ExitError
	switch {
	case err == nil, errors.Is(err, git.ErrTooLong):
		return out, nil
	case errors.Is(err, git.ErrAbsent):
		return nil, ErrNoGit
	case ctx.Err() != nil:
		return nil, fmt.Errorf("read the history of %s: %w", dir, ctx.Err())
	case errors.As(err, &exit):
		return nil, fmt.Errorf("%w: %s", ErrNoGit, exit.Stderr)
	}
	return nil, fmt.Errorf("%w: %w", ErrNoGit, err)
}

// hotspotCommits is how far back Hotspots looks.
const hotspotCommits = "300"

// Hotspots returns up to n files of the repository at dir that the last commits changed most often, the most often
// changed first and ties by name. The files may no longer exist. The error wraps ErrNoGit if there is no history to
// read.
func Hotspots(ctx context.Context, dir string, n int) ([]string, error) {
	out, err := read(ctx, dir, "--literal-pathspecs", "log", "-z", "--no-show-signature", "--no-ext-diff", "--no-textconv", "--no-renames",
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
