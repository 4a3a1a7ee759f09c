// Package export writes copies of the record into a workspace, below .agent, for
// people and programs that read files: the ledger, the memory and the history.
// Each is written whole or not at all, and no link is followed. It reads nothing
// of what it wrote: the record is the truth.
package export

import (
	"bufio"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"
	"time"

	"agent/orchestrator/agent"
	"agent/orchestrator/survey"
)

// exportsDir is where exports lie in a workspace. No scan looks into it, so an
// export is never part of a snapshot.
const exportsDir = ".agent"

// staleExport is the age from which on an unfinished export is taken for that
// of a process that died.
const staleExport = time.Hour

// File writes what data gives to the file .agent/NAME of the workspace at
// root: all of it or nothing, in place of an older one. The record is the truth
// and an export a copy of it, made again whenever somebody wants one.
//
// No link is followed: a workspace may hold one of that name which leads to a
// file of the user's. .agent itself must be a directory, and is made when it is
// not there.
func File(root, name string, data func(io.Writer) error) (err error) {
	if name != filepath.Base(name) || !filepath.IsLocal(name) || name == "." {
		return fmt.Errorf("export %q: not the name of a file", name)
	}
	defer func() {
		if err != nil {
			err = fmt.Errorf("export %s/%s: %w", exportsDir, name, err)
		}
	}()
	dir, err := openExports(root)
	if err != nil {
		return err
	}
	defer dir.Close()
	// The name is random and new: nothing that is there is written through.
	unfinished := "." + name + "."
	sweep(dir, unfinished)
	temporary := unfinished + strings.ToLower(rand.Text()[:12])
	err = fill(dir, temporary, data)
	if err == nil {
		err = dir.Rename(temporary, name) // in place of a link, not through it
	}
	if err != nil {
		_ = dir.Remove(temporary) // or the sweep of a later export does
	}
	return err
}

// openExports opens the directory of exports, and makes it first when it is not
// there. A link in its place is refused, also one that appears meanwhile.
func openExports(root string) (*os.Root, error) {
	// Everything below goes through descriptors: no path is walked twice.
	top, err := os.OpenRoot(root)
	if err != nil {
		return nil, err
	}
	defer top.Close()
	if err := top.Mkdir(exportsDir, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, err
	}
	// A root follows links that stay within it; a .agent that leads to the
	// workspace's own sources is refused all the same.
	before, err := top.Lstat(exportsDir)
	if err != nil {
		return nil, err
	}
	if !before.IsDir() {
		return nil, fmt.Errorf("%s is no directory: remove it", exportsDir)
	}
	dir, err := top.OpenRoot(exportsDir)
	if err != nil {
		return nil, err
	}
	opened, err := dir.Stat(".")
	if err == nil && !os.SameFile(before, opened) {
		err = fmt.Errorf("%s was replaced meanwhile", exportsDir)
	}
	if err != nil {
		dir.Close()
		return nil, err
	}
	return dir, nil
}

// fill writes a new file and has it on disk when it returns.
func fill(dir *os.Root, name string, data func(io.Writer) error) error {
	f, err := dir.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	// On disk before the rename, or a power cut could leave an empty file in the
	// place of a whole one.
	b := bufio.NewWriter(f)
	err = data(b)
	if err == nil {
		err = b.Flush()
	}
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

// sweep removes what a process that was killed left unfinished. Trouble with
// that is none: the next export tries again.
func sweep(dir *os.Root, prefix string) {
	entries, err := fs.ReadDir(dir.FS(), ".")
	if err != nil {
		return
	}
	for _, e := range entries {
		// By age, since a process that is alive may be writing one at this moment.
		// Nothing but regular files of that name is ours.
		info, err := e.Info()
		if err == nil && strings.HasPrefix(e.Name(), prefix) && info.Mode().IsRegular() && time.Since(info.ModTime()) > staleExport {
			_ = dir.Remove(e.Name())
		}
	}
}

// Ledger writes ANALYSIS.md, for people, and SYMBOLS.json, for programs.
// One that cannot be written does not keep the other from being.
func Ledger(root string, s survey.Survey) error {
	return errors.Join(
		File(root, "ANALYSIS.md", func(w io.Writer) error { return s.Ledger.Analysis(w, s.Summaries) }),
		File(root, "SYMBOLS.json", func(w io.Writer) error { return s.Ledger.Symbols(w, s.Summaries) }),
	)
}

// Memories keeps the memory of workspaces. *store.DB is one.
type Memories interface {
	// Memory returns the memory, the zero one when there is none.
	Memory(ctx context.Context, workspace string) (agent.Memory, error)
}

// Histories keeps the promotions of workspaces. *store.DB is one.
type Histories interface {
	// History returns the last n promotions that were not undone, oldest first.
	History(ctx context.Context, workspace string, n int) ([]agent.Entry, error)
}

// Memory writes MEMORY.md: the memory that prompts show, which is the
// current row of v_memory.
func Memory(ctx context.Context, k Memories, root string) error {
	memory, err := k.Memory(ctx, root)
	if err != nil {
		return err
	}
	return File(root, "MEMORY.md", func(w io.Writer) error {
		_, err := io.WriteString(w, strings.TrimSpace(memory.Text)+"\n")
		return err
	})
}

// History writes HISTORY.md: every promotion that stands, oldest first,
// its diff shortened.
func History(ctx context.Context, k Histories, root string) error {
	entries, err := k.History(ctx, root, math.MaxInt32)
	if err != nil {
		return err
	}
	return File(root, "HISTORY.md", func(w io.Writer) error {
		for i, e := range entries {
			if i > 0 {
				fmt.Fprintln(w) // the writer keeps its first error for the end
			}
			fmt.Fprint(w, e.Markdown())
		}
		return nil
	})
}
