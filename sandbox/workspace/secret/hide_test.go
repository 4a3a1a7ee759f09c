package secret

import (
	"strings"
	"testing"

	"agent/sandbox/workspace/secret/secrettest"

	"pgregory.net/rapid"
)

// aKey is a private key in the form of a key file.
var aKey = "-----BEGIN " + "RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\n\n" + secrettest.Drawn + "\n" + secrettest.Drawn[5:] + "\n" + secrettest.Drawn[:6] + "==\n-----END RSA PRIVATE KEY-----\n"

// secretPart is how many consecutive bytes of a credential may not be visible.
const secretPart = 12

func TestSecretsAreHiddenAndComeBack(t *testing.T) {
	for _, c := range secrettest.Credentials {
		if c.Rule == "private key" {
			continue // the line alone is not a key
		}
		text := "before\n" + c.Line + "\nafter\n"
		hidden, restore := Hide(text, nil)
		if !strings.Contains(hidden, "[secret 1]") || !strings.HasPrefix(hidden, "before\n") || !strings.HasSuffix(hidden, "\nafter\n") {
			t.Errorf("%q became %q", text, hidden)
		}
		for i := range len(secrettest.Drawn) - secretPart {
			if part := secrettest.Drawn[i : i+secretPart]; strings.Contains(c.Line, part) && strings.Contains(hidden, part) {
				t.Errorf("%q still shows %q: %q", c.Line, part, hidden)
			}
		}
		if got := restore(hidden); got != text {
			t.Errorf("%q came back as %q", text, got)
		}
	}
	for _, line := range secrettest.Harmless {
		if hidden, _ := Hide(line, nil); hidden != line {
			t.Errorf("%q became %q", line, hidden)
		}
	}
}

func TestAPrivateKeyIsHiddenWhole(t *testing.T) {
	for name, text := range map[string]string{
		"in a file":   aKey,
		"in a string": "key = \"" + strings.ReplaceAll(aKey, "\n", "\\n") + "\"\nx = 1\n",
		"in a diff":   "+" + strings.ReplaceAll(aKey, "\n", "\n+") + "x = 1\n",
		"cut off":     aKey[:strings.Index(aKey, secrettest.Drawn[5:])+20] + "\n",
	} {
		hidden, restore := Hide(text, nil)
		for i := 0; i+secretPart < len(secrettest.Drawn); i++ {
			if strings.Contains(hidden, secrettest.Drawn[i:i+secretPart]) {
				t.Errorf("%s: the key is shown:\n%s", name, hidden)
				break
			}
		}
		if restore(hidden) != text || !strings.Contains(hidden, "PRIVATE KEY-----") {
			t.Errorf("%s: it became\n%s\nand came back as\n%s", name, hidden, restore(hidden))
		}
	}
	const code = "if strings.Contains(s, \"-----BEGIN " + "PRIVATE KEY-----\") {\n\treturn true\n}\n"
	if hidden, _ := Hide(code, nil); hidden != code {
		t.Errorf("code that looks for a key lost a part:\n%s", hidden)
	}
}

// A credential has the same mark wherever it occurs, and a mark that the text already contains does not stand for a
// secret.
func TestMarksAreOnePerSecret(t *testing.T) {
	a, b := "gh"+"p_"+secrettest.Drawn[:36], "gh"+"p_"+secrettest.Drawn[4:]
	text := "see [secret 1]\nt = " + a + "\nu = " + b + "\nlog: bad token " + a + "!\n"
	hidden, restore := Hide(text, nil)
	const want = "see [secret 1]\nt = [secret 2]\nu = [secret 3]\nlog: bad token [secret 2]!\n"
	if hidden != want || restore(hidden) != text {
		t.Errorf("got\n%s\nwant\n%s", hidden, want)
	}
	if got := restore("x [secret 3] [secret 1] [secret 4]"); got != "x "+b+" [secret 1] [secret 4]" {
		t.Errorf("restored %q", got)
	}
}

// Whatever surrounds a secret, restore brings back the text.
func TestHidingLosesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var b strings.Builder
		for range rapid.IntRange(0, 6).Draw(t, "pieces") {
			switch rapid.IntRange(0, 3).Draw(t, "kind") {
			case 0:
				b.WriteString(rapid.String().Draw(t, "text"))
			case 1:
				b.WriteString(secrettest.Credentials[rapid.IntRange(0, len(secrettest.Credentials)-1).Draw(t, "credential")].Line + "\n")
			case 2:
				b.WriteString(aKey)
			case 3:
				b.WriteString("[secret " + rapid.StringMatching(`[0-9]`).Draw(t, "n") + "]")
			}
		}
		hidden, restore := Hide(b.String(), nil)
		if restore(hidden) != b.String() {
			t.Fatalf("%q became %q and %q", b.String(), hidden, restore(hidden))
		}
	})
}
