//go:build forge

package forgetest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"code.gitea.io/sdk/gitea"
)

// The real server and runner that tests use.
const (
	giteaModule  = "code.gitea.io/gitea@v1.26.0"
	runnerModule = "gitea.com/gitea/runner v1.0.8"
)

// BuildGitea builds Gitea and its runner from their modules into dir, once, which takes about five minutes of processor
// time.
func BuildGitea(ctx context.Context, dir string) error {
	if _, err := os.Stat(filepath.Join(dir, "gitea-runner")); err == nil {
		return nil
	}
	src := filepath.Join(dir, "src")
	if err := os.MkdirAll(src, 0o755); err != nil {
		return err
	}
	run := func(in string, env []string, args ...string) ([]byte, error) {
		cmd := exec.CommandContext(ctx, "go", args...)
		cmd.Dir, cmd.Env = in, append(os.Environ(), append(env, "GOFLAGS=-mod=mod")...)
		out, err := cmd.Output()
		if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
			err = fmt.Errorf("go %v: %w\n%s", args, err, exit.Stderr)
		}
		return out, err
	}
	out, err := run(os.TempDir(), nil, "mod", "download", "-json", giteaModule)
	if err != nil {
		return err
	}
	var module struct{ Dir string }
	if err := json.Unmarshal(out, &module); err != nil {
		return err
	}
	mod, err := os.ReadFile(filepath.Join(module.Dir, "go.mod"))
	if err != nil {
		return err
	}
	// `go install` refuses a module with replacements: build it as a dependency of an empty module that repeats them.
	mod = regexp.MustCompile(`(?m)^tool .*$|(?ms)^tool \(.*?^\)$`).ReplaceAll(mod, nil)
	mod = regexp.MustCompile(`(?m)^module .*$`).ReplaceAll(mod, []byte("module giteabuild"))
	mod = bytes.Replace(mod, []byte("require ("), []byte("require (\n\t"+strings.Replace(giteaModule, "@", " ", 1)), 1)
	sum, err := os.ReadFile(filepath.Join(module.Dir, "go.sum"))
	if err := errors.Join(err, os.WriteFile(filepath.Join(src, "go.mod"), mod, 0o644), os.WriteFile(filepath.Join(src, "go.sum"), sum, 0o644),
		os.WriteFile(filepath.Join(dir, "module"), []byte(module.Dir), 0o644)); err != nil {
		return err
	}
	if _, err := run(src, []string{"CGO_ENABLED=1"}, "build", "-tags", "sqlite sqlite_unlock_notify", "-trimpath", "-ldflags", "-s -w -X main.Version=1.26.0", "-o", filepath.Join(dir, "gitea"), "code.gitea.io/gitea"); err != nil {
		return err
	}
	runner := filepath.Join(dir, "runner-src")
	if err := errors.Join(os.MkdirAll(runner, 0o755), os.WriteFile(filepath.Join(runner, "go.mod"), []byte("module runner\n\ngo 1.26.8\n\nrequire "+runnerModule+"\n"), 0o644)); err != nil {
		return err
	}
	_, err = run(runner, []string{"CGO_ENABLED=0"}, "build", "-trimpath", "-ldflags", "-s -w", "-o", filepath.Join(dir, "gitea-runner"), strings.Fields(runnerModule)[0])
	return err
}

// A Gitea is a real server with an administrator, whose token the agent has, and another person.
type Gitea struct {
	URL, Token string
	// Admin is a client for the administrator "bot", Ada one for a person who may write.
	Admin, Ada *gitea.Client
	dir, built string
}

// StartGitea starts a server from what BuildGitea built, without repositories. It stops when the test ends.
func StartGitea(t *testing.T, built string) *Gitea {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := l.Addr().(*net.TCPAddr).Port
	l.Close()
	g := &Gitea{URL: fmt.Sprintf("http://127.0.0.1:%d", port), dir: t.TempDir(), built: built}
	g.write(t, "app.ini", g.settings(t, port))
	if out, err := g.program(t.Context(), "migrate").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	out, err := g.program(t.Context(), "admin", "user", "create", "--admin", "--username", "bot", "--password", "bot-password-1", "--email", "bot@example.org",
		"--must-change-password=false", "--access-token", "--access-token-name", "t", "--access-token-scopes", "all").CombinedOutput()
	found := regexp.MustCompile(`successfully created\.\.\. (\S+)`).FindSubmatch(out)
	if err != nil || found == nil {
		t.Fatalf("%v\n%s", err, out)
	}
	g.Token = string(found[1])
	g.background(t, g.program(t.Context(), "web"))
	for end := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) {
		if resp, err := http.Get(g.URL + "/api/v1/version"); err == nil {
			resp.Body.Close()
			break
		} else if time.Now().After(end) {
			t.Fatal(err)
		}
	}
	if g.Admin, err = gitea.NewClient(g.URL, gitea.SetToken(g.Token)); err != nil {
		t.Fatal(err)
	}
	no := false
	if _, _, err := g.Admin.AdminCreateUser(gitea.CreateUserOption{Username: "ada", Email: "ada@example.org", Password: "ada-password-1", MustChangePassword: &no}); err != nil {
		t.Fatal(err)
	}
	if g.Ada, err = gitea.NewClient(g.URL, gitea.SetBasicAuth("ada", "ada-password-1")); err != nil {
		t.Fatal(err)
	}
	return g
}

// settings returns the settings of a server that contacts no one. Its queues are real ones: with immediate ones it
// waits for its own lock as soon as somebody looks at a pull request whose merge it has yet to test.
func (g *Gitea) settings(t *testing.T, port int) string {
	module, err := os.ReadFile(filepath.Join(g.built, "module"))
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf(`I_AM_BEING_UNSAFE_RUNNING_AS_ROOT = true
WORK_PATH = %s/work
RUN_MODE = prod
RUN_USER = %s
[server]
HTTP_ADDR = 127.0.0.1
HTTP_PORT = %d
ROOT_URL = %s/
STATIC_ROOT_PATH = %s
OFFLINE_MODE = true
DISABLE_SSH = true
[database]
DB_TYPE = sqlite3
PATH = %s/work/gitea.db
[security]
INSTALL_LOCK = true
SECRET_KEY = test
PASSWORD_HASH_ALGO = argon2
[service]
DISABLE_REGISTRATION = true
[queue]
TYPE = channel
[indexer]
ISSUE_INDEXER_TYPE = db
[actions]
ENABLED = true
[webhook]
ALLOWED_HOST_LIST = loopback
[log]
MODE = console
LEVEL = Warn
`, g.dir, currentUser(), port, g.URL, strings.TrimSpace(string(module)), g.dir)
}

// currentUser returns the user who runs this process.
func currentUser() string {
	out, err := exec.Command("id", "-un").Output()
	if err != nil {
		return "root"
	}
	return strings.TrimSpace(string(out))
}

func (g *Gitea) write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(g.dir, name), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// program returns a call of the server's program.
func (g *Gitea) program(ctx context.Context, args ...string) *exec.Cmd {
	return exec.CommandContext(ctx, filepath.Join(g.built, "gitea"), append([]string{"-c", filepath.Join(g.dir, "app.ini")}, args...)...)
}

// background runs a program until the test ends, and shows its output if the test failed.
func (g *Gitea) background(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
		if t.Failed() {
			t.Logf("%s:\n%.4000s", filepath.Base(cmd.Path), out.String())
		}
	})
}

// Repository creates bot/name with files on main, where ada may write. The runner, if requested, works on this machine:
// the repository may contain only workflows of the test's own.
func (g *Gitea) Repository(t *testing.T, name string, files map[string]string, runner bool) {
	t.Helper()
	if _, _, err := g.Admin.CreateRepo(gitea.CreateRepoOption{Name: name, DefaultBranch: "main"}); err != nil {
		t.Fatal(err)
	}
	write := gitea.AccessModeWrite
	if _, err := g.Admin.AddCollaborator("bot", name, "ada", gitea.AddCollaboratorOption{Permission: &write}); err != nil {
		t.Fatal(err)
	}
	g.Commit(t, name, "main", "start", files)
	if !runner {
		return
	}
	reg, _, err := g.Admin.CreateRepoActionRunnerRegistrationToken("bot", name)
	if err != nil {
		t.Fatal(err)
	}
	home := t.TempDir()
	config := "log:\n  level: warn\nrunner:\n  file: .runner\n  capacity: 1\n  fetch_interval: 1s\ncache:\n  enabled: false\nhost:\n  workdir_parent: " + home + "/work\n"
	if err := os.WriteFile(filepath.Join(home, "config.yaml"), []byte(config), 0o644); err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(g.built, "gitea-runner")
	register := exec.Command(program, "register", "--no-interactive", "--instance", g.URL, "--token", reg.Token, "--name", "r1", "--labels", "host:host", "--config", "config.yaml")
	register.Dir = home
	if out, err := register.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	daemon := exec.CommandContext(t.Context(), program, "daemon", "--config", "config.yaml")
	daemon.Dir = home
	g.background(t, daemon)
}

// Commit adds a commit to a branch of bot/name as ada would, and returns its ID.
func (g *Gitea) Commit(t testing.TB, name, branch, message string, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	remote := strings.Replace(g.URL, "://", "://ada:ada-password-1@", 1) + "/bot/" + name + ".git"
	Run(t, dir, "init", "-q", "-b", branch)
	for _, from := range []string{branch, "main"} {
		cmd := exec.Command("git", "fetch", "-q", remote, from)
		cmd.Dir, cmd.Env = dir, environment()
		if cmd.Run() == nil {
			Run(t, dir, "reset", "-q", "--hard", "FETCH_HEAD")
			break
		}
	}
	for file, text := range files {
		full := filepath.Join(dir, file)
		if err := errors.Join(os.MkdirAll(filepath.Dir(full), 0o755), os.WriteFile(full, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	Run(t, dir, "add", "-A")
	Run(t, dir, "commit", "-q", "--allow-empty", "-m", message)
	Run(t, dir, "push", "-q", remote, "HEAD:refs/heads/"+branch)
	commit := Run(t, dir, "rev-parse", "HEAD")
	g.await(t, "the pull requests of "+branch+" to be at "+commit, func() bool {
		list, _, err := g.Admin.ListRepoPullRequests("bot", name, gitea.ListPullRequestsOptions{State: gitea.StateOpen})
		return err == nil && !slices.ContainsFunc(list, func(p *gitea.PullRequest) bool { return p.Head.Ref == branch && p.Head.Sha != commit })
	})
	return commit
}

// Merge makes ada merge a pull request of bot/name, as soon as the server knows that she can.
func (g *Gitea) Merge(t testing.TB, name string, number int) {
	t.Helper()
	g.await(t, "the pull request to be merged", func() bool {
		ok, _, err := g.Ada.MergePullRequest("bot", name, int64(number), gitea.MergePullRequestOption{Style: gitea.MergeStyleMerge})
		return ok && err == nil
	})
}

// await waits until the server has finished something in the background.
func (g *Gitea) await(t testing.TB, what string, done func() bool) {
	t.Helper()
	for range 300 {
		if done() {
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
	t.Fatalf("waited for %s in vain", what)
}

// Hook makes the server send the events of bot/name to an address, signed with a secret.
func (g *Gitea) Hook(t testing.TB, name, address, secret string) {
	t.Helper()
	_, _, err := g.Admin.CreateRepoHook("bot", name, gitea.CreateHookOption{
		Type: gitea.HookTypeGitea, Active: true, Config: map[string]string{"url": address, "content_type": "json", "secret": secret},
		Events: []string{"issues", "issue_label", "issue_assign", "issue_comment", "pull_request", "pull_request_comment"},
	})
	if err != nil {
		t.Fatal(err)
	}
}

// Await waits for something that the server does in the background.
func (g *Gitea) Await(t testing.TB, what string, done func() bool) {
	t.Helper()
	g.await(t, what, done)
}

// Person creates a person who may read public repositories and nothing more.
func (g *Gitea) Person(t testing.TB, name string) *gitea.Client {
	t.Helper()
	no := false
	if _, _, err := g.Admin.AdminCreateUser(gitea.CreateUserOption{Username: name, Email: name + "@example.org", Password: name + "-password-1", MustChangePassword: &no}); err != nil {
		t.Fatal(err)
	}
	client, err := gitea.NewClient(g.URL, gitea.SetBasicAuth(name, name+"-password-1"))
	if err != nil {
		t.Fatal(err)
	}
	return client
}
