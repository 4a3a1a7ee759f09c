package term

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// EditTexts gives texts to the user's editor under their names, in a directory of its
// own, and returns those that the editor left changed. They are returned with the error
// too, where the editor ended with one: what a person typed is not lost.
func (c *Console) EditTexts(ctx context.Context, files map[string][]byte) (map[string][]byte, error) {
	words, err := c.Editor()
	if err != nil {
		return nil, err
	}
	// A directory of its own: an editor leaves backups beside its files,
	// which must not get into the workspace.
	dir, err := os.MkdirTemp("", "agent-edit-")
	if err != nil {
		return nil, fmt.Errorf("make a place for the editor: %w", err)
	}
	defer os.RemoveAll(dir) // what stays is the user's own text, in the user's own directory
	var names []string
	for name, text := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return nil, fmt.Errorf("make a place for the editor: %w", err)
		}
		if err := os.WriteFile(path, text, 0o600); err != nil {
			return nil, fmt.Errorf("give %s to the editor: %w", name, err)
		}
		names = append(names, path)
	}
	slices.Sort(names)
	// The person sees all files at once, in the order of their names.
	ended := c.RunAtKeys(ctx, append(words, names...))
	if ended != nil {
		ended = fmt.Errorf("editor %s: %w", words[0], ended)
	}
	// Files that the editor made besides are of no interest.
	changed := map[string][]byte{}
	for name, before := range files {
		text, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(name)))
		if err != nil {
			return changed, errors.Join(ended, fmt.Errorf("read what was edited: %w", err))
		}
		if string(text) != string(before) {
			changed[name] = text
		}
	}
	return changed, ended
}

// Editor returns the words of $VISUAL or $EDITOR, else nano or vi. One that is named and
// not there is an error: who chose an editor does not want another one.
func (c *Console) Editor() ([]string, error) {
	// No shell: the variables name a program and its flags.
	for _, name := range []string{"VISUAL", "EDITOR"} {
		if words := strings.Fields(c.Getenv(name)); len(words) > 0 {
			if _, err := exec.LookPath(words[0]); err != nil {
				return nil, fmt.Errorf("the editor of %s: %w", name, err)
			}
			return words, nil
		}
	}
	for _, name := range []string{"nano", "vi"} {
		if _, err := exec.LookPath(name); err == nil {
			return []string{name}, nil
		}
	}
	return nil, errors.New("there is no editor: set EDITOR")
}
