package workspace

import (
	"context"
	"errors"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"agent/sandbox/workspace/git"
)

// An Unseen is a path of a changeset that a later scan would not include, or a file of rules in it that hides others.
type Unseen struct {
	// Slash-separated, relative to the workspace.
	Path string
	// Path is a .gitignore that hides files, or may; otherwise git ignores Path itself.
	Rules bool
	// The files that Rules hide, relative to the repository of Path; at least one if there is no Err.
	Hidden []string
	// The error of git, if it gave no answer.
	Err error
}

// Unseen lists the files that cs puts where git ignores them, by the rules in m: no later snapshot and no commit would
// include them. It also lists a .gitignore of cs that hides files in this way, and whatever git gives no answer about.
// It asks git as Scan does.
func (m *Manifest) Unseen(ctx context.Context, cs Changeset) (list []Unseen) {
	// Each repository knows its own rules; a nested one is asked about itself.
	inside := map[git.Repo][]string{}
	for _, c := range cs.Sorted() {
		if _, known := m.Lookup(c.Path); known || c.Op == Delete {
			continue
		}
		r := m.repoOf(c.Path)
		inside[r] = append(inside[r], c.Path)
	}
	for r, names := range inside {
		dir, places := m.Root, make([]string, len(names))
		if strings.HasPrefix(r.Top, m.Root+string(filepath.Separator)) {
			dir = r.Top
		}
		for i, name := range names {
			places[i] = m.host(name)
		}
		ignored, err := r.Ignoring(ctx, dir, places)
		for _, name := range names {
			if err != nil || slices.Contains(ignored, m.host(name)) {
				list = append(list, Unseen{Path: name, Err: err})
			}
		}
	}
	list = append(list, m.hiding(ctx, cs)...)
	slices.SortFunc(list, func(a, b Unseen) int { return strings.Compare(a.Path, b.Path) })
	return list
}

// Configured lists the paths of cs, either end of a rename, that git reads as settings or runs as hooks because of the
// configuration of their repository, or of the one around the workspace. The error is that of git, if it gave no
// answer.
func (m *Manifest) Configured(ctx context.Context, cs Changeset) (list []string, err error) {
	known := map[git.Repo][]string{}
	under := func(r git.Repo, place string) (bool, error) {
		names, ok := known[r]
		if !ok {
			var err error
			if names, err = r.Configured(ctx); err != nil {
				return false, err
			}
			known[r] = names
		}
		return slices.ContainsFunc(names, func(name string) bool {
			// If the directory of the hooks is the top itself, only files that could be a hook count.
			return place == name || strings.HasPrefix(place, name+string(filepath.Separator)) &&
				(name != r.Top || filepath.Dir(place) == r.Top && filepath.Ext(place) == "")
		}), nil
	}
	outer := m.repoOf("x") // of what lies in the root
	for _, c := range cs.Sorted() {
		for _, name := range []string{c.Path, c.From} {
			if name == "" {
				continue
			}
			for _, r := range slices.Compact([]git.Repo{outer, m.repoOf(name)}) {
				is, err := under(r, m.host(name))
				if err != nil {
					return nil, err
				}
				if is && !slices.Contains(list, name) {
					list = append(list, name)
				}
			}
		}
	}
	return list, nil
}

// repoOf returns the repository that a path of the workspace belongs to.
func (m *Manifest) repoOf(name string) git.Repo {
	r, ok := git.Find(filepath.Dir(m.host(name)))
	if !ok {
		r = git.Repo{Top: m.Root}
	}
	return r
}

// hiding lists each .gitignore of cs whose repository has files that git ignores under the rules of cs. It leaves out
// files that git tracks: the next scan has them all the same.
func (m *Manifest) hiding(ctx context.Context, cs Changeset) (list []Unseen) {
	files := map[string][]byte{} // the files after the patch, with the text of rules
	for _, e := range m.Entries {
		if files[e.Path] = nil; path.Base(e.Path) == gitignore && e.Kind == File {
			files[e.Path], _ = m.ReadFile(e.Path) // a file that changed meanwhile is a conflict later
		}
	}
	asked := map[git.Repo]string{} // the .gitignore that each is asked about
	for _, c := range cs.Sorted() {
		delete(files, c.From)
		if files[c.Path] = c.After; c.Op == Delete {
			delete(files, c.Path)
		}
		for _, name := range []string{c.Path, c.From} {
			if path.Base(name) == gitignore {
				asked[m.repoOf(name)] = name
			}
		}
	}
	for r, rules := range asked {
		hidden, err := m.askPatched(ctx, r, files)
		if err != nil || len(hidden) > 0 {
			list = append(list, Unseen{Path: rules, Rules: true, Hidden: hidden, Err: err})
		}
	}
	return list
}

// gitignore is the name of the files with git's rules.
const gitignore = ".gitignore"

// askPatched returns which of the files, those of one repository, git ignores by the rules among them. It asks in a
// directory that holds only these rules.
func (m *Manifest) askPatched(ctx context.Context, r git.Repo, files map[string][]byte) (list []string, err error) {
	top, err := os.MkdirTemp("", "agent-rules-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(top)
	var names []string
	rules := map[string][]byte{} // by their place on the host
	// The rules of the repository above the workspace apply there too.
	for dir := m.Root; dir != r.Top && strings.HasPrefix(dir, r.Top); {
		dir = filepath.Dir(dir)
		if f, err := git.Regular(filepath.Join(dir, gitignore)); err == nil {
			text, err := io.ReadAll(f)
			f.Close()
			if rules[f.Name()] = text; err != nil {
				return nil, err
			}
		}
	}
	for name, text := range files {
		if m.repoOf(name) != r {
			continue
		}
		names = append(names, filepath.Join(top, strings.TrimPrefix(m.host(name), r.Top)))
		if path.Base(name) == gitignore {
			rules[m.host(name)] = text
		}
	}
	for name, text := range rules {
		place := filepath.Join(top, strings.TrimPrefix(name, r.Top))
		if err := errors.Join(os.MkdirAll(filepath.Dir(place), 0o700), os.WriteFile(place, text, 0o600)); err != nil {
			return nil, err
		}
	}
	r.Top = top
	list, err = r.Ignoring(ctx, top, names)
	for i := range list {
		list[i] = strings.TrimPrefix(list[i], top+string(filepath.Separator))
	}
	return list, err
}

// host returns the place of a path of the workspace on the host. Names of a manifest have slashes, but git is asked
// about places of this machine.
func (m *Manifest) host(name string) string { return filepath.Join(m.Root, filepath.FromSlash(name)) }
