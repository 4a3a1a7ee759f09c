package forge_test

import (
	"errors"
	"strings"
	"testing"

	"agent/orchestrator/forge"
)

func TestARemoteIsARepositoryOnAForge(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ text, base, want string }{
		{"https://github.com/shop/till.git", "https://github.com", "https://github.com/shop/till.git"},
		{"https://github.com/shop/till/", "https://github.com", "https://github.com/shop/till.git"},
		{"https://ada:secret@github.com/shop/till", "https://github.com", "https://github.com/shop/till.git"},
		{"git@github.com:shop/till.git", "https://github.com", "https://github.com/shop/till.git"},
		{"ssh://git@github.com:22/shop/till.git", "https://github.com", "https://github.com/shop/till.git"},
		{"ssh://git@git.example.org:2222/shop/till.git", "http://git.example.org:3000", "http://git.example.org:3000/shop/till.git"},
		{"git@git.example.org:shop/till.git", "https://git.example.org/forge/", "https://git.example.org/forge/shop/till.git"},
		{"https://git.example.org/forge/shop/till.git", "https://git.example.org/forge", "https://git.example.org/forge/shop/till.git"},
		{"https://gitlab.com/a/b/c.git", "https://gitlab.com", "https://gitlab.com/a/b/c.git"},
		// The host comes from the text, not from the configured forge.
		{"https://evil.example/shop/till", "https://github.com", "https://evil.example/shop/till.git"},
		{"https://github.com:8443/shop/till", "https://github.com", "https://github.com:8443/shop/till.git"},
	} {
		a, err := forge.ParseAddress(c.text, c.base)
		if err != nil || a.URL() != c.want {
			t.Errorf("%s: %s, %v", c.text, a.URL(), err)
		}
	}
	for _, text := range []string{
		"", "till", "/srv/till.git", "file:///srv/till.git", "ext::sh -c id", "git://github.com/a/b", "https://github.com/till", "https:///a/b",
		"git@github.com:-oProxy/x", "https://github.com/a/../b", "https://github.com/a/b c", "https://github.com/a/.git", "fd::3/x", "host::a/b", "https://u:p@/x/y", "https://github.com//",
	} {
		if a, err := forge.ParseAddress(text, "https://github.com"); !errors.Is(err, forge.ErrNoAddress) {
			t.Errorf("%q is %+v, %v", text, a, err)
		}
	}
	if _, err := forge.ParseAddress("https://u:hidden@host/x", "https://github.com"); err == nil || strings.Contains(err.Error(), "hidden") {
		t.Errorf("%v", err)
	}
	if _, err := forge.ParseAddress("https://github.com/a/b", "github"); err == nil {
		t.Error("a base without a host is taken")
	}
}

func TestATokenGoesWhereNobodyElseReads(t *testing.T) {
	t.Parallel()
	for base, want := range map[string]bool{
		"https://git.example.org": true, "http://127.0.0.1:3000": true, "http://localhost:3000": true, "http://[::1]:3000": true, "http://git.example.org": false, "http://10.0.0.1": false,
	} {
		if a := (forge.Address{Base: base}); a.Private() != want || a.Host() == "" {
			t.Errorf("%s: %v %q", base, a.Private(), a.Host())
		}
	}
}

func TestKindsOfForges(t *testing.T) {
	t.Parallel()
	if forge.KindOf("GitHub.com") != forge.GitHub || forge.KindOf("codeberg.org") != forge.Gitea || forge.KindOf("git.example.org") != "" || forge.KindOf("gitlab.com") != forge.GitLab || forge.Gitea.HeadRef(7) != "refs/pull/7/head" || forge.GitLab.HeadRef(7) != "refs/merge-requests/7/head" {
		t.Error("kinds of hosts")
	}
	for _, k := range forge.Kinds() {
		if k.User() == "" {
			t.Errorf("%s: nobody opens a repository", k)
		}
	}
	if !errors.Is(&forge.LimitError{}, forge.ErrTransient) || !strings.Contains((&forge.LimitError{}).Error(), "until 0001") {
		t.Error("a limit passes")
	}
}
