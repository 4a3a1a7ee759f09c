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

// secretsOf renders the holds for secrets of a changeset.
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

// Example_secretHolds shows that a hold names the path, the line and the rule, and blocks.
func Example_secretHolds() {
	c := workspace.Change{Op: workspace.Modify, Path: "a.py", Before: []byte("a\n"), After: []byte("a\nb\n-----BEGIN " + "PRIVATE KEY-----\n")}
	for _, h := range secretHolds(c) {
		fmt.Println(h.Path, h.Kind, h.Block, h.Reason)
	}
	// Output: a.py secret true Line 3 holds what looks like a private key.
}

// A credential is found in any file and form. In those files, text that only looks random is left alone.
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

// An unquoted value is a credential if a name says so and the value is random enough. A reference, a placeholder or a digest is not.
func TestCredentialsWithoutQuotesAreHeld(t *testing.T) {
	t.Parallel()
	drawn := secrettest.Drawn
	for _, c := range []struct {
		path, line string
		held       bool
	}{
		{"deploy.sh", "export TOKEN=" + drawn[:20], true},
		{"conf/app.ini", "aws_secret_access_key = " + drawn, true},
		{"conf/app.ini", "aws_secret_access_key = " + drawn[:20] + "/" + drawn[20:39], true},
		{".env", "DB_PASSWORD=" + drawn[:16], true},
		{"k8s/app.yaml", "  api_key: " + drawn[:24], true},
		{"Dockerfile", "ENV NPM_TOKEN=" + drawn[:24], true},
		{"app.properties", "db.password=" + drawn[:18], true},
		{"run.sh", "curl -H 'Authorization: Bearer " + drawn[:32] + "' https://host", true},
		{"conf/app.xml", "<password>" + drawn[:18] + "</password>", true},

		{"deploy.sh", "export TOKEN=${TOKEN}", false},
		{"deploy.sh", "TOKEN=$(cat /run/secrets/token1)", false},
		{"deploy.sh", "TOKEN=$1", false},
		{"deploy.sh", "PASSWORD=changeme12345678", false},
		{"deploy.sh", "TOKEN=your-token-0123456789", false},
		{"app.yaml", "token: {{ .Values.token1234567890 }}", false},
		{"ci.yml", "          token: ${{ secrets.GITHUB_TOKEN }}", false},
		{"app.ini", "password = hunter2long", false},
		{"app.ini", "token_url = https://host/x/9f86d081884c7d659a2f", false},
		{"app.yaml", "  access_key: sha256:d2a84f4b8b650937ec8f73cd8be2c74add5a911ba64df27458ed8229da804a26", false},
		{"app.yaml", "image: x@sha256:" + strings.Repeat("d2a84f4b", 8), false},
		{"app.yaml", "rev: d2a84f4b8b650937ec8f73cd8be2c74add5a911b", false},
		{"list.txt", "requests==2.31.0 --hash=sha256:" + strings.Repeat("d2a84f4b", 8), false},
		{"poetry.lock", "token = " + drawn[:20], false},
		{"yarn.lock", "  integrity sha512-" + drawn + drawn, false},
		{"app.yaml", "secret_key: projects/shop/keys/versions/3", false},
		{"README.md", "[![codecov](https://codecov.io/gh/x/y/badge.svg?token=3Cr92CwaPQ)](https://codecov.io/gh/x/y/tree/main)", false},
		{"main.py", "token = tokens[\"" + drawn[:20] + "\"]", false},
		{"main.tf", "  password = random_password.database_2024.result", false},
		{"answer.txt", "Set-Cookie: session=" + drawn, false},
		{"notes.rst", ":param str passphrase: a passphrase of 8 characters", false},
	} {
		if got := secretsOf(create(c.path, "x\n"+c.line+"\n")); len(got) > 0 != c.held || len(got) > 1 || c.held && strings.Contains(got[0], drawn[:8]) {
			t.Errorf("%s: %s: %q", c.path, c.line, got)
		}
		if got := secretsOf(modify(c.path, c.line+"\n", "x\n"+c.line+"\n")); len(got) > 0 {
			t.Errorf("%s: %s was there: %q", c.path, c.line, got)
		}
	}
}
