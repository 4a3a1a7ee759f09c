package python

import (
	"strings"
	"testing"

	"agent/verify/check"
	"agent/verify/python/mypyhelp"
	"agent/verify/verifytest"
)

func TestOnlyPlainAddressesAreLinks(t *testing.T) {
	t.Parallel()
	for _, good := range []string{ruffRules + "unused-import", mypyhelp.Of("type-arg"), "https://a.example/b%20c?d=e"} {
		if got := check.Link(good); got != good {
			t.Errorf("%q becomes %q", good, got)
		}
	}
	for _, bad := range []string{
		"", "docs.astral.sh", "http://a.example/", "javascript:alert(1)", "file:///etc/passwd", "https:///x", "https://user:word@a.example/",
		"https://a.example/\x1b]0;x\x07", "https://a.example/a b", "https://a.example/?\u202e", "https://ａ.example/", "https://a.example/" + strings.Repeat("x", check.MaxMessage),
	} {
		if got := check.Link(bad); got != "" {
			t.Errorf("%q is a link: %q", bad, got)
		}
	}
}

func TestRuffTellsWhatItCanRepair(t *testing.T) {
	t.Parallel()
	for fix, want := range map[string]bool{
		`null`: false, `{"applicability":"safe"}`: true, `{"applicability":"unsafe"}`: false, `{"applicability":"display"}`: false, `{}`: false,
	} {
		line := `{"code":"F401","filename":"/work/a.py","message":"m","location":{"row":1,"column":1},"url":null,"fix":` + fix + "}\n"
		got, err := parseRuff(verifytest.Ended(1, []byte(line), nil))
		if err != nil || len(got) != 1 || got[0].Fixable != want || got[0].Help != "" {
			t.Errorf("fix %s: %+v, %v", fix, got, err)
		}
	}
}
