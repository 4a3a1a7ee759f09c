package disguise

import (
	"encoding/base32"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"strings"
	"testing"
)

// key has an issuer's form; only the name of word tells that it is a secret. Neither is anyone's.
var (
	key  = "AKIA" + "Q3EGRTV7XLPWMNZ4"
	word = "wJalrXUtn" + "FEMI7Q9bPxRfiCYzzpQmKLkEyAb8w9"
)

func TestDisguises(t *testing.T) {
	t.Parallel()
	numbers := func(format string) string {
		var list []string
		for _, c := range []byte(key) {
			list = append(list, fmt.Sprintf(format, c))
		}
		return strings.Join(list, ", ")
	}
	hexes := func(format string) (text string) {
		for _, c := range []byte(key) {
			text += fmt.Sprintf(format, c)
		}
		return text
	}
	for name, text := range map[string]string{
		"two strings":           `k = "` + key[:7] + `" + "` + key[7:] + `"`,
		"two lines":             "k = (\n    \"" + key[:9] + "\"\n    \"" + key[9:] + "\"\n)",
		"lines that are added":  "const k = '" + key[:9] + "' +\n  '" + key[9:] + "';",
		"a list":                `k = "".join(["` + key[:5] + `", "` + key[5:11] + `", "` + key[11:] + `"])`,
		"a list of lines":       "k = [\n  \"" + key[:9] + "\",\n  \"" + key[9:] + "\",\n]",
		"turned round":          `k = "` + reversed(key) + `"[::-1]`,
		"escapes":               `k = "` + hexes(`\x%02x`) + `"`,
		"escapes in part":       `k = "\x41\x4b` + key[2:] + `"`,
		"escapes of scripts":    `k = "` + hexes(`\u00%02x`) + `"`,
		"numbers":               "k = bytes([" + numbers("%d") + "])",
		"numbers in base 16":    "k := []byte{" + numbers("0x%02x") + "}",
		"base 16":               `k = "` + hex.EncodeToString([]byte(key)) + `"`,
		"base 64":               `k = "` + base64.StdEncoding.EncodeToString([]byte("id="+key)) + `"`,
		"base 64 of addresses":  `k: ` + base64.RawURLEncoding.EncodeToString([]byte("??>>"+key+" ")),
		"base 32":               `k = "` + base32.StdEncoding.EncodeToString([]byte(key)) + `"`,
		"an address":            `k = "%41%4B%49%41` + key[4:] + `"`,
		"base 64 in two pieces": `k = "` + base64.StdEncoding.EncodeToString([]byte(key))[:11] + `" + "` + base64.StdEncoding.EncodeToString([]byte(key))[11:] + `"`,
		"a name and two lines":  "TOKEN = (\n    \"" + word[:13] + "\"\n    \"" + word[13:] + "\"\n)",
		"a name and a sum":      `password = "` + word[:13] + `" + "` + word[13:] + `"`,
		"a folded value":        "a: 1\npassword: >-\n  " + word[:20] + "\n  " + word[20:],
	} {
		found := Find("first\n"+text+"\nlast\n", nil)
		if len(found) != 1 || !strings.HasSuffix(found[0].Rule, "in pieces or encoded") || strings.Contains(found[0].Rule, key[4:]) {
			t.Errorf("%s: %+v\n%s", name, found, text)
		}
		known := map[string]bool{}
		for _, line := range strings.Split(text, "\n") {
			known[strings.TrimSpace(line)] = true
		}
		if found := Find("first\n"+text+"\nlast\n", known); len(found) > 0 {
			t.Errorf("%s, which was there: %+v", name, found)
		}
	}
}

// Ordinary text is not a disguise, however much of it looks encoded.
func TestOrdinaryText(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		`TOKENS = ["if1", "else2", "while3", "for4", "return5", "yield6"]`, "KEYWORDS = (\n    \"a quick brown\"\n    \" fox jumps 7 times\"\n)",
		`sum = "d2a84f4b8b650937ec8f73cd8be2c74add5a911ba64df27458ed8229da804a26"`, `integrity = "sha512-` + base64.StdEncoding.EncodeToString([]byte(strings.Repeat("0123456789", 6))) + `"`,
		"table = [" + strings.Repeat("10, 20, 30, ", 20) + "40]", `text = "\x1b[31m\x1b[0m"`, `image = "` + base64.StdEncoding.EncodeToString([]byte(strings.Repeat("\x00\x01\xff", 40))) + `"`,
		`token = prefix + "abc" + suffix`, `password = os.environ["SHOP_PASSWORD"] + "@" + "db.example.com"`, "description: >-\n  The password is read\n  from the environment 24 times",
		`API_KEY_HEADER = "X-Api-Key"`, `name = "` + strings.Repeat("very-long-name-", 10) + `"`, `k = "` + "AKIA" + "IOSFODNN7EXAMPLE" + `"[::-1]`,
	} {
		if found := Find(text+"\n", nil); len(found) > 0 {
			t.Errorf("%+v\n%s", found, text)
		}
	}
}

func FuzzFind(f *testing.F) {
	f.Add("k = (\n\"a\"\n\"b\"\n)", "x")
	f.Add(`k = "\x41\u0042\u{43}%41" + 'QUtJQQ=='`, "k")
	f.Add("password: >-\n  a\n  b", "")
	f.Fuzz(func(t *testing.T, text, known string) {
		lines := strings.Count(text, "\n") + 1
		for _, found := range Find(text, map[string]bool{known: true}) {
			if found.Line < 1 || found.Line > lines || found.Rule == "" {
				t.Fatalf("%+v of %d lines", found, lines)
			}
		}
	})
}

// Text for a model or a log contains no part of a credential, however it is written; restore puts it back into an answer.
func TestNoPartOfWhatIsDisguisedLeaves(t *testing.T) {
	t.Parallel()
	half := len(key) / 2
	coded := base64.StdEncoding.EncodeToString([]byte(key))
	for name, c := range map[string]struct {
		text  string
		parts []string // none of these may remain
	}{
		"side by side":  {"k = '" + key[:half] + "' + \"" + key[half:] + "\"\n", []string{key[:half], key[half:]}},
		"in a list":     {"const k = [\n  \"" + key[:half] + "\",\n  \"" + key[half:] + "\",\n].join(\"\");\nnext(\"one\");\n", []string{key[:half], key[half:]}},
		"encoded":       {"k = decode(\"" + coded + "\")\n", []string{coded}},
		"in a manifest": {"data:\n  id: " + coded + "\n  kind: ConfigurationOfTheService\n", []string{coded}},
		"turned round":  {"k = \"" + reversed(key) + "\"[::-1]\n", []string{reversed(key)}},
		"by their name": {"password = (\n    \"" + word[:20] + "\"\n    \"" + word[20:] + "\"\n)\n", []string{word[:20], word[20:]}},
		"folded":        {"password: >-\n  " + word[:20] + "\n  " + word[20:] + "\nnext: one\n", []string{word[:20], word[20:]}},
		"in the open":   {"k = \"" + key + "\"\n", []string{key}},
	} {
		hidden, restore := Hide(c.text)
		for _, part := range c.parts {
			if strings.Contains(hidden, part) {
				t.Errorf("%s: %q is left in %q", name, part, hidden)
			}
		}
		if restore(hidden) != c.text {
			t.Errorf("%s: %q comes back as %q", name, c.text, restore(hidden))
		}
		if strings.Contains(c.text, "next") && !strings.Contains(hidden, "one") || strings.Contains(c.text, "kind") && !strings.Contains(hidden, "ConfigurationOfTheService") {
			t.Errorf("%s: too much is hidden: %q", name, hidden)
		}
	}
}

func TestOrdinaryTextIsNotHidden(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"names = [\"alpha\", \"beta\",\n    \"gamma\"]\n", "hash = \"d41d8cd98f00b204e9800998ecf8427e\"\n", "data = [0x41, 0x42, 0x43]\n", "url = \"https://example.com/\" + path + \"/index.html\"\n",
		"integrity: sha512-" + base64.StdEncoding.EncodeToString([]byte("a digest, which looks like anything else at all")) + "\n",
	} {
		if hidden, _ := Hide(text); hidden != text {
			t.Errorf("%q became %q", text, hidden)
		}
	}
}

func BenchmarkHide(b *testing.B) {
	text := strings.Repeat("\tname := []string{\"alpha\", \"beta\"} // what follows = (a, b)\nif x == \"\" { return fmt.Errorf(\"nothing: %w\", err) }\n", 1<<13)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		Hide(text)
	}
}
