package revision

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"agent/sandbox/workspace/git"
)

// Bounds on one call of git.
const (
	gitTime   = time.Minute
	maxOutput = 64 << 20  // bytes of names
	maxBlobs  = 256 << 20 // bytes of the files whose content at a revision is not on disk
)

// A Repository is the repository around a workspace.
type Repository struct {
	git.Repo
	// The path of the workspace within it, "" at its top.
	prefix string
}

// ErrNone means that a workspace is not in a repository with a work tree.
var ErrNone = errors.New("not in a git repository")

// Open finds the repository of the workspace at dir, a path without links.
func Open(dir string) (*Repository, error) {
	repo, ok := git.Find(dir)
	if !ok {
		return nil, fmt.Errorf("%s: %w", dir, ErrNone)
	}
	prefix, err := repo.Under(dir)
	if err != nil {
		return nil, err
	}
	return &Repository{repo, prefix}, nil
}

// Git runs git in the work tree, with the options of package workspace/git, and returns its output without the final
// line end.
func (r *Repository) Git(ctx context.Context, args ...string) (string, error) {
	out, err := r.run(ctx, maxOutput, git.Input{}, args...)
	return strings.TrimRight(string(out), "\n"), err
}

// Write runs git with an input, for plumbing that may write objects, references or an index.
func (r *Repository) Write(ctx context.Context, in git.Input, args ...string) ([]byte, error) {
	return r.run(ctx, maxOutput, in, append([]string{"-c", "core.fsync=committed"}, args...)...)
}

// At returns a path of the workspace relative to the top of the work tree.
func (r *Repository) At(name string) string {
	if r.prefix == "" {
		return name
	}
	return r.prefix + "/" + name
}

// run runs git, whoever owns the repository: git runs nothing that the repository names.
func (r *Repository) run(ctx context.Context, limit int, in git.Input, args ...string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, gitTime)
	defer cancel()
	out, err := git.RunWith(ctx, r.Top, limit, in, append([]string{"-c", "safe.directory=*"}, args...)...)
	if err != nil && ctx.Err() == nil {
		err = fmt.Errorf("git %s: %w", command(args), err)
	}
	return out, err
}

// command returns the command among the arguments of git.
func command(args []string) string {
	for len(args) > 2 && args[0] == "-c" {
		args = args[2:]
	}
	return args[0]
}

// A NoRevisionError says that a name does not mean a commit here.
type NoRevisionError struct {
	Name string
	// Shallow says that the repository lacks history.
	Shallow bool
}

// Error returns the name and the possible cause.
func (e *NoRevisionError) Error() string {
	if e.Shallow {
		return fmt.Sprintf("no commit %q in this repository, which is a shallow clone", e.Name)
	}
	return fmt.Sprintf("no commit %q in this repository", e.Name)
}

// Commit returns the ID of the commit that rev means.
func (r *Repository) Commit(ctx context.Context, rev string) (string, error) {
	if strings.HasPrefix(rev, "^") { // git would take it for an exclusion
		return "", &NoRevisionError{Name: rev, Shallow: r.Shallow()}
	}
	id, err := r.Git(ctx, "rev-parse", "--verify", "--quiet", "--end-of-options", rev+"^{commit}")
	if exit := (*git.ExitError)(nil); errors.As(err, &exit) && exit.Code < 128 {
		return "", &NoRevisionError{Name: rev, Shallow: r.Shallow()}
	}
	return id, err
}

// Shallow reports whether the repository lacks a part of its history.
func (r *Repository) Shallow() bool {
	_, err := os.Lstat(filepath.Join(r.Common(), "shallow"))
	return err == nil
}

// HasObject reports whether an object is in the repository.
func (r *Repository) HasObject(ctx context.Context, id string) bool {
	_, err := r.Git(ctx, "cat-file", "-e", id)
	return err == nil
}

// MergeBase returns the commit from which a and b diverged.
func (r *Repository) MergeBase(ctx context.Context, a, b string) (string, error) {
	id, err := r.Git(ctx, "merge-base", a, b)
	if exit := (*git.ExitError)(nil); errors.As(err, &exit) && exit.Code == 1 {
		return "", &NoRevisionError{Name: "merge base of " + a + " and " + b, Shallow: r.Shallow()}
	}
	return id, err
}

// StagedTree returns the tree that the next commit would have: the tree of the index, or of the index that git made for
// a commit of only some files (its GIT_INDEX_FILE for hooks), which must be in the git directory.
func (r *Repository) StagedTree(ctx context.Context, index string) (string, error) {
	if index == "" {
		index = filepath.Join(r.Dir(), "index")
	}
	if !filepath.IsAbs(index) {
		index = filepath.Join(r.Top, index)
	}
	if dir, err := filepath.EvalSymlinks(filepath.Dir(index)); err == nil {
		index = filepath.Join(dir, filepath.Base(index))
	}
	home, err := filepath.EvalSymlinks(r.Dir())
	if err != nil {
		return "", err
	}
	if filepath.Dir(index) != home {
		return "", fmt.Errorf("the index %s is not in %s", index, r.Dir())
	}
	// Git writes to the index whose tree it makes; the one that is being committed must stay as it is.
	tmp, err := os.MkdirTemp("", "agent-index-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(tmp)
	if err := copyRegular(index, filepath.Join(tmp, "index")); err != nil {
		return "", fmt.Errorf("read the index: %w", err)
	}
	out, err := r.run(ctx, 1<<10, git.Input{Env: []string{"GIT_INDEX_FILE=" + filepath.Join(tmp, "index")}}, "write-tree")
	if err != nil {
		return "", fmt.Errorf("make a tree of the index: %w", err)
	}
	return strings.TrimSpace(string(out)), nil
}

// copyRegular copies a file. A missing file means an empty index, which git creates.
func copyRegular(from, to string) error {
	f, err := git.Regular(from)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	w, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(w, f)
	return errors.Join(err, w.Close())
}

// An object is one entry of a tree.
type object struct{ mode, id, path string }

// The modes of tree entries that are not plain files.
const (
	modeLink       = "120000"
	modeSubmodule  = "160000"
	modeExecutable = "100755"
)

// objects lists what a tree holds of the workspace, by paths relative to the workspace.
func (r *Repository) objects(ctx context.Context, tree string) ([]object, error) {
	if r.prefix != "" {
		out, err := r.run(ctx, maxOutput, git.Input{Env: []string{"GIT_LITERAL_PATHSPECS=1"}}, "ls-tree", "-z", "--full-tree", tree, "--", r.prefix)
		if err != nil {
			return nil, err
		}
		fields := strings.Fields(string(out)) // for example "040000 tree 0123…", and then the path
		if len(fields) < 4 || fields[1] != "tree" {
			return nil, nil // the directory is not in that tree, or something else is in its place
		}
		tree = fields[2]
	}
	out, err := r.run(ctx, maxOutput, git.Input{}, "ls-tree", "-r", "-z", "--full-tree", tree)
	if err != nil {
		return nil, err
	}
	var list []object
	for line := range bytes.SplitSeq(bytes.TrimSuffix(out, []byte{0}), []byte{0}) {
		if len(line) == 0 {
			continue
		}
		head, name, ok := strings.Cut(string(line), "\t")
		fields := strings.Fields(head)
		if !ok || len(fields) != 3 {
			return nil, errors.New("git ls-tree: unknown output format")
		}
		list = append(list, object{fields[0], fields[2], name})
	}
	return list, nil
}

// blobs returns the contents of objects, by ID.
func (r *Repository) blobs(ctx context.Context, ids []string) (map[string][]byte, error) {
	contents := make(map[string][]byte, len(ids))
	if len(ids) == 0 {
		return contents, nil
	}
	out, err := r.run(ctx, maxBlobs, git.Input{Stdin: strings.NewReader(strings.Join(ids, "\n") + "\n")}, "cat-file", "--batch")
	if errors.Is(err, git.ErrTooLong) {
		return nil, fmt.Errorf("the files that differ exceed %d MiB in total", maxBlobs>>20)
	}
	if err != nil {
		return nil, err
	}
	for len(out) > 0 {
		// For example "0123… blob 5\n12345\n"; a missing object gives "0123… missing\n".
		head, rest, ok := bytes.Cut(out, []byte{'\n'})
		fields := strings.Fields(string(head))
		if ok && len(fields) == 2 && fields[1] == "missing" {
			return nil, &MissingError{fields[0]}
		}
		var size int
		if _, err := fmt.Sscan(strings.Join(fields[min(2, len(fields)):], " "), &size); !ok || err != nil || size < 0 || size >= len(rest) {
			return nil, errors.New("git cat-file: unknown output format")
		}
		contents[fields[0]], out = rest[:size:size], rest[size+1:]
	}
	return contents, nil
}

// A MissingError says that an object is not in the repository, as in a partial clone.
type MissingError struct{ ID string }

// Error names the object and says what to do.
func (e *MissingError) Error() string {
	return fmt.Sprintf("object %.12s is not in this repository (a partial clone?), and nothing is fetched: run `git fetch --refetch --no-filter` to get all objects", e.ID)
}
