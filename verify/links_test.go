package verify

import (
	"testing"

	"agent/verify/check"
	"agent/verify/checktest"
	"agent/verify/web"
)

func TestARemovedFileBreaksThePagesThatReferToIt(t *testing.T) {
	t.Parallel()
	s := newSite(t, map[string]string{"index.html": "<a href=\"a.html\">a</a><a href=\"old.html\">b</a>\n", "a.html": "<p>a</p>\n"})
	r := s.verify(t, map[string]string{"a.html": "-"})
	expect(t, r, check.Fail, check.GateLint)
	f := checktest.Single(t, find(t, r, check.GateLint), "broken-link", "index.html", 1)
	if g := find(t, r, check.GateLint); g.Old != 1 || f.Message != "no such file: a.html (a.html)" || f.Tool != web.LinksName {
		t.Errorf("%+v", g)
	}
	r = s.verify(t, map[string]string{"index.html": "<a href=\"a.html\">a</a><a href=\"old.html\">b</a><a href=\"b.html\">c</a>\n", "b.html": "<p>b</p>\n"})
	expect(t, r, check.Pass)
}
