package commit

import (
	"context"
	"os"
	"path/filepath"
	"strings"

	"agent/orchestrator/forge/revision"
)

// An Identity is the author and committer of a commit.
type Identity struct{ Name, Email string }

// environment returns the variables that tell git the identity.
func (i Identity) environment() []string {
	return []string{"GIT_AUTHOR_NAME=" + i.Name, "GIT_AUTHOR_EMAIL=" + i.Email, "GIT_COMMITTER_NAME=" + i.Name, "GIT_COMMITTER_EMAIL=" + i.Email}
}

// WhoCommits returns the user's identity as git finds it: in GIT_AUTHOR_NAME and GIT_AUTHOR_EMAIL, in the configuration
// of the repository, and in the user's own and the machine's. The error is a *RefusedError if there is none.
func WhoCommits(ctx context.Context, repo *revision.Repository, getenv func(string) string) (Identity, error) {
	id := Identity{clean(getenv("GIT_AUTHOR_NAME")), clean(getenv("GIT_AUTHOR_EMAIL"))}
	ask := func(args ...string) {
		for key, to := range map[string]*string{"user.name": &id.Name, "user.email": &id.Email} {
			if *to != "" {
				continue
			}
			if text, err := repo.Git(ctx, append(append([]string{"config"}, args...), "--get", key)...); err == nil {
				*to = clean(text)
			}
		}
	}
	ask()
	files := []string{"/etc/gitconfig"}
	if home := getenv("HOME"); home != "" {
		config := getenv("XDG_CONFIG_HOME")
		if config == "" {
			config = filepath.Join(home, ".config")
		}
		files = []string{filepath.Join(home, ".gitconfig"), filepath.Join(config, "git", "config"), "/etc/gitconfig"}
	}
	if own := getenv("GIT_CONFIG_GLOBAL"); own != "" {
		files = []string{own, "/etc/gitconfig"}
	}
	for _, file := range files {
		if info, err := os.Stat(file); err == nil && info.Mode().IsRegular() {
			ask("--file", file, "--includes")
		}
	}
	if id.Name == "" || id.Email == "" {
		return id, refused("run `git config --global user.name NAME` and `git config --global user.email ADDRESS`", "user.name or user.email is not set in git")
	}
	return id, nil
}

// clean returns a text on one line.
func clean(text string) string { return strings.Join(strings.Fields(text), " ") }

// Message returns the message of a commit: subject and body, then trailers as git-interpret-trailers(1) reads them. It
// puts values on one line.
func Message(text string, trailers [][2]string) string {
	text = strings.TrimSpace(strings.ReplaceAll(text, "\r\n", "\n"))
	text += "\n\n"
	for _, t := range trailers {
		if value := clean(t[1]); value != "" {
			text += t[0] + ": " + value + "\n"
		}
	}
	return strings.TrimRight(text, "\n") + "\n"
}
