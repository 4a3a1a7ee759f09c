package workspace

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"agent/sandbox/workspace/git"
	"agent/sandbox/workspace/internal/dirfd"

	"golang.org/x/sync/errgroup"
)

// Scan reads the workspace at dir. The package documentation says what it leaves out. Errors that a caller may want to
// distinguish are *TooLargeError and *ChangedError.
func Scan(ctx context.Context, dir string, exclude []string, lim Limits) (*Manifest, error) {
	return scanWith(ctx, dir, exclude, lim, func(string) cache { return cache{} })
}

// Rescan is like Scan at about the cost of a walk: it does not read a file again that shows no sign of change since an
// earlier Rescan. The package documentation says what such a digest is worth.
func Rescan(ctx context.Context, dir string, exclude []string, lim Limits) (*Manifest, error) {
	return scanWith(ctx, dir, exclude, lim, userCache)
}

// scanWith is Scan with the cache that find returns for the resolved root.
func scanWith(ctx context.Context, dir string, exclude []string, lim Limits, find func(root string) cache) (*Manifest, error) {
	root, err := filepath.Abs(dir)
	if err == nil {
		root, err = filepath.EvalSymlinks(root)
	}
	if err != nil {
		return nil, fmt.Errorf("workspace %s: %w", dir, err)
	}
	if info, err := os.Stat(root); err == nil && !info.IsDir() {
		return nil, fmt.Errorf("workspace %s: it is not a directory: name the directory that holds the project", dir)
	}
	lim.Files = cmp.Or(lim.Files, maxFiles)
	lim.Bytes = cmp.Or(lim.Bytes, maxBytes)
	c := find(root)
	// In a busy directory files often vanish between the walk and the read: look again before giving up.
	for try := 1; ; try++ {
		m, err := scanOnce(ctx, root, exclude, lim, c)
		var away *vanishedError
		switch {
		case errors.As(err, &away) && try < 3:
			continue
		case errors.As(err, &away):
			err = &ChangedError{Path: away.path}
		}
		if err != nil {
			return nil, fmt.Errorf("scan %s: %w", root, err)
		}
		return m, nil
	}
}

// scanOnce is one attempt: walk, digest, sort. The walk reads one directory at a time and holds none open, so neither
// depth nor number of directories can exhaust file descriptors.
func scanOnce(ctx context.Context, root string, exclude []string, lim Limits, c cache) (*Manifest, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	began := c.time()
	t, err := dirfd.Open(root)
	if err != nil {
		return nil, err
	}
	defer t.Close()
	s := &scanner{
		tree: t, lim: lim, m: &Manifest{Root: root, exclude: slices.Clone(exclude)},
		held: map[string]Entry{}, usage: map[string]*Usage{}, todo: []string{"."}, stamped: map[uint64]bool{}, shared: map[string]bool{},
		listed: map[string]listing{},
	}
	if s.exclude, err = excluder(exclude); err != nil {
		return nil, fmt.Errorf("exclude in agent.toml: %w", err)
	}
	// Read before the files: if a branch is switched during the walk, Head differs from what is noted here, and
	// promoting notices it.
	if repo, ok := git.Find(root); ok {
		s.m.Head = repo.Head()
	}
	if err := s.prepare(ctx, c); err != nil {
		return nil, err
	}
	for len(s.todo) > 0 {
		dir := s.todo[len(s.todo)-1]
		s.todo = s.todo[:len(s.todo)-1]
		if err := cmp.Or(ctx.Err(), s.readDir(ctx, dir)); err != nil {
			return nil, err
		}
	}
	for rel := range s.held {
		s.skip(rel, "excluded", true)
	}
	slices.SortFunc(s.m.Entries, func(a, b Entry) int { return strings.Compare(a.Path, b.Path) })
	todo := s.unread(began)
	toil := s.toil(todo)
	if err := s.hash(ctx, todo); err != nil {
		return nil, err
	}
	s.m.cache = c.file
	c.save(s, began, toil)
	slices.SortFunc(s.m.Skipped, func(a, b Skip) int { return cmp.Compare(a.Path, b.Path) })
	return s.m, nil
}

// prepare asks git and loads the cache, and lists ahead meanwhile.
func (s *scanner) prepare(ctx context.Context, c cache) error {
	answered := make(chan struct{})
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error {
		defer close(answered)
		return s.ignored.Load(ctx, s.m.Root, ".")
	})
	group.Go(func() error {
		s.was = c.load()
		return nil
	})
	s.ahead(answered)
	err := group.Wait()
	s.m.Entries = make([]Entry, 0, len(s.was.entries)*5/4)
	return err
}

// readDir adds the directory rel and its direct contents.
func (s *scanner) readDir(ctx context.Context, rel string) error {
	l, ok := s.listed[rel]
	if !ok {
		var err error
		if l, err = s.list(rel, nil); err != nil {
			return err
		}
	}
	delete(s.listed, rel)
	// A directory is added here and not when it was listed, because only its content identifies a virtual environment.
	if rel != "." {
		if isVenv(s.tree, rel, l.names) {
			s.skip(rel, "virtual environment", true)
			return nil
		}
		if err := s.addDir(l.self); err != nil {
			return err
		}
	}
	if err := s.ignored.Enter(ctx, s.m.Root, rel, l.names); err != nil {
		return err
	}
	for _, c := range l.found {
		if err := s.child(&c); err != nil {
			return err
		}
	}
	return nil
}

// isVenv recognises Python's virtual environments by what they hold, so that a source directory called env stays.
func isVenv(t *dirfd.Tree, rel string, names []string) bool {
	if slices.Contains(names, "pyvenv.cfg") {
		return true
	}
	if !slices.Contains([]string{"venv", ".venv", "env", ".env"}, path.Base(rel)) {
		return false
	}
	for _, activate := range []string{"bin/activate", "Scripts/activate"} {
		if _, err := t.Stat(path.Join(rel, activate)); err == nil {
			return true
		}
	}
	return false
}

// child handles one name of a directory.
func (s *scanner) child(c *listed) error {
	rel, kind := c.Path, c.Kind
	if !utf8.ValidString(c.name) {
		s.skip(path.Join(path.Dir(rel), strconv.Quote(c.name)), "name is not UTF-8", false)
		return nil
	}
	if len(rel) > maxPath {
		s.skip(rel, "path is too long", false)
		return nil
	}
	if errors.Is(c.err, fs.ErrNotExist) {
		return nil // gone since the listing, so it is as if it had never been there
	}
	if c.err != nil && kind != Symlink {
		return explain(rel, c.err)
	}
	excluded, err := s.excludes(rel)
	if err != nil {
		return fmt.Errorf("exclude in agent.toml: %w", err)
	}
	// The order decides which reason is given for a path that several rules cover. A secret is called one even if git
	// ignores it, so that a person who wonders why the program finds no .env gets an answer.
	switch why := leftOut(rel, kind == Dir); {
	case why != "":
		s.skip(rel, why, true)
	case isSecret(rel) && !(kind == Dir && path.Base(rel) == ".env"):
		s.skip(rel, "secret", false)
	case s.ignored.Has(rel, kind == Dir):
		s.skip(rel, "ignored by git", true)
	case excluded && (kind != Dir || !s.exclude.Exclusions()):
		s.skip(rel, "excluded", true)
	case c.special != "":
		s.skip(rel, c.special, false)
	case kind == Dir:
		if excluded {
			s.held[rel] = Entry{}
		}
		s.todo = append(s.todo, rel)
	case c.err != nil:
		return explain(rel, c.err)
	default:
		return s.add(c.Entry)
	}
	return nil
}

// addDir adds a directory, or holds it back if it is excluded.
func (s *scanner) addDir(e Entry) error {
	if _, ok := s.held[e.Path]; ok {
		s.held[e.Path] = e
		return nil
	}
	return s.add(e)
}

// add adds an entry, and the directories held back on the way to it.
func (s *scanner) add(e Entry) error {
	for dir := path.Dir(e.Path); dir != "." && len(s.held) > 0; dir = path.Dir(dir) {
		if held, ok := s.held[dir]; ok {
			delete(s.held, dir)
			s.m.Entries = append(s.m.Entries, held)
		}
	}
	s.m.Entries = append(s.m.Entries, e)
	s.bytes += e.Size
	s.count(path.Dir(e.Path), e.Size)
	if len(s.m.Entries) > s.lim.Files || s.bytes > s.lim.Bytes {
		return s.tooLarge()
	}
	return nil
}

// count records that dir holds one more entry.
func (s *scanner) count(dir string, size int64) {
	// Entries come directory by directory, so the name is split once for each.
	if s.share == nil || s.shareOf != dir {
		// Two levels name a directory that a person recognises, such as "web/dist".
		parts := strings.SplitN(dir, "/", 3)
		key := strings.Join(parts[:min(2, len(parts))], "/")
		if s.usage[key] == nil {
			s.usage[key] = &Usage{Path: key}
		}
		s.share, s.shareOf = s.usage[key], dir
	}
	s.share.Files++
	s.share.Bytes += size
}

// tooLarge returns the error for a walk that has just exceeded a limit. It is called once, so the cost of sorting does
// not matter.
func (s *scanner) tooLarge() error {
	e := &TooLargeError{Limits: s.lim, Files: len(s.m.Entries), Bytes: s.bytes}
	for _, u := range s.usage {
		e.Largest = append(e.Largest, *u)
	}
	slices.SortFunc(e.Largest, func(a, b Usage) int {
		bySize := cmp.Compare(b.Bytes, a.Bytes)
		if e.Files > s.lim.Files {
			bySize = cmp.Compare(b.Files, a.Files)
		}
		return cmp.Or(bySize, cmp.Compare(a.Path, b.Path))
	})
	e.Largest = e.Largest[:min(5, len(e.Largest))]
	return e
}
