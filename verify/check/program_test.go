package check

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"agent/sandbox/guest"
	"agent/sandbox/workspace"
)

func TestACommandIsToldAsItIsConfigured(t *testing.T) {
	t.Parallel()
	for want, e := range map[string]Entry{
		"nothing":         {},
		"python3 a.py":    {Args: []string{"/usr/bin/python3", "a.py"}},
		"serve --port 80": {Args: []string{"/usr/bin/env", "--", "serve", "--port", "80"}},
		"go run ./cmd/a":  {Args: []string{"/tmp/a"}, Build: []string{"build", "-o", "/tmp/a", "./cmd/a"}},
		"sh a b":          {Args: []string{"sh", "a\n\x1b[1mb"}},
		"env --":          {Args: []string{"/usr/bin/env", "--", "env", "--"}},
		"":                {Args: []string{"/usr/bin/env"}},
	} {
		args := slices.Clone(e.Args)
		if got := e.String(); got != want || !slices.Equal(args, e.Args) {
			t.Errorf("%q, want %q", got, want)
		}
	}
	if got := (Entry{Args: []string{"x", strings.Repeat("a", 2*MaxMessage)}}).String(); len(got) > MaxMessage+len(" …") {
		t.Errorf("%d bytes", len(got))
	}
}

func TestAnEndingIsToldByWhatItShows(t *testing.T) {
	t.Parallel()
	quiet, served := []guest.Port{{Port: 80}}, []guest.Port{{Port: 80}, {Port: 8080, Status: 404}}
	for want, e := range map[string]Ending{
		"exit status 0":                                             {},
		"exit status 3 crashed":                                     {Exit: 3},
		"ended by SIGSEGV crashed":                                  {Exit: -1, Signal: "SIGSEGV"},
		"still running when the watch was over":                     {Running: true},
		"still running when the watch was over, listens on port 80": {Running: true, Ports: quiet},
		"still running when the watch was over, listens on port 80, server responded on :8080 (404)": {Running: true, Ports: served, Exit: 3},
		"still running after a short look, because nothing says that it is the program":              {Running: true, Glanced: true},
		"ready":                     {Running: true, Settled: true},
		"listens on port 80, ready": {Running: true, Settled: true, Ports: quiet},
		"listens on port 80, server responded on :8080 (404)": {Running: true, Settled: true, Glanced: true, Ports: served},
	} {
		got := e.String()
		if e.Crashed() {
			got += " crashed"
		}
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestASourceLineIsThatOfTheView(t *testing.T) {
	t.Parallel()
	v := NewView(tree(map[string]string{"a.py": "one\n\ttwo\x1b[1m  \r\n", "empty.py": "", "b.py": "gone"}), workspace.Changeset{Changes: []workspace.Change{
		{Op: workspace.Delete, Path: "b.py"}, {Op: workspace.Create, Path: "c.py", After: []byte(strings.Repeat("é", MaxMessage))},
	}})
	s := NewSources(v)
	for range 2 { // the second time from what the first one read
		for place, want := range map[Finding]string{
			{File: "a.py", Line: 1}: "one", {File: "a.py", Line: 2}: "two", {File: "a.py", Line: 3}: "", {File: "a.py", Line: 4}: "", {File: "a.py"}: "", {File: "a.py", Line: -1}: "", {File: "empty.py", Line: 1}: "",
			{File: "b.py", Line: 1}: "", {File: "missing.py", Line: 1}: "", {Line: 1}: "", {File: "../a.py", Line: 1}: "", {File: "c.py", Line: 1}: strings.Repeat("é", MaxMessage/2) + " …",
		} {
			if got := s.Fill([]Finding{place})[0].Source; got != want {
				t.Errorf("%s:%d: %.40q", place.File, place.Line, got)
			}
		}
	}
	if v.Missed([]Finding{{File: "missing.py", Line: 1}, {}, {File: "a.py", Source: "one"}, {File: "b.py"}}) {
		t.Error("a file that was never there has changed on the host")
	}
}

func TestWhatAConfigurationIsMadeOfIsAsInTheBase(t *testing.T) {
	t.Parallel()
	config, sources := []string{"ruff.toml", ".eslintrc.json"}, []string{".py"}
	for text, want := range map[string]bool{
		"": false, "line-length = 80\n": false, "extend = 'base.toml'\n": true, "extends: x": true, `{"extends": []}`: true, `{"plugins" : ["x"]}`: true, "extend-exclude = ['x']": false, `{"\u0065xtends": 1}`: true, "# extended = 1": false, "pluginsx = 1": false,
	} {
		base := OnBase(tree(map[string]string{"sub/ruff.toml": text, "other.toml": "extend = 1\n", "a.py": "", "base.toml": "", "package.json": "{}"}))
		variants := Extending(config, sources)(base, base)
		if Extends(base, config) != want || len(variants) != map[bool]int{true: 1}[want] {
			t.Errorf("%q: %d variants", text, len(variants))
		}
		for _, v := range variants {
			for p, back := range map[string]bool{"base.toml": true, "sub/ruff.toml": true, "a.py": false, "package.json": false, "new.toml": false} {
				if v.Back(p) != back || v.Counts(p) == back {
					t.Errorf("%s: %v", p, v.Back(p))
				}
			}
		}
	}
}

func TestAPatchReachesWhatNeedsItAndAllWhereThatIsNotKnown(t *testing.T) {
	t.Parallel()
	base := map[string]string{"a/x": "", "b/x": "", "a/in/x": "", "web/go.mod": "", "web/x": "", "docs/x": ""}
	for name, c := range map[string]struct {
		path, from string
		around     bool
		unknown    bool
		link       string
		want       string
	}{
		"one":                      {path: "b/x", want: "map[a:false a/in:false b:true c:false]"},
		"what it needs":            {path: "a/x", want: "map[a:true a/in:false b:true c:false]"},
		"the one around":           {path: "a/in/x", around: true, want: "map[a:true a/in:true b:false c:false]"},
		"a rename between two":     {path: "b/y", from: "a/in/x", want: "map[a:false a/in:true b:true c:false]"},
		"what others read":         {path: "web/x", want: "map[a:false a/in:false b:false c:true]"},
		"in no package":            {path: "docs/x", want: "map[]"},
		"at the top":               {path: "x", want: "map[]"},
		"what belongs together":    {path: "a/lock", want: "map[]"},
		"needs that are not known": {path: "b/x", unknown: true, want: "map[]"},
		"a link to another":        {path: "b/x", link: "../b/x", want: "map[]"},
		"a link that stays":        {path: "b/x", link: "./x", want: "map[a:false a/in:false b:true c:false]"},
		"a link up and down again": {path: "b/x", link: "x/../x", want: "map[]"},
		"a link to the host":       {path: "b/x", link: "/work/a/x", want: "map[]"},
	} {
		files := withLink(base, c.link)
		f := Family{
			Roots:  func(View) []string { return []string{"a", "b", "c", "a/in"} },
			Shared: func(p string) bool { return strings.HasSuffix(p, "lock") },
			Needs: func(View, Reach) (map[string][]string, bool) {
				return map[string][]string{"b": {"a"}, "c": {""}}, !c.unknown
			},
			Around: c.around,
		}
		change := workspace.Change{Op: workspace.Modify, Path: c.path}
		if c.from != "" {
			change.Op, change.From = workspace.Rename, c.from
		}
		v := OnBase(tree(files))
		if got := fmt.Sprint(f.Reach(v, v, workspace.Changeset{Changes: []workspace.Change{change}})); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

// withLink returns a tree of files with a link in the directory a, unless link is empty.
func withLink(files map[string]string, link string) map[string]string {
	all := map[string]string{}
	for p, text := range files {
		all[p] = text
	}
	if link != "" {
		all["@a/link"] = link
	}
	return all
}
