package pr

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"agent/cmd/agent/internal/cmdline"
	"agent/cmd/agent/internal/config"
	"agent/cmd/agent/internal/fault"
	"agent/orchestrator/forge"
	"agent/orchestrator/forge/gitea"
	"agent/orchestrator/forge/github"
	"agent/orchestrator/forge/gitlab"
	"agent/orchestrator/forge/mirror"
	"agent/orchestrator/store"
	"agent/sandbox/workspace/git"
)

// treeAge is how long the files of a commit stay in the cache after they were written there.
const treeAge = 24 * time.Hour

// A target is the repository that a command works on: its forge, and its objects on this machine.
type target struct {
	address forge.Address
	kind    forge.Kind
	api     forge.Forge
	mirror  *mirror.Mirror
	// cache is the directory of the repository in the user's cache.
	cache string
	// local is the repository around the workspace, and prefix the workspace's path in it, slash-separated. Both are
	// empty if the repository was named.
	local  git.Repo
	prefix string
	// home is the user's home directory.
	home string
}

// target finds the repository, the credentials for it, and its objects on this machine.
func (c command) target(ctx context.Context, set config.Settings, named string) (*target, error) {
	t, token, err := c.connect(ctx, set, named)
	if err != nil {
		return nil, err
	}
	caches, err := os.UserCacheDir()
	if err != nil {
		return nil, fault.Infra("set HOME or XDG_CACHE_HOME", "no directory for a cache: %w", err)
	}
	t.cache = filepath.Join(caches, "agent", "forge", strings.ReplaceAll(t.address.Host(), ":", "_"), filepath.FromSlash(t.address.Slug()))
	t.mirror, err = mirror.Open(ctx, filepath.Join(t.cache, "objects.git"), git.Remote{URL: t.address.URL(), User: token.user, Token: token.text, Getenv: c.Getenv})
	return t, err
}

// A login holds the credentials with which git opens a repository.
type login struct{ user, text string }

// connect finds the repository and the credentials for it. The token is for the configured forge: if a workspace's
// remote is elsewhere, connect does not follow it there.
func (c command) connect(ctx context.Context, set config.Settings, named string) (*target, login, error) {
	t := &target{home: c.Getenv("HOME")}
	text, err := t.remote(ctx, cmdline.Resolved(set["workspace"].Text), named)
	if err != nil {
		return nil, login{}, err
	}
	base := strings.TrimSuffix(set["forge.url"].Text, "/")
	if named != "" && !strings.Contains(named, ":") {
		text = base + "/" + named
	}
	if t.address, err = forge.ParseAddress(text, base); err != nil {
		return nil, login{}, fault.Usage("name the repository: --repo OWNER/NAME, and its forge: AGENT_FORGE_URL", "%w", err)
	}
	const where = "set AGENT_FORGE_URL (forge.url in your configuration) to that forge, and AGENT_FORGE_TOKEN to a token of it"
	switch {
	case t.address.Base != base:
		return nil, login{}, fault.Usage(where, "the repository is on %s, but the configured forge is %s", t.address.Base, base)
	case !t.address.Private():
		return nil, login{}, fault.Policy("use https", "%s would get the token unencrypted", base)
	}
	if t.kind = forge.Kind(set["forge.kind"].Text); t.kind == "" {
		t.kind = forge.KindOf(t.address.Host())
	}
	user, token := t.kind.User(), set["forge.token"].Text
	if token == "" {
		if user, token = git.Credential(ctx, t.home, t.address.URL()); token == "" {
			return nil, login{}, fault.Usage("set AGENT_FORGE_TOKEN to a token of "+t.address.Host()+", or log in with your git credential helper", "there is no token for %s", t.address.Base)
		}
	}
	if t.api, err = driver(t.kind, t.address, token); err != nil {
		return nil, login{}, err
	}
	return t, login{user, token}, nil
}

// driver returns the client for a forge of that kind.
func driver(kind forge.Kind, a forge.Address, token string) (forge.Forge, error) {
	switch kind {
	case forge.GitHub:
		return github.New(a, token)
	case forge.Gitea:
		return gitea.New(a, token)
	case forge.GitLab:
		return gitlab.New(a, token)
	}
	return nil, fault.Usage("set AGENT_FORGE_KIND (forge.kind in your configuration) to github, gitea or gitlab", "unknown kind of forge at %s: only GitHub, Gitea, Forgejo and GitLab are supported", a.Host())
}

// remote returns what git calls origin in the workspace dir, or the repository that was named.
func (t *target) remote(ctx context.Context, dir, named string) (string, error) {
	if named != "" {
		return named, nil
	}
	const next = "run it in a clone of the repository, or name it: --repo OWNER/NAME"
	var ok bool
	if t.local, ok = git.Find(dir); !ok {
		return "", fault.Usage(next, "%s is not in a git repository", dir)
	}
	rel, err := filepath.Rel(t.local.Top, dir)
	if err != nil {
		return "", err
	}
	if rel != "." {
		t.prefix = filepath.ToSlash(rel)
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	out, err := git.Run(ctx, t.local.Top, 4<<10, "config", "--get", "remote.origin.url")
	var exit *git.ExitError
	if errors.As(err, &exit) {
		return "", fault.Usage(next, "the repository of %s has no remote origin", dir)
	}
	return string(out), err
}

// tree returns the directory with the files of a commit, and the parts of it that are elsewhere.
func (t *target) tree(ctx context.Context, commit string) (dir string, left []string, err error) {
	return t.export(ctx, commit, "")
}

// export writes the files of a commit to a directory of this process; use distinguishes directories for the same commit.
func (t *target) export(ctx context.Context, commit, use string) (dir string, left []string, err error) {
	trees := filepath.Join(t.cache, "trees")
	old, _ := os.ReadDir(trees)
	for _, e := range old {
		if info, err := e.Info(); err == nil && time.Since(info.ModTime()) > treeAge {
			os.RemoveAll(filepath.Join(trees, e.Name()))
		}
	}
	dir = filepath.Join(trees, fmt.Sprintf("%.16s-%d%s", commit, os.Getpid(), use))
	if err := os.RemoveAll(dir); err != nil {
		return "", nil, err
	}
	omitted, err := t.mirror.Export(ctx, commit, dir)
	if err != nil {
		return "", nil, err
	}
	for _, o := range omitted {
		left = append(left, o.Path+": "+o.Why)
	}
	dir = filepath.Join(dir, filepath.FromSlash(t.prefix))
	return dir, left, os.MkdirAll(dir, 0o700)
}

// author returns the person under whose name commits are made: the user, as git knows them.
func (t *target) author(ctx context.Context) mirror.Person {
	name, email := git.Identity(ctx, t.home)
	return mirror.Person{Name: cmp.Or(name, "agent"), Email: cmp.Or(email, "agent@localhost")}
}

// repository returns the repository's name in the record.
func (t *target) repository() store.Repository {
	return store.Repository{Host: t.address.Host(), Slug: t.address.Slug()}
}

// place converts a path of the workspace to a path in the repository.
func (t *target) place(name string) string {
	if t.prefix == "" {
		return name
	}
	return t.prefix + "/" + name
}

// ForgeFault turns an error of a forge, or of what is fetched from it, into one that says what to do next.
func ForgeFault(err error) error {
	var limit *forge.LimitError
	var rejected *mirror.RejectedError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &limit):
		return fault.Infra("run it again then", "%w", err)
	case errors.Is(err, forge.ErrDenied):
		return fault.Usage("set AGENT_FORGE_TOKEN to a token with that permission", "%w", err)
	case errors.Is(err, forge.ErrTransient):
		return fault.Infra("run it again: it finds what was already done", "%w", err)
	case errors.Is(err, forge.ErrNotFound):
		return fault.Usage("check the name of the repository, the number, and what the token may see", "%w", err)
	case errors.As(err, &rejected):
		return fault.Policy("name another branch with --head; nothing on the forge is ever rewritten", "%w", err)
	case errors.Is(err, mirror.ErrEmpty):
		return fault.Usage("push a first commit", "%w", err)
	case errors.Is(err, mirror.ErrNoBranch), errors.Is(err, mirror.ErrUnrelated):
		return fault.Usage("name an existing branch: --base", "%w", err)
	}
	return err
}
