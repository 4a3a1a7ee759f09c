package workspace

import (
	"errors"
	"strings"
	"testing"
)

// C01, C15, C21.
func TestCheckPathRefusesWhatLeavesTheWorkspaceOrFoldsIntoSomethingElse(t *testing.T) {
	t.Parallel()
	for _, name := range []string{
		"", ".", "..", "../x", "a/../../x", "a/../x", "/abs", "//abs", "./x", "./../x", "a//b", "a/", "a/.", "/",
		`..\x`, `a\b`, `C:\x`, "C:x", "a:b", "a\x00b", "a\nb", "a\tb", "a\x7f", "a\u0085b", "caf\xe9",
		".git/config", ".git", "sub/.git/hooks/pre-commit", ".GIT/config", "x/.Git", "git~1/config", ".g\u200cit/config", ".git\u200d/x",
		".hg/hgrc", "a/.HG/hgrc", "hg~1/hgrc", ".hg", ".jj/repo/config.toml", "x/.jj/repo", ".JJ/repo", "jj~1/x", ".svn/wc.db", ".\u017fvn/wc.db", "Svn~1/x",
		".bzr/branch-format", "a/b/.Bzr/branch/branch.conf", "bzr~1/x", ".sl/config", ".pijul/config", "pijul~1/x", "_darcs/prefs/defaults", "_Darcs/x",
		".fslckout", "a/_FOSSIL_", "fslcko~1",
		".git./config", ".git /config", "a./b", "a /b", "a ", "a.", " a", "x/...",
		"CON", "con.txt", "x/aux.py", "NUL", "com1", "LPT9.log", "conin$",
		".wh.foo", "x/.wh..wh..opq", ".WH.x",
		".agent/HISTORY.md", ".agent", ".Agent/x", ".agent-slot-1-2", "x/.agent-slot-r-0",
		".env", "x/.env", ".ENV", ".env.local", ".netrc", ".pypirc", "x/.pgpass", ".git-credentials", "id_rsa", "a/id_ed25519", "x.p12", "x.PFX",
		".ssh/config", "home/.aws/credentials", ".gnupg/x", ".kube/config", ".docker/config.json",
		"txt\u202egnp.exe", "\ufeffx", "a\u2028b",
		strings.Repeat("a", 256), strings.Repeat("a/", 2048) + "a",
	} {
		err := CheckPath(name)
		var perr *PathError
		if !errors.As(err, &perr) || perr.Path != name || perr.Reason == "" {
			t.Errorf("CheckPath(%.80q) = %v", name, err)
		}
	}
}

func TestCheckPathTakesEverydayNames(t *testing.T) {
	t.Parallel()
	for _, name := range []string{
		"a", "a/b.py", ".gitignore", ".github/workflows/ci.yml", ".gitattributes", "git/x", ".env.example", "src/[id].tsx", "a b/c d.txt",
		"é/ü.md", "日本.txt", "...x", "..x/y", "console.py", "auxiliary.c", "nullable.go", "common/com10.py", "a~1", "git~2", "hg/x", "svn/a.py", ".hgignore", ".hgtags", ".hgsub", ".bzrignore", ".svnignore", "a.hg", "x.jj", "darcs/x", "fossil", ".jj.md", "~1", ".agents/x",
		"sub/.agent/x", "certs/ca.pem", "wh.x", "$x", "#x#", "a&b;c|d", "-rf", "docs/config.json", strings.Repeat("a", 255),
	} {
		if err := CheckPath(name); err != nil {
			t.Errorf("CheckPath(%.80q) = %v", name, err)
		}
	}
}

func FuzzCheckPathKeepsToTheWorkspace(f *testing.F) {
	for _, name := range []string{"a/b", "../x", ".git/x", "a/./b", "é", "a\\b", "con"} {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, name string) {
		if CheckPath(name) != nil {
			return
		}
		for part := range strings.SplitSeq(name, "/") {
			if part == "" || part == "." || part == ".." || strings.EqualFold(part, ".git") || strings.ContainsAny(part, "\x00\\:\n") {
				t.Errorf("%q is taken", name)
			}
		}
	})
}
