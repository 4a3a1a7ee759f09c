package git

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
)

// maxConfig bounds what is read of a repository's settings, in bytes.
const maxConfig = 4 << 20

// Configured lists the files from which git reads more settings, and the directory in which it looks for hooks, because
// the configuration of r says so. The names are absolute, whether the files exist or not. The next git command in r
// runs what they say. Conditions of an include count as met. Without the git program the list is empty.
func (r Repo) Configured(ctx context.Context) (names []string, err error) {
	if r.dir == "" {
		return nil, nil
	}
	ctx, cancel := context.WithTimeout(ctx, gitTime)
	defer cancel()
	for _, file := range []string{filepath.Join(r.common, "config"), filepath.Join(r.dir, "config.worktree")} {
		f, err := Regular(file)
		if err != nil {
			continue // git reads none there
		}
		f.Close()
		// With --file git only reads the file and looks for no repository.
		out, err := call{dir: r.Top, args: []string{"config", "--file", file, "--includes", "--show-origin", "--null", "--list"}, limit: maxConfig}.run(ctx)
		if errors.Is(err, ErrAbsent) {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		names = append(names, r.configured(string(out))...)
	}
	return names, nil
}

// configured parses the output of git config: pairs of an origin and a key with its value.
func (r Repo) configured(text string) (names []string) {
	fields := strings.Split(text, "\x00")
	for i := 0; i+1 < len(fields); i += 2 {
		key, value, _ := strings.Cut(fields[i+1], "\n")
		origin := absolute(r.Top, strings.TrimPrefix(fields[i], "file:"))
		base := ""
		switch {
		case key == "core.hookspath":
			base = r.Top
		case key == "include.path", strings.HasPrefix(key, "includeif.") && strings.HasSuffix(key, ".path"):
			base = filepath.Dir(origin)
		}
		if base == "" || value == "" {
			continue
		}
		if below, ok := strings.CutPrefix(value, "~/"); ok {
			home, err := os.UserHomeDir()
			if err != nil {
				continue
			}
			base, value = home, below
		}
		name := absolute(base, value)
		names = append(names, name)
		if real, err := filepath.EvalSymlinks(name); err == nil && real != name {
			names = append(names, real)
		}
	}
	return names
}
