// Package export writes copies of the record below .agent in a workspace, for people and programs that read files: the
// ledger, the memory and the history. It writes each file completely or not at all, and follows no link. It never reads
// what it wrote: the record is the truth.
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

// exportsDir is the directory of exports in a workspace. No scan looks into it, so an export is never part of a
// snapshot.
const exportsDir = ".agent"

// staleExport is the age at which an unfinished export is taken to belong to a dead process.
const staleExport = time.Hour

// File writes what data produces to the file .agent/NAME of the workspace at root: all of it or nothing, in place of an
// older one. The record is the truth; an export is a copy of it, made again whenever somebody wants one.
//
// File follows no link: the workspace may hold a link of that name to one of the user's files. .agent must be a
// directory; File creates it if it is missing.
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
	// The name is random and new: no existing file is written through.
	unfinished := "." + name + "."
	sweep(dir, unfinished)
	temporary := unfinished + strings.ToLower(rand.Text()[:12])
	err = fill(dir, temporary, data)
	if err == nil {
		err = dir.Rename(temporary, name) // replaces a link instead of following it
	}
	if err != nil {
		_ = dir.Remove(temporary) // or the sweep of a later export does it
	}
	return err
}

// openExports opens the directory of exports, creating it if it is missing. It refuses a link in its place, even one
// that appears in the meantime.
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
	// A root follows links that stay within it; a .agent that leads to the workspace's own sources must still be
	// refused.
	before, err := top.Lstat(exportsDir)
	if err != nil {
		return nil, err
	}
	if !before.IsDir() {
		return nil, fmt.Errorf("%s is not a directory: remove it", exportsDir)
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

// fill writes a new file, which is on disk when fill returns.
func fill(dir *os.Root, name string, data func(io.Writer) error) error {
	f, err := dir.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	// Flush to disk before the rename, or a power failure could leave an empty file in place of a complete one.
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

// sweep removes what a killed process left unfinished. It ignores errors: the next export tries again.
func sweep(dir *os.Root, prefix string) {
	entries, err := fs.ReadDir(dir.FS(), ".")
	if err != nil {
		return
	}
	for _, e := range entries {
		// Decide by age, since a live process may be writing a file right now. Only regular files of that name are
		// exports.
		info, err := e.Info()
		if err == nil && strings.HasPrefix(e.Name(), prefix) && info.Mode().IsRegular() && time.Since(info.ModTime()) > staleExport {
			_ = dir.Remove(e.Name())
		}
	}
}

// Ledger writes ANALYSIS.md, for people, and SYMBOLS.json, for programs. If one cannot be written, the other still is.
func Ledger(root string, s survey.Survey) error {
	return errors.Join(
		File(root, "ANALYSIS.md", func(w io.Writer) error { return s.Ledger.Analysis(w, s.Summaries) }),
		File(root, "SYMBOLS.json", func(w io.Writer) error { return s.Ledger.Symbols(w, s.Summaries) }),
	)
}

// Memories keeps the memory of workspaces. *store.DB implements it.
type Memories interface {
	// Memory returns the memory, or the zero Memory if there is none.
	Memory(ctx context.Context, workspace string) (agent.Memory, error)
}

// Histories keeps the promotions of workspaces. *store.DB implements it.
type Histories interface {
	// History returns the last n promotions that were not undone, oldest first.
	History(ctx context.Context, workspace string, n int) ([]agent.Entry, error)
}

// Memory writes MEMORY.md: the memory that prompts show, which is the current row of v_memory.
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

// History writes HISTORY.md: every promotion that was not undone, oldest first, with its diff shortened.
func History(ctx context.Context, k Histories, root string) error {
	entries, err := k.History(ctx, root, math.MaxInt32)
	if err != nil {
		return err
	}
	return File(root, "HISTORY.md", func(w io.Writer) error {
		for i, e := range entries {
			if i > 0 {
				fmt.Fprintln(w) // the writer keeps its first error until the end
			}
			fmt.Fprint(w, e.Markdown())
		}
		return nil
	})
}
