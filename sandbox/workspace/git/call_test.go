package git

import (
	"bytes"
	"encoding/base64"
	"errors"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"agent/sandbox/workspace/internal/treetest"
)

func TestACallStreamsWhatItPrints(t *testing.T) {
	t.Parallel()
	dir, sprung := trapped(t)
	var out bytes.Buffer
	kept, err := Call{Dir: dir, Args: []string{"hash-object", "--stdin"}, In: strings.NewReader("x"), Out: &out, Env: []string{"GIT_CONFIG_COUNT=0"}}.Run(t.Context())
	if err != nil || len(kept) != 0 || len(strings.TrimSpace(out.String())) != 40 {
		t.Errorf("%q %q %v", kept, out.String(), err)
	}
	if _, err := os.Stat(sprung); !errors.Is(err, fs.ErrNotExist) {
		t.Error("the repository had a program run")
	}
}

// The token is sent to the remote's host, and a redirect to another host is not followed.
func TestARemoteIsShownTheTokenByItsEnvironment(t *testing.T) {
	t.Parallel()
	var elsewhere int
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { elsewhere++ }))
	defer other.Close()
	var shown []string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		shown = append(shown, r.Header.Get("Authorization"))
		http.Redirect(w, r, other.URL+r.URL.Path, http.StatusFound)
	}))
	defer s.Close()
	remote := Remote{URL: s.URL + "/a/b.git", User: "u", Token: "s3cret", Getenv: func(name string) string {
		return map[string]string{"no_proxy": "127.0.0.1", "GIT_SSH_COMMAND": "false"}[name]
	}}
	_, err := Call{Dir: treetest.Repo(t), Args: []string{"ls-remote", remote.URL}, Limit: 1 << 10, Remote: &remote}.Run(t.Context())
	if err == nil || strings.Contains(err.Error(), "s3cret") {
		t.Errorf("%v", err)
	}
	want := "Basic " + base64.StdEncoding.EncodeToString([]byte("u:s3cret"))
	if len(shown) == 0 || shown[0] != want || elsewhere != 0 {
		t.Errorf("shown %q, %d requests elsewhere", shown, elsewhere)
	}
	env := strings.Join(remote.environment(), "\n")
	for _, lacks := range []string{"GIT_SSH_COMMAND", "s3cret"} { // the token is encoded, as the header requires
		if strings.Contains(env, lacks) {
			t.Errorf("the environment has %s", lacks)
		}
	}
	if !strings.Contains(env, "no_proxy=127.0.0.1") || strings.Contains(strings.Join(Remote{URL: "https://x/y"}.environment(), "\n"), "extraHeader") {
		t.Errorf("%s", env)
	}
}

func TestAskingForACredentialAsksTheUsersHelperAlone(t *testing.T) {
	t.Parallel()
	home := treetest.Repo(t) // the home is a repository, as some people have it for their settings
	canary := filepath.Join(t.TempDir(), "canary")
	treetest.Git(t, home, "config", "credential.helper", "!touch "+canary+"; echo username=evil; echo password=evil")
	if user, secret := Credential(t.Context(), home, "https://git.example.org/a/b.git"); user != "" || secret != "" {
		t.Errorf("%q %q without a configuration", user, secret)
	}
	config := filepath.Join(home, ".config", "git", "config")
	text := "[credential \"https://git.example.org\"]\n\thelper = \"!f() { cat >" + canary + ".asked; echo username=ada; echo password=pa=ss; }; f\"\n"
	treetest.Fill(t, home, treetest.Files{".config/git/config": text})
	if got := UserConfig(home); got != config {
		t.Errorf("the configuration is %q", got)
	}
	user, secret := Credential(t.Context(), home, "https://git.example.org/a/b.git")
	if user != "ada" || secret != "pa=ss" {
		t.Errorf("%q %q", user, secret)
	}
	if asked, err := os.ReadFile(canary + ".asked"); err != nil || !strings.Contains(string(asked), "host=git.example.org\n") || !strings.Contains(string(asked), "protocol=https\n") {
		t.Errorf("asked %q, %v", asked, err)
	}
	for _, address := range []string{"https://other.example.org/a/b.git", "https://git.example.org/a%0Ahost=x", "https://[/"} {
		if user, secret := Credential(t.Context(), home, address); user != "" || secret != "" {
			t.Errorf("%s is opened by %q %q", address, user, secret)
		}
	}
	if _, err := os.Stat(canary); !errors.Is(err, fs.ErrNotExist) {
		t.Error("the helper of a repository was asked")
	}
}

func TestTheUsersNameIsThatOfTheirConfiguration(t *testing.T) {
	t.Parallel()
	home := treetest.New(t, treetest.Files{".gitconfig": "[user]\n\tname = Ada\n[include]\n\tpath = more\n", "more": "[user]\n\temail = ada@example.org\n"})
	if name, email := Identity(t.Context(), home); name != "Ada" || email != "ada@example.org" {
		t.Errorf("%q %q", name, email)
	}
	for _, home := range []string{treetest.New(t, nil), treetest.New(t, treetest.Files{".gitconfig": "[core]\n"}), "/nonexistent"} {
		if name, email := Identity(t.Context(), home); name != "" || email != "" {
			t.Errorf("%q %q", name, email)
		}
	}
}

func TestObjectsAreThoseOfTheMainWorkTree(t *testing.T) {
	t.Parallel()
	dir := treetest.Repo(t)
	r, ok := Find(dir)
	if !ok {
		t.Fatal("no repository")
	}
	if got, err := r.Objects(); err != nil || got != filepath.Join(dir, ".git", "objects") {
		t.Errorf("%q %v", got, err)
	}
	if _, err := (Repo{common: filepath.Join(dir, ".git", "HEAD")}).Objects(); err == nil {
		t.Error("a file has objects")
	}
	treetest.Fill(t, dir, treetest.Files{"x/objects": "a file"})
	if _, err := (Repo{common: filepath.Join(dir, "x")}).Objects(); !errors.Is(err, os.ErrInvalid) {
		t.Errorf("%v", err)
	}
}
