package git

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
)

// Dir returns the git directory of the work tree, which holds its HEAD and index.
func (r Repo) Dir() string { return r.dir }

// Common returns the git directory that all work trees of the repository share, which holds its references, objects and
// hooks.
func (r Repo) Common() string { return r.common }

// Halfway names the file by which git shows that something is not finished in this work tree, and says what; see the
// function Halfway.
func (r Repo) Halfway() (file, what string) { return r.halfway() }

// OnDisk returns the objects of the index whose files are unchanged on disk, by paths relative to the top. Like git it
// compares their times, so it costs no more than a walk. It leaves out a file that git cannot judge or is told not to
// check. No filter of the repository takes part: its configuration is not read.
func (r Repo) OnDisk(ctx context.Context) (map[string]string, error) {
	ctx, cancel := context.WithTimeout(ctx, gitTime)
	defer cancel()
	staged, err := list(ctx, r, r.Top, []string{"ls-files", "-z", "-s", "-v"}, nil)
	if err != nil {
		return nil, fmt.Errorf("read the index of %s: %w", r.Top, err)
	}
	differs, err := list(ctx, r, r.Top, []string{"diff-files", "-z", "--name-only", "--no-renames"}, nil)
	if err != nil {
		return nil, fmt.Errorf("compare %s with its index: %w", r.Top, err)
	}
	objects := make(map[string]string, len(staged))
	for _, line := range staged {
		// As in "H 100644 0123… 0\tname"; a tag other than H marks a file that git does not check.
		head, name, ok := strings.Cut(line, "\t")
		fields := strings.Fields(head)
		if !ok || len(fields) != 4 {
			return nil, errors.New("read the index of " + r.Top + ": unknown format")
		}
		if fields[0] == "H" && fields[3] == "0" {
			objects[name] = fields[2]
		}
	}
	for _, name := range differs {
		delete(objects, name)
	}
	return objects, nil
}

// Under returns dir relative to the top of the work tree, slash-separated, "" for the top itself.
func (r Repo) Under(dir string) (string, error) {
	rel, err := filepath.Rel(r.Top, dir)
	if err != nil || rel == "." {
		return "", err
	}
	return filepath.ToSlash(rel), nil
}
