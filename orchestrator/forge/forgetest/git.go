// Package forgetest contains what tests of forges share: a git server over HTTP, in-memory forges that speak GitHub's
// wire format, and the contract of every driver.
package forgetest

import (
	"encoding/base64"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// Token is accepted by every server of this package.
const Token = "t0ken-f0r-tests-0nly-5a1d"

// A Git serves bare repositories over HTTP to every client that shows Token.
type Git struct {
	URL string
	// Dir holds the repositories, as OWNER/NAME.git.
	Dir string
	// API answers requests that are not git's; nil for none.
	API http.Handler

	mu       sync.Mutex
	requests []string
	denied   bool
}

// NewGit starts a server, which stops when the test ends.
func NewGit(t testing.TB) *Git {
	t.Helper()
	g := &Git{Dir: t.TempDir()}
	s := httptest.NewServer(g)
	t.Cleanup(s.Close)
	g.URL = s.URL
	return g
}

// Deny makes the server reject the token from now on.
func (g *Git) Deny() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.denied = true
}

// Requests returns the methods and paths of all requests so far.
func (g *Git) Requests() []string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return append([]string{}, g.requests...)
}

// Writes returns the requests that change something.
func (g *Git) Writes() (list []string) {
	for _, r := range g.Requests() {
		if !strings.HasPrefix(r, "GET ") && !strings.HasSuffix(r, "/git-upload-pack") {
			list = append(list, r)
		}
	}
	return list
}

// ServeHTTP answers git with git's own program, and API requests with the handler.
func (g *Git) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	g.mu.Lock()
	g.requests = append(g.requests, r.Method+" "+r.URL.Path)
	denied, api := g.denied, g.API
	g.mu.Unlock()
	basic := "Basic " + base64.StdEncoding.EncodeToString([]byte("x-access-token:"+Token))
	have := r.Header.Get("Authorization")
	user, password, _ := r.BasicAuth()
	if denied || have != basic && have != "Bearer "+Token && (user == "" || password != Token) {
		w.Header().Set("Www-Authenticate", `Basic realm="git"`)
		http.Error(w, `{"message":"Bad credentials"}`, http.StatusUnauthorized)
		return
	}
	if !strings.Contains(r.URL.Path, ".git/") {
		if api == nil {
			http.NotFound(w, r)
			return
		}
		api.ServeHTTP(w, r)
		return
	}
	program, err := exec.LookPath("git")
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	h := &cgi.Handler{
		Path: program, Args: []string{"http-backend"},
		Env: []string{"GIT_PROJECT_ROOT=" + g.Dir, "GIT_HTTP_EXPORT_ALL=1", "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null", "REMOTE_USER=agent"},
	}
	h.ServeHTTP(w, r)
}

// Repository creates the repository OWNER/NAME with one commit of files on main, and returns its address. Without files
// it is empty.
func (g *Git) Repository(t testing.TB, slug string, files map[string]string) string {
	t.Helper()
	bare := g.Bare(slug)
	Run(t, g.Dir, "init", "-q", "--bare", "-b", "main", bare)
	Run(t, bare, "config", "http.receivepack", "true")
	Run(t, bare, "config", "uploadpack.allowAnySHA1InWant", "true")
	if len(files) > 0 {
		g.Commit(t, slug, "main", "start", files)
	}
	return g.URL + "/" + slug + ".git"
}

// Bare returns the directory of a repository.
func (g *Git) Bare(slug string) string { return filepath.Join(g.Dir, slug+".git") }

// Commit adds a commit to a branch of a repository, as a person would, and returns its ID. A content of "" deletes the
// file. A branch that does not exist begins at main.
func (g *Git) Commit(t testing.TB, slug, branch, message string, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	Run(t, dir, "init", "-q", "-b", branch)
	for _, from := range []string{branch, "main"} {
		cmd := exec.Command("git", "fetch", "-q", g.Bare(slug), from)
		cmd.Dir, cmd.Env = dir, environment()
		if cmd.Run() == nil {
			Run(t, dir, "reset", "-q", "--hard", "FETCH_HEAD")
			break
		}
	}
	for name, text := range files {
		full := filepath.Join(dir, name)
		if text == "" {
			os.Remove(full)
			continue
		}
		if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(full, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	Run(t, dir, "add", "-A")
	Run(t, dir, "commit", "-q", "--allow-empty", "-m", message)
	Run(t, dir, "push", "-q", g.Bare(slug), "HEAD:refs/heads/"+branch)
	return g.At(t, slug, "refs/heads/"+branch)
}

// At returns the commit of a reference of a repository, or "" if there is no such reference.
func (g *Git) At(t testing.TB, slug, ref string) string {
	t.Helper()
	cmd := exec.Command("git", "rev-parse", "--verify", "--quiet", ref)
	cmd.Dir, cmd.Env = g.Bare(slug), environment()
	out, _ := cmd.Output()
	return strings.TrimSpace(string(out))
}

// environment returns variables that keep the machine's configuration out of tests.
func environment() []string {
	return append(os.Environ(), "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null",
		"GIT_AUTHOR_NAME=ada", "GIT_AUTHOR_EMAIL=ada@example.org", "GIT_COMMITTER_NAME=ada", "GIT_COMMITTER_EMAIL=ada@example.org")
}

// Run runs git as a person would, and returns its output.
func Run(t testing.TB, dir string, args ...string) string {
	t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir, cmd.Env = dir, environment()
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}
