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

// EditTexts opens texts under their names in the user's editor, in a directory of their own, and returns those that the
// editor changed. If the editor ends with an error, it returns them with the error: nothing that a person typed is
// lost.
func (c *Console) EditTexts(ctx context.Context, files map[string][]byte) (map[string][]byte, error) {
	words, err := c.Editor()
	if err != nil {
		return nil, err
	}
	// The directory is separate, since an editor leaves backups next to its files, which must not get into the
	// workspace.
	dir, err := os.MkdirTemp("", "agent-edit-")
	if err != nil {
		return nil, fmt.Errorf("make a directory for the editor: %w", err)
	}
	defer os.RemoveAll(dir) // what stays is the user's own text, in the user's own directory
	var names []string
	for name, text := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return nil, fmt.Errorf("make a directory for the editor: %w", err)
		}
		if err := os.WriteFile(path, text, 0o600); err != nil {
			return nil, fmt.Errorf("write %s for the editor: %w", name, err)
		}
		names = append(names, path)
	}
	slices.Sort(names)
	// The user sees all files at once, in the order of their names.
	ended := c.RunAtKeys(ctx, append(words, names...))
	if ended != nil {
		ended = fmt.Errorf("editor %s: %w", words[0], ended)
	}
	// Other files that the editor created do not matter.
	changed := map[string][]byte{}
	for name, before := range files {
		text, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(name)))
		if err != nil {
			return changed, errors.Join(ended, fmt.Errorf("read the edited text: %w", err))
		}
		if string(text) != string(before) {
			changed[name] = text
		}
	}
	return changed, ended
}

// Editor returns the words of $VISUAL or $EDITOR, or else nano or vi. A configured editor that does not exist is an
// error: a user who chose one does not want another.
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
