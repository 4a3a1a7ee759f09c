// Package hooks puts hooks of the agent into a git repository, next to those that exist, and removes them again.
//
// An existing hook is kept under another name and called first, as if under its old one; if it fails, nothing else
// happens. Hooks that belong to the work tree, or to more than one repository, are not touched: their owner adds a
// line. The package runs nothing.
package hooks

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"agent/orchestrator/forge/revision"
)

const (
	mark = "# Written by `agent hook install`; `agent hook uninstall` takes it back."
	// kept is the suffix of a hook that existed before.
	kept = ".agent-kept"
	// maxHook bounds how much of a hook is read, in bytes.
	maxHook = 1 << 20
)

// A State is the state of a hook in a repository.
type State string

// The states of a hook.
const (
	Absent    State = "absent"    // there is none
	Installed State = "installed" // it is the agent's
	Replaced  State = "replaced"  // it was the agent's, but another program has since written its own
	Other     State = "other"     // it belongs only to somebody else
)

// A Hook is one hook of a repository.
type Hook struct {
	Name  string `json:"name"`
	Path  string `json:"path"`
	State State  `json:"state"`
	// Kept is the hook that existed before and is called first, or "".
	Kept string `json:"kept"`
}

// A RefusedError says why a hook cannot be put here, and what to do.
type RefusedError struct{ Reason, Next string }

// Error returns the reason.
func (e *RefusedError) Error() string { return e.Reason }

// A Place is where a repository keeps its hooks.
type Place struct {
	Dir string
	// Shared says why nothing may be written there, or "" if it may.
	Shared string
}

// Find returns where a repository keeps its hooks. getenv locates the user's configuration of git.
func Find(ctx context.Context, repo *revision.Repository, getenv func(string) string) Place {
	// Without --local, git would answer from the command line first, where the runner sets it to os.DevNull.
	own, _ := repo.Git(ctx, "config", "--local", "--get", "core.hooksPath") // status 1 if it is not set
	if own == "" {
		for _, file := range userFiles(getenv) {
			if text, err := repo.Git(ctx, "config", "--file", file, "--includes", "--get", "core.hooksPath"); err == nil && text != "" {
				return Place{absolute(repo.Top, text, getenv), "all your repositories share these hooks"}
			}
		}
		return Place{Dir: filepath.Join(repo.Common(), "hooks")}
	}
	place := Place{Dir: absolute(repo.Top, own, getenv)}
	rel, err := filepath.Rel(repo.Top, place.Dir)
	if err != nil || !filepath.IsLocal(rel) {
		if inner, err := filepath.Rel(repo.Common(), place.Dir); err != nil || !filepath.IsLocal(inner) {
			place.Shared = "they are outside this repository"
		}
		return place
	}
	if inner, err := filepath.Rel(repo.Common(), place.Dir); err == nil && filepath.IsLocal(inner) {
		return place
	}
	if ignored, err := repo.Ignoring(ctx, repo.Top, []string{filepath.ToSlash(filepath.Join(rel, "pre-commit"))}); err != nil || len(ignored) == 0 {
		place.Shared = "they are files of the work tree, which others share"
	}
	return place
}

// userFiles lists where git looks for the user's configuration.
func userFiles(getenv func(string) string) (files []string) {
	if own := getenv("GIT_CONFIG_GLOBAL"); own != "" {
		files = []string{own}
	} else if home := getenv("HOME"); home != "" {
		config := getenv("XDG_CONFIG_HOME")
		if config == "" {
			config = filepath.Join(home, ".config")
		}
		files = []string{filepath.Join(home, ".gitconfig"), filepath.Join(config, "git", "config")}
	}
	var there []string
	for _, f := range files {
		if info, err := os.Stat(f); err == nil && info.Mode().IsRegular() {
			there = append(there, f)
		}
	}
	return there
}

// absolute resolves the value of core.hooksPath as git does.
func absolute(top, value string, getenv func(string) string) string {
	if below, ok := strings.CutPrefix(value, "~/"); ok {
		return filepath.Join(getenv("HOME"), below)
	}
	if filepath.IsAbs(value) {
		return filepath.Clean(value)
	}
	return filepath.Join(top, value)
}

// Look returns the state of a hook.
func (p Place) Look(name string) (Hook, error) {
	h := Hook{Name: name, Path: filepath.Join(p.Dir, name), State: Absent}
	if _, err := os.Lstat(h.Path + kept); err == nil {
		h.Kept = h.Path + kept
	}
	info, err := os.Lstat(h.Path)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return h, nil
	case err != nil:
		return h, err
	}
	h.State = Other
	if info.Mode().IsRegular() && info.Size() <= maxHook {
		text, err := os.ReadFile(h.Path)
		if err != nil {
			return h, err
		}
		if strings.Contains(string(text), mark) {
			h.State = Installed
			return h, nil
		}
	}
	if h.Kept != "" {
		h.State = Replaced
	}
	return h, nil
}

// Install writes a hook that calls command, one or more lines of shell of which the last receives the arguments, and
// keeps an existing hook. It rewrites one of the agent's own.
func (p Place) Install(name, command string) (Hook, error) {
	if p.Shared != "" {
		return Hook{}, &RefusedError{
			"hooks are in " + p.Dir + ": " + p.Shared,
			"add this line to " + filepath.Join(p.Dir, name) + ", or to what your hook manager runs there: agent hook " + name + ` "$@"`,
		}
	}
	h, err := p.Look(name)
	if err != nil {
		return h, err
	}
	switch h.State {
	case Replaced:
		return h, &RefusedError{h.Path + " has since been written by another program, and " + h.Kept + " is the earlier hook", "remove the one you do not want, then run it again"}
	case Other:
		if err := os.Rename(h.Path, h.Path+kept); err != nil {
			return h, err
		}
		h.Kept = h.Path + kept
	}
	if err := os.MkdirAll(p.Dir, 0o755); err != nil {
		return h, err
	}
	h.State = Installed
	if err := write(h.Path, script(name, command)); err != nil {
		return h, err
	}
	return h, nil
}

// write puts an executable file in place by a rename: git never sees a half-written one.
func write(name, text string) error {
	tmp, err := os.CreateTemp(filepath.Dir(name), ".agent-hook-*")
	if err != nil {
		return err
	}
	defer os.Remove(tmp.Name()) // gone once it is renamed
	_, err = tmp.WriteString(text)
	if err = errors.Join(err, tmp.Chmod(0o755), tmp.Close()); err != nil {
		return err
	}
	return os.Rename(tmp.Name(), name)
}

// Uninstall removes a hook of the agent, and restores the one from before.
func (p Place) Uninstall(name string) (Hook, error) {
	h, err := p.Look(name)
	if err != nil || h.State != Installed {
		return h, err
	}
	if h.Kept != "" { // in one step, so that there always is a hook
		if err := os.Rename(h.Kept, h.Path); err != nil {
			return h, err
		}
		return p.Look(name)
	}
	if err := os.Remove(h.Path); err != nil {
		return h, err
	}
	return p.Look(name)
}

// script returns the text of a hook. A kept hook that is a script of sh runs under the name of the hook, by which hook
// managers such as husky recognize what they are called for. Both get what git writes to the hook.
func script(name, command string) string {
	// In braces, since a command may have several lines, and all of them get the input.
	keep, own := `"$0`+kept+`" "$@"`, "{\n"+command+" \"$@\"\n}"
	sourced := `sh -c '. "$0` + kept + `"' "$0" "$@"`
	before := ""
	if name == "pre-push" {
		before = "input=$(cat)\n"
		feed := `printf '%s\n' "$input" | `
		keep, own, sourced = feed+keep, feed+own, feed+sourced
	}
	return fmt.Sprintf(`#!/bin/sh
%s
%sif [ -x "$0%s" ]; then
	read -r first <"$0%s" || first=
	case "$first" in
	'#!/bin/sh'* | '#!/usr/bin/env sh'*) %s ;;
	*) %s ;;
	esac || exit $?
fi
%s
`, mark, before, kept, kept, sourced, keep, own)
}
