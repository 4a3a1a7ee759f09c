package named

import (
	"strings"
	"testing"

	"agent/verify/check"
	"agent/verify/verifytest"
)

// Files that nest without end, name themselves, or lead out of the workspace are read once and in bounded time.
func TestNamesAreFollowedInBounds(t *testing.T) {
	t.Parallel()
	files := map[string]string{
		".envrc": ". a.sh\n. ../../out.sh\n. /etc/profile.d/x.sh\n" + strings.Repeat("$(", 50_000) + "\n", "a.sh": ". b.sh\n. a.sh\n. .envrc\n", "b.sh": ". c.sh\n", "c.sh": ". d.sh\n", "d.sh": "",
		".claude/settings.json": strings.Repeat("{\"a\":[", 50_000), "CLAUDE.md": strings.Repeat("@", 100_000) + "@CLAUDE.md",
	}
	view := check.OnBase(verifytest.Scan(t, files))
	got := Follow(view, view, map[string]Mode{".envrc": Commands, ".claude/settings.json": Instructions, "CLAUDE.md": Instructions}, func(string) bool { return true })
	if len(got) != 2 || got["a.sh"].By != ".envrc" || got["b.sh"] != (Name{How: "run", By: "a.sh", Root: ".envrc"}) {
		t.Errorf("%+v", got)
	}
}

// A file that the patch does not touch is not listed, but files that it names are.
func TestOnlyTouchedFilesAreListed(t *testing.T) {
	t.Parallel()
	view := check.OnBase(verifytest.Scan(t, map[string]string{".envrc": ". a.sh\n", "a.sh": ". ./b.sh\n", "b.sh": ""}))
	got := Follow(view, view, map[string]Mode{".envrc": Commands}, func(p string) bool { return p == "b.sh" })
	if len(got) != 1 || got["b.sh"].By != "a.sh" {
		t.Errorf("%+v", got)
	}
}

func TestCommandsOfALine(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		"- run: ./a.sh && sh b/c.sh": "./a.sh b/c.sh", "X=1 timeout 5m bash -o pipefail a.sh -v": "a.sh", "python3.12 tools/a.py": "tools/a.py",
		`"command": ["bash", "-c", "a/b.sh"]`: "a/b.sh", "docker run -v $PWD:/x img bash a/b.sh": "a/b.sh", "uv run a/b.py": "a/b.py", "\"$(dirname \"$0\")/a.sh\" x": "./a.sh",
		"pip install -r a.list": "a.list", "python -m a.b": "", "shellcheck a.sh ./b.sh": "", "echo ./a.sh": "", "make a": "", "/usr/bin/a.sh": "", "~/a.sh": "", "curl https://x/a.sh": "",
	} {
		var words []string
		for _, m := range inLine(line, "x") {
			words = append(words, m.word)
		}
		if got := strings.Join(words, " "); got != want {
			t.Errorf("%s: %q", line, got)
		}
	}
}
