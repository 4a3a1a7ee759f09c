package workspace

import (
	"bytes"
	"cmp"
	"io"
	"path"
	"slices"
	"strings"

	"agent/sandbox/workspace/internal/dirfd"

	"golang.org/x/sys/unix"
)

// Git takes any directory for a repository that has a valid HEAD, and either objects and refs or a commondir that says
// where those are: is_git_directory in its setup.c. It needs no .git around it, and git looks for one in the current
// directory and all directories above. The configuration and the hooks of such a repository name programs, which any
// git command started there runs. So files that look innocent become code on the host as soon as they lie together.

// gitFiles are the names that are git's own in a repository, in lower case; see gitrepository-layout(5) and common_list
// in git's path.c. Other files may be there as well, such as work trees next to a bare repository.
var gitFiles = []string{
	"head", "objects", "refs", "commondir", "config", "config.worktree", "hooks", "info", "packed-refs", "reftable", "index", "logs",
	"worktrees", "modules", "branches", "remotes", "shallow", "gitdir", "description", "common", "git-daemon-export-ok",
	"rebase-apply", "rebase-merge", "rebased-patches", "sequencer", "rr-cache", "lfs", "svn", "bisect_run",
}

// isGitFile reports whether name, which is folded, would be git's own in a repository.
func isGitFile(name string) bool {
	return slices.Contains(gitFiles, name) || strings.HasPrefix(name, "sharedindex.") || strings.HasPrefix(name, "bisect_") ||
		strings.HasSuffix(name, "_head") || strings.HasSuffix(name, ".lock") && isGitFile(strings.TrimSuffix(name, ".lock"))
}

// A layout says which parts of a repository a directory has.
type layout struct{ head, objects, refs, commondir bool }

// isRepository applies git's rule, except for the place that a commondir names, which may be anywhere and change later.
// It does not matter what objects and refs are, since git accepts executable files and links too.
func (l layout) isRepository() bool { return l.head && (l.commondir || l.objects && l.refs) }

// isCommon reports whether a commondir may name the directory: git reads the configuration there.
func (l layout) isCommon() bool { return l.objects && l.refs }

// add records a folded name; head says whether a HEAD is valid.
func (l *layout) add(name string, head bool) {
	switch name {
	case "head":
		l.head = l.head || head
	case "objects":
		l.objects = true
	case "refs":
		l.refs = true
	case "commondir":
		l.commondir = true
	}
}

// isLayout reports whether a folded name is one that add knows.
func isLayout(name string) bool { return slices.Contains(gitFiles[:4], name) }

// headLength is how much of a HEAD git reads, in bytes.
const headLength = 255

// isHead reports whether git accepts a file with this content as a HEAD: a symbolic reference, or an object name, of
// which git reads the first digits.
func isHead(content []byte) bool {
	text := bytes.ToLower(bytes.TrimSpace(content[:min(len(content), headLength)]))
	const shortest = 40 // of SHA-1, in hexadecimal digits
	return bytes.HasPrefix(text, []byte("ref:")) || len(text) >= shortest && len(bytes.TrimLeft(text[:shortest], "0123456789abcdef")) == 0
}

// A folder is a directory, under all spellings that some file system considers the same, in which a changeset writes
// what would be git's own in a repository.
type folder struct {
	before, after layout
	// The first such path, "" if only a folder below has one, and the directory as that path spells it.
	change, dir string
	// Subfolders, by their folded names.
	below map[string]*folder
}

// repositories looks for repositories among the folders of a changeset, given what the changeset writes and what is
// there already.
type repositories struct {
	changes []PathChange
	root    folder
	// The folders with a change, in the order of their changes.
	changed []*folder
	// A directory with a HEAD and a commondir, "" if none was looked for or found.
	borrower string
}

// newRepositories records the changes, which are sorted.
func newRepositories(changes []PathChange) *repositories {
	r := &repositories{changes: changes}
	for _, c := range changes {
		// Folding preserves slashes: no other character becomes one or merges with one.
		parts := strings.Split(Fold(c.Path), "/")
		deepest := len(parts) - 1
		for deepest >= 0 && !isGitFile(parts[deepest]) {
			deepest--
		}
		at, length := &r.root, 0
		for i := 0; i <= deepest; i++ {
			if isGitFile(parts[i]) {
				r.note(at, c, parts[i], i == len(parts)-1, length)
			}
			if i == deepest {
				break
			}
			if at.below == nil {
				at.below = map[string]*folder{}
			}
			if at.below[parts[i]] == nil {
				at.below[parts[i]] = &folder{}
			}
			at = at.below[parts[i]]
			length += 1 + strings.IndexByte(c.Path[length:], '/')
		}
	}
	return r
}

// note records that c writes in f at or below name, which is git's own. The directory is the first length bytes of the
// path of c; last says that name is the file itself.
func (r *repositories) note(f *folder, c PathChange, name string, last bool, length int) {
	if f.change == "" {
		f.change, f.dir = c.Path, strings.TrimSuffix(c.Path[:length], "/")
		r.changed = append(r.changed, f)
	}
	if c.Existed {
		f.before.add(name, last && isHead(c.Before))
	}
	if c.Exists {
		f.after.add(name, last && isHead(c.After))
	}
}

// found records that the path name already exists in f. What the changeset does to that very path is known.
func (r *repositories) found(f *folder, name string, head bool) {
	folded := Fold(path.Base(name))
	f.before.add(folded, head)
	if _, ok := FindChange(r.changes, name); !ok {
		f.after.add(folded, head)
	}
}

// addManifest records what m knows, including directories that other file systems consider the same as those of the
// changeset.
func (r *repositories) addManifest(m *Manifest) {
	if len(r.changed) == 0 {
		return
	}
	for _, e := range m.Entries {
		if !isLayout(Fold(path.Base(e.Path))) {
			continue
		}
		f := &r.root
		if dir := path.Dir(e.Path); dir != "." {
			for part := range strings.SplitSeq(Fold(dir), "/") {
				if f = f.below[part]; f == nil {
					break
				}
			}
		}
		if f != nil {
			r.found(f, e.Path, m.holdsHead(e))
		}
	}
}

// holdsHead reports whether e could be a valid HEAD. What cannot be read could be one.
func (m *Manifest) holdsHead(e Entry) bool {
	if e.Kind != File || !strings.EqualFold(path.Base(e.Path), "head") {
		return e.Kind != Dir
	}
	r, err := m.Open(e.Path)
	if err != nil {
		return true
	}
	defer r.Close()
	content, err := io.ReadAll(io.LimitReader(r, headLength))
	return err != nil || isHead(content)
}

// addTree records what is on the host, whether a scan sees it or not.
func (r *repositories) addTree(t *dirfd.Tree) error {
	if len(r.changed) == 0 {
		return nil
	}
	if err := r.walk(t, &r.root, []string{"."}); err != nil {
		return err
	}
	if !slices.ContainsFunc(r.changed, func(f *folder) bool { return f.before.isCommon() || f.after.isCommon() }) {
		return nil
	}
	// This is rare, so all of the workspace may be examined.
	var err error
	r.borrower, err = borrower(t, ".")
	return err
}

// borrower finds a directory at or below dir that git would take for a repository if its commondir names a suitable
// place, or "" if there is none. It skips each .git, since no changeset has written what lies there and its commondir
// leads to one.
func borrower(t *dirfd.Tree, dir string) (string, error) {
	names, err := t.Names(dir)
	if dirfd.Gone(err) { // or it is a link or a file
		return "", nil
	}
	var l layout
	for _, base := range names {
		if folded := Fold(base); isLayout(folded) {
			l.add(folded, treeHoldsHead(t, path.Join(dir, base), folded))
		}
	}
	if err != nil || l.head && l.commondir {
		return dir, err
	}
	for _, base := range names {
		if base == ".git" {
			continue
		}
		if found, err := borrower(t, path.Join(dir, base)); found != "" || err != nil {
			return found, err
		}
	}
	return "", nil
}

// walk records the directories dirs, which are spellings of f, and the subfolders of f.
func (r *repositories) walk(t *dirfd.Tree, f *folder, dirs []string) error {
	below := map[string][]string{}
	for _, dir := range dirs {
		names, err := t.Names(dir)
		if dirfd.Gone(err) { // or it is a link or a file, below which nothing is written
			continue
		}
		if err != nil {
			return err
		}
		for _, base := range names {
			folded, name := Fold(base), path.Join(dir, base)
			if isLayout(folded) {
				r.found(f, name, treeHoldsHead(t, name, folded))
			}
			if f.below[folded] != nil {
				below[folded] = append(below[folded], name)
			}
		}
	}
	for folded, dirs := range below {
		if err := r.walk(t, f.below[folded], dirs); err != nil {
			return err
		}
	}
	return nil
}

// treeHoldsHead reports whether name on the host could be a valid HEAD. What cannot be read could be one, and so could
// a link: git does not follow it.
func treeHoldsHead(t *dirfd.Tree, name, folded string) bool {
	if folded != "head" {
		return false
	}
	st, err := t.Stat(name)
	if err != nil {
		return !dirfd.Gone(err)
	}
	if kind, _ := KindOf(uint32(st.Mode)); kind != File {
		return kind == Symlink
	}
	file, err := t.Open(name, unix.O_RDONLY, 0)
	if err != nil {
		return true
	}
	defer file.Close()
	content, err := io.ReadAll(io.LimitReader(file, headLength))
	return err != nil || isHead(content)
}

// refusal returns, as a *PathError, the first change of what is git's own in a directory that is a repository before or
// after.
func (r *repositories) refusal() error {
	for _, f := range r.changed {
		dir := cmp.Or(f.dir, "the workspace's own directory")
		switch {
		case f.before.isRepository():
			return &PathError{Path: f.change, Reason: "git treats " + dir + " as a repository and runs what its files name: change them by hand"}
		case f.after.isRepository():
			return &PathError{Path: f.change, Reason: "git would treat " + dir + " as a repository and run what its files name: " +
				"leave out HEAD, or objects, refs and commondir"}
		case r.borrower != "" && (f.before.isCommon() || f.after.isCommon()):
			return &PathError{Path: f.change, Reason: "git treats " + r.borrower + " as a repository, and " + dir +
				" may be what its commondir names, whose files it runs: change them by hand"}
		}
	}
	return nil
}

// CheckRepositories reports, as a *PathError, the first path of cs that makes a directory of the workspace a repository
// to git without the name .git, or that changes one that is a repository: git runs what its configuration and hooks
// name. It examines cs, m and the host, where files that the scan left out count too.
func (m *Manifest) CheckRepositories(cs Changeset) error {
	changes, err := cs.Flatten()
	if err != nil {
		return err
	}
	r := newRepositories(changes)
	r.addManifest(m)
	// If the host cannot be read, Prepare finds that again, and fails.
	if t, err := dirfd.Open(m.Root); err == nil {
		_ = r.addTree(t)
		t.Close()
	}
	return r.refusal()
}

// CheckRepositoriesIn is like CheckRepositories, but for the files in t alone, whether a scan sees them or not. What
// cannot be read is an error.
func CheckRepositoriesIn(t *dirfd.Tree, cs Changeset) error {
	changes, err := cs.Flatten()
	if err != nil {
		return err
	}
	r := newRepositories(changes)
	if err := r.addTree(t); err != nil {
		return err
	}
	return r.refusal()
}
