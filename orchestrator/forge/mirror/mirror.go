// Package mirror holds the objects of one repository on a forge in a bare repository that belongs to the agent: it
// fetches them, reads them, commits to them and pushes, with the one hardened runner of git. The mirror has no work
// tree, and only the agent writes its configuration.
//
// It only creates a branch on the forge or moves it forward: what people pushed there stays. Content that a repository
// refers to elsewhere, in submodules and large files of LFS, is reported and not fetched.
package mirror

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gofrs/flock"

	"agent/sandbox/workspace/git"
)

// The bounds of one call.
const (
	gitTime   = 2 * time.Minute
	moveTime  = 30 * time.Minute // for calls that move objects over the network
	maxOutput = 64 << 20         // bytes
	// depth is how many commits of each branch are fetched at first; the rest of the history is fetched if two branches
	// do not meet within them.
	depth = 50
)

// The errors on which a caller decides.
var (
	// ErrEmpty means that the repository has no commit.
	ErrEmpty = errors.New("the repository is empty")
	// ErrNoBranch means that the repository has no branch of that name.
	ErrNoBranch = errors.New("no such branch")
	// ErrUnrelated means that two commits have no history in common.
	ErrUnrelated = errors.New("no history in common")
)

// A RejectedError says that the forge refused a push: the branch has commits that it would lose, or is protected.
type RejectedError struct{ Branch, Reason string }

// Error names the branch and what the forge said.
func (e *RejectedError) Error() string { return "branch " + e.Branch + " was not pushed: " + e.Reason }

// A Mirror stays usable as long as its process wants; other processes may use the same directory.
type Mirror struct {
	dir    string
	remote git.Remote
}

// Open opens the mirror in dir, creating it if needed.
func Open(ctx context.Context, dir string, remote git.Remote) (*Mirror, error) {
	m := &Mirror{dir, remote}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	unlock, err := m.lock(ctx)
	if err != nil {
		return nil, err
	}
	defer unlock()
	// No template: one on the machine could bring hooks.
	if _, err := m.git(ctx, nil, "init", "--quiet", "--bare", "--template=", "--initial-branch=none", "."); err != nil {
		return nil, fmt.Errorf("make the mirror %s: %w", dir, err)
	}
	return m, nil
}

// lock keeps other processes from writing to the mirror until unlock.
func (m *Mirror) lock(ctx context.Context) (unlock func(), err error) {
	l := flock.New(filepath.Join(m.dir, "agent.lock"))
	if _, err := l.TryLockContext(ctx, 100*time.Millisecond); err != nil {
		return nil, fmt.Errorf("lock the mirror %s: %w", m.dir, err)
	}
	return func() { l.Unlock() }, nil
}

// git runs git in the mirror, without the remote.
func (m *Mirror) git(ctx context.Context, in []byte, args ...string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, gitTime)
	defer cancel()
	return git.Call{Dir: m.dir, Args: args, In: bytes.NewReader(in), Limit: maxOutput, Env: m.own()}.Run(ctx)
}

// own returns the variables that confine git to this repository.
func (m *Mirror) own() []string { return []string{"GIT_DIR=" + m.dir, "GIT_NO_REPLACE_OBJECTS=1"} }

// speak runs git in the mirror with access to the remote. Its output goes to out.
func (m *Mirror) speak(ctx context.Context, out io.Writer, args ...string) error {
	ctx, cancel := context.WithTimeout(ctx, moveTime)
	defer cancel()
	_, err := git.Call{Dir: m.dir, Args: args, Out: out, Remote: &m.remote, Env: m.own()}.Run(ctx)
	var exit *git.ExitError
	if errors.As(err, &exit) && strings.Contains(exit.Stderr, "could not read Username") {
		return fmt.Errorf("%s requires another token: %w", m.remote.URL, err)
	}
	return err
}

// Heads asks the remote for its branches, by name, and for its default branch.
func (m *Mirror) Heads(ctx context.Context) (branches map[string]string, main string, err error) {
	var out bytes.Buffer
	if err := m.speak(ctx, &out, "ls-remote", "--quiet", "--symref", m.remote.URL, "HEAD", "refs/heads/*"); err != nil {
		return nil, "", fmt.Errorf("ask %s for its branches: %w", m.remote.URL, err)
	}
	branches = map[string]string{}
	for line := range strings.Lines(out.String()) {
		value, name, _ := strings.Cut(strings.TrimRight(line, "\n"), "\t")
		if target, ok := strings.CutPrefix(value, "ref: refs/heads/"); ok && name == "HEAD" {
			main = target
		}
		if branch, ok := strings.CutPrefix(name, "refs/heads/"); ok && plainCommit(value) {
			branches[branch] = value
		}
	}
	if len(branches) == 0 {
		return nil, "", fmt.Errorf("%s: %w", m.remote.URL, ErrEmpty)
	}
	return branches, main, nil
}

// plainCommit reports whether text is the ID of an object.
func plainCommit(text string) bool {
	return (len(text) == 40 || len(text) == 64) && strings.Trim(text, "0123456789abcdef") == ""
}

// Fetch fetches the last commits of references of the remote and returns the commit of each.
func (m *Mirror) Fetch(ctx context.Context, refs ...string) ([]string, error) {
	unlock, err := m.lock(ctx)
	if err != nil {
		return nil, err
	}
	defer unlock()
	return m.fetch(ctx, "--depth="+strconv.Itoa(depth), refs)
}

// fetch fetches references; deep says how much of their history.
func (m *Mirror) fetch(ctx context.Context, deep string, refs []string) ([]string, error) {
	args := []string{"fetch", "--quiet", "--no-tags", "--no-recurse-submodules", "--no-auto-maintenance", "--no-write-fetch-head", "--force", "--refmap=", deep, m.remote.URL}
	for _, ref := range refs {
		args = append(args, "+"+ref+":"+kept(ref))
	}
	if err := m.speak(ctx, io.Discard, args...); err != nil {
		var exit *git.ExitError
		if errors.As(err, &exit) && strings.Contains(exit.Stderr, "couldn't find remote ref") {
			return nil, fmt.Errorf("fetch %s of %s: %w", strings.Join(refs, ", "), m.remote.URL, ErrNoBranch)
		}
		return nil, fmt.Errorf("fetch %s of %s: %w", strings.Join(refs, ", "), m.remote.URL, err)
	}
	commits := make([]string, len(refs))
	for i, ref := range refs {
		var err error
		if commits[i], err = m.Commit(ctx, kept(ref)); err != nil {
			return nil, err
		}
	}
	return commits, nil
}

// kept returns the name under which the mirror keeps a reference of the remote.
func kept(ref string) string { return "refs/remote/" + strings.TrimPrefix(ref, "refs/") }

// Commit returns the commit that a name means.
func (m *Mirror) Commit(ctx context.Context, name string) (string, error) {
	out, err := m.git(ctx, nil, "rev-parse", "--verify", "--quiet", "--end-of-options", name+"^{commit}")
	if err != nil {
		return "", fmt.Errorf("find the commit %s: %w", name, err)
	}
	return strings.TrimSpace(string(out)), nil
}

// MergeBase returns the commit at which the histories of two fetched references meet. It fetches more history if
// needed.
func (m *Mirror) MergeBase(ctx context.Context, one, other string) (string, error) {
	for _, deep := range []string{"", "--depth=1000", "--unshallow"} {
		if deep == "--unshallow" && !m.shallow(ctx) {
			break
		}
		if deep != "" {
			unlock, err := m.lock(ctx)
			if err != nil {
				return "", err
			}
			_, err = m.fetch(ctx, deep, []string{one, other})
			unlock()
			if err != nil {
				return "", err
			}
		}
		if at, err := m.Meet(ctx, kept(one), kept(other)); !errors.Is(err, ErrUnrelated) {
			return at, err
		}
	}
	return "", fmt.Errorf("%s and %s: %w", one, other, ErrUnrelated)
}

// Meet returns the commit at which the histories of two commits meet, as far as they were fetched.
func (m *Mirror) Meet(ctx context.Context, one, other string) (string, error) {
	out, err := m.git(ctx, nil, "merge-base", one, other)
	var exit *git.ExitError
	if errors.As(err, &exit) && exit.Code == 1 {
		return "", fmt.Errorf("%s and %s: %w", one, other, ErrUnrelated)
	}
	if err != nil {
		return "", fmt.Errorf("find the merge base of %s and %s: %w", one, other, err)
	}
	return strings.TrimSpace(string(out)), nil
}

// shallow reports whether a part of the history is left out.
func (m *Mirror) shallow(ctx context.Context) bool {
	out, err := m.git(ctx, nil, "rev-parse", "--is-shallow-repository")
	return err == nil && strings.TrimSpace(string(out)) == "true"
}

// Contains reports whether commit is reachable from other.
func (m *Mirror) Contains(ctx context.Context, other, commit string) bool {
	_, err := m.git(ctx, nil, "merge-base", "--is-ancestor", commit, other)
	return err == nil
}

// Diff returns the change from one commit to another as git shows it, only within prefix and with paths relative to it;
// "" means everything.
func (m *Mirror) Diff(ctx context.Context, from, to, prefix string) ([]byte, error) {
	args := []string{"diff-tree", "-r", "-p", "-M", "--full-index", "--no-ext-diff", "--no-textconv", "--no-color", "--src-prefix=a/", "--dst-prefix=b/"}
	if prefix != "" {
		args = append(args, "--relative="+prefix+"/")
	}
	out, err := m.git(ctx, nil, append(args, from, to)...)
	if errors.Is(err, git.ErrTooLong) {
		return nil, fmt.Errorf("the diff between %.12s and %.12s exceeds %d MiB", from, to, maxOutput>>20)
	}
	if err != nil {
		return nil, fmt.Errorf("compare %.12s with %.12s: %w", from, to, err)
	}
	return out, nil
}

// File returns the content and the mode of a file of a commit; ok is false if there is none, or a link.
func (m *Mirror) File(ctx context.Context, commit, name string) (content []byte, mode fs.FileMode, ok bool) {
	out, err := m.git(ctx, nil, "--literal-pathspecs", "ls-tree", "-z", "--full-tree", commit, "--", name)
	fields := strings.Fields(string(out))
	if err != nil || len(fields) < 3 || !strings.HasPrefix(fields[0], "100") || fields[1] != "blob" {
		return nil, 0, false
	}
	mode = 0o644
	if fields[0] == "100755" {
		mode = 0o755
	}
	content, err = m.git(ctx, nil, "cat-file", "blob", fields[2])
	return content, mode, err == nil
}

// A Log describes a commit.
type Log struct{ Commit, Subject, Body string }

// Between lists the commits that are reachable from to and not from since, the oldest first.
func (m *Mirror) Between(ctx context.Context, since, to string) ([]Log, error) {
	out, err := m.git(ctx, nil, "log", "-z", "--reverse", "--no-show-signature", "--max-count=500", "--format=%H%n%s%n%b", to, "^"+since)
	if err != nil {
		return nil, fmt.Errorf("list the commits of %.12s: %w", to, err)
	}
	var list []Log
	for text := range strings.SplitSeq(strings.TrimRight(string(out), "\x00"), "\x00") {
		parts := append(strings.SplitN(text, "\n", 3), "", "", "")
		if plainCommit(parts[0]) {
			list = append(list, Log{parts[0], parts[1], strings.TrimSpace(parts[2])})
		}
	}
	return list, nil
}

// Import copies the objects of commit from another repository, whose directory of objects is given. The commit must be
// in that repository.
func (m *Mirror) Import(ctx context.Context, objects, commit string) error {
	unlock, err := m.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	env := append(m.own(), "GIT_ALTERNATE_OBJECT_DIRECTORIES="+objects)
	call := func(in []byte, args ...string) ([]byte, error) {
		ctx, cancel := context.WithTimeout(ctx, moveTime)
		defer cancel()
		return git.Call{Dir: m.dir, Args: args, In: bytes.NewReader(in), Limit: 1 << 30, Env: env}.Run(ctx)
	}
	// Leave out objects that are here already, or on the remote.
	here, err := m.git(ctx, nil, "for-each-ref", "--format=^%(objectname)", "refs/remote")
	if err != nil {
		return fmt.Errorf("list what was fetched: %w", err)
	}
	pack, err := call(append([]byte(commit+"\n"), here...), "pack-objects", "--revs", "--stdout", "--quiet", "--delta-base-offset")
	if err != nil {
		return fmt.Errorf("read the commit %.12s: %w", commit, err)
	}
	if _, err := m.git(ctx, pack, "unpack-objects", "-q"); err != nil {
		return fmt.Errorf("import the commit %.12s: %w", commit, err)
	}
	_, err = m.git(ctx, nil, "update-ref", "refs/imported/"+commit, commit)
	return err
}

// Push creates a branch on the remote, or moves it forward to commit. The error is a *RejectedError if the remote
// refuses it.
func (m *Mirror) Push(ctx context.Context, commit, branch string) error {
	var out bytes.Buffer
	err := m.speak(ctx, &out, "push", "--porcelain", "--no-verify", "--no-recurse-submodules", "--no-signed", m.remote.URL, commit+":refs/heads/"+branch)
	if err == nil {
		return nil
	}
	for line := range strings.Lines(out.String()) {
		// "!\tfrom:to\t[remote rejected] (protected branch hook declined)"
		if parts := strings.Split(strings.TrimSpace(line), "\t"); parts[0] == "!" && len(parts) > 2 {
			return &RejectedError{branch, parts[2]}
		}
	}
	return fmt.Errorf("push %s to %s: %w", branch, m.remote.URL, err)
}

// cleanPath reports whether a path of a tree may be written below a directory.
func cleanPath(name string) bool {
	if !filepath.IsLocal(name) || filepath.Clean(name) != name || strings.ContainsAny(name, "\x00\\") {
		return false
	}
	return !slices.ContainsFunc(strings.Split(name, "/"), func(part string) bool { return strings.EqualFold(part, ".git") })
}
