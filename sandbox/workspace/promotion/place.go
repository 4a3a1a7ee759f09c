package promotion

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"

	"agent/sandbox/workspace"

	"agent/sandbox/workspace/internal/dirfd"

	"golang.org/x/sys/unix"
)

// How one path is changed, and how a later process recognises how far that came.
//
// Each path of a promotion has one slot, a name that the user does not see. The content of the slot is the only record
// of progress; nothing else is written down. With N for the staged file, known by its inode number, and O for the file
// that was there before:
//
//	operation   slot before   rename                 slot after
//	create      N             slot to path           empty
//	modify      N             slot and path change   O
//	delete      empty         path to slot           O
//
// So apply and revert first look into the slot, and do nothing if their rename has already happened. If the file system
// cannot exchange two files, modify takes three renames by way of a third name, and settle first finishes or undoes
// them.
//
// Between a look at a path and a rename the user can write. Therefore every rename that takes something away is
// followed by a look at what it took, and reversed if that is not what the plan means; every rename that puts something
// in place needs a free name, or exchanges. No call in this file can destroy bytes that it has not looked at.

// A found is what is at a path at the moment.
type found struct {
	absent bool
	dir    bool
	// It is a regular file; the fields below are only set for one.
	plain bool
	meta  fileMeta
	inode uint64
	// Some process has it open for writing.
	busy bool
}

// is reports whether the file found is the one that want describes. A nil want means that no file is there, though a
// directory may be.
func (f found) is(want *fileMeta) bool {
	if want == nil {
		return f.absent || f.dir
	}
	return f.plain && f.meta.Digest == want.Digest && f.meta.Mode == want.Mode
}

// look returns what is at rel. It does not read a directory, link or device.
func look(t *dirfd.Tree, rel string) (found, error) {
	f, err := t.Open(rel, unix.O_RDONLY, 0)
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, unix.ENOTDIR):
		return found{absent: true}, nil
	case errors.Is(err, unix.ELOOP), errors.Is(err, unix.ENXIO):
		return found{}, nil // a link, a socket
	case err != nil:
		return found{}, err
	}
	defer f.Close()
	var st unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &st); err != nil {
		return found{}, &fs.PathError{Op: "stat", Path: rel, Err: err}
	}
	if kind, _ := workspace.KindOf(uint32(st.Mode)); kind != workspace.File {
		return found{dir: kind == workspace.Dir}, nil
	}
	h := sha256.New()
	// The lease is requested after the read: a writer that came and went in between has changed the digest, and one
	// that is still there is detected.
	if _, err := io.Copy(h, f); err != nil {
		return found{}, err
	}
	return found{plain: true, inode: st.Ino, busy: dirfd.Writing(f), meta: fileMeta{
		Digest: hex.EncodeToString(h.Sum(nil)), Mode: uint32(st.Mode) & 0o777, UID: int(st.Uid), GID: int(st.Gid),
	}}, nil
}

// away moves whatever is at a name into a slot, which is free. It is one rename, so it never removes anything but what
// it moves.
func (j *journal) away(from, to string) error { return j.tree.Rename(from, to, 0) }

// put moves the file in a slot to a name in the workspace, which must be free; otherwise the error is fs.ErrExist.
func (j *journal) put(from, to string) error {
	t := j.tree
	err := t.Rename(from, to, dirfd.NoReplace)
	if !dirfd.Unsupported(err) {
		return err
	}
	// A hard link never replaces anything either. For a moment the file has both names: see settle.
	if err = t.Link(from, to); err == nil {
		j.at("linked")
		return t.Unlink(from)
	}
	if !errors.Is(err, unix.EPERM) && !dirfd.Unsupported(err) {
		return err
	}
	if _, err := t.Stat(to); !errors.Is(err, fs.ErrNotExist) {
		return &fs.PathError{Op: "rename", Path: to, Err: fs.ErrExist}
	}
	return t.Rename(from, to, 0)
}

// swap exchanges the files at slot and name, atomically if the file system can. Otherwise name is missing for a moment;
// after a kill at that point settle decides what to do.
func (j *journal) swap(slot, name string) error {
	err := j.tree.Rename(slot, name, dirfd.Exchange)
	if err == nil {
		j.at("exchanged")
	}
	if !dirfd.Unsupported(err) {
		return err
	}
	if err := j.away(name, slot+swapSuffix); err != nil {
		return err
	}
	j.at("swap: taken away")
	if err := j.put(slot, name); err != nil {
		return errors.Join(err, j.settle(slot, name))
	}
	j.at("swap: put in place")
	return j.away(slot+swapSuffix, slot)
}

// settle brings an interrupted move or swap to one of its ends.
func (j *journal) settle(slot, name string) error {
	// A file that put left with two names keeps the one in the workspace.
	for _, pair := range [][2]string{{slot + swapSuffix, name}, {slot, name}} {
		a, err := j.tree.Stat(pair[0])
		b, berr := j.tree.Stat(pair[1])
		if err == nil && berr == nil && a.Dev == b.Dev && a.Ino == b.Ino {
			if err := j.tree.Unlink(pair[0]); err != nil {
				return err
			}
		}
	}
	if _, err := j.tree.Stat(slot + swapSuffix); err != nil {
		return nil
	}
	if _, err := j.tree.Stat(slot); errors.Is(err, fs.ErrNotExist) {
		return j.away(slot+swapSuffix, slot)
	}
	// Nothing was put in place yet. If the name is taken by now, the user took it, and the file that was moved away
	// stays under its third name: Close saves it.
	if err := j.put(slot+swapSuffix, name); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}

// errConflict says that the host's file is not the one that the plan means.
var errConflict = errors.New("changed on the host")

// apply brings one item to its state after. It repeats nothing: an item that is in that state stays. errConflict means
// that the user's file is in place.
func (j *journal) apply(it item) error {
	if err := j.settle(it.Slot, it.Path); err != nil {
		return err
	}
	slot, err := look(j.tree, it.Slot)
	if err != nil {
		return err
	}
	if it.placed(slot) {
		// An earlier process may have died before it looked at what it displaced.
		switch {
		case it.Before == nil || slot.is(it.Before) && !slot.busy:
			return nil
		case it.After == nil:
			return j.giveBack(it)
		}
		return j.unswap(it)
	}
	// This look only saves a rename there and back in the common case of a conflict. The look at what was displaced
	// decides.
	now, err := look(j.tree, it.Path)
	j.at("looked")
	switch {
	case err != nil:
		return err
	case !now.is(it.Before) || now.busy:
		return errConflict
	case it.Before == nil:
		err = j.put(it.Slot, it.Path)
		j.at("created")
	case it.After == nil:
		return j.take(it)
	default:
		return j.exchange(it)
	}
	if errors.Is(err, fs.ErrExist) || dirfd.Gone(err) {
		return errConflict // taken since the look, or its directory no longer exists
	}
	return err
}

// placed reports, from the content of the slot, whether the item is in its state after.
func (it item) placed(slot found) bool {
	if it.After == nil {
		return !slot.absent // the deleted file
	}
	return slot.absent || slot.inode != it.Inode // the staged file has left
}

// take moves a file that is to be deleted into its slot, and back if it was not the one meant.
func (j *journal) take(it item) error {
	if err := j.away(it.Path, it.Slot); err != nil {
		if dirfd.Gone(err) {
			return errConflict
		}
		return err
	}
	j.at("taken")
	slot, err := look(j.tree, it.Slot)
	if err != nil || slot.is(it.Before) && !slot.busy {
		return err
	}
	return j.giveBack(it)
}

// giveBack puts back a file that was to be deleted and is not the one meant, and then returns errConflict. If the name
// is taken by now, the file stays in the slot, where Close finds and saves it.
func (j *journal) giveBack(it item) error {
	if err := j.put(it.Slot, it.Path); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return errConflict
}

// exchange puts the staged file in the place of the old one and judges what it displaced.
func (j *journal) exchange(it item) error {
	err := j.swap(it.Slot, it.Path)
	if dirfd.Gone(err) || errors.Is(err, fs.ErrExist) {
		return errConflict // deleted, or created anew, between the look and the swap
	}
	if err != nil {
		return err
	}
	slot, err := look(j.tree, it.Slot)
	if err != nil || slot.is(it.Before) && !slot.busy {
		return err
	}
	return j.unswap(it)
}

// unswap gives a file that the user wrote at the last moment its name back, and then returns errConflict.
func (j *journal) unswap(it item) error {
	if err := j.swap(it.Slot, it.Path); err != nil {
		if dirfd.Gone(err) || errors.Is(err, fs.ErrExist) {
			return errConflict // the user's latest version stands; Close saves what is in the slot
		}
		return err
	}
	slot, err := look(j.tree, it.Slot)
	if err != nil {
		return err
	}
	if !it.ours(slot) {
		// The user wrote to the new file in the meantime, so that is the latest.
		if err := j.swap(it.Slot, it.Path); err != nil {
			return err
		}
	}
	return errConflict
}

// ours reports whether f is the staged file, as it was staged.
func (it item) ours(f found) bool {
	return it.After != nil && f.plain && f.inode == it.Inode && f.is(it.After) && !f.busy
}

// revert brings one item back to its state before, as long as the file in place is still ours. Like apply it repeats
// nothing.
func (j *journal) revert(it item) error {
	if err := j.settle(it.Slot, it.Path); err != nil {
		return err
	}
	slot, err := look(j.tree, it.Slot)
	if err != nil || !it.placed(slot) {
		return err
	}
	if it.After == nil {
		err := j.put(it.Slot, it.Path)
		j.at("given back")
		if errors.Is(err, fs.ErrExist) || dirfd.Gone(err) {
			return nil // the user created the file anew, or removed its directory
		}
		return err
	}
	now, err := look(j.tree, it.Path)
	if err != nil || !it.ours(now) {
		return err // the user wrote over ours, or removed it
	}
	j.at("looked back")
	if it.Before == nil {
		return j.withdraw(it)
	}
	err = j.unswap(it)
	j.at("swapped back")
	if errors.Is(err, errConflict) {
		return nil
	}
	return err
}

// withdraw removes a created file, and puts it back if the user wrote to it.
func (j *journal) withdraw(it item) error {
	if err := j.away(it.Path, it.Slot); err != nil {
		if dirfd.Gone(err) {
			return nil // the user removed it first
		}
		return err
	}
	j.at("withdrawn")
	slot, err := look(j.tree, it.Slot)
	if err != nil || it.ours(slot) {
		return err
	}
	if err := j.put(it.Slot, it.Path); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}
