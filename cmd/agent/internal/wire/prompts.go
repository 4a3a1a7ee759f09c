package wire

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"agent/cmd/agent/internal/config"
	"agent/cmd/agent/internal/fault"
	"agent/orchestrator/agent"
)

// promptsDir is the place for a workspace's own prompts. ownPrompts is the place for the user's, in the directory of the user's
// configuration. There, allowedPrompts lists, one per line, the texts of workspaces that the user has allowed.
const (
	promptsDir     = ".agent/prompts"
	ownPrompts     = "prompts"
	allowedPrompts = "allowed-prompts"
)

// The layers of prompts, in order of precedence.
const (
	OfWorkspace = iota
	OfUser
)

// UserPrompts returns the location of the user's own prompts, or "" if there is no place for them. home is config.UserPath.
func UserPrompts(home string) string {
	if home == "" {
		return ""
	}
	return filepath.Join(filepath.Dir(home), ownPrompts)
}

// LoadPrompts returns the prompts for a workspace: its own, the user's, and the built-in ones. home is the location of
// the user's configuration, "" for none.
func LoadPrompts(dir, home string) (*agent.Prompts, error) {
	layers := []fs.FS{promptFiles(filepath.Join(dir, promptsDir)), nil}
	if own := UserPrompts(home); own != "" {
		layers[OfUser] = promptFiles(own)
	}
	// A broken prompt is an error, not a reason to use the built-in one: the user would not notice.
	prompts, err := agent.LoadPrompts(layers...)
	if err != nil {
		return nil, fault.Usage("fix or remove that file of "+promptsDir+", or of your own prompts", "%w", err)
	}
	return prompts, nil
}

// Unallowed lists the prompts of the workspace whose text the user has not allowed. A prompt can replace the rule that
// quoted text is data, so being able to commit to a workspace must not be enough to decide it.
func Unallowed(prompts *agent.Prompts, home string) ([]agent.Source, error) {
	allowed, err := readAllowed(home)
	if err != nil {
		return nil, err
	}
	var left []agent.Source
	for _, s := range prompts.Sources() {
		if s.Layer == OfWorkspace && !slices.Contains(allowed, s.SHA256()) {
			left = append(left, s)
		}
	}
	return left, nil
}

// checkAllowed returns an error if the workspace has prompts that the user has not allowed.
func checkAllowed(prompts *agent.Prompts, home string) error {
	left, err := Unallowed(prompts, home)
	if err != nil || len(left) == 0 {
		return err
	}
	var names []string
	for _, s := range left {
		names = append(names, string(s.Name))
	}
	return fault.Policy("read them with `agent prompts diff`; allow these texts with `agent prompts allow`, or remove them from "+promptsDir,
		"the workspace has its own prompts, which you have not allowed: %s", strings.Join(names, ", "))
}

// Allow adds texts to those that the user has allowed.
func Allow(home string, texts []agent.Source) error {
	if home == "" {
		return fault.Usage("set HOME or XDG_CONFIG_HOME", "there is no directory for your configuration")
	}
	have, err := readAllowed(home)
	if err != nil {
		return err
	}
	for _, s := range texts {
		if !slices.Contains(have, s.SHA256()) {
			have = append(have, s.SHA256())
		}
	}
	name := filepath.Join(filepath.Dir(home), allowedPrompts)
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		return fault.Usage("make that directory writable", "%w", err)
	}
	// Written next to it and renamed: half a list would revoke consents.
	temp := fmt.Sprintf("%s.%d", name, os.Getpid())
	err = os.WriteFile(temp, []byte(strings.Join(have, "\n")+"\n"), 0o600)
	if err == nil {
		err = os.Rename(temp, name)
	}
	if err != nil {
		return fault.Usage("make that directory writable", "%w", errors.Join(err, os.Remove(temp)))
	}
	return nil
}

// readAllowed returns the digests of the texts that the user has allowed.
func readAllowed(home string) ([]string, error) {
	if home == "" {
		return nil, nil
	}
	data, err := config.ReadFile(filepath.Join(filepath.Dir(home), allowedPrompts), true)
	if err != nil {
		return nil, fault.Usage("make it a readable file", "read which prompts are allowed: %w", err)
	}
	return strings.Fields(string(data)), nil
}

// promptFiles are the prompts in a directory of a workspace: regular files of a bounded size, and not links, since a
// link could show any of the user's files to a model.
type promptFiles string

// Open implements fs.FS.
func (d promptFiles) Open(name string) (fs.File, error) {
	return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrInvalid} // only whole files are read
}

// ReadDir implements fs.ReadDirFS for the directory itself.
func (d promptFiles) ReadDir(name string) ([]fs.DirEntry, error) {
	if name != "." || !d.there() {
		return nil, &fs.PathError{Op: "readdir", Path: name, Err: fs.ErrNotExist}
	}
	return os.ReadDir(string(d))
}

// there reports whether the directory and its parent are directories, and not links.
func (d promptFiles) there() bool {
	for _, dir := range []string{string(d), filepath.Dir(string(d))} {
		if info, err := os.Lstat(dir); err != nil || !info.IsDir() {
			return false
		}
	}
	return true
}

// ReadFile implements fs.ReadFileFS.
func (d promptFiles) ReadFile(name string) ([]byte, error) {
	if !d.there() {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	// The bounds are those of a configuration file.
	data, err := config.ReadFile(filepath.Join(string(d), path.Base(name)), false)
	if err == nil && data == nil {
		err = &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	return data, nil
}
