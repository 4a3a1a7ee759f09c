package workspace

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// Each rule has a shortest and a surest form: one character less, or a letter
// that the issuer does not use, is no credential. Values are put together from
// drawn, so that no scanner of this file finds one.
func TestARuleEndsWhereItsFormEnds(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, yes, no string }{
		{"the length of an AWS key", "AK" + "IAQ7RK2VXM5TBL4WZP", "AK" + "IAQ7RK2VXM5TBL4WZ"},
		{"letters of an AWS key", "AS" + "IAQ7RK2VXM5TBL4WZP", "AS" + "IAQ7RK2VXM5TBL4WZ1"},
		{"an AWS key within a word", "id:AK" + "IAQ7RK2VXM5TBL4WZP", "idAK" + "IAQ7RK2VXM5TBL4WZP"},
		{"the length of a GitHub token", "gh" + "s_" + drawn[:36], "gh" + "s_" + drawn[:35]},
		{"the kind of a GitHub token", "gh" + "o_" + drawn[:36], "gh" + "a_" + drawn[:36]},
		{"the length of a fine-grained token", "github" + "_pat_" + drawn + drawn[:10], "github" + "_pat_" + drawn + drawn[:9]},
		{"the length of a GitLab token", "glp" + "at-" + drawn[:20], "glp" + "at-" + drawn[:19]},
		{"the kind of a Slack token", "xo" + "xp-" + drawn[:20], "xo" + "xz-" + drawn[:20]},
		{"the length of a Slack token", "xo" + "xs-" + drawn[:20], "xo" + "xs-" + drawn[:19]},
		{"the length of a Google key", "AI" + "za" + drawn[:35], "AI" + "za" + drawn[:34]},
		{"a key in the midst of a name", "x s" + "k-" + drawn, "task" + "-s" + "k-" + drawn},
		{"the length of a key", "s" + "k-" + drawn[:32], "s" + "k-" + drawn[:31]},
		{"a key for trial", "r" + "k_live_" + drawn[:20], "r" + "k_trial_" + drawn[:20]},
		{"the length of an npm token", "np" + "m_" + drawn[:36], "np" + "m_" + drawn[:37]},
		{"the length of a PyPI token", "py" + "pi-" + drawn + drawn[:20], "py" + "pi-" + drawn + drawn[:19]},
		{"the parts of a JWT", "ey" + "J" + drawn[:10] + ".ey" + "J" + drawn[:10] + "." + drawn[:20], "ey" + "J" + drawn[:10] + "." + drawn[:20]},
		{"the signature of a JWT", "ey" + "J" + drawn[:10] + ".ey" + "J" + drawn[:10] + "." + drawn[:20], "ey" + "J" + drawn[:10] + ".ey" + "J" + drawn[:10] + "." + drawn[:19]},
		{"a public key", "-----BEGIN " + "EC PRIVATE KEY-----", "-----BEGIN EC PUBLIC KEY-----"},
		{"a key block of PGP", "-----BEGIN " + "PGP PRIVATE KEY BLOCK-----", "-----END " + "PGP PRIVATE KEY BLOCK-----"},
		{"a password in an address", "redis://app:" + drawn[:6] + "@cache", "redis://app:" + drawn[:5] + "@cache"},
		{"an address without a user", "amqp://app:" + drawn[:8] + "@queue", "amqp://" + drawn[:8] + "@queue"},
		{"a variable in an address", "amqp://app:" + drawn[:8] + "@queue", "amqp://app:{" + drawn[:8] + "}@queue"},
		{"the length of a literal", "token = \"" + drawn[:12] + "\"", "token = \"" + drawn[:11] + "\""},
		{"the name of a literal", "passwd = '" + drawn[:16] + "'", "digest = '" + drawn[:16] + "'"},
		{"the quotes of a literal", "secret: '" + drawn[:16] + "'", "secret: " + drawn[:16]},
		{"a comparison with a literal", "secret = '" + drawn[:16] + "'", "secret == '" + drawn[:16] + "'"},
	} {
		if rule, ok := secretIn(c.yes); !ok {
			t.Errorf("%s: %s is let through", c.name, c.yes)
		} else if rule == "" {
			t.Errorf("%s: %s has no name", c.name, c.yes)
		}
		if rule, ok := secretIn(c.no); ok {
			t.Errorf("%s: %s is taken for %s", c.name, c.no, rule)
		}
	}
}

// The first rule that fits a line counts, and a value that is an example
// hides no other on its line.
func TestTheFirstRuleThatFitsNamesTheLine(t *testing.T) {
	t.Parallel()
	aws, git := "AK"+"IAQ7RK2VXM5TBL4WZP", "gh"+"p_"+drawn[:36]
	for line, want := range map[string]string{
		git + " " + aws:                    "an AWS access key",
		"token = \"" + git + "\"":          "a GitHub token",
		"AK" + "IAIOSFODNN7EXAMPLE " + aws: "an AWS access key",
		"AK" + "IAIOSFODNN7EXAMPLE " + git: "a GitHub token",
		"API_KEY=\"" + drawn[:20] + "\"":   "a secret given as a literal",
		"Access-Key = 1":                   "",
		"":                                 "",
	} {
		rule, ok := secretIn(line)
		if rule != want || ok != (want != "") {
			t.Errorf("%s: %q, %v; want %q", line, rule, ok, want)
		}
	}
}

// Only a line with a quotation mark and a word for a secret is worth the
// expression of literals.
func TestLinesThatMayAssignASecret(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]bool{
		`PASSWORD = "a"`: true, `x['key']`: true, `Token: 'a'`: true, `secretName("a")`: true, `monkey = "a"`: true,
		`password = a`: false, `name = "a"`: false, "token = `a`": false, `"pass" 'word'`: false, "": false,
	} {
		if got := mayAssign(line); got != want {
			t.Errorf("%s: %v, want %v", line, got, want)
		}
	}
}

// The entropy of n different characters, each as often as the others, is the
// logarithm of n.
func TestRandomnessIsMeasuredInBitsACharacter(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		value string
		least float64
		want  bool
	}{
		{"abcdefgh", 3, true},
		{"abcdefgh", 3.1, false},
		{"aabbccddeeffgghh", 3, true},
		{"abababab", 1, true},
		{"abababab", 1.1, false},
		{"aaaaaaaa", 0.1, false},
		{"äö", 1, true}, // characters are counted, not bytes
		{"äö", 1.1, false},
		{drawn, 4.5, true},
		{drawn + "example", 1, false},
		{drawn + "CHANGEME", 1, false},
		{"your" + drawn, 1, false},
		{"", 1, false},
	} {
		if got := random(c.value, c.least); got != c.want {
			t.Errorf("%q has %g bits: %v, want %v", c.value, c.least, got, c.want)
		}
	}
}

// Words, paths and calls are names; a digit among letters makes a value, as
// do the signs of base 64.
func TestNamesAreMadeOfWords(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]bool{
		"user.settings.label": true, "projects/app/keys/v2": true, "items[0]": true, "call(1)": true, "ab+cd=": true,
		"a1b2c3": false, "a1/b2+c3": false, "a1/b2==": false, "v2.settings": false,
	} {
		if got := isName(value); got != want {
			t.Errorf("%s: %v, want %v", value, got, want)
		}
	}
}

// Lines are counted from 1 whatever ends them, those that are known or too
// long too.
func TestFindingsCountTheirLines(t *testing.T) {
	t.Parallel()
	line := "t = gh" + "p_" + drawn[:36]
	long := strings.Repeat("a", longestLine-len(line)-2) + " " + line
	for _, c := range []struct {
		name, text string
		known      map[string]bool
		want       []int
	}{
		{"nothing", "", nil, nil},
		{"no newline", line, nil, []int{1}},
		{"line ends of two bytes", "a\r\n" + line + "\r\n" + line, nil, []int{2, 3}},
		{"two on a line", line + " " + line + "\n", nil, []int{1}},
		{"known", "a\n  " + line + "\t\nb\n" + line + "x\n", map[string]bool{line: true}, []int{4}},
		{"as long as is searched", "a\n" + long + "\n", nil, []int{2}},
		{"longer by one byte", "a\na" + long + "\n" + line, nil, []int{3}},
	} {
		var got []int
		for _, f := range findSecrets([]byte(c.text), c.known) {
			got = append(got, f.line)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: lines %v, want %v", c.name, got, c.want)
		}
	}
}

// A rule is tried only on lines with one of its marks: a mark that its own
// expression can do without would hide credentials.
func TestTheMarksOfARuleStandInWhatItFinds(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, c := range credentials {
		for _, r := range secretRules {
			if !r.form.MatchString(c.line) {
				continue
			}
			seen[r.name] = true
			if !slices.ContainsFunc(r.marks, func(m string) bool { return strings.Contains(c.line, m) }) {
				t.Errorf("%s: %s has none of %q", r.name, c.line, r.marks)
			}
		}
	}
	for _, r := range secretRules {
		if !seen[r.name] {
			t.Errorf("no credential of the tests is %s", r.name)
		}
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
	c := Change{Op: Modify, Path: "a.py", Before: []byte("a\n"), After: []byte("a\nb\n-----BEGIN " + "PRIVATE KEY-----\n")}
	for _, h := range c.secretHolds() {
		fmt.Println(h.Path, h.Kind, h.Block, h.Reason)
	}
	// Output: a.py secret true Line 3 holds what looks like a private key.
}
