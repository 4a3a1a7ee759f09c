package web

import (
	"maps"
	"slices"
	"testing"

	"agent/sandbox"
	"agent/sandbox/workspace"
	"agent/verify/check"
	"agent/verify/checktest"
)

func TestOnlyPagesThatNothingBuildsOrServesAreFollowed(t *testing.T) {
	t.Parallel()
	page := map[string]string{"site/index.html": "", "site/a.css": "", "templates/b.html": ""}
	for name, c := range map[string]struct {
		more map[string]string
		want int
	}{
		"static":              {nil, 2},
		"with a tool":         {map[string]string{"tool.py": "print('flasks')\n", "notes.md": ""}, 2},
		"npm":                 {map[string]string{"web/package.json": ""}, 0},
		"php":                 {map[string]string{"a.php": ""}, 0},
		"Jekyll":              {map[string]string{"_config.yml": ""}, 0},
		"Flask":               {map[string]string{"app/x.py": "from flask import Flask\n"}, 0},
		"a server of its own": {map[string]string{"x.py": "import http.server\n"}, 0},
		"Go":                  {map[string]string{"go.mod": ""}, 0},
	} {
		files := maps.Clone(page)
		maps.Copy(files, c.more)
		v := check.NewView(&workspace.Manifest{}, check.Plant(files))
		if got := staticPages(v); len(got) != c.want || (linksApply(v) == "") != (c.want > 0) {
			t.Errorf("%s: %q", name, got)
		}
	}
	if got := staticPages(check.NewView(&workspace.Manifest{}, check.Plant(map[string]string{"a.css": ""}))); got != nil {
		t.Errorf("styles with no page: %q", got)
	}
}

func TestBrokenReferencesAreSeenAndNothingElse(t *testing.T) {
	t.Parallel()
	bad := map[string]string{ // each has one fault on its second line
		"link.html":     "\n<a href=\"gone.html\">a</a>\n",
		"deep/up.html":  "\n<img src=\"img/a%20b.png\">\n",
		"script.html":   "\n<script src=\"js/gone.js?v=1\"></script>\n",
		"style.html":    "\n<link rel=\"Stylesheet\" href='css/gone.css'>\n",
		"srcset.html":   "\n<img srcset=\"img/a%20b.png 1x, img/gone.png 2x\">\n",
		"root.html":     "\n<a href=\"/gone.html\">a</a>\n",
		"letters.html":  "\n<img src=\"IMG/a b.PNG\">\n",
		"fragment.html": "<p id=\"there\">a</p>\n<a href=\"#there\">a</a><a href=\"#gone\">b</a>\n",
		"css/url.css":   "/* url(no.png) */\na { background: url( '../img/gone.png' ) }\n",
		"css/more.css":  "@import \"url.css\";\n@import \"gone.css\";\n",
	}
	sound := map[string]string{
		"img/a b.png": "", "css/a.css": "a { background: url(data:image/png;base64,AA) }\nb { src: url(../img/a%20b.png#x) }\n",
		".gitignore": "*.min.js\n/assets/\n", "agent.toml": "exclude = [\"media/**\"]\n",
		"ok/index.html": "<a href=\"../link.html#x\"></a><a href=\"?a=b.html\"></a><a href=\"#\"></a><a href=\"#top\"></a><a href='about'></a><a href='docs/'></a>" +
			"<a href=\"https://a.example/b.html\"></a><a href=\"//a.example/b.html\"></a><a href=\"mailto:a@b.html\"></a><a href=\"javascript:a.html\"></a>",
		"ok/made.html":    "<script src=\"a.min.js\"></script><script src=\"../dist/a.js\"></script><img src=\"../assets/a.png\"><img src='../media/b.png'>",
		"ok/root.html":    "<img src=\"/img/a%20b.png\"><img src=\"/project/img/a%20b.png\"><img src=\"/index.html\">",
		"ok/outside.html": "<img src=\"../../elsewhere/a.png\">",
		"ok/canon.html":   "<link rel=canonical href=\"gone.html\"><base-a href='gone.html'></base-a>",
		"ok/odd.html":     "<img src=\"${a}.png\"><a href='[x].html'></a><a href=\"%ff.html\"></a><a href='http://[.html'></a>",
		"ok/base.html":    "<base href=\"/x/\"><a href=\"gone.html\"></a>",
		"ok/jinja.html":   "<a href=\"gone.html\">{{ a }}</a>",
		"ok/made-id.html": "<script>make()</script><a href=\"#made\"></a>",
		"ok/raw.html":     "<!-- <a href='gone.html'> --><script>'<a href=\"gone.html\">'</script>",
	}
	files := maps.Clone(bad)
	maps.Copy(files, sound)
	b := checktest.NewBench(t, files, sandbox.Limits{})
	out := runLinks(t.Context(), b)
	if out.Verdict != "" {
		t.Fatalf("%+v", out)
	}
	var got []string
	for _, f := range out.Findings {
		if f.Line != 2 || f.Source == "" {
			t.Errorf("%+v", f)
		}
		got = append(got, f.File)
	}
	if want := slices.Sorted(maps.Keys(bad)); !slices.Equal(slices.Sorted(slices.Values(got)), want) {
		t.Errorf("%q, want %q", got, want)
	}
}
