package config

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/urfave/cli/v2"

	"agent/cmd/agent/internal/fault"
)

func TestNoPasswordIsShown(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, text, want string }{
		{"database_url", "", ""},
		{"database_url", "postgres://me@h/d", "postgres://me@h/d"},
		{"database_url", "postgres://me:sesame@h:5432/d?sslmode=disable", "postgres://me:xxxxx@h:5432/d?sslmode=disable"},
		{"database_url", "postgres://h/d?password=sesame&user=me", "postgres://h/d?password=xxxxx&user=me"},
		{"database_url", "postgres://h/d?PassWord=a&PassWord=sesame", "postgres://h/d?PassWord=xxxxx"},
		{"database_url", "postgres://h/d?sslpassword=sesame", "postgres://h/d?sslpassword=xxxxx"},
		{"database_url", "postgres://h/d?pass%77ord=sesame", "postgres://h/d?password=xxxxx"},
		// The URL parser drops parts that are still in the text.
		{"database_url", "postgres://h/d?password=ses;ame", "***"},
		{"database_url", "postgres://h/d?password=sesame%zz", "***"},
		{"database_url", "postgres://me:ses%ame@h", "***"},
		{"database_url", "host=h password=sesame\x00", "***"},
		{"forge.url", "https://forge.example", "https://forge.example"},
		{"forge.url", "https://me:sesame@forge.example/x?token=sesame#sesame", "https://forge.example/x"},
		{"forge.url", "sesame@forge.example", "***"},
		{"forge.url", "https://sesame%@h", "***"},
		{"smoke.env", `{"B":"sesame","A":"x"}`, `["A","B"]`},
		{"smoke.env", "{}", "[]"},
		{"timeout", "90s", "90s"},
	} {
		got := set(c.name, c.text).Shown(c.name)
		if got != c.want {
			t.Errorf("%s %q is shown as %q, want %q", c.name, c.text, got, c.want)
		}
	}
	if got := set("forge.token", "sesame-q7Rk2vXm9TbL4wZp8NcY").Shown("forge.token"); got == "" || strings.Contains(got, "sesame") {
		t.Errorf("a token is shown as %q", got)
	}
}

// A mask is made once for a process and used concurrently, since its boxes write at the same time.
func TestSecretsOfTheEnvironmentAreMaskedFromEverywhere(t *testing.T) {
	t.Parallel()
	secrets := map[string]string{
		"HTTPS_PROXY":   "http://me:q7Rk2%vXm9TbL4wZp8NcY@proxy.example",
		"pip_index_url": "https://J3hJd6FsG1aVeU5oQ7rk@index.example/simple",
		"GOPROXY":       "https://a.example|https://me:zP4nW8sK1xD6fH3jB9mC@b.example,direct",
		"NPM_TOKEN":     "npm-tY5uR2eW8qA4sD7fG1hJ",
	}
	getenv := func(name string) string { return secrets[name] }
	s := set("smoke.env", `{"API_KEY":"lK8jH5gF2dS9aQ6wE3rT","MODE":"production"}`)
	said := []string{"q7Rk2%vXm9TbL4wZp8NcY", "J3hJd6FsG1aVeU5oQ7rk", "zP4nW8sK1xD6fH3jB9mC", "npm-tY5uR2eW8qA4sD7fG1hJ", "lK8jH5gF2dS9aQ6wE3rT", "vB7nM4kL1oP8iU5yT2xZ"}
	mask := s.OutputMasker(getenv, "vB7nM4kL1oP8iU5yT2xZ")
	text := "in production: " + strings.Join(said, " ")
	var wait sync.WaitGroup
	for range 8 {
		wait.Go(func() {
			got := mask(text)
			for i, secret := range said {
				if strings.Contains(got, secret) {
					t.Errorf("secret %d is told: %s", i, got)
				}
			}
			if !strings.HasPrefix(got, "in production: ") {
				t.Errorf("what is no secret is masked: %s", got)
			}
		})
	}
	wait.Wait()
	if got := s.LogMasker(getenv, "")("a\nb " + said[2]); strings.Contains(got, said[2]) || strings.Contains(got, "\n") || !strings.Contains(got, "password of GOPROXY 2") {
		t.Errorf("the log has %q", got)
	}
}

// An approval in advance applies to a directory, by whatever path it is reached. A misspelt kind is an error.
func TestKindsAreApprovedInTheirWorkspaceAlone(t *testing.T) {
	t.Parallel()
	top := t.TempDir()
	here, link := filepath.Join(top, "here"), filepath.Join(top, "link")
	if err := errors.Join(os.Mkdir(here, 0o755), os.Symlink(here, link)); err != nil {
		t.Fatal(err)
	}
	in := func(dir, kinds string) string { return `{"` + dir + `":[` + kinds + `]}` }
	for _, c := range []struct {
		allow, in string
		want      []string
		problem   string
	}{
		{"[]", "{}", nil, ""},
		{"ci", in(here, `"protected"`), []string{"ci", "protected"}, ""},
		{"ci", in(link+"/./", `"protected"`), []string{"ci", "protected"}, ""},
		{"ci", in(top, `"protected"`), []string{"ci"}, ""},
		{"ci", in(here+"/no/such", `"protected"`), []string{"ci"}, ""},
		{"ci", "", []string{"ci"}, ""},
		{"CI", "{}", nil, `allow (the test): unknown change kind "CI"`},
		{"[]", in("/elsewhere", `"nothing"`), nil, `allow_in (the test): unknown change kind "nothing"`},
		{"[]", in("here", `"ci"`), nil, `allow_in (the test): "here" is not an absolute path`},
		{"[]", in("", `"ci"`), nil, `"" is not an absolute path`},
		{"[]", "[", nil, "allow_in: unexpected end of JSON input"},
	} {
		got, err := set("workspace", link, "allow", c.allow, "allow_in", c.in).AllowKinds()
		if !slices.Equal(got, c.want) || (err != nil) != (c.problem != "") || err != nil && !strings.Contains(err.Error(), c.problem) {
			t.Errorf("%s, %s: %q, %v; want %q, %q", c.allow, c.in, got, err, c.want, c.problem)
		}
		if f := (*fault.Error)(nil); errors.As(err, &f) && f.Next == "" {
			t.Errorf("%v: no next step", err)
		}
	}
}

// A command for a workspace says in one line which one it found in a parent directory. A directory that is named is taken as it is.
func TestAWorkspaceThatWasFoundAboveIsTold(t *testing.T) {
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	put(t, "exclude = ['found']\n", top, FileName)
	sub := filepath.Dir(put(t, "", top, "a", "b", "file"))
	t.Chdir(sub)
	for _, c := range []struct {
		args  []string
		env   string
		above bool
	}{
		{nil, "", true},
		{[]string{"--workspace", "."}, "", false},
		{nil, ".", false},
	} {
		var said bytes.Buffer
		var s Settings
		app := &cli.App{HideHelp: true, HideVersion: true, ErrWriter: &said, Commands: []*cli.Command{{Name: "x", HideHelp: true, Flags: Flags("workspace"), Action: func(ctx *cli.Context) (err error) {
			s, err = Load(ctx, func(name string) string { return map[string]string{"AGENT_WORKSPACE": c.env}[name] })
			return err
		}}}}
		if err := app.RunContext(t.Context(), append([]string{"agent", "x"}, c.args...)); err != nil {
			t.Fatal(err)
		}
		if s.Above() != c.above || (s["workspace"].Text == top) != c.above || (s["exclude"].Text == `["found"]`) != c.above {
			t.Errorf("%q, %q: %+v, %+v", c.args, c.env, s["workspace"], s["exclude"])
		}
		if told := "agent: workspace \"" + top + "\" (--workspace . for this directory alone)\n"; said.String() != told && c.above || said.Len() > 0 && !c.above {
			t.Errorf("%q, %q: said %q", c.args, c.env, said.String())
		}
	}
}
