package policy

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"agent/sandbox/workspace"
	"agent/sandbox/workspace/secret"
	"agent/sandbox/workspace/secret/secrettest"
)

// secretsOf renders the secret holds of a changeset.
func secretsOf(cs workspace.Changeset) (out []string) {
	for _, h := range ReviewText(cs, nil) {
		if h.Kind == "secret" {
			out = append(out, fmt.Sprint(h.Path, " ", h.Block, " ", h.Reason))
		}
	}
	return out
}

func TestANewSecretIsHeldAndNotShown(t *testing.T) {
	t.Parallel()
	for _, c := range secrettest.Credentials {
		for _, cs := range []workspace.Changeset{
			create("a.py", "x = 1\n"+c.Line+"\n"),
			modify("a.py", "x = 1\n", "x = 1\n"+c.Line+"\n"),
			{Changes: []workspace.Change{{Op: workspace.Rename, Path: "a.py", From: "b.py", Before: []byte("x = 1\n"), After: []byte("x = 1\n" + c.Line + "\n")}}},
		} {
			got := secretsOf(cs)
			if len(got) != 1 || !strings.HasPrefix(got[0], "a.py true Line 2 ") || !strings.Contains(got[0], c.Rule) {
				t.Errorf("%s: %q", c.Line, got)
			}
			if len(got) == 1 && strings.Contains(got[0], secrettest.Drawn[:8]) {
				t.Errorf("the reason shows the value: %s", got[0])
			}
		}
	}
}

func TestASecretThatWasThereIsNoHold(t *testing.T) {
	t.Parallel()
	for _, c := range secrettest.Credentials {
		was := "x = 1\n" + c.Line + "\ny = 2\n"
		for name, cs := range map[string]workspace.Changeset{
			"another line changes": modify("a.py", was, strings.Replace(was, "x = 1", "x = 3", 1)),
			"the line moves":       modify("a.py", was, "x = 1\ny = 2\nif y:\n\t"+c.Line+"\n"),
			"the line goes":        modify("a.py", was, "x = 1\n"),
			"the file goes":        remove("a.py", was),
			"line ends change":     modify("a.py", was, strings.ReplaceAll(was, "\n", "\r\n")),
		} {
			if got := secretsOf(cs); len(got) > 0 {
				t.Errorf("%s, %s: %q", c.Line, name, got)
			}
		}
	}
}

func TestFilesThatLookRandomAreNotSearched(t *testing.T) {
	t.Parallel()
	line := secrettest.Credentials[len(secrettest.Credentials)-4].Line
	for _, name := range []string{"poetry.lock", "web/package-lock.json", "go.sum"} {
		if got := secretsOf(create(name, line)); len(got) > 0 {
			t.Errorf("%s: %q", name, got)
		}
	}
	for what, text := range map[string]string{"binary": line + "\x00", "a long line": strings.Repeat("a", secret.MaxLine) + line} {
		if got := secretsOf(create("a.js", text)); len(got) > 0 {
			t.Errorf("%s: %q", what, got)
		}
	}
}

func TestEachNewSecretIsNamed(t *testing.T) {
	t.Parallel()
	got := secretsOf(create("a.py", secrettest.Credentials[2].Line+"\n\n"+secrettest.Credentials[3].Line+"\n"))
	want := []string{"a.py true Line 1 holds what looks like an AWS access key.", "a.py true Line 3 holds what looks like a GitHub token."}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestFilesThatLock(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]bool{
		"Cargo.lock": true, "a/b/yarn.lock": true, "package-lock.json": true, "pnpm-lock.yaml": true, "GO.SUM": true, "x/go.sum": true,
		"lock.json": false, "go.sum.txt": false, "go.mod": false, "lock/a.py": false, "a.locked": false, "blocklist.json": false,
	} {
		if got := lockFile(name); got != want {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
}

// A hold names the path, the line and the rule, and blocks.
func Example_secretHolds() {
	c := workspace.Change{Op: workspace.Modify, Path: "a.py", Before: []byte("a\n"), After: []byte("a\nb\n-----BEGIN " + "PRIVATE KEY-----\n")}
	for _, h := range secretHolds(c) {
		fmt.Println(h.Path, h.Kind, h.Block, h.Reason)
	}
	// Output: a.py secret true Line 3 holds what looks like a private key.
}

// A credential is found in whatever file and form it is brought; what only looks random is left alone there.
func TestCredentialsInOtherFormsAreHeld(t *testing.T) {
	t.Parallel()
	key := "AKIA" + "Q3EGRTV7XLPWMNZ4"
	wide := []byte{0xff, 0xfe}
	for _, c := range []byte("id=" + key + "\n") {
		wide = append(wide, c, 0)
	}
	for name, c := range map[string]struct {
		path  string
		after string
		held  int
	}{
		"any lock file":          {"conf/prod.lock", "id = " + key + "\n", 1},
		"a text of one byte":     {"conf/prod.ini", "# caf\xe9\nid = " + key + "\n", 1},
		"among other bytes":      {"data.bin", "\x00\x01\n" + key + "\n", 1},
		"a text of two bytes":    {"id.txt", string(wide), 1},
		"a name of a file":       {"keys/" + key + ".txt", "x\n", 1},
		"in pieces":              {"a.py", "k = (\n    \"" + key[:9] + "\"\n    \"" + key[9:] + "\"\n)\n", 1},
		"digests of a lock file": {"poetry.lock", "hash = \"sha256:d2a84f4b8b650937ec8f73cd8be2c74add5a911ba64df27458ed8229da804a26\"\nsecret = \"q7Rk2vXm9TbL4wZp8NcY3hJd\"\n", 0},
		"random bytes":           {"a.png", "\x89PNG\r\n\x00token = \"q7Rk2vXm9TbL4wZp8NcY3hJd\"", 0},
		"an ordinary name":       {"keys/README.txt", "x\n", 0},
	} {
		held := 0
		for _, h := range ReviewText(workspace.Changeset{Changes: []workspace.Change{{Op: workspace.Create, Path: c.path, After: []byte(c.after), Mode: 0o644}}}, nil) {
			if h.Kind == Secret {
				held++
				if strings.Contains(h.Reason, key) || !h.Block {
					t.Errorf("%s: %+v", name, h)
				}
			}
		}
		if held != c.held {
			t.Errorf("%s: %d are held", name, held)
		}
	}
}
