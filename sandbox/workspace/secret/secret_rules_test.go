package secret

import (
	"slices"
	"strings"
	"testing"

	"agent/sandbox/workspace/secret/secrettest"
)

// Each rule has a shortest form: with one character less, or a letter that the issuer does not use, it is not a
// credential. Values are put together from secrettest.Drawn, so that no scanner of this file finds one.
func TestARuleEndsWhereItsFormEnds(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, yes, no string }{
		{"the length of an AWS key", "AK" + "IAQ7RK2VXM5TBL4WZP", "AK" + "IAQ7RK2VXM5TBL4WZ"},
		{"letters of an AWS key", "AS" + "IAQ7RK2VXM5TBL4WZP", "AS" + "IAQ7RK2VXM5TBL4WZ1"},
		{"an AWS key within a word", "id:AK" + "IAQ7RK2VXM5TBL4WZP", "idAK" + "IAQ7RK2VXM5TBL4WZP"},
		{"the length of a GitHub token", "gh" + "s_" + secrettest.Drawn[:36], "gh" + "s_" + secrettest.Drawn[:35]},
		{"the kind of a GitHub token", "gh" + "o_" + secrettest.Drawn[:36], "gh" + "a_" + secrettest.Drawn[:36]},
		{"the length of a fine-grained token", "github" + "_pat_" + secrettest.Drawn + secrettest.Drawn[:10], "github" + "_pat_" + secrettest.Drawn + secrettest.Drawn[:9]},
		{"the length of a GitLab token", "glp" + "at-" + secrettest.Drawn[:20], "glp" + "at-" + secrettest.Drawn[:19]},
		{"the kind of a Slack token", "xo" + "xp-" + secrettest.Drawn[:20], "xo" + "xz-" + secrettest.Drawn[:20]},
		{"the length of a Slack token", "xo" + "xs-" + secrettest.Drawn[:20], "xo" + "xs-" + secrettest.Drawn[:19]},
		{"the length of a Google key", "AI" + "za" + secrettest.Drawn[:35], "AI" + "za" + secrettest.Drawn[:34]},
		{"a key in the midst of a name", "x s" + "k-" + secrettest.Drawn, "task" + "-s" + "k-" + secrettest.Drawn},
		{"the length of a key", "s" + "k-" + secrettest.Drawn[:32], "s" + "k-" + secrettest.Drawn[:31]},
		{"a key for trial", "r" + "k_live_" + secrettest.Drawn[:20], "r" + "k_trial_" + secrettest.Drawn[:20]},
		{"the length of an npm token", "np" + "m_" + secrettest.Drawn[:36], "np" + "m_" + secrettest.Drawn[:37]},
		{"the length of a PyPI token", "py" + "pi-" + secrettest.Drawn + secrettest.Drawn[:20], "py" + "pi-" + secrettest.Drawn + secrettest.Drawn[:19]},
		{"the parts of a JWT", "ey" + "J" + secrettest.Drawn[:10] + ".ey" + "J" + secrettest.Drawn[:10] + "." + secrettest.Drawn[:20], "ey" + "J" + secrettest.Drawn[:10] + "." + secrettest.Drawn[:20]},
		{"the signature of a JWT", "ey" + "J" + secrettest.Drawn[:10] + ".ey" + "J" + secrettest.Drawn[:10] + "." + secrettest.Drawn[:20], "ey" + "J" + secrettest.Drawn[:10] + ".ey" + "J" + secrettest.Drawn[:10] + "." + secrettest.Drawn[:19]},
		{"a public key", "-----BEGIN " + "EC PRIVATE KEY-----", "-----BEGIN EC PUBLIC KEY-----"},
		{"a key block of PGP", "-----BEGIN " + "PGP PRIVATE KEY BLOCK-----", "-----END " + "PGP PRIVATE KEY BLOCK-----"},
		{"a password in an address", "redis://app:" + secrettest.Drawn[:6] + "@cache", "redis://app:" + secrettest.Drawn[:5] + "@cache"},
		{"an address without a user", "amqp://app:" + secrettest.Drawn[:8] + "@queue", "amqp://" + secrettest.Drawn[:8] + "@queue"},
		{"a variable in an address", "amqp://app:" + secrettest.Drawn[:8] + "@queue", "amqp://app:{" + secrettest.Drawn[:8] + "}@queue"},
		{"the length of a literal", "token = \"" + secrettest.Drawn[:12] + "\"", "token = \"" + secrettest.Drawn[:11] + "\""},
		{"the name of a literal", "passwd = '" + secrettest.Drawn[:16] + "'", "digest = '" + secrettest.Drawn[:16] + "'"},
		{"the quotes of a literal", "secret: '" + secrettest.Drawn[:16] + "'", "secret: " + secrettest.Drawn[:16]},
		{"a comparison with a literal", "secret = '" + secrettest.Drawn[:16] + "'", "secret == '" + secrettest.Drawn[:16] + "'"},
	} {
		if rule, ok := InLine(c.yes); !ok {
			t.Errorf("%s: %s is let through", c.name, c.yes)
		} else if rule == "" {
			t.Errorf("%s: %s has no name", c.name, c.yes)
		}
		if rule, ok := InLine(c.no); ok {
			t.Errorf("%s: %s is taken for %s", c.name, c.no, rule)
		}
	}
}

// The first rule that fits a line counts, and an example value does not hide another value on its line.
func TestTheFirstRuleThatFitsNamesTheLine(t *testing.T) {
	t.Parallel()
	aws, git := "AK"+"IAQ7RK2VXM5TBL4WZP", "gh"+"p_"+secrettest.Drawn[:36]
	for line, want := range map[string]string{
		git + " " + aws:                             "an AWS access key",
		"token = \"" + git + "\"":                   "a GitHub token",
		"AK" + "IAIOSFODNN7EXAMPLE " + aws:          "an AWS access key",
		"AK" + "IAIOSFODNN7EXAMPLE " + git:          "a GitHub token",
		"API_KEY=\"" + secrettest.Drawn[:20] + "\"": "a secret given as a literal",
		"Access-Key = 1":                            "",
		"":                                          "",
	} {
		rule, ok := InLine(line)
		if rule != want || ok != (want != "") {
			t.Errorf("%s: %q, %v; want %q", line, rule, ok, want)
		}
	}
}

// The expression for literals is tried only on lines with a quotation mark and a word for a secret.
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

// The entropy of n different characters, each equally frequent, is the logarithm of n.
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
		{secrettest.Drawn, 4.5, true},
		{secrettest.Drawn + "example", 1, false},
		{secrettest.Drawn + "CHANGEME", 1, false},
		{"your" + secrettest.Drawn, 1, false},
		{"", 1, false},
	} {
		if got := random(c.value, c.least); got != c.want {
			t.Errorf("%q has %g bits: %v, want %v", c.value, c.least, got, c.want)
		}
	}
}

// Words, paths and calls are names; a digit among letters, or the signs of base 64, make a value.
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

// Lines are counted from 1 whatever ends them, including known lines and lines that are too long.
func TestFindingsCountTheirLines(t *testing.T) {
	t.Parallel()
	line := "t = gh" + "p_" + secrettest.Drawn[:36]
	long := strings.Repeat("a", MaxLine-len(line)-2) + " " + line
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
		for _, f := range Find([]byte(c.text), c.known) {
			got = append(got, f.Line)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: lines %v, want %v", c.name, got, c.want)
		}
	}
}

// A rule is tried only on lines with one of its marks. A mark that its expression does not require would hide
// credentials.
func TestTheMarksOfARuleStandInWhatItFinds(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, c := range secrettest.Credentials {
		for _, r := range rules {
			if !r.form.MatchString(c.Line) {
				continue
			}
			seen[r.name] = true
			if !slices.ContainsFunc(r.marks, func(m string) bool { return strings.Contains(c.Line, m) }) {
				t.Errorf("%s: %s has none of %q", r.name, c.Line, r.marks)
			}
		}
	}
	for _, r := range rules {
		if !seen[r.name] {
			t.Errorf("no credential of the tests is %s", r.name)
		}
	}
}
