// Package commit turns a promotion into a commit, with git's plumbing alone: it runs no hook, filter or signature
// program of the repository, keeps staged what the user has staged, and does not touch the stash.
//
// It makes the commit before any file of the workspace changes, under a reference of its own
// (refs/agent/pending/RUN/N/…, for N commits). Once the files are in place, Place moves the branch if it is still where
// it was, and Finish updates the index and drops the reference. A process that finds the reference after a kill calls
// Settle, which ends in the same state: a promotion is committed, and a change that was rolled back has no commit.
package commit

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"agent/orchestrator/forge/revision"
	"agent/sandbox/workspace"
	"agent/sandbox/workspace/git"
)

const (
	// pendingRefs is the prefix under which commits wait for their files.
	pendingRefs = "refs/agent/pending/"
	// detached stands for a branch in the name of a pending reference.
	detached  = "detached"
	maxOutput = 64 << 20 // bytes
)

// A RefusedError says why nothing can be committed here, and what to do.
type RefusedError struct{ Reason, Next string }

// Error returns the reason.
func (e *RefusedError) Error() string { return e.Reason }

// refused returns a RefusedError.
func refused(next, format string, args ...any) error {
	return &RefusedError{fmt.Sprintf(format, args...), next}
}

// An Order says what to commit.
type Order struct {
	// Run names the pending reference.
	Run string
	// Branch is a new branch that gets the commit, and leaves the work tree alone; "" means the one that is checked
	// out.
	Branch string
	// Message returns the message of the commit, with its trailers. besides are files that were judged with the commit
	// but differ from what is committed.
	Message func(besides []string) string
	By      Identity
	// Disk is the workspace that was judged, and Changes the part of its changes to commit.
	Disk    *workspace.Manifest
	Changes workspace.Changeset
	// Before are commits that precede it, the first one first.
	Before []Step
}

// A Step is a commit that precedes the last. Whatever no step contains is in the last commit.
type Step struct {
	// Changes are all changes up to and including this step.
	Changes workspace.Changeset
	Message string
}

// A Commit was made but is not on a branch yet.
type Commit struct {
	ID string
	// Ref is the branch that gets it, or HEAD if none is checked out.
	Ref string
	// Besides are files that were judged with it, but differ from what is committed and are not in it.
	Besides []string

	repo    *revision.Repository
	parent  string // "" for none
	pending string
	fresh   bool // Ref is a new branch
}

// Check reports, as a *RefusedError, why this work tree cannot have a commit now, so that nothing is proved in vain.
func Check(ctx context.Context, repo *revision.Repository, branch string) error {
	if branch != "" {
		if _, err := repo.Git(ctx, "check-ref-format", "--branch", branch); err != nil {
			return refused("see git-check-ref-format(1)", "%q is not a branch name", branch)
		}
		if _, err := repo.Git(ctx, "rev-parse", "--verify", "--quiet", "refs/heads/"+branch); err == nil {
			return refused("name another branch, or delete it: `git branch -D "+branch+"`", "the branch %s already exists", branch)
		}
		return nil
	}
	if file, what := repo.Halfway(); file != "" {
		return refused("finish it, or omit --commit; --branch NAME commits to a new branch", "%s (%s)", what, file)
	}
	return nil
}

// head returns the reference that is checked out, and its commit, which is "" before the first one.
func head(ctx context.Context, repo *revision.Repository) (ref, id string, err error) {
	ref, err = repo.Git(ctx, "symbolic-ref", "--quiet", "HEAD")
	if exit := (*git.ExitError)(nil); errors.As(err, &exit) && exit.Code == 1 {
		ref, err = "HEAD", nil
	}
	if err != nil {
		return "", "", err
	}
	id, err = repo.Git(ctx, "rev-parse", "--verify", "--quiet", "HEAD^{commit}")
	if exit := (*git.ExitError)(nil); errors.As(err, &exit) && exit.Code == 1 && ref != "HEAD" {
		return ref, "", nil
	}
	return ref, id, err
}

// Prepare makes the commit of an order. It writes only objects and the pending reference. The error is a *RefusedError
// if the files are not what the commit would change.
func Prepare(ctx context.Context, repo *revision.Repository, o Order) (*Commit, error) {
	if err := Check(ctx, repo, o.Branch); err != nil {
		return nil, err
	}
	ref, parent, err := head(ctx, repo)
	if err != nil {
		return nil, err
	}
	c := &Commit{Ref: ref, repo: repo, parent: parent}
	on := detached
	switch {
	case o.Branch != "":
		c.Ref, c.fresh = "refs/heads/"+o.Branch, true
		on = "branch"
	case ref != "HEAD":
		on = strings.TrimPrefix(ref, "refs/")
	}
	c.pending = fmt.Sprintf("%s%s/%d/%s", pendingRefs, o.Run, len(o.Before)+1, on)
	changes, err := o.Changes.Flatten()
	if err != nil {
		return nil, err
	}
	for _, s := range o.Before { // even for what a later one takes back
		way, err := s.Changes.Flatten()
		if err == nil {
			err = c.fits(ctx, o, way)
		}
		if err != nil {
			return nil, err
		}
	}
	c.Besides = nil
	if err := c.fits(ctx, o, changes); err != nil {
		return nil, err
	}
	c.ID = parent
	for _, s := range append(slices.Clone(o.Before), Step{o.Changes, o.Message(c.Besides)}) {
		if err := c.add(ctx, o, s); err != nil {
			return nil, err
		}
	}
	_, err = repo.Write(ctx, git.Input{}, "update-ref", c.pending, c.ID, "")
	return c, err
}

// add makes the next of the preceding commits, on top of the one before.
func (c *Commit) add(ctx context.Context, o Order, s Step) error {
	changes, err := s.Changes.Flatten()
	if err != nil {
		return err
	}
	tree, err := c.tree(ctx, o, changes)
	if err != nil {
		return err
	}
	args := []string{"commit-tree", tree}
	if c.ID != "" {
		args = append(args, "-p", c.ID)
	}
	out, err := c.repo.Write(ctx, git.Input{Stdin: strings.NewReader(s.Message), Env: o.By.environment()}, args...)
	c.ID = strings.TrimSpace(string(out))
	return err
}

// tree makes the tree of a commit: the head's, with the changes.
func (c *Commit) tree(ctx context.Context, o Order, changes []workspace.PathChange) (string, error) {
	dir, err := os.MkdirTemp("", "agent-index-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(dir)
	own := []string{"GIT_INDEX_FILE=" + filepath.Join(dir, "index")}
	read := []string{"read-tree", "--empty"}
	if c.parent != "" {
		read = []string{"read-tree", c.parent}
	}
	if _, err := c.repo.Write(ctx, git.Input{Env: own}, read...); err != nil {
		return "", err
	}
	var list bytes.Buffer
	for _, ch := range changes {
		entry := zero(c.parent) + "\t" + c.repo.At(ch.Path) + "\x00"
		if !ch.Exists {
			list.WriteString("0 " + entry)
			continue
		}
		id, err := c.repo.Write(ctx, git.Input{Stdin: bytes.NewReader(ch.After)}, "hash-object", "-w", "--stdin", "--no-filters")
		if err != nil {
			return "", err
		}
		mode := "100644"
		if executable(o.Disk, ch) {
			mode = "100755"
		}
		list.WriteString(mode + " " + strings.TrimSpace(string(id)) + "\t" + c.repo.At(ch.Path) + "\x00")
	}
	if _, err := c.repo.Write(ctx, git.Input{Env: own, Stdin: &list}, "update-index", "-z", "--index-info"); err != nil {
		return "", err
	}
	out, err := c.repo.Write(ctx, git.Input{Env: own}, "write-tree")
	return strings.TrimSpace(string(out)), err
}

// executable reports whether the file of a change will be executable once it is promoted.
func executable(disk *workspace.Manifest, ch workspace.PathChange) bool {
	var host workspace.Entry
	if ch.Keep != "" {
		host, _ = disk.Lookup(ch.Keep)
	}
	return ch.FinalMode(host.Mode)&0o111 != 0
}

// zero returns the name of no object, as long as id.
func zero(id string) string { return strings.Repeat("0", max(40, len(id))) }

// fits reports what prevents the changes from being a commit on the parent: uncommitted edits, and files that git would
// convert.
func (c *Commit) fits(ctx context.Context, o Order, changes []workspace.PathChange) error {
	was, err := c.repo.WorkingTree(ctx, o.Disk, c.parent)
	if err != nil {
		return err
	}
	edited := map[string]bool{}
	uncommitted, err := was.Changes.Flatten()
	if err != nil {
		return err
	}
	for _, u := range uncommitted {
		edited[u.Path] = true
	}
	staged, err := c.staged(ctx)
	if err != nil {
		return err
	}
	var names []string
	for _, ch := range changes {
		names = append(names, ch.Path)
		switch {
		case edited[ch.Path]:
			return refused("commit or stash them first, or omit --commit", "%s has uncommitted edits, which the commit would include", ch.Path)
		case !c.fresh && staged[c.repo.At(ch.Path)]:
			return refused("commit or unstage them first (`git restore --staged`), or use --branch NAME", "%s has staged changes", ch.Path)
		}
		for _, a := range was.Apart {
			if a.Path == ch.Path || strings.HasPrefix(ch.Path, a.Path+"/") {
				return refused("commit it by hand", "%s cannot be committed here: %s", ch.Path, a.Reason)
			}
		}
	}
	for _, u := range uncommitted {
		if !slices.Contains(names, u.Path) {
			c.Besides = append(c.Besides, u.Path)
		}
	}
	return c.unconverted(ctx, changes)
}

// staged lists the paths, relative to the top, that differ between index and parent, and those of submodules.
func (c *Commit) staged(ctx context.Context) (map[string]bool, error) {
	args := []string{"diff-index", "--cached", "-z", "--name-only", "--no-renames", c.parent}
	if c.parent == "" {
		args = []string{"ls-files", "-z"}
	}
	text, err := c.repo.Git(ctx, args...)
	names := map[string]bool{}
	for name := range strings.SplitSeq(text, "\x00") {
		names[name] = name != ""
	}
	return names, err
}

// unconverted reports a file that git would store in a form other than the one on disk: a program of the repository, or
// a setting, does that.
func (c *Commit) unconverted(ctx context.Context, changes []workspace.PathChange) error {
	var in bytes.Buffer
	for _, ch := range changes {
		if ch.Exists {
			in.WriteString(c.repo.At(ch.Path) + "\x00")
		}
	}
	out, err := c.repo.Write(ctx, git.Input{Stdin: &in}, "check-attr", "-z", "--stdin", "filter", "ident", "working-tree-encoding", "text", "eol")
	if err != nil {
		return err
	}
	fields := strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")
	converts := map[string]string{}
	for ; len(fields) >= 3; fields = fields[3:] {
		if value := fields[2]; value != "unspecified" && value != "unset" {
			converts[fields[0]+"\x00"+fields[1]] = value
		}
	}
	autocrlf, _ := c.repo.Git(ctx, "config", "--get", "core.autocrlf") // status 1 if it is not set
	for _, ch := range changes {
		name := c.repo.At(ch.Path)
		for _, attr := range []string{"filter", "ident", "working-tree-encoding"} {
			if value := converts[name+"\x00"+attr]; value != "" && ch.Exists {
				return refused("commit it by hand", "git stores %s in another form (%s=%s), by a conversion that is not run here", ch.Path, attr, value)
			}
		}
		lines := converts[name+"\x00text"] != "" || converts[name+"\x00eol"] != "" || autocrlf == "true" || autocrlf == "input"
		if lines && bytes.Contains(ch.After, []byte("\r\n")) {
			return refused("commit it by hand", "git stores %s with other line endings", ch.Path)
		}
	}
	return nil
}

// Place makes the commit the head of its branch, which must still be where it was.
func (c *Commit) Place(ctx context.Context) error {
	_, err := c.repo.Write(ctx, git.Input{}, "update-ref", "-m", "agent: commit of a promotion", c.Ref, c.ID, cmpZero(c.parent, c.fresh))
	if err != nil {
		return refused("look at the branch, then `agent runs apply` the run again", "%s has moved meanwhile: %v", strings.TrimPrefix(c.Ref, "refs/heads/"), err)
	}
	return nil
}

// cmpZero returns the old value of a reference for update-ref: that it does not exist, or parent.
func cmpZero(parent string, fresh bool) string {
	if fresh || parent == "" {
		return zero(parent)
	}
	return parent
}

// Withdraw undoes Place and forgets the commit.
func (c *Commit) Withdraw(ctx context.Context) error {
	var err error
	if now, _ := c.repo.Git(ctx, "rev-parse", "--verify", "--quiet", c.Ref); now == c.ID {
		if c.fresh || c.parent == "" {
			_, err = c.repo.Write(ctx, git.Input{}, "update-ref", "-d", c.Ref, c.ID)
		} else {
			_, err = c.repo.Write(ctx, git.Input{}, "update-ref", "-m", "agent: commit taken back", c.Ref, c.parent, c.ID)
		}
	}
	return errors.Join(err, c.forget(ctx))
}

// forget drops the pending reference.
func (c *Commit) forget(ctx context.Context) error {
	_, err := c.repo.Write(ctx, git.Input{}, "update-ref", "-d", c.pending)
	return err
}

// Finish updates the index for the files of the commit and drops the pending reference. A new branch has no index.
func (c *Commit) Finish(ctx context.Context) error {
	if !c.fresh {
		if err := c.refresh(ctx); err != nil {
			return err
		}
	}
	return c.forget(ctx)
}

// refresh gives the index the files of the commit where it still has those of the parent.
func (c *Commit) refresh(ctx context.Context) error {
	args := []string{"diff-tree", "-r", "-z", "--raw", "--no-renames", "--no-abbrev", "--no-commit-id", "--root", c.ID}
	if c.parent != "" {
		args = []string{"diff-tree", "-r", "-z", "--raw", "--no-renames", "--no-abbrev", c.parent, c.ID}
	}
	text, err := c.repo.Git(ctx, args...)
	if err != nil {
		return err
	}
	has, err := c.index(ctx)
	if err != nil {
		return err
	}
	var list strings.Builder
	fields := strings.Split(strings.TrimSuffix(text, "\x00"), "\x00")
	for ; len(fields) >= 2; fields = fields[2:] {
		// For example ":100644 100644 0123… 4567… M", and then the name.
		f := strings.Fields(strings.TrimPrefix(fields[0], ":"))
		if len(f) != 5 {
			return errors.New("git diff-tree: unknown output format")
		}
		old := ""
		if f[4] != "A" {
			old = f[2]
		}
		if has[fields[1]] != old {
			continue // the user has staged something else since
		}
		if f[4] == "D" {
			f[1] = "0"
		}
		list.WriteString(f[1] + " " + f[3] + "\t" + fields[1] + "\x00")
	}
	if list.Len() == 0 {
		return nil
	}
	_, err = c.repo.Write(ctx, git.Input{Stdin: strings.NewReader(list.String())}, "update-index", "-z", "--index-info")
	return err
}

// index returns the objects of the index, by path.
func (c *Commit) index(ctx context.Context) (map[string]string, error) {
	text, err := c.repo.Git(ctx, "ls-files", "-z", "-s")
	has := map[string]string{}
	for line := range strings.SplitSeq(text, "\x00") {
		head, name, _ := strings.Cut(line, "\t")
		if f := strings.Fields(head); len(f) == 3 {
			has[name] = f[1]
		}
	}
	return has, err
}

// Settle completes the commits that a run left pending: promoted says whether its files are in place. A workspace
// without a repository has none.
func Settle(ctx context.Context, dir, run string, promoted bool) error {
	repo, err := revision.Open(dir)
	if errors.Is(err, revision.ErrNone) {
		return nil
	}
	if err != nil {
		return err
	}
	text, err := repo.Git(ctx, "for-each-ref", "--format=%(refname) %(objectname)", pendingRefs+run+"/")
	if err != nil || text == "" {
		return err
	}
	for line := range strings.SplitSeq(text, "\n") {
		name, id, _ := strings.Cut(line, " ")
		on := strings.TrimPrefix(name, pendingRefs+run+"/")
		count, rest, _ := strings.Cut(on, "/")
		n, err := strconv.Atoi(count)
		if err != nil || n < 1 {
			n, rest = 1, on // the name from the time when a run had only one
		}
		c := &Commit{ID: id, repo: repo, pending: name}
		if c.parent, err = c.before(ctx, n); err != nil {
			return err
		}
		if err := c.settle(ctx, rest, promoted); err != nil {
			return err
		}
	}
	return nil
}

// before returns the parent of the first of n commits, of which this is the last; "" if that was the first commit of all.
func (c *Commit) before(ctx context.Context, n int) (string, error) {
	text, err := c.repo.Git(ctx, "rev-list", "--first-parent", fmt.Sprintf("--max-count=%d", n+1), c.ID)
	if err != nil {
		return "", err
	}
	list := strings.Fields(text)
	switch len(list) {
	case n:
		return "", nil
	case n + 1:
		return list[n], nil
	}
	return "", fmt.Errorf("%s names %d commits but has %d; see them with `git log %s`, then run `git update-ref -d %s`", c.pending, n, len(list), c.pending, c.pending)
}

// settle completes one pending commit. on is the branch below refs for which it is meant.
func (c *Commit) settle(ctx context.Context, on string, promoted bool) error {
	switch on {
	case "branch": // either the branch exists, or it was not begun
		return c.forget(ctx)
	case detached:
		c.Ref = "HEAD"
		// A branch that was checked out in the meantime is not its target.
		if ref, _, err := head(ctx, c.repo); err != nil || ref != "HEAD" {
			return errors.Join(err, c.forget(ctx))
		}
	default:
		c.Ref = "refs/" + on
	}
	now, _ := c.repo.Git(ctx, "rev-parse", "--verify", "--quiet", c.Ref)
	switch {
	case !promoted:
		return c.Withdraw(ctx)
	case now == c.parent:
		if err := c.Place(ctx); err != nil {
			return err
		}
	case now != c.ID:
		return c.forget(ctx) // somebody continued from there
	}
	if ref, _, err := head(ctx, c.repo); err != nil || ref != c.Ref {
		return errors.Join(err, c.forget(ctx)) // the index no longer belongs to this branch
	}
	return c.Finish(ctx)
}
