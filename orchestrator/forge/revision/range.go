package revision

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"agent/sandbox/workspace/git"
	"agent/sandbox/workspace/lazyregexp"
)

// maxSteps bounds the commits of one range.
const maxSteps = 1000

// A Step is one commit with the state on which it was made: its first parent.
type Step struct {
	Commit string
	// Parent is EmptyTree for the first commit of a history.
	Parent  string
	Subject string
	// Merge says that the commit has further parents, whose changes are part of this one.
	Merge bool
	// Empty says that the commit changes no file.
	Empty bool
}

// Range returns the commits that an expression means, oldest first, along first parents: for "A..B" those of B that A
// lacks, for "A...B" those since the two diverged, and for "B" only that one. The error is a *NoRevisionError, or says
// that the history ends too early.
func (r *Repository) Range(ctx context.Context, expression string) ([]Step, error) {
	from, to, isRange := strings.Cut(expression, "..")
	since := strings.HasPrefix(to, ".")
	to = strings.TrimPrefix(to, ".")
	if !isRange {
		to = from
	}
	if to == "" {
		to = "HEAD"
	}
	end, err := r.Commit(ctx, to)
	if err != nil {
		return nil, err
	}
	args := []string{"--max-count=1", end}
	if isRange {
		if from == "" {
			from = "HEAD"
		}
		begin, err := r.Commit(ctx, from)
		if err == nil && since {
			begin, err = r.MergeBase(ctx, begin, end)
		}
		if err != nil {
			return nil, err
		}
		args = []string{"--max-count=" + strconv.Itoa(maxSteps+1), end, "^" + begin}
	}
	return r.steps(ctx, args)
}

// steps reads commits, oldest first.
func (r *Repository) steps(ctx context.Context, args []string) ([]Step, error) {
	const format = "--format=%H%n%P%n%T%n%s"
	out, err := r.run(ctx, maxOutput, git.Input{}, append([]string{"log", "-z", "--first-parent", "--no-show-signature", "-s", format}, args...)...)
	if err != nil {
		return nil, err
	}
	var list []Step
	trees := map[string]string{}
	for record := range strings.SplitSeq(strings.TrimSuffix(string(out), "\x00"), "\x00") {
		lines := strings.SplitN(record, "\n", 4)
		if len(lines) < 4 {
			continue // not a commit
		}
		parents := strings.Fields(lines[1])
		s := Step{Commit: lines[0], Subject: lines[3], Merge: len(parents) > 1}
		if len(parents) > 0 {
			s.Parent = parents[0]
		}
		trees[s.Commit] = lines[2]
		list = append(list, s)
	}
	if len(list) > maxSteps {
		return nil, fmt.Errorf("the range has more than %d commits: name a later start", maxSteps)
	}
	slices.Reverse(list)
	for i, s := range list {
		if s.Parent == EmptyTree {
			if r.endsAt(s.Commit) {
				return nil, &NoRevisionError{Name: s.Commit[:12] + "^", Shallow: true}
			}
			continue
		}
		if trees[s.Parent] == "" {
			if trees[s.Parent], err = r.Git(ctx, "rev-parse", "--verify", s.Parent+"^{tree}"); err != nil {
				return nil, err
			}
		}
		list[i].Empty = trees[s.Parent] == trees[s.Commit]
	}
	return list, nil
}

// endsAt reports whether a shallow clone leaves out the parents of a commit.
func (r *Repository) endsAt(commit string) bool {
	text, err := os.ReadFile(filepath.Join(r.Common(), "shallow"))
	return err == nil && slices.Contains(strings.Fields(string(text)), commit)
}

// plainName matches the name of a remote that is not a pattern.
var plainName = lazyregexp.New(`^[\w][\w./-]*$`)

// Pushed returns the commits that a push brings to a remote, oldest first: those of local that are missing in known,
// the object that the remote has there now; or, if known is unknown here, those that no branch of the remote is known
// to have. It returns at most the newest most commits, and whether there are more.
func (r *Repository) Pushed(ctx context.Context, local, known, remote string, most int) (steps []Step, more bool, err error) {
	end, err := r.Commit(ctx, local)
	if err != nil {
		return nil, false, err
	}
	args := []string{"--max-count=" + strconv.Itoa(most+1), end}
	if strings.Trim(known, "0") != "" && r.HasObject(ctx, known) {
		args = append(args, "^"+known)
	} else if plainName.MatchString(remote) {
		args = append(args, "--not", "--remotes="+remote)
	} else {
		args = append(args, "--not", "--remotes")
	}
	steps, err = r.steps(ctx, args)
	if len(steps) > most {
		return steps[len(steps)-most:], true, err
	}
	return steps, false, err
}
