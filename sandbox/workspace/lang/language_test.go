package lang

import (
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// The formats without comments and those without tests; every other row has both.
var (
	noComments = []string{"restructuredtext", "asciidoc", "json", "csv"}
	noTests    = []string{
		"gradle", "elm", "shell", "zsh", "nix", "graphql", "lisp", "latex", "html", "vue", "svelte", "astro", "css", "scss", "sass", "less", "xml", "plist",
		"markdown", "mdx", "restructuredtext", "asciidoc", "json", "jsonc", "yaml", "toml", "csv", "ini", "properties", "make", "cmake", "dockerfile", "just", "ignore",
	}
)

func TestEveryRowHasAllParts(t *testing.T) {
	t.Parallel()
	id := regexp.MustCompile(`^[a-z]+$`)
	for _, l := range rows {
		comments := slices.Concat(l.Syntax.Line, l.Syntax.Inner.Line)
		for _, b := range slices.Concat(l.Syntax.Block, l.Syntax.Inner.Block) {
			comments = append(comments, b[0], b[1])
		}
		for what, ok := range map[string]bool{
			"an ID of small letters":         id.MatchString(l.ID),
			"a name in prompts":              l.Prompt != "",
			"an extension or a name":         len(l.Extensions)+len(l.Files) > 0,
			"marks of comments":              len(comments) > 0 != slices.Contains(noComments, l.ID) && !slices.Contains(comments, ""),
			"a convention of tests":          l.Tests != nil != slices.Contains(noTests, l.ID),
			"strings, to tell comments":      !l.Syntax.Exact || len(l.Syntax.Strings) > 0,
			"JSX among its extensions":       !slices.ContainsFunc(l.JSX, func(e string) bool { return !slices.Contains(l.Extensions, e) }),
			"a family with marks":            l.Family == "" || len(comments) > 0,
			"depth, where it is for people":  !l.Prose || l.Offside,
			"words, where a slash may begin": l.Syntax.RegexCondition == nil || l.Syntax.RegexAfter != nil,
		} {
			if !ok {
				t.Errorf("%s lacks %s", l.ID, what)
			}
		}
		for _, s := range l.Syntax.Strings {
			if s.Open == "" || s.Close == "" || s.Hole != "" && !s.Lines {
				t.Errorf("%s has a form of strings that never ends: %+v", l.ID, s)
			}
		}
		for _, m := range l.Manifests {
			if _, err := path.Match(m, "x"); err != nil || m != strings.ToLower(m) {
				t.Errorf("%s: the manifest %q is no pattern in lower case", l.ID, m)
			}
		}
		if c := l.Tests; c != nil && (c.Name == "" || (c.Inline || c.Likely != nil) && c.Text == nil) {
			t.Errorf("%s: its tests lack a name, or a text that tells", l.ID)
		}
	}
}

func TestNoKeyIsInTwoRows(t *testing.T) {
	t.Parallel()
	seen := map[string]string{}
	for _, l := range rows {
		for _, ext := range l.Extensions {
			if ext != path.Ext("x"+ext) || ext != strings.ToLower(ext) {
				t.Errorf("%s: %q is no extension in lower case", l.ID, ext)
			}
		}
		for _, key := range slices.Concat(l.Extensions, l.Files, []string{"the ID " + l.ID}, l.Shebangs) {
			if key == "" || seen[key] != "" {
				t.Errorf("%s and %s both have %q", seen[key], l.ID, key)
			}
			seen[key] = l.ID
		}
	}
}

func TestLanguagesAreTold(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, text, want string }{
		{"a.py", "", "python"},
		{"a/B.PYI", "", "python"},
		{"a.d.ts", "", "typescript"},
		{"Gemfile", "", "ruby"},
		{"a/MAKEFILE", "", "make"},
		{".gitignore", "", "ignore"},
		{"a.unknown", "#!/bin/sh\n", ""},
		{"run", "", ""},
		{"run", "x = 1\n#!/bin/sh\n", ""},
		{"run", "#!/bin/sh\n", "shell"},
		{"run", "#!/usr/bin/env -S bash -e\n", "shell"},
		{"run", "#!/usr/bin/python3.13 -I\n", "python"},
		{"run", "#!/opt/bin/my-python-start\n", "python"},
		{"run", "#!/usr/bin/env node\n", "javascript"},
		{"run", "#!/usr/bin/env ruby -w\n", "ruby"},
		{"run", "#!/bin/fish\n", "shell"},
		{"run", "#!/bin/zsh", "zsh"},
		{"run", "#!/bin/ls\n", ""},
		{"run", "#!\n/bin/sh\n", ""},
		// A script's interpreter outranks its name.
		{"Rakefile", "#!/usr/bin/env python\n", "python"},
	} {
		got := ""
		if l := Detect(c.name, c.text); l != nil {
			got = l.ID
		}
		if got != c.want {
			t.Errorf("%s with %q is %q, want %q", c.name, c.text, got, c.want)
		}
	}
}

func TestTestFilesAreTold(t *testing.T) {
	t.Parallel()
	for p, want := range map[string]struct{ is, may bool }{
		"test_a.py":                 {true, true},
		"a/b_test.py":               {true, true},
		"tests.py":                  {false, true},
		"tests/helper.py":           {false, true},
		"spec/helper.py":            {false, true},
		"tests/sub/Helper.PY":       {false, true},
		"a.py":                      {false, false},
		"latest.py":                 {false, false},
		"a_test.go":                 {true, true},
		"A_TEST.GO":                 {false, true},
		"test/a.go":                 {false, false},
		"testdata/a.go":             {false, false},
		"a.test.ts":                 {true, true},
		"a-test.mjs":                {true, true},
		"a.cy.tsx":                  {true, true},
		"__tests__/a.js":            {false, true},
		"e2e/a.ts":                  {false, true},
		"test-a.js":                 {false, true},
		"test.js":                   {false, true},
		"src/contest.js":            {false, false},
		"spec/a_spec.rb":            {true, true},
		"test/test_a.rb":            {false, true},
		"lib/a.rb":                  {false, false},
		"src/test/java/Helper.java": {false, true},
		"src/main/A.java":           {false, false},
		"src/lib.rs":                {false, false},
		"tests/a.unknown":           {false, false},
		"tests/a.json":              {false, false},
	} {
		if is, may := IsTest(p), ByExtension(p).MayTest(p); is != want.is || may != want.may {
			t.Errorf("%s: is a test %v, may be one %v; want %v", p, is, may, want)
		}
	}
}

// A program without an extension, whose language its first line tells, may hold tests if its path says so.
func TestAScriptMayHoldTests(t *testing.T) {
	t.Parallel()
	for p, want := range map[string]bool{"tests/run": true, "bin/smoke_test": true, "bin/serve": false} {
		if got := Named("python").MayTest(p); got != want {
			t.Errorf("%s may hold tests: %v", p, got)
		}
	}
}

func TestARowIsFoundByWhatItHas(t *testing.T) {
	t.Parallel()
	for _, l := range All() {
		if Named(l.ID) != l || l.Extensions != nil && (Of("a"+l.Extensions[0]) != l || !slices.Equal(Extensions(l.ID), l.Extensions)) {
			t.Errorf("%s is not found by its keys", l.ID)
		}
		for _, ext := range l.Extensions {
			if l.Elements("a"+ext) != slices.Contains(l.JSX, ext) {
				t.Errorf("%s: %s holds elements: %v", l.ID, ext, l.Elements("a"+ext))
			}
		}
		for _, m := range l.Manifests {
			if !slices.Contains(Manifests(), m) {
				t.Errorf("%s is not among the manifests", m)
			}
		}
	}
}
