package git

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Bounds of one question to git.
const (
	gitTime   = time.Minute
	maxOutput = 64 << 20 // bytes of the names that it lists
)

// An Ignored is what git ignores in a workspace, as reported by git itself: its rules are too many to reimplement.
type Ignored struct {
	// Maps each path to whether it is a directory ignored as a whole.
	paths map[string]bool
	// Git is not installed.
	noGit bool
}

// Has reports whether git ignores rel, slash-separated and relative to the root.
func (g *Ignored) Has(rel string, dir bool) bool {
	whole, ok := g.paths[rel]
	return ok && whole == dir
}

// Enter must be called for each directory with its names: a nested repository has rules of its own, and rules that
// cannot be read must not be skipped.
func (g *Ignored) Enter(ctx context.Context, root, rel string, names []string) error {
	// The root was asked about before the walk.
	nested := rel != "." && slices.Contains(names, ".git")
	if g.noGit && (slices.Contains(names, ".git") || slices.Contains(names, ".gitignore")) {
		return fmt.Errorf("%s has git files, but git is not installed: install git "+
			"so that ignored files are left out", path.Join(filepath.Base(root), rel))
	}
	if !nested {
		return nil
	}
	return g.Load(ctx, root, rel)
}

// Load asks git about the directory rel of the workspace.
func (g *Ignored) Load(ctx context.Context, root, rel string) error {
	if g.paths == nil {
		g.paths = map[string]bool{}
	}
	ctx, cancel := context.WithTimeout(ctx, gitTime)
	defer cancel()
	dir := filepath.Join(root, filepath.FromSlash(rel))
	names, err := listIgnored(ctx, dir)
	if errors.Is(err, ErrAbsent) {
		g.noGit = true
		return nil
	}
	if err != nil {
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			err = fmt.Errorf("no answer in %v: is a .gitignore not a regular file, or a directory too large?", gitTime)
		}
		if errors.Is(err, ErrTooLong) {
			err = fmt.Errorf("the names take more than %d MiB: ignore whole directories in .gitignore", maxOutput>>20)
		}
		return fmt.Errorf("ask git what it ignores in %s: %w", dir, err)
	}
	for i, name := range names {
		whole := strings.HasSuffix(name, "/")
		// Git also lists a directory that is not itself ignored if everything in it is, followed by its contents.
		if whole && i+1 < len(names) && strings.HasPrefix(names[i+1], name) {
			continue
		}
		g.paths[path.Join(rel, strings.TrimSuffix(name, "/"))] = whole
	}
	return nil
}

// listIgnored returns what git ignores below dir, sorted; directories end in a slash.
func listIgnored(ctx context.Context, dir string) ([]string, error) {
	r, inRepo := Find(dir)
	if !inRepo {
		r = Repo{Top: dir}
	}
	args := []string{"ls-files", "-z", "--others", "--ignored", "--exclude-standard", "--directory"}
	if exclude, ok := r.exclude(); ok {
		args = append(args, "--exclude-from="+exclude)
	}
	return list(ctx, r, dir, args, nil)
}

// exclude returns the repository's own file of ignore rules, if it has one.
func (r Repo) exclude() (file string, ok bool) {
	if r.common == "" {
		return "", false
	}
	file = filepath.Join(r.common, "info", "exclude")
	f, err := Regular(file)
	if err != nil {
		return "", false
	}
	f.Close()
	return file, true
}

// list asks git one question about dir whose answer is a list of names, and returns them sorted. Git reads our
// configuration in place of the repository's.
func list(ctx context.Context, r Repo, dir string, args []string, in []byte) ([]string, error) {
	neutral, err := os.MkdirTemp("", "agent-git-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(neutral)
	// The format of object names is part of the configuration that is not read. Git refuses an index of the other
	// format, so both are tried. Status 1 is an answer: nothing is ignored, which git would not know with the wrong
	// format.
	out, err := ask(ctx, neutral, r, dir, false, args, in)
	if err != nil && !exited(err, 1) && !errors.Is(err, ErrAbsent) && !errors.Is(err, ErrTooLong) && r.dir != "" && ctx.Err() == nil {
		if long, lerr := ask(ctx, neutral, r, dir, true, args, in); lerr == nil {
			out, err = long, nil
		}
	}
	if err != nil {
		return nil, err
	}
	names := strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")
	slices.Sort(names)
	return slices.DeleteFunc(names, func(name string) bool { return name == "" }), nil
}

// ask asks one question about dir. Git has no answer below a directory that it ignores; dir is then treated as a
// project of its own. in is the standard input.
func ask(ctx context.Context, neutral string, r Repo, dir string, sha256 bool, args []string, in []byte) ([]byte, error) {
	if err := prepareNeutral(neutral, r, sha256); err != nil {
		return nil, err
	}
	if r.Top != dir {
		_, err := neutralCall(neutral, r, r.Top, "check-ignore", "-q", "--", dir).run(ctx)
		switch {
		case err == nil:
			r = Repo{Top: dir}
		case !exited(err, 1):
			return nil, err
		}
	}
	c := neutralCall(neutral, r, dir, args...)
	c.in = bytes.NewReader(in)
	return c.run(ctx)
}

// prepareNeutral writes a git directory that holds only the format of object names, and the parts of a split index,
// which git looks for next to the index.
func prepareNeutral(neutral string, r Repo, sha256 bool) error {
	config := "[core]\n\trepositoryformatversion = 0\n\tbare = false\n"
	if sha256 {
		config = "[core]\n\trepositoryformatversion = 1\n\tbare = false\n[extensions]\n\tobjectformat = sha256\n"
	}
	// The minimum that git accepts as a git directory (gitrepository-layout(5)).
	for _, dir := range []string{"objects", "refs"} {
		if err := os.MkdirAll(filepath.Join(neutral, dir), 0o700); err != nil {
			return err
		}
	}
	if err := os.WriteFile(filepath.Join(neutral, "HEAD"), []byte("ref: refs/heads/none\n"), 0o600); err != nil {
		return err
	}
	if r.dir != "" {
		shared, _ := filepath.Glob(escapeGlob(r.dir) + "/sharedindex.*")
		for _, name := range shared {
			err := os.Symlink(name, filepath.Join(neutral, filepath.Base(name)))
			if err != nil && !errors.Is(err, fs.ErrExist) {
				return err
			}
		}
	}
	return os.WriteFile(filepath.Join(neutral, "config"), []byte(config), 0o600)
}

// escapeGlob escapes name so that each of its characters stands for itself in filepath.Glob.
func escapeGlob(name string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(name)
}

// neutralCall returns a call in dir on the work tree of r that reads no configuration but the one in neutral.
func neutralCall(neutral string, r Repo, dir string, args ...string) call {
	c := call{dir: dir, args: args, env: []string{"GIT_DIR=" + neutral, "GIT_WORK_TREE=" + r.Top}, limit: maxOutput}
	if r.dir == "" {
		return c
	}
	// Without an index every file counts as untracked, which is right before the first "git add".
	if f, err := Regular(filepath.Join(r.dir, "index")); err == nil {
		f.Close()
		c.env = append(c.env, "GIT_INDEX_FILE="+filepath.Join(r.dir, "index"))
	}
	// Git fills in a sparse index from the trees that it leaves out.
	if info, err := os.Stat(filepath.Join(r.common, "objects")); err == nil && info.IsDir() {
		c.env = append(c.env, "GIT_OBJECT_DIRECTORY="+filepath.Join(r.common, "objects"))
	}
	return c
}

// Ignoring returns those of the places, below dir in the repository, that git ignores, as git names them. Without the
// git program there are none: the scan has already refused any rules that git would read.
func (r Repo) Ignoring(ctx context.Context, dir string, places []string) ([]string, error) {
	ctx, cancel := context.WithTimeout(ctx, gitTime)
	defer cancel()
	var in bytes.Buffer
	for _, place := range places {
		fmt.Fprintf(&in, "%s\x00", place)
	}
	args := []string{"check-ignore", "-z", "--stdin"}
	if exclude, ok := r.exclude(); ok {
		args = append([]string{"-c", "core.excludesFile=" + exclude}, args...)
	}
	ignored, err := list(ctx, r, dir, args, in.Bytes())
	if errors.Is(err, ErrAbsent) || exited(err, 1) {
		return nil, nil // git ignores none of them: git-check-ignore(1)
	}
	return ignored, err
}
