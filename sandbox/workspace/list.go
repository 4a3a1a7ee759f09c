package workspace

import (
	"errors"
	"io/fs"
	"os"

	"agent/sandbox/workspace/internal/dirfd"

	"golang.org/x/sys/unix"
)

// errStopped ends a listing that is no longer wanted.
var errStopped = errors.New("stopped")

// list reads the directory rel and asks the kernel about each name in it, until stop is closed; a nil stop never is.
func (s *scanner) list(rel string, stop <-chan struct{}) (l listing, err error) {
	fd, err := s.tree.Dir(rel)
	if err != nil {
		return l, explain(rel, &fs.PathError{Op: "read directory", Path: rel, Err: err})
	}
	f := os.NewFile(uintptr(fd), rel)
	defer f.Close()
	if l.names, err = f.Readdirnames(-1); err != nil {
		return l, explain(rel, err)
	}
	// One variable serves all calls: it would otherwise be allocated each time.
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return l, err
	}
	l.self = entryOf(rel, Dir, &st)
	if _, ok := s.stamped[uint64(st.Dev)]; !ok {
		s.stamped[uint64(st.Dev)] = dirfd.Stamps(fd)
	}
	l.found = make([]listed, len(l.names))
	for i, name := range l.names {
		if i%256 == 0 && ended(stop) {
			return l, errStopped
		}
		l.found[i] = ask(fd, rel, name, &st)
	}
	return l, nil
}

// ended reports whether a channel that carries nothing is closed.
func ended(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// ask asks the kernel about one name of the directory dir, which fd has open. Of a link it reads only the target.
func ask(fd int, dir, name string, st *unix.Stat_t) listed {
	rel := name
	if dir != "." {
		rel = dir + "/" + name
	}
	l := listed{Entry: Entry{Path: rel}, name: name}
	if err := unix.Fstatat(fd, name, st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		l.err = &fs.PathError{Op: "stat", Path: rel, Err: err}
		return l
	}
	var kind Kind
	kind, l.special = KindOf(uint32(st.Mode))
	l.Entry = entryOf(rel, kind, st)
	if kind != Symlink {
		return l
	}
	target := make([]byte, unix.PathMax)
	n, err := unix.Readlinkat(fd, name, target)
	if err != nil {
		l.err = &fs.PathError{Op: "read link", Path: rel, Err: err}
		return l
	}
	l.Mode = 0o777 // as Linux reports it, unlike other systems
	l.Target, l.Digest = string(target[:n]), Digest(target[:n])
	return l
}

// ahead lists directories for the walk to use until git has answered, since git takes half as long as the walk. What
// git then ignores was listed in vain. A directory that cannot be listed is left to the walk, which knows whether that
// matters.
func (s *scanner) ahead(answered <-chan struct{}) {
	for todo := []string{"."}; len(todo) > 0 && !ended(answered); {
		dir := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		l, err := s.list(dir, answered)
		if err != nil {
			continue
		}
		s.listed[dir] = l
		for _, c := range l.found {
			if out, err := s.excludes(c.Path); c.Kind == Dir && leftOut(c.Path, true) == "" && !out && err == nil {
				todo = append(todo, c.Path)
			}
		}
	}
}
