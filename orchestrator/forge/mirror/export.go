package mirror

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"

	"agent/sandbox/workspace/git"
)

// The bounds of a tree written to disk.
const (
	maxFiles = 200_000
	maxBytes = 4 << 30
)

// An entry is a file of a commit.
type entry struct {
	mode, object, name string
	size               int64
}

// An Omission is something in a commit that is missing from the tree on disk.
type Omission struct{ Path, Why string }

// pointer is the beginning of a file whose content LFS stores elsewhere.
var pointer = []byte("version https://git-lfs.github.com/spec/")

// Export writes the files of a commit below dir, which must not exist: exactly the bytes of the objects, with no
// filter, no changed line end and no followed link. It leaves out, and reports, content that is stored elsewhere.
func (m *Mirror) Export(ctx context.Context, commit, dir string) (left []Omission, err error) {
	list, left, err := m.tree(ctx, commit)
	if err != nil {
		return nil, err
	}
	part := dir + ".part"
	if err := os.RemoveAll(part); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(part, 0o700); err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(part)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	lfs, err := m.write(ctx, root, list)
	if err != nil {
		return nil, fmt.Errorf("write the files of %.12s: %w", commit, err)
	}
	// Whole or not at all: a directory that exists is complete.
	return append(left, lfs...), os.Rename(part, dir)
}

// tree lists the files of a commit.
func (m *Mirror) tree(ctx context.Context, commit string) (list []entry, left []Omission, err error) {
	out, err := m.git(ctx, nil, "ls-tree", "-r", "-z", "-l", "--full-tree", commit)
	if err != nil {
		return nil, nil, fmt.Errorf("list the files of %.12s: %w", commit, err)
	}
	total := int64(0)
	for line := range strings.SplitSeq(strings.TrimSuffix(string(out), "\x00"), "\x00") {
		head, name, ok := strings.Cut(line, "\t")
		fields := strings.Fields(head)
		if !ok || len(fields) != 4 {
			continue
		}
		if !cleanPath(name) {
			return nil, nil, fmt.Errorf("commit %.12s contains the path %q, which is not a place for a file", commit, name)
		}
		if fields[1] == "commit" {
			left = append(left, Omission{name, "submodule at " + fields[2]})
			continue
		}
		size, _ := strconv.ParseInt(fields[3], 10, 64)
		total += size
		list = append(list, entry{fields[0], fields[2], name, size})
	}
	if len(list) > maxFiles || total > maxBytes {
		return nil, nil, fmt.Errorf("commit %.12s has %d files with %d MiB in total; the limits are %d files and %d MiB", commit, len(list), total>>20, maxFiles, maxBytes>>20)
	}
	return list, left, nil
}

// write writes the files of list below root.
func (m *Mirror) write(ctx context.Context, root *os.Root, list []entry) (left []Omission, err error) {
	var ask bytes.Buffer
	for _, e := range list {
		ask.WriteString(e.object + "\n")
	}
	ctx, cancel := context.WithTimeout(ctx, moveTime)
	defer cancel()
	from, to := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		_, err := git.Call{Dir: m.dir, Args: []string{"cat-file", "--batch"}, In: &ask, Out: to, Env: m.own()}.Run(ctx)
		to.CloseWithError(err)
		ended <- err
	}()
	r := bufio.NewReaderSize(from, 1<<16)
	var links []func() error // made last, so that nothing is written through one
	for _, e := range list {
		var link func() error
		var lfs bool
		if link, lfs, err = place(root, e, r); err != nil {
			break
		}
		if link != nil {
			links = append(links, link)
		}
		if lfs {
			left = append(left, Omission{e.name, "content in LFS"})
		}
	}
	from.CloseWithError(err)
	if gitErr := <-ended; err == nil {
		err = gitErr
	}
	for _, link := range links {
		if err == nil {
			err = link()
		}
	}
	return left, err
}

// place reads one object and writes it as a file. The returned function makes a link.
func place(root *os.Root, e entry, r *bufio.Reader) (link func() error, lfs bool, err error) {
	head, err := r.ReadString('\n')
	if err != nil {
		return nil, false, err
	}
	if want := fmt.Sprintf("%s blob %d\n", e.object, e.size); head != want {
		return nil, false, fmt.Errorf("%s is missing: %s", e.name, strings.TrimSpace(head))
	}
	if e.mode == "120000" {
		target := make([]byte, min(e.size, 4<<10)+1)
		if _, err := io.ReadFull(r, target); err != nil {
			return nil, false, err
		}
		if e.size > 4<<10 {
			return nil, false, fmt.Errorf("%s is a link of %d bytes", e.name, e.size)
		}
		return func() error {
			if err := root.MkdirAll(path.Dir(e.name), 0o755); err != nil {
				return err
			}
			return root.Symlink(string(target[:e.size]), e.name)
		}, false, nil
	}
	mode := fs.FileMode(0o644)
	if e.mode == "100755" {
		mode = 0o755
	}
	if err := root.MkdirAll(filepath.Dir(e.name), 0o755); err != nil {
		return nil, false, err
	}
	f, err := root.OpenFile(e.name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return nil, false, err
	}
	defer f.Close()
	if begin, err := r.Peek(int(min(e.size, int64(len(pointer))))); err == nil {
		lfs = bytes.Equal(begin, pointer)
	}
	if _, err := io.CopyN(f, r, e.size); err != nil {
		return nil, false, err
	}
	_, err = r.Discard(1)
	return nil, lfs, err
}
