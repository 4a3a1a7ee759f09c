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

// An Ignored is what git ignores in a workspace, as git itself tells: its rules
// are too many to repeat them.
type Ignored struct {
	// True for a directory ignored as a whole.
	paths map[string]bool
	// Git is not installed.
	noGit bool
}

// Has reports whether git ignores rel, slash-separated and relative to the root.
func (g *Ignored) Has(rel string, dir bool) bool {
	whole, ok := g.paths[rel]
	return ok && whole == dir
}

// Enter is told each directory and its names: a nested repository has rules of
// its own, and rules that nobody can read must not be passed over.
func (g *Ignored) Enter(ctx context.Context, root, rel string, names []string) error {
	// The root was asked about before the walk.
	nested := rel != "." && slices.Contains(names, ".git")
	if g.noGit && (slices.Contains(names, ".git") || slices.Contains(names, ".gitignore")) {
		return fmt.Errorf("%s has files of git, and git is not installed: install git, "+
			"so that ignored files stay out", path.Join(filepath.Base(root), rel))
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
			err = fmt.Errorf("no answer in %v: is a .gitignore something else than a file, or a directory too large?", gitTime)
		}
		if errors.Is(err, ErrTooLong) {
			err = fmt.Errorf("the names are more than %d MiB: ignore whole directories in .gitignore", maxOutput>>20)
		}
		return fmt.Errorf("ask git what it ignores in %s: %w", dir, err)
	}
	for i, name := range names {
		whole := strings.HasSuffix(name, "/")
		// A directory that is not ignored itself, only all that is in it, is
		// listed too, and the content after it.
		if whole && i+1 < len(names) && strings.HasPrefix(names[i+1], name) {
			continue
		}
		g.paths[path.Join(rel, strings.TrimSuffix(name, "/"))] = whole
	}
	return nil
}

// listIgnored returns what git ignores below dir, directories with a final
// slash, sorted.
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

// exclude is the repository's own file of what it ignores, if it has one.
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

// list asks git one question about dir whose answer is a list of names, and
// returns it sorted. Git reads no configuration of the repository but ours.
func list(ctx context.Context, r Repo, dir string, args []string, in []byte) ([]string, error) {
	neutral, err := os.MkdirTemp("", "agent-git-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(neutral)
	// The form of object names is a matter of the configuration that is not
	// read; an index of the other form is refused, so both are tried. Status 1 is
	// an answer: nothing is ignored, which the wrong form would not know.
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

// ask runs one question about dir. Git has no answer below a directory that
// it ignores; dir is then a project of its own. in is its standard input.
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

// prepareNeutral writes a git directory that holds nothing but the form of
// object names, and the parts of a split index, which git looks for beside its
// own.
func prepareNeutral(neutral string, r Repo, sha256 bool) error {
	config := "[core]\n\trepositoryformatversion = 0\n\tbare = false\n"
	if sha256 {
		config = "[core]\n\trepositoryformatversion = 1\n\tbare = false\n[extensions]\n\tobjectformat = sha256\n"
	}
	// The least that git takes for a git directory (gitrepository-layout(5)).
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

// escapeGlob makes every character of name stand for itself in filepath.Glob.
func escapeGlob(name string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(name)
}

// neutralCall is a call in dir on the work tree of r that reads no configuration but the
// one in neutral.
func neutralCall(neutral string, r Repo, dir string, args ...string) call {
	c := call{dir: dir, args: args, env: []string{"GIT_DIR=" + neutral, "GIT_WORK_TREE=" + r.Top}, limit: maxOutput}
	if r.dir == "" {
		return c
	}
	// Without an index every file counts as untracked, which is true before
	// the first "git add".
	if f, err := Regular(filepath.Join(r.dir, "index")); err == nil {
		f.Close()
		c.env = append(c.env, "GIT_INDEX_FILE="+filepath.Join(r.dir, "index"))
	}
	// A sparse index is filled in from the trees it leaves out.
	if info, err := os.Stat(filepath.Join(r.common, "objects")); err == nil && info.IsDir() {
		c.env = append(c.env, "GIT_OBJECT_DIRECTORY="+filepath.Join(r.common, "objects"))
	}
	return c
}

// Ignoring returns which of the places, below dir in the repository, git ignores, as git
// names them. Without the git program there are none: rules that it would read were refused
// by the scan.
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
		return nil, nil // none of them: git-check-ignore(1)
	}
	return ignored, err
}
