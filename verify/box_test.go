package verify

import (
	"strings"
	"testing"

	"agent/sandbox"
	"agent/verify/check"
	"agent/verify/checktest"
	"agent/verify/syntax"
)

func TestSyntaxFaultsOfEveryLanguageAreSeen(t *testing.T) {
	t.Parallel()
	bad := map[string]string{ // file: text, then the rule and line that must be reported
		"a.py":            "x = 1\ndef f(:\n",
		"indent.py":       "if x:\n    a\n  b\n",
		"return.py":       "return 1\n",
		"null.py":         "x = 1\x00\n",
		"latin.py":        "x = '\xe9'\n",
		"deep.py":         strings.Repeat("(", 5000) + strings.Repeat(")", 5000) + "\n",
		"script":          "#!/usr/bin/env python3\ndef\n",
		"comma.json":      "{\n\"a\": 1,\n}\n",
		"empty.json":      "",
		"nan.json":        "{\"a\": NaN}",
		"latin.json":      "\n{\"a\": \"\xe9\"}",
		"deep.json":       strings.Repeat("[", 200000),
		"tsconfig.json":   "{ // fine\n \"a\": [1,], /* */ \"b\" }\n",
		"a.toml":          "a = 1\na = 2\n",
		"colon.css":       "a {\n  color red;\n}\n",
		"open.css":        "a { color: red;\nb { color: blue }\n",
		"extra.css":       "a { color: red } }\n",
		"paren.css":       "a { width: calc(1px + 2px; }\n",
		"comment.css":     "/* a\nb { }\n",
		"string.css":      "a { content: \"x\n; }\n",
		"media.css":       "@media print {\n a { color red }\n}\n",
		"a.js":            "const a = 1;\nlet = ;\n",
		"module.js":       "import a from \"b\";\nexport const = 1;\n",
		"a.mjs":           "const x = ;\n",
		"a.cjs":           "import a from \"b\";\n",
		"typed/b.js":      "with (a) { b }\n",
		"a.sh":            "if true; then\n",
		"here.sh":         "cat <<END\nx\n",
		"run":             "#!/bin/bash\necho $(\n",
		"quote.sh":        "#!/bin/sh\necho \"open\n",
		"unicode/é ü.py":  "def\n",
		"--option.py":     "def\n",
		"nested/json.py":  "def\n",
		"typed/pyproject": "#!/usr/bin/node\nlet = ;\n",
	}
	sound := map[string]string{
		"ok/a.py":               "# -*- coding: latin-1 -*-\nx = '\xe9'\n",
		"ok/escape.py":          "x = '\\d'\n",
		"ok/json.py":            "raise SystemExit('imported')\n",
		"ok/bom.py":             "\ufeffx = 1\n",
		"ok/crlf.py":            "def f():\r\n    pass\r\n",
		"ok/a.json":             "\ufeff{\"a\": [1, 2], \"a\": null}",
		"ok/tsconfig.base.json": "{ // c\n \"a\": [\"//x,]\",], /* \"b\" */ }\n",
		"ok/a.toml":             "[a]\nb = 1979-05-27\n",
		"ok/a.css":              "@charset \"utf-8\";\n@import url(x.css);\n:root { --x: { a:b }; --y: ; }\na:hover, b > c::before { color: red; &:focus { top: 0 } }\n@media (min-width: 1px) { a:hover { left: 0 } @supports (display: grid) { i { top: 0 } } }\n@font-face { font-family: x; src: url(a.woff) }\n@keyframes k { from { top: 0 } 50% { top: 1px } }\n@layer a, b;\n@page :first { margin: 1in }\n",
		"ok/a.js":               "const a = require('b'); return;\n",
		"ok/module.js":          "import a from 'b';\nexport default await a;\n",
		"ok/a.mjs":              "export const y = await 1;\n",
		"ok/a.cjs":              "with (a) { b }\n",
		"ok/a.sh":               "if [ -f x ]; then echo \"$(cat <<E\nx\nE\n)\"; fi\n",
		"ok/zsh.sh":             "#!/bin/zsh\nif (\n",
		"ok/empty.py":           "",
		"ok/notes.txt":          "def f(:\n",
		"typed/package.json":    "{\"type\": \"module\"}",
	}
	files := map[string]string{}
	for p, text := range bad {
		files[p] = text
	}
	for p, text := range sound {
		files[p] = text
	}
	b := checktest.NewBench(t, files, sandbox.Limits{})
	out := syntax.Run(t.Context(), b, b.View.Paths())
	if out.Verdict != "" {
		t.Fatalf("%+v", out)
	}
	seen := map[string][]check.Finding{}
	for _, f := range out.Findings {
		seen[f.File] = append(seen[f.File], f)
	}
	for p := range bad {
		if len(seen[p]) == 0 {
			t.Errorf("%s: no fault was seen", p)
		}
	}
	for p := range sound {
		if len(seen[p]) > 0 {
			t.Errorf("%s is sound: %+v", p, seen[p])
		}
	}
	for p, want := range map[string]check.Finding{
		"a.py":       {Rule: "python-syntax", Line: 2, Column: 7, Source: "def f(:"},
		"comma.json": {Rule: "json-syntax", Line: 2},
		"a.toml":     {Rule: "toml-syntax", Line: 2},
		"media.css":  {Rule: "css-syntax", Line: 2},
		"open.css":   {Rule: "css-syntax", Line: 1},
		"a.js":       {Rule: "javascript-syntax", Line: 2, Column: 7},
		"module.js":  {Rule: "javascript-syntax", Line: 2},
		"run":        {Rule: "shell-syntax"},
		"a.sh":       {Rule: "shell-syntax", Line: 2},
	} {
		if len(seen[p]) == 0 {
			continue
		}
		got := seen[p][0]
		if got.Rule != want.Rule || want.Line > 0 && got.Line != want.Line || want.Column > 0 && got.Column != want.Column || want.Source != "" && got.Source != want.Source {
			t.Errorf("%s: %+v, want %+v", p, got, want)
		}
	}
}

func TestFileTooLargeToCheckIsSkippedWithAReason(t *testing.T) {
	t.Parallel()
	b := checktest.NewBench(t, map[string]string{"big.json": "[" + strings.Repeat(" ", 2<<20), "a.json": "{}"}, sandbox.Limits{})
	cmd, err := syntax.Command(b.Tools, []string{"big.json", "a.json", "absent.py"})
	if err != nil {
		t.Fatal(err)
	}
	res, err := b.Box.Run(t.Context(), cmd)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := syntax.Parse(res, 3)
	if err != nil || len(answer.Skipped) != 2 || answer.Skipped[0].Reason != "over 2 MiB" || answer.Skipped[1].Reason != "absent" {
		t.Errorf("%v %+v", err, answer)
	}
}
