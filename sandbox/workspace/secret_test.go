package workspace

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// drawn is text that looks drawn by chance; the test's credentials are put
// together from it, so that no scanner of this file finds one.
const drawn = "q7Rk2vXm9TbL4wZp8NcY3hJd6FsG1aVeU5oQiKx0"

// credentials are lines that hold one, each with the rule that must name it.
var credentials = []struct{ rule, line string }{
	{"private key", "-----BEGIN " + "RSA PRIVATE KEY-----"},
	{"private key", "key = \"-----BEGIN " + "PRIVATE KEY-----\\nMIIB\""},
	{"AWS", "aws_id = " + "AKIA" + "Q7RK2VXM5TBL4WZP"},
	{"GitHub", "t: gh" + "p_" + drawn[:36]},
	{"GitHub", "github" + "_pat_" + drawn + drawn[:20]},
	{"GitLab", "x = 'glp" + "at-" + drawn[:20] + "'"},
	{"Slack", "xo" + "xb-1234-" + drawn},
	{"Google", "AI" + "za" + drawn[:35]},
	{"API key", "OPENAI = 's" + "k-" + drawn + "'"},
	{"API key", "k = \"s" + "k-ant-api03-" + drawn + "\""},
	{"API key", "s" + "k_live_" + drawn[:24]},
	{"npm", "//registry/:_authToken=np" + "m_" + drawn[:36]},
	{"PyPI", "py" + "pi-" + drawn + drawn},
	{"JWT", "a = ey" + "JhbGciOiJIUzI1.ey" + "JzdWIiOiIxMjM0." + drawn},
	{"Slack webhook", "curl https://hooks.slack" + ".com/services/T0AB12CD3/B0EF45GH6/" + drawn[:24]},
	{"Discord webhook", "https://discord" + ".com/api/webhooks/123456789012345678/" + drawn + drawn[:28]},
	{"Azure", "Account" + "Key=" + drawn + drawn + drawn[:6] + "==;EndpointSuffix=core.windows.net"},
	{"Telegram", "bot = '123456789" + ":AA" + drawn[:33] + "'"},
	{"access token", "S" + "G." + drawn[:22] + "." + drawn + drawn[:3]},
	{"access token", "hf" + "_" + drawn[:34]},
	{"access token", "dckr" + "_pat_" + drawn[:27]},
	{"access token", "hv" + "s." + drawn},
	{"access token", "key = GOC" + "SPX-" + drawn[:28]},
	{"access token", "glr" + "t-" + drawn[:20]},
	{"address", "url = postgres://app:" + drawn[:12] + "@db.internal/app"},
	{"literal", "password = \"" + drawn[:16] + "\""},
	{"literal", "  \"api_key\": '" + drawn[:24] + "',"},
	{"literal", "const clientSecret = '" + drawn[:20] + "';"},
	{"literal", "DB_PASSWORD := \"" + drawn[:14] + "!\""},
}

// harmlessLines speak of secrets and hold none.
var harmlessLines = []string{
	"password = os.environ[\"DB_PASSWORD\"]",
	"password = \"\"",
	"password: str = \"changeme-please-1\"",
	"token = get_token(\"service-account\", scope)",
	"api_key = \"YOUR-API-KEY-GOES-HERE-0\"",
	"secret = \"{{ vault.secret }}\"",
	"secret_name = \"projects/app/keys/main\"",
	"\"password\": \"Das Passwort ist falsch\",",
	"token_url = \"https://login.company.org/oauth2/v2.0/authorize\"",
	"key = \"user.settings.password.label\"",
	"token = \"aaaaaaaaaaaa1111\"",
	"postgres://user:password@localhost/db",
	"https://user:${TOKEN}@host/x",
	"AKIA" + "IOSFODNN7EXAMPLE",
	"gh" + "p_" + strings.Repeat("x", 36),
	"sha256 = \"" + drawn + "\"",
	"-----BEGIN CERTIFICATE-----",
	"-----BEGIN PUBLIC KEY-----",
	"task-sk-learn-model-selection-with-cross-validation",
	"s" + "k-" + strings.Repeat("a", 40),
}

func TestCredentialsAreFound(t *testing.T) {
	t.Parallel()
	for _, c := range credentials {
		list := findSecrets([]byte("first\n"+c.line+"\nlast\n"), nil)
		if len(list) != 1 || list[0].line != 2 || !strings.Contains(list[0].rule, c.rule) {
			t.Errorf("%s: %v, want %s at line 2", c.line, list, c.rule)
		}
	}
}

func TestWhatOnlySpeaksOfSecretsIsNotFound(t *testing.T) {
	t.Parallel()
	for _, s := range harmlessLines {
		if list := findSecrets([]byte(s), nil); len(list) > 0 {
			t.Errorf("%s: %v", s, list)
		}
	}
}

// secretsOf renders the secret holds of a changeset.
func secretsOf(cs Changeset) (out []string) {
	for _, h := range cs.Holds() {
		if h.Kind == "secret" {
			out = append(out, fmt.Sprint(h.Path, " ", h.Block, " ", h.Reason))
		}
	}
	return out
}

func TestANewSecretIsHeldAndNotShown(t *testing.T) {
	t.Parallel()
	for _, c := range credentials {
		for _, cs := range []Changeset{
			create("a.py", "x = 1\n"+c.line+"\n"),
			modify("a.py", "x = 1\n", "x = 1\n"+c.line+"\n"),
			{Changes: []Change{{Op: Rename, Path: "a.py", From: "b.py", Before: []byte("x = 1\n"), After: []byte("x = 1\n" + c.line + "\n")}}},
		} {
			got := secretsOf(cs)
			if len(got) != 1 || !strings.HasPrefix(got[0], "a.py true Line 2 ") || !strings.Contains(got[0], c.rule) {
				t.Errorf("%s: %q", c.line, got)
			}
			if len(got) == 1 && strings.Contains(got[0], drawn[:8]) {
				t.Errorf("the reason shows the value: %s", got[0])
			}
		}
	}
}

func TestASecretThatWasThereIsNoHold(t *testing.T) {
	t.Parallel()
	for _, c := range credentials {
		was := "x = 1\n" + c.line + "\ny = 2\n"
		for name, cs := range map[string]Changeset{
			"another line changes": modify("a.py", was, strings.Replace(was, "x = 1", "x = 3", 1)),
			"the line moves":       modify("a.py", was, "x = 1\ny = 2\nif y:\n\t"+c.line+"\n"),
			"the line goes":        modify("a.py", was, "x = 1\n"),
			"the file goes":        remove("a.py", was),
			"line ends change":     modify("a.py", was, strings.ReplaceAll(was, "\n", "\r\n")),
		} {
			if got := secretsOf(cs); len(got) > 0 {
				t.Errorf("%s, %s: %q", c.line, name, got)
			}
		}
	}
}

func TestFilesThatLookRandomAreNotSearched(t *testing.T) {
	t.Parallel()
	line := credentials[len(credentials)-4].line
	for _, name := range []string{"poetry.lock", "web/package-lock.json", "go.sum"} {
		if got := secretsOf(create(name, line)); len(got) > 0 {
			t.Errorf("%s: %q", name, got)
		}
	}
	for what, text := range map[string]string{"binary": line + "\x00", "a long line": strings.Repeat("a", longestLine) + line} {
		if got := secretsOf(create("a.js", text)); len(got) > 0 {
			t.Errorf("%s: %q", what, got)
		}
	}
}

func TestEachNewSecretIsNamed(t *testing.T) {
	t.Parallel()
	got := secretsOf(create("a.py", credentials[2].line+"\n\n"+credentials[3].line+"\n"))
	want := []string{"a.py true Line 1 holds what looks like an AWS access key.", "a.py true Line 3 holds what looks like a GitHub token."}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
