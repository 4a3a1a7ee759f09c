package git

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// gitTime is the most that one question to git may take.
const gitTime = time.Minute

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
	// LookPath never finds a program in the current directory, so the
	// workspace cannot offer its own.
	bin, err := exec.LookPath("git")
	if err != nil {
		g.noGit = true
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, gitTime)
	defer cancel()
	dir := filepath.Join(root, filepath.FromSlash(rel))
	list, err := listIgnored(ctx, bin, dir)
	if err != nil {
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			err = fmt.Errorf("no answer in %v: is a .gitignore something else than a file, or a directory too large?", gitTime)
		}
		return fmt.Errorf("ask git what it ignores in %s: %w", dir, err)
	}
	for i, name := range list {
		whole := strings.HasSuffix(name, "/")
		// A directory that is not ignored itself, only all that is in it, is
		// listed too, and the content after it.
		if whole && i+1 < len(list) && strings.HasPrefix(list[i+1], name) {
			continue
		}
		g.paths[path.Join(rel, strings.TrimSuffix(name, "/"))] = whole
	}
	return nil
}

// listIgnored returns what git ignores below dir, directories with a final
// slash, sorted.
func listIgnored(ctx context.Context, bin, dir string) ([]string, error) {
	r, inRepo := Find(dir)
	if !inRepo {
		r = Repo{Top: dir}
	}
	args := []string{"ls-files", "-z", "--others", "--ignored", "--exclude-standard", "--directory"}
	if exclude, ok := r.exclude(); ok {
		args = append(args, "--exclude-from="+exclude)
	}
	return listGit(ctx, bin, r, dir, args, nil)
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

// listGit asks git one question about dir whose answer is a list of names, and
// returns it sorted.
func listGit(ctx context.Context, bin string, r Repo, dir string, args []string, in []byte) ([]string, error) {
	neutral, err := os.MkdirTemp("", "agent-git-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(neutral)
	// The form of object names is a matter of the configuration that is not
	// read; an index of the other form is refused, so both are tried. Status 1 is
	// an answer: nothing is ignored, which the wrong form would not know.
	out, err := askGit(ctx, bin, neutral, r, dir, false, args, in)
	var exit *exec.ExitError
	if err != nil && !(errors.As(err, &exit) && exit.ExitCode() == 1) && r.dir != "" && ctx.Err() == nil {
		if long, lerr := askGit(ctx, bin, neutral, r, dir, true, args, in); lerr == nil {
			out, err = long, nil
		}
	}
	if err != nil {
		return nil, err
	}
	list := strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")
	slices.Sort(list)
	return slices.DeleteFunc(list, func(name string) bool { return name == "" }), nil
}

// askGit runs one question about dir. Git has no answer below a directory that
// it ignores; dir is then a project of its own. in is its standard input.
func askGit(ctx context.Context, bin, neutral string, r Repo, dir string, sha256 bool, args []string, in []byte) ([]byte, error) {
	if err := prepareNeutral(neutral, r, sha256); err != nil {
		return nil, err
	}
	if r.Top != dir {
		_, err := output(neutralGit(ctx, bin, neutral, r, "check-ignore", "-q", "--", dir))
		var exit *exec.ExitError
		switch {
		case err == nil:
			r = Repo{Top: dir}
		case !errors.As(err, &exit) || exit.ExitCode() != 1:
			return nil, err
		}
	}
	cmd := neutralGit(ctx, bin, neutral, r, args...)
	cmd.Dir, cmd.Stdin = dir, bytes.NewReader(in)
	return output(cmd)
}

// output runs a command; an error says what the command wrote about it.
func output(cmd *exec.Cmd) ([]byte, error) {
	out, err := cmd.Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		err = fmt.Errorf("%w: %s", err, bytes.TrimSpace(exit.Stderr))
	}
	return out, err
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

// neutralGit is a git command on the work tree of r that reads no
// configuration but ours, starts no hook or monitor and takes no lock.
func neutralGit(ctx context.Context, bin, neutral string, r Repo, args ...string) *exec.Cmd {
	args = append([]string{
		"-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null",
		"-c", "core.untrackedCache=false",
	}, args...)
	cmd := exec.CommandContext(ctx, bin, args...)
	// Nothing is inherited from the environment but the path: variables such
	// as GIT_CONFIG_COUNT or GIT_TRACE would make git do what somebody else
	// wants. The last group of settings keeps it from writing, asking and
	// reading what belongs to the machine.
	cmd.Dir = r.Top
	// A child that outlives git must not keep us waiting for its output.
	cmd.WaitDelay = time.Second
	cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + neutral, "LC_ALL=C",
		"GIT_DIR=" + neutral, "GIT_WORK_TREE=" + r.Top,
		"GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null", "GIT_ATTR_NOSYSTEM=1",
		"GIT_OPTIONAL_LOCKS=0", "GIT_TERMINAL_PROMPT=0", "GIT_NO_LAZY_FETCH=1",
		// Set to nothing it allows no protocol at all, whatever protocol.NAME.allow of
		// a configuration says: that outranks protocol.allow (git(1)).
		"GIT_ALLOW_PROTOCOL=",
	}
	if r.dir == "" {
		return cmd
	}
	// Without an index every file counts as untracked, which is true before
	// the first "git add".
	if f, err := Regular(filepath.Join(r.dir, "index")); err == nil {
		f.Close()
		cmd.Env = append(cmd.Env, "GIT_INDEX_FILE="+filepath.Join(r.dir, "index"))
	}
	// A sparse index is filled in from the trees it leaves out.
	if info, err := os.Stat(filepath.Join(r.common, "objects")); err == nil && info.IsDir() {
		cmd.Env = append(cmd.Env, "GIT_OBJECT_DIRECTORY="+filepath.Join(r.common, "objects"))
	}
	return cmd
}

// Ignoring returns which of the places, below dir in the repository, git ignores, as git
// names them. Without the git program there are none: rules that it would read were refused
// by the scan.
func (r Repo) Ignoring(ctx context.Context, dir string, places []string) ([]string, error) {
	bin, err := exec.LookPath("git")
	if err != nil {
		return nil, nil
	}
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
	list, err := listGit(ctx, bin, r, dir, args, in.Bytes())
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() == 1 {
		return nil, nil // none of them: git-check-ignore(1)
	}
	return list, err
}
