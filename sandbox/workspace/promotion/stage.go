package promotion

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"

	"agent/sandbox/workspace"

	"agent/sandbox/workspace/internal/dirfd"

	"golang.org/x/sys/unix"
)

// plan determines what cs does to the current host, without writing. It returns the contents to stage, by index of the
// item.
//
// It collects all files that differ before it reports them, so that a person sees at once what stands in the way. Any
// other problem ends the plan at once.
func (j *journal) plan(ctx context.Context, cs workspace.Changeset, base *workspace.Manifest) (files [][]byte, err error) {
	changes, err := cs.Flatten()
	if err != nil {
		return nil, err
	}
	// Renames are taken apart: the host is examined path by path, and a rename is one path that goes and one that
	// comes.
	var conflicts []string
	hosts := map[string]found{}
	for _, c := range changes {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		host, err := j.inspect(c, changes)
		if err != nil {
			return nil, err
		}
		hosts[c.Path] = host
		if !host.fits(c) || !knows(base, c, host) {
			conflicts = append(conflicts, c.Path)
		}
	}
	if len(conflicts) > 0 {
		return nil, &ConflictError{Paths: conflicts}
	}
	// From here on nothing is judged any more, only arranged.
	stageMount, err := j.tree.Mount(j.existing(stages))
	if err != nil {
		return nil, err
	}
	for _, c := range changes {
		it := item{Path: c.Path}
		host := hosts[c.Path]
		if c.Existed {
			it.Before = &host.meta
		}
		if c.Exists {
			if it.After, err = j.metaAfter(c, host, hosts[c.Keep]); err != nil {
				return nil, err
			}
		}
		if c.Existed && c.Exists && host.is(it.After) {
			// The bytes and bits would stay as they are, so nothing would be written.
			continue // nothing to do
		}
		if it.Slot, err = j.slotFor(len(j.Items), c.Path, stageMount); err != nil {
			return nil, err
		}
		j.Items = append(j.Items, it)
		files = append(files, c.After)
	}
	return files, j.planDirs(changes)
}

// fits reports whether what is on the host is what c was made from. inspect has already judged a directory in the way
// of a new file.
//
// Only content decides. A file that was rewritten with the same bytes counts as unchanged.
func (f found) fits(c workspace.PathChange) bool {
	if c.Existed {
		return f.plain && f.meta.Digest == workspace.Digest(c.Before)
	}
	return f.absent
}

// knows reports whether the file has the permission bits that base has seen.
//
// Without a base, and for a path that base leaves out, the bits are unknown and count as unchanged.
func knows(base *workspace.Manifest, c workspace.PathChange, host found) bool {
	// Making a file private since the snapshot is an edit, too.
	if base == nil || !c.Existed {
		return true
	}
	e, ok := base.Lookup(c.Path)
	return !ok || uint32(e.Mode) == host.meta.Mode
}

// inspect examines one path and the way to it. It refuses a link or device in the place of a file, or a link on the
// way, with a *PathError.
//
// It changes nothing on the host, but records in the journal which directories must go for a file to take their place.
func (j *journal) inspect(c workspace.PathChange, changes []workspace.PathChange) (found, error) {
	refuse := func(format string, args ...any) (found, error) {
		return found{}, &workspace.PathError{Path: c.Path, Reason: fmt.Sprintf(format, args...)}
	}
	// Each directory on the way is examined separately. The kernel would refuse a link too, at the time of the rename,
	// but with a less helpful error.
	for i, r := range c.Path {
		if r != '/' {
			continue
		}
		// From the root down: the first thing that is not a directory decides, and there is nothing to examine below
		// it.
		dir := c.Path[:i]
		st, err := j.tree.Stat(dir)
		if errors.Is(err, fs.ErrNotExist) {
			return found{absent: true}, nil
		}
		if err != nil {
			return found{}, err
		}
		kind, special := workspace.KindOf(uint32(st.Mode))
		switch {
		case kind == workspace.Symlink:
			return refuse("%s is a symbolic link on the host: name the file by its real path", dir)
		case kind == workspace.Dir:
		case kind == workspace.File:
			if there, ok := workspace.FindChange(changes, dir); ok && there.Existed && !there.Exists {
				return found{absent: true}, nil // the file gives way to a directory
			}
			return refuse("%s is a file on the host, so nothing can be below it", dir)
		default:
			return refuse("%s is a %s on the host", dir, special)
		}
	}
	st, err := j.tree.Stat(c.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return found{absent: true}, nil
	}
	if err != nil {
		return found{}, err
	}
	switch kind, special := workspace.KindOf(uint32(st.Mode)); {
	case kind == workspace.Symlink:
		return refuse("it is a symbolic link on the host, and only files are changed")
	case kind == workspace.Dir && (c.Existed || !c.Exists):
		return refuse("it is a directory on the host, and only files are changed")
	case kind == workspace.Dir:
		return found{absent: true}, j.clear(c.Path, changes)
	case special != "":
		return refuse("it is a %s on the host, and only files are changed", special)
	}
	return look(j.tree, c.Path)
}

// clear plans to remove the directory name, which gives way to a file: cs must delete everything in it.
func (j *journal) clear(name string, changes []workspace.PathChange) error {
	names, err := j.tree.Names(name)
	if err != nil {
		return err
	}
	// What the scan left out, such as byte code, counts here too: it is the user's, and a file cannot take its place
	// without deleting it.
	for _, base := range names {
		child := path.Join(name, base)
		st, err := j.tree.Stat(child)
		if err != nil {
			return err
		}
		if kind, _ := workspace.KindOf(uint32(st.Mode)); kind == workspace.Dir {
			if err := j.clear(child, changes); err != nil {
				return err
			}
		} else if c, ok := workspace.FindChange(changes, child); !ok || c.Exists {
			return &ConflictError{Paths: []string{child}, Reason: "a directory is to become a file, but holds more than the changeset deletes"}
		}
	}
	// After its children: the list is in the order in which the directories can be removed.
	meta, err := j.dirMeta(name)
	j.Clear = append(j.Clear, meta)
	return err
}

// dirMeta records what would be needed to make the directory name again. The mode includes the sticky bit and setgid,
// which a plain permission mask would lose.
func (j *journal) dirMeta(name string) (dirMeta, error) {
	st, err := j.tree.Stat(name)
	return dirMeta{Path: name, Mode: uint32(st.Mode) & 0o7777, UID: int(st.Uid), GID: int(st.Gid)}, err
}

// metaAfter returns what the file of c must become: it gets the bits and owner of the file that it continues or
// replaces, otherwise the owner of its directory.
func (j *journal) metaAfter(c workspace.PathChange, host, keep found) (*fileMeta, error) {
	m := &fileMeta{Digest: workspace.Digest(c.After), Mode: uint32(c.FinalMode(fs.FileMode(keep.meta.Mode)))}
	for _, f := range []found{keep, host} {
		if f.plain {
			m.UID, m.GID = f.meta.UID, f.meta.GID
			return m, nil
		}
	}
	// Only the directory can supply the owner. A process that may not give files away keeps them, see own.
	st, err := j.tree.Stat(j.existing(path.Dir(c.Path)))
	m.UID, m.GID = int(st.Uid), int(st.Gid)
	return m, err
}

// existing returns the lowest directory at or above dir that exists on the host. The root of the workspace always does,
// since the tree holds it open.
func (j *journal) existing(dir string) string {
	for ; dir != "."; dir = path.Dir(dir) {
		if st, err := j.tree.Stat(dir); err == nil && st.Mode&unix.S_IFMT == unix.S_IFDIR {
			break
		}
	}
	return dir
}

// slotFor places the staged file in the directory for it or, if that is on another mount, which a rename cannot cross,
// next to its target. The name next to the target begins with workspace.SlotPrefix and carries the run, so that
// recovery and the next scan recognise it.
func (j *journal) slotFor(i int, name string, stageMount [2]uint64) (string, error) {
	dir := j.existing(path.Dir(name))
	mount, err := j.tree.Mount(dir)
	if err != nil || mount == stageMount {
		return j.slot(i), err
	}
	return path.Join(dir, fmt.Sprintf("%s%s-%d", workspace.SlotPrefix, j.ID, i)), nil
}

// planDirs lists the directories that the changes need and those that they leave empty.
//
// Parents come first among those to be made and last among those to be removed. Only the host can say which of the
// directories are really empty in the end, and others may put files there meanwhile.
func (j *journal) planDirs(changes []workspace.PathChange) error {
	makes, removes := map[string]bool{}, map[string]bool{}
	for _, c := range changes {
		for dir := path.Dir(c.Path); dir != "."; dir = path.Dir(dir) {
			if c.Exists {
				makes[dir] = true
			} else {
				removes[dir] = true
			}
		}
	}
	// A directory that exists, or appears meanwhile, is used as it is.
	for dir := range makes {
		st, err := j.tree.Stat(dir)
		if err == nil && st.Mode&unix.S_IFMT == unix.S_IFDIR {
			continue
		}
		// ENOTDIR: a file on the way gives way.
		if err != nil && !dirfd.Gone(err) {
			return err
		}
		j.Make = append(j.Make, dir)
	}
	slices.Sort(j.Make) // puts a parent before its children
	// rmdir decides whether one of these is really empty in the end.
	for dir := range removes {
		cleared := slices.ContainsFunc(j.Clear, func(d dirMeta) bool { return d.Path == dir })
		if makes[dir] || cleared {
			continue
		}
		meta, err := j.dirMeta(dir)
		if err != nil {
			return err
		}
		j.Remove = append(j.Remove, meta)
	}
	// Descending order by name puts children before their parents.
	slices.SortFunc(j.Remove, func(a, b dirMeta) int { return cmp.Compare(b.Path, a.Path) })
	return nil
}

// stageFiles writes the new bytes into the slots, with their final mode and owner.
//
// Whatever the result, nothing that a user sees has changed when it returns: the slots are in the directory of staged
// files, or hidden next to their targets.
func (j *journal) stageFiles(ctx context.Context, files [][]byte) error {
	dirs := map[string]bool{}
	for i := range j.Items {
		it := &j.Items[i]
		if it.After == nil {
			continue
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		// Private until the bytes and the owner are right.
		if err := j.tree.Write(it.Slot, files[i], 0o600); err != nil {
			return err
		}
		j.at("staged")
		if err := j.dress(it); err != nil {
			return err
		}
		dirs[path.Dir(it.Slot)] = true
	}
	// The names of the slots must be on disk before anything is renamed: after a power cut they are all that recovery
	// has.
	for dir := range dirs {
		if err := j.tree.Sync(dir); err != nil {
			return err
		}
	}
	return nil
}

// dress gives a staged file its owner and bits, and records its inode number.
func (j *journal) dress(it *item) error {
	f, err := j.tree.Open(it.Slot, unix.O_RDONLY, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	// The owner first: changing it clears bits of the mode.
	if err := own(f, it.After.UID, it.After.GID); err != nil {
		return err
	}
	var st unix.Stat_t
	// The inode number must be that of the file as it will be renamed, so nothing is written to it after this.
	for _, err := range []error{f.Chmod(fs.FileMode(it.After.Mode)), f.Sync(), unix.Fstat(int(f.Fd()), &st)} {
		if err != nil {
			return fmt.Errorf("stage %s: %w", it.Path, err)
		}
	}
	it.Inode = st.Ino
	return nil
}

// own sets the owner as far as the process may: root keeps every file with its owner; other users can at best keep the
// group.
func own(f *os.File, uid, gid int) error {
	// Root works in other people's directories, and what it replaces there stays theirs.
	if os.Geteuid() == 0 {
		return f.Chown(uid, gid)
	}
	if err := f.Chown(-1, gid); err != nil && !errors.Is(err, fs.ErrPermission) {
		return err
	}
	return nil
}

// makeDir makes a directory that the changeset needs; it may exist from before a kill.
//
// If a parent has gone since the plan, that is a conflict: someone is removing what the changeset wants to write into.
func (j *journal) makeDir(name string) error {
	err := j.tree.Mkdir(name, workspace.NewDirMode)
	if err != nil && !errors.Is(err, fs.ErrExist) {
		if dirfd.Gone(err) {
			return &ConflictError{Paths: []string{name}}
		}
		return err
	}
	j.at("directory made")
	// A directory that root makes in a user's workspace belongs to that user, as the files in it do.
	parent, err := j.tree.Stat(path.Dir(name))
	if err != nil {
		return err
	}
	err = j.dressDir(dirMeta{Path: name, Mode: workspace.NewDirMode, UID: int(parent.Uid), GID: int(parent.Gid)})
	if dirfd.Gone(err) {
		return &ConflictError{Paths: []string{name}}
	}
	return err
}

// restoreDir makes a directory again that was removed; it may never have been. It never removes anything of the user's.
func (j *journal) restoreDir(d dirMeta) error {
	err := j.tree.Mkdir(d.Path, d.Mode)
	if errors.Is(err, fs.ErrExist) {
		if st, serr := j.tree.Stat(d.Path); serr != nil || st.Mode&unix.S_IFMT != unix.S_IFDIR {
			return nil // the user has put something else there: that stays
		}
	} else if dirfd.Gone(err) {
		return nil // a parent is the user's now
	} else if err != nil {
		return err
	}
	j.at("directory restored")
	if err := j.dressDir(d); err != nil && !dirfd.Gone(err) {
		return err
	}
	return nil
}

// dressDir gives a directory its owner and mode. The setgid bit, by which files inherit the group, comes from the
// parent and stays.
func (j *journal) dressDir(d dirMeta) error {
	fd, err := j.tree.Dir(d.Path)
	if err != nil {
		return &fs.PathError{Op: "open", Path: d.Path, Err: err}
	}
	f := os.NewFile(uintptr(fd), d.Path)
	defer f.Close()
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return err
	}
	// The owner comes before the mode here too, for the same reason as with files.
	if err := own(f, d.UID, d.GID); err != nil {
		return err
	}
	mode := d.Mode&0o1777 | (uint32(st.Mode)|d.Mode)&unix.S_ISGID
	if err := unix.Fchmod(fd, mode); err != nil {
		return &fs.PathError{Op: "chmod", Path: d.Path, Err: err}
	}
	return nil
}
