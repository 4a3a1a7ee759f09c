// Package git holds the one runner of the git program on the host, and says what git knows
// of a directory: the repository that it is in, what is checked out there, what is half
// done, and what is ignored.
//
// A repository is not trusted: Run lets no hook, filter or monitor of it run and reaches no
// remote. Find, Head, Halfway and Ignored go further: of its files they read only HEAD,
// references, packed-refs, the index and info/exclude, and have git ask a neutral
// configuration in place of the repository's. Configured reads that, and says which files it
// names. Nothing is written.
package git

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// A Repo is where git keeps its things. Nothing here runs git or reads its
// configuration.
type Repo struct {
	// The work tree.
	Top string
	// The git directory: top/.git, or where that file points.
	dir string
	// The git directory of the main work tree.
	common string
}

// Find finds the repository that dir is in: its own, or one around it.
func Find(dir string) (Repo, bool) {
	for top := dir; ; top = filepath.Dir(top) {
		if r, ok := repoAt(top); ok {
			return r, true
		}
		if top == filepath.Dir(top) {
			return Repo{}, false
		}
	}
}

// repoAt reads top/.git, a directory or, in a further work tree or a
// submodule, a file that names the directory.
func repoAt(top string) (Repo, bool) {
	dir := filepath.Join(top, ".git")
	if info, err := os.Stat(dir); err != nil {
		return Repo{}, false
	} else if !info.IsDir() {
		// See gitrepository-layout(5). The path may lead out of the workspace;
		// only an index and references are read there, never a configuration.
		line, ok := strings.CutPrefix(firstLine(dir), "gitdir: ")
		if !ok {
			return Repo{}, false
		}
		dir = absolute(top, line)
	}
	// An empty directory called .git, or one that holds something else, is no
	// repository to git either: it goes on looking upwards.
	if firstLine(filepath.Join(dir, "HEAD")) == "" {
		return Repo{}, false
	}
	r := Repo{Top: top, dir: dir, common: dir}
	if line := firstLine(filepath.Join(dir, "commondir")); line != "" {
		r.common = absolute(dir, line)
	}
	return r, true
}

// absolute resolves a name that a file of git holds: it is relative to the
// directory of that file unless it is absolute.
func absolute(base, name string) string {
	if filepath.IsAbs(name) {
		return filepath.Clean(name)
	}
	return filepath.Join(base, name)
}

// Regular opens a file that git wrote, and nothing that could block. The caller closes it.
func Regular(name string) (*os.File, error) {
	f, err := os.OpenFile(name, os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		f.Close()
		return nil, errors.New(name + " is not a regular file")
	}
	return f, nil
}

// firstLine is the first line of a small file, "" when there is none.
func firstLine(name string) string {
	f, err := Regular(name)
	if err != nil {
		return ""
	}
	defer f.Close()
	content, err := io.ReadAll(io.LimitReader(f, 8<<10))
	if err != nil {
		return ""
	}
	line, _, _ := bytes.Cut(content, []byte("\n"))
	return strings.TrimSpace(string(line))
}

// Head is what HEAD says and, where that is a branch, the commit it is at.
func (r Repo) Head() string {
	head := firstLine(filepath.Join(r.dir, "HEAD"))
	ref, ok := strings.CutPrefix(head, "ref: ")
	if !ok {
		return head
	}
	if commit := firstLine(filepath.Join(r.common, filepath.FromSlash(ref))); commit != "" {
		return head + "\n" + commit
	}
	// A reference that has not moved since "git pack-refs" has no file of its
	// own. Each line of packed-refs is "commit name"; comments begin with #
	// and peeled tags with ^, and neither can match.
	f, err := Regular(filepath.Join(r.common, "packed-refs"))
	if err != nil {
		return head
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if commit, name, ok := strings.Cut(lines.Text(), " "); ok && name == ref {
			return head + "\n" + commit
		}
	}
	return head
}

// headIf is head, "" when there is no repository.
func (r Repo) headIf(ok bool) string {
	if !ok {
		return ""
	}
	return r.Head()
}

// halfway names what git, or a person with git, has not finished; "" when
// nothing.
func (r Repo) halfway() (file, what string) {
	// The names are those that git's own prompt script looks for to show what
	// a repository is in the middle of (contrib/completion/git-prompt.sh).
	for _, sign := range []struct{ file, what string }{
		{"index.lock", "git is at work (or a dead git left its lock: then remove the file)"},
		{"rebase-merge", "a rebase is in progress"},
		{"rebase-apply", "a rebase or git am is in progress"},
		{"MERGE_HEAD", "a merge is in progress"},
		{"CHERRY_PICK_HEAD", "a cherry-pick is in progress"},
		{"REVERT_HEAD", "a revert is in progress"},
	} {
		if _, err := os.Lstat(filepath.Join(r.dir, sign.file)); err == nil {
			return ".git/" + sign.file, sign.what
		}
	}
	return "", ""
}

// Head is what git has checked out in the repository that the directory dir is in, as
// Manifest.Head has it; "" when dir is in none. dir is a path without links.
func Head(dir string) string {
	r, ok := Find(dir)
	return r.headIf(ok)
}

// Halfway names the file by which git, or a person with git, shows that a merge, a
// rebase or the like in the repository of dir is not finished, and says what it is; ""
// when there is nothing of that sort. dir is a path without links.
func Halfway(dir string) (file, what string) {
	if r, ok := Find(dir); ok {
		return r.halfway()
	}
	return "", ""
}
