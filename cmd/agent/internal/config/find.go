package config

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"

	"github.com/urfave/cli/v2"
)

// foundAbove is the origin of a workspace that the user did not name and that lies above the directory of the process.
const foundAbove = "found above"

// projectMarks are the names that make a directory the top of a project.
var projectMarks = []string{FileName, ".git"}

// Above reports whether the workspace was found above the directory of the process.
func (s Settings) Above() bool { return s["workspace"].Origin == foundAbove }

// projectOf returns the nearest directory at or above dir that holds an agent.toml or a git repository, or "".
//
// The search ends below home, at the root and at the border of a file system. It also ends at a directory that belongs
// to another user or that anyone may write to: its content may have been planted for others to find.
func projectOf(dir, home string) string {
	at, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return ""
	}
	if real, err := filepath.EvalSymlinks(home); err == nil {
		home = real
	}
	first, ok := statOf(at)
	for ok {
		for _, mark := range projectMarks {
			// Links are not followed: agent.toml is not read through one either.
			info, err := os.Lstat(filepath.Join(at, mark))
			if err == nil && (info.Mode().IsRegular() || info.IsDir() && mark != FileName) {
				return at
			}
		}
		up := filepath.Dir(at)
		if up == at || up == home || at == home || up == "/" {
			return ""
		}
		var here *syscall.Stat_t
		if here, ok = statOf(up); ok {
			ok = here.Dev == first.Dev && (here.Uid == first.Uid || int(here.Uid) == os.Geteuid()) && fs.FileMode(here.Mode)&0o002 == 0
		}
		at = up
	}
	return ""
}

// statOf returns the system's information about a directory.
func statOf(dir string) (*syscall.Stat_t, bool) {
	info, err := os.Lstat(dir)
	if err != nil {
		return nil, false
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	return st, ok && info.IsDir()
}

// findWorkspace sets the workspace, if the user named none, to the project around the directory of the process.
func (l *loader) findWorkspace(getenv func(string) string) {
	here, err := os.Getwd()
	if err != nil || l.set["workspace"].Origin != byDefault {
		return
	}
	real, err := filepath.EvalSymlinks(here)
	if dir := projectOf(here, getenv("HOME")); err == nil && dir != "" && dir != real {
		l.set.lay(map[string]string{"workspace": dir}, foundAbove)
	}
}

// tellAbove says which workspace is used, for a command that takes one.
func tellAbove(ctx *cli.Context, dir string) {
	if ctx.Command == nil || ctx.App == nil || ctx.App.ErrWriter == nil {
		return
	}
	for _, f := range ctx.Command.Flags {
		if slices.Contains(f.Names(), "workspace") {
			fmt.Fprintf(ctx.App.ErrWriter, "agent: workspace %q (--workspace . for this directory alone)\n", dir)
			return
		}
	}
}
