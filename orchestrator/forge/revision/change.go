package revision

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"

	"agent/sandbox/workspace"
	"agent/sandbox/workspace/git"
)

// EmptyTree stands for a tree without files: the state before the first commit.
const EmptyTree = ""

// A Change is the difference between two states of a workspace.
type Change struct {
	// Base is the state before, except that it has what is Apart in the state after.
	Base    *workspace.Manifest
	Changes workspace.Changeset
	// Apart lists what no changeset can hold.
	Apart []Apart
}

// Trees returns the change from one tree or commit to another, for the workspace of disk.
func (r *Repository) Trees(ctx context.Context, disk *workspace.Manifest, before, after string) (Change, error) {
	held, err := r.OnDisk(ctx)
	if err != nil {
		return Change{}, err
	}
	was, err := r.state(ctx, disk, before, held)
	if err != nil {
		return Change{}, err
	}
	is, err := r.state(ctx, disk, after, held)
	if err != nil {
		return Change{}, err
	}
	moved, err := r.moved(ctx, before, after)
	if err != nil {
		return Change{}, err
	}
	return change(was, is, moved)
}

// WorkingTree returns the change from a tree or commit to what is on disk.
func (r *Repository) WorkingTree(ctx context.Context, disk *workspace.Manifest, before string) (Change, error) {
	held, err := r.OnDisk(ctx)
	if err != nil {
		return Change{}, err
	}
	was, err := r.state(ctx, disk, before, held)
	if err != nil {
		return Change{}, err
	}
	return change(was, state{manifest: disk, submodules: was.submodules}, nil)
}

// A state is a tree of a repository in the form of a manifest.
type state struct {
	manifest *workspace.Manifest
	// Commits of submodules by path, and objects of files that a scan leaves out.
	submodules, left map[string]string
}

// change returns the difference between two states, including what no manifest shows.
func change(was, is state, moved map[string]string) (c Change, err error) {
	if c.Base, c.Changes, c.Apart, err = Between(was.manifest, is.manifest, moved); err != nil {
		return c, err
	}
	differ := func(a, b map[string]string, reason string, both bool) {
		for name, id := range a {
			if other, there := b[name]; id != other && (both || !there) {
				c.Apart = append(c.Apart, Apart{name, reason})
			}
		}
	}
	differ(is.submodules, was.submodules, "submodule, which is judged as it is checked out", true)
	differ(was.submodules, is.submodules, "submodule, which is judged as it is checked out", false)
	differ(is.left, was.left, "left out of every snapshot", true)
	return c, nil
}

// state reads a tree. held holds the objects that are on disk, by paths relative to the top.
func (r *Repository) state(ctx context.Context, disk *workspace.Manifest, tree string, held map[string]string) (state, error) {
	s := state{submodules: map[string]string{}, left: map[string]string{}}
	var list []object
	if tree != EmptyTree {
		var err error
		if list, err = r.objects(ctx, tree); err != nil {
			return s, err
		}
	}
	var files []File
	var wanted, keep []string
	ids := map[string]string{}
	for _, o := range list {
		top := o.path
		if r.prefix != "" {
			top = r.prefix + "/" + o.path
		}
		switch f := (File{Path: o.path, Kind: workspace.File, Executable: o.mode == modeExecutable}); {
		case o.mode == modeSubmodule:
			s.submodules[o.path] = o.id
			keep = append(keep, o.path)
		case disk.LeavesOut(o.path):
			s.left[o.path] = o.id
		default:
			if o.mode == modeLink {
				f.Kind = workspace.Symlink
			}
			e, there := disk.Lookup(o.path)
			if f.OnDisk = there && e.Kind == f.Kind && held[top] == o.id; !f.OnDisk {
				wanted = append(wanted, o.id)
			}
			ids[o.path] = o.id
			files = append(files, f)
		}
	}
	contents, err := r.blobs(ctx, wanted)
	if err != nil {
		return s, err
	}
	files = slices.DeleteFunc(files, func(f File) bool {
		if f.OnDisk || !workspace.HoldsSecret(f.Path, contents[ids[f.Path]]) {
			return false
		}
		s.left[f.Path] = ids[f.Path]
		return true
	})
	for i, f := range files {
		if f.OnDisk {
			continue
		}
		files[i].Content = contents[ids[f.Path]]
		// Git could not tell by the times, but the file on disk has the same bytes.
		if e, ok := disk.Lookup(f.Path); ok && e.Kind == f.Kind && e.Digest == workspace.Digest(files[i].Content) {
			files[i].OnDisk, files[i].Content = true, nil
		}
	}
	s.manifest, _ = Manifest(disk, files, keep)
	return s, nil
}

// moved maps files of after to the files of before from which git thinks they moved, relative to the workspace.
func (r *Repository) moved(ctx context.Context, before, after string) (map[string]string, error) {
	moved := map[string]string{}
	if before == EmptyTree || after == EmptyTree {
		return moved, nil
	}
	args := []string{"diff-tree", "-r", "-z", "-M", "-l400", "--diff-filter=R", "--name-status", "--no-ext-diff", before, after}
	if r.prefix != "" {
		args = append(args[:len(args)-2:len(args)-2], "--relative="+r.prefix+"/", before, after)
	}
	out, err := r.run(ctx, maxOutput, git.Input{}, args...)
	if err != nil {
		return nil, err
	}
	fields := strings.Split(string(bytes.TrimSuffix(out, []byte{0})), "\x00")
	for ; len(fields) >= 3; fields = fields[3:] {
		moved[fields[2]] = fields[1]
	}
	if len(fields) > 1 {
		return nil, errors.New("git diff-tree: unknown output format")
	}
	return moved, nil
}
