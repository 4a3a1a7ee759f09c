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

// foundAbove is the origin of a workspace that nobody named and that is above the directory
// of the process.
const foundAbove = "found above"

// projectMarks are what makes a directory the top of a project.
var projectMarks = []string{FileName, ".git"}

// Above reports whether the workspace was found above the directory of the process.
func (s Settings) Above() bool { return s["workspace"].Origin == foundAbove }

// projectOf returns the nearest directory at or above dir that holds an agent.toml or a git
// repository, "" for none.
//
// The way up ends below home, at the root and at the border of a file system. It ends too at a
// directory that somebody else owns or anybody may write to: what lies there was perhaps put
// there for others to find.
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
			// No link is followed: agent.toml is not read through one either.
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

// statOf is what the system says of a directory.
func statOf(dir string) (*syscall.Stat_t, bool) {
	info, err := os.Lstat(dir)
	if err != nil {
		return nil, false
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	return st, ok && info.IsDir()
}

// findWorkspace sets the workspace that nobody named to the project around the directory of
// the process.
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

// tellAbove says which workspace was taken, for a command that takes one.
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
