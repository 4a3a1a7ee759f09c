package secret

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"strings"
	"testing"
)

// Output is cut at any byte: the rest of a key at either end is masked, in every form.
func TestPartsOfAKeyAtTheEndsOfOutputAreMasked(t *testing.T) {
	t.Parallel()
	secret := "Canary+0123456789/abcdef=ghijklmnopqrstu"
	const mark = "[key 0123abcd]"
	mask := NewOutputMasker(Known{secret, mark})
	for _, form := range []string{
		secret, hex.EncodeToString([]byte(secret)), strings.ToUpper(hex.EncodeToString([]byte(secret))), base64.StdEncoding.EncodeToString([]byte(secret)),
		base64.RawURLEncoding.EncodeToString([]byte(secret)),
	} {
		for n := 8; n <= len(form); n++ {
			for text, want := range map[string]string{
				"said: " + form[:n]:             "said: " + mark,
				form[len(form)-n:] + " is said": mark + " is said",
				"said: " + form[:n] + " …":      "said: " + mark + " …",
			} {
				if got := mask(text); got != want {
					t.Fatalf("%q became %q, want %q", text, got, want)
				}
			}
		}
	}
	for _, text := range []string{"", "Canary+", "said: Canary+", "012345678 and 9/abcdef=", mark, "Canary+01 and more", "…"} {
		if got := mask(text); got != text {
			t.Errorf("%q became %q", text, got)
		}
	}
}

// E09: short secrets would destroy ordinary text, so they are not masked. Each line of a secret with several lines is
// masked, and no character of a secret has a special meaning.
func TestOddSecretsInOutput(t *testing.T) {
	t.Parallel()
	lines := "-----BEGIN KEY-----\nfirst-line-of-it\n  second/line+of=it\nshort\n-----END KEY-----"
	quoted, err := json.Marshal("a<b>&c\"d\\e/f")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ secret, text, want string }{
		{"abc", "abc abcabc", "abc abcabc"},
		{"1234567", "1234567", "1234567"},
		{"12345678", "x12345678x", "x[key]x"},
		{"a.*b|c+(d", "a.*b|c+(d aXXb", "[key] aXXb"},
		{"[0-9]+{8}$", "12345678 [0-9]+{8}$", "12345678 [key]"},
		{lines, lines, "[key]"},
		{lines, "> first-line-of-it\n>   second/line+of=it\n> short\n", "> [key]\n>   [key]\n> short\n"},
		{lines, "-----BEGIN KEY-----", "-----BEGIN KEY-----"},
		{"a<b>&c\"d\\e/f", string(quoted), "\"[key]\""},
		{"a<b>&c-d/e/f", "a&lt;b&gt;&amp;c-d/e/f", "[key]"},
		{"a<b>&c-d/e/f", `a<b>&c-d\/e\/f`, "[key]"},
	} {
		if got := NewOutputMasker(Known{c.secret, "[key]"})(c.text); got != c.want {
			t.Errorf("%q in %q: %q, want %q", c.secret, c.text, got, c.want)
		}
	}
}

func TestAMaskerHoldsAndMasksEveryForm(t *testing.T) {
	t.Parallel()
	m := NewMasker(Known{"s3cr+t/x", "[key]"}, Known{"abc", "[short]"})
	for text, want := range map[string]string{"a s3cr+t/x b": "a [key] b", "s3cr%2Bt%2Fx": "[key]", "abc": "abc"} {
		if got := m.Mask(text); got != want || m.Holds(text) != (want != text) {
			t.Errorf("%q: %q, held %v", text, got, m.Holds(text))
		}
	}
	if m.Longest() < len("s3cr+t/x")*2 || NewMasker().Longest() != 0 || NewMasker().Holds("x") {
		t.Error("the longest form is not known")
	}
}
