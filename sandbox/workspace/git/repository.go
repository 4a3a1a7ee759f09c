// Package git holds the only runner of the git program on the host, and reports what git knows of a directory: the
// repository that it is in, what is checked out there, what is half done, and what is ignored.
//
// A repository is not trusted: Run lets none of its hooks, filters or monitors run and reaches no remote. Find, Head,
// Halfway and Ignored go further. Of the repository's files they read only HEAD, references, packed-refs, the index and
// info/exclude, and they make git use a neutral configuration in place of the repository's. Configured reads that
// configuration, and says which files it names. The package writes nothing.
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

// A Repo locates the files of a git repository. Creating one neither runs git nor reads its configuration.
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

// repoAt reads top/.git: a directory or, in an additional work tree or a submodule, a file that names the directory.
func repoAt(top string) (Repo, bool) {
	dir := filepath.Join(top, ".git")
	if info, err := os.Stat(dir); err != nil {
		return Repo{}, false
	} else if !info.IsDir() {
		// See gitrepository-layout(5). The path may lead out of the workspace; only an index and references are read
		// there, never a configuration.
		line, ok := strings.CutPrefix(firstLine(dir), "gitdir: ")
		if !ok {
			return Repo{}, false
		}
		dir = absolute(top, line)
	}
	// An empty directory called .git, or one that holds something else, is not a repository to git either: git
	// continues upwards.
	if firstLine(filepath.Join(dir, "HEAD")) == "" {
		return Repo{}, false
	}
	r := Repo{Top: top, dir: dir, common: dir}
	if line := firstLine(filepath.Join(dir, "commondir")); line != "" {
		r.common = absolute(dir, line)
	}
	return r, true
}

// absolute resolves a name from a file of git: it is relative to the directory of that file unless it is absolute.
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

// firstLine returns the first line of a small file, "" if there is none.
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

// Head returns what HEAD says and, if that is a branch, its commit.
func (r Repo) Head() string {
	head := firstLine(filepath.Join(r.dir, "HEAD"))
	ref, ok := strings.CutPrefix(head, "ref: ")
	if !ok {
		return head
	}
	if commit := firstLine(filepath.Join(r.common, filepath.FromSlash(ref))); commit != "" {
		return head + "\n" + commit
	}
	// A reference that has not moved since "git pack-refs" has no file of its own. Each line of packed-refs is "commit
	// name"; comments begin with # and peeled tags with ^, and neither can match.
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

// headIf returns the head, "" if there is no repository.
func (r Repo) headIf(ok bool) string {
	if !ok {
		return ""
	}
	return r.Head()
}

// halfway names what git, or a person with git, has not finished; "" if nothing.
func (r Repo) halfway() (file, what string) {
	// These are the names that git's own prompt script looks for to show an operation in progress
	// (contrib/completion/git-prompt.sh).
	for _, sign := range []struct{ file, what string }{
		{"index.lock", "git is running (or was killed and left its lock: then remove the file)"},
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

// Head returns what git has checked out in the repository that contains the directory dir, in the form of
// Manifest.Head; "" if there is none. dir is a path without links.
func Head(dir string) string {
	r, ok := Find(dir)
	return r.headIf(ok)
}

// Halfway names the file by which git, or a person with git, shows that an operation such as a merge or a rebase in the
// repository of dir is not finished, and says what it is. It returns "" if there is none. dir is a path without links.
func Halfway(dir string) (file, what string) {
	if r, ok := Find(dir); ok {
		return r.halfway()
	}
	return "", ""
}
