package forge_test

import (
	"net/url"
	"strings"
	"testing"

	"agent/orchestrator/forge"
)

// FuzzParseAddress reads any text as a remote. The result fits into a URL and into a directory name, and names no transport other than
// http and https.
func FuzzParseAddress(f *testing.F) {
	for _, text := range []string{
		"https://github.com/shop/till.git", "git@github.com:shop/till.git", "ssh://git@github.com:22/shop/till", "ext::sh -c id", "https://u:p@h/a/b",
		"https://github.com/../../x", "file:///a/b", "::", "a:b/c", "https://github.com/a/b?x#y", "https://[::1]:3000/a/b", "-x:a/b",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		a, err := forge.ParseAddress(text, "https://github.com")
		if err != nil {
			return
		}
		u, err := url.Parse(a.URL())
		if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
			t.Errorf("%q is %q, %v", text, a.URL(), err)
		}
		for _, part := range strings.Split(a.Slug(), "/") {
			if part == "" || part[0] == '.' || part[0] == '-' || strings.ContainsAny(part, " \\:\x00\n") {
				t.Errorf("%q has the part %q", text, part)
			}
		}
	})
}
