package promotion

import (
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strings"

	"agent/sandbox/workspace/internal/dirfd"

	"golang.org/x/sys/unix"
)

// Where the journals of promotions are. A journal is a list of renames that the next command carries out, so it must
// not come from where others can write: a clone or an archive may bring any file, and a patch may create one. Journals
// are therefore in the user's state directory, under the inode number and the path of their workspace, and sealed with
// a key that is there too:
//
//	$XDG_STATE_HOME/agent/promotions/key
//	$XDG_STATE_HOME/agent/promotions/INODE-HASH/ID/journal.json, state.STATE

// keyName is the file with the key that seals the plans of all journals.
const keyName = "key"

// A home is this user's directory with the journals of all workspaces.
type home struct {
	// The directory, held open; nil if it does not exist yet.
	top *dirfd.Tree
	key []byte
}

// homePath returns the directory of journals, according to the XDG base directory specification.
func homePath() (string, error) {
	state := os.Getenv("XDG_STATE_HOME")
	if !filepath.IsAbs(state) { // the specification ignores relative paths
		dir, err := os.UserHomeDir()
		if err != nil || !filepath.IsAbs(dir) {
			// Services often run without HOME.
			u, uerr := user.Current()
			if uerr != nil || !filepath.IsAbs(u.HomeDir) {
				return "", errors.New("no directory for the journal of a promotion: set HOME or XDG_STATE_HOME")
			}
			dir = u.HomeDir
		}
		state = filepath.Join(dir, ".local", "state")
	}
	return filepath.Join(state, "agent", "promotions"), nil
}

// openHome opens the user's directory of journals. Without create, a directory that does not exist gives a home without
// journals. The caller closes it.
//
// If the directory is in the workspace t, which a patch may write, or if other users can read or write it, the error
// says what to do.
func openHome(t *dirfd.Tree, create bool) (*home, error) {
	dir, err := homePath()
	if err != nil {
		return nil, err
	}
	if create {
		if err := mkdirsDurably(dir); err != nil {
			return nil, fmt.Errorf("make the directory for journals: %w: set XDG_STATE_HOME to a writable directory", err)
		}
	}
	top, err := dirfd.Open(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return &home{}, nil
	}
	if err != nil {
		return nil, err
	}
	h := &home{top: top}
	if err := h.check(t); err != nil {
		h.close()
		return nil, err
	}
	if h.key, err = h.loadKey(create); err != nil {
		h.close()
		return nil, fmt.Errorf("key of the journals in %s: %w", dir, err)
	}
	return h, nil
}

// mkdirsDurably makes dir and its parents, with mode 0700, so that they survive a later power failure.
func mkdirsDurably(dir string) error {
	if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := mkdirsDurably(filepath.Dir(dir)); err != nil {
		return err
	}
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	parent, err := dirfd.Open(filepath.Dir(dir))
	if err != nil {
		return err
	}
	return errors.Join(parent.Sync("."), parent.Close())
}

// close closes the directory. It may be called twice.
func (h *home) close() {
	if h.top != nil {
		h.top.Close()
	}
}

// check refuses a directory that others can read or write, or that is in the workspace t.
func (h *home) check(t *dirfd.Tree) error {
	var st unix.Stat_t
	if err := unix.Fstat(h.top.FD, &st); err != nil {
		return &fs.PathError{Op: "stat", Path: h.top.Root, Err: err}
	}
	if int(st.Uid) != os.Geteuid() || st.Mode&0o077 != 0 {
		return fmt.Errorf("%s is not private, so what it holds may come from anyone: make it yours with mode 0700, or set XDG_STATE_HOME", h.top.Root)
	}
	root, err := t.Identity()
	if err != nil {
		return err
	}
	real, err := filepath.EvalSymlinks(h.top.Root)
	if err != nil {
		return err
	}
	for dir := real; ; dir = filepath.Dir(dir) {
		var st unix.Stat_t
		if err := unix.Stat(dir, &st); err != nil {
			return &fs.PathError{Op: "stat", Path: dir, Err: err}
		}
		if dirfd.InodeOf(&st) == root {
			return fmt.Errorf("the journals of promotions would lie in the workspace itself, in %s: set XDG_STATE_HOME to a directory outside it", real)
		}
		if dir == filepath.Dir(dir) {
			return nil
		}
	}
}

// loadKey reads the key. If create is set and there is none, it makes one.
func (h *home) loadKey(create bool) ([]byte, error) {
	for {
		f, err := h.top.Open(keyName, unix.O_RDONLY, 0)
		if err == nil {
			defer f.Close()
			info, err := f.Stat()
			if err != nil {
				return nil, err
			}
			if !info.Mode().IsRegular() || !dirfd.Private(info) || info.Size() != sha256.Size {
				return nil, errors.New("it is not a private file of 32 bytes: if no promotion was interrupted, remove it")
			}
			return h.top.Read(keyName)
		}
		if !errors.Is(err, fs.ErrNotExist) || !create {
			if errors.Is(err, fs.ErrNotExist) {
				err = nil
			}
			return nil, err
		}
		key := make([]byte, sha256.Size)
		rand.Read(key) // never returns an error
		// If two processes make a key, the first wins and both read its key.
		temporary := keyName + "." + rand.Text()
		err = h.top.Write(temporary, key, 0o600)
		if err == nil {
			err = errors.Join(h.top.Link(temporary, keyName), h.top.Unlink(temporary))
		}
		if err == nil {
			err = h.top.Sync(".")
		}
		if err != nil && !errors.Is(err, fs.ErrExist) {
			return nil, err
		}
	}
}

// of returns the name in h.top of the directory with the journals of the workspace t. prefix is the part of the name
// that stays the same when the workspace is moved.
func (h *home) of(t *dirfd.Tree) (prefix, name string, err error) {
	id, err := t.Identity()
	if err != nil {
		return "", "", err
	}
	prefix = fmt.Sprintf("%d-", id.Number)
	return prefix, prefix + pathHash(t.Root), nil
}

// journals returns the journals of the workspace t: those made under its path, and those made before it was moved. It
// removes those that only wait for removal.
func (h *home) journals(t *dirfd.Tree) ([]*journal, error) {
	if h.top == nil {
		return nil, nil
	}
	prefix, own, err := h.of(t)
	if err != nil {
		return nil, err
	}
	names, err := h.top.Names(".")
	if err != nil {
		return nil, err
	}
	slices.Sort(names)
	var list []*journal
	for _, dir := range names {
		if !strings.HasPrefix(dir, prefix) {
			continue
		}
		ids, err := pending(h.top, dir)
		if err != nil {
			return nil, err
		}
		for _, id := range ids {
			j := h.journal(t, dir, id)
			err := j.load()
			if dir != own && (err != nil || !j.movedHere()) {
				continue // of another directory, which had the same inode number
			}
			if err != nil {
				return nil, err
			}
			list = append(list, j)
		}
	}
	return list, nil
}

// journal returns the journal id in the directory dir of h, for the workspace t.
func (h *home) journal(t *dirfd.Tree, dir, id string) *journal {
	return &journal{ID: id, Root: t.Root, tree: t, home: h.top, key: h.key, place: dir + "/" + id, stage: stages + "/" + id, state: staging}
}

// newJournal returns a journal that is yet to be created.
func (h *home) newJournal(t *dirfd.Tree, id string) (*journal, error) {
	_, own, err := h.of(t)
	return h.journal(t, own, id), err
}
