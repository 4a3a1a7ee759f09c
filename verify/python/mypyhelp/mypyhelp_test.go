package mypyhelp

import (
	"testing"

	"agent/verify/check"
)

func TestMypyCodesAreLinkedWhereTheyAreListed(t *testing.T) {
	t.Parallel()
	for code, want := range map[string]string{
		"arg-type": docs + ".html#code-arg-type", "type-arg": docs + "2.html#code-type-arg",
		"": "", "no-such-code": "", "arg-type#x": "",
	} {
		if got := Of(code); got != want || got != "" && check.Link(got) != got {
			t.Errorf("%q: %q, want %q", code, got, want)
		}
	}
}
