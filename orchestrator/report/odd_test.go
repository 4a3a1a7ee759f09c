package report_test

import (
	"fmt"
	"strings"
	"testing"

	"agent/orchestrator/report"
)

// Licence texts mention other licences. Each is identified by how it begins, or else by its wording.
var licenceTexts = map[string]string{
	"GPL":       "GNU GENERAL PUBLIC LICENSE\n Version 3, 29 June 2007\n\n13. Use with the GNU Affero General Public License.\n\nuse the GNU Lesser General\nPublic License instead of this License.\n",
	"AGPL":      "GNU AFFERO GENERAL PUBLIC LICENSE\n Version 3\n\n13. Remote Network Interaction; Use with the GNU General Public License.\n",
	"LGPL":      "GNU LESSER GENERAL PUBLIC LICENSE\n Version 3\n\nincorporates the terms of version 3 of the GNU General Public\nLicense\n",
	"MPL":       "Mozilla Public License Version 2.0\n\n1.12. \"Secondary License\" means either the GNU General Public License, the GNU Lesser\nGeneral Public License, Version 2.1, the GNU Affero General Public License\n",
	"EPL":       "Eclipse Public License - v 2.0\n\nSecondary Licenses: GNU General Public License, version 2\n",
	"EUPL":      "EUROPEAN UNION PUBLIC LICENCE v. 1.2\n\nAppendix: GNU Affero General Public License (AGPL) v. 3, Eclipse Public License, Mozilla Public License v. 2\n",
	"BUSL":      "Business Source License 1.1\n\nChange License: Apache License, Version 2.0, or GNU General Public License\n",
	"CC0":       "Creative Commons Legal Code\n\nCC0 1.0 Universal\n",
	"Apache":    "                Apache License\n          Version 2.0, January 2004\n",
	"MIT":       mit,
	"BSD":       "BSD 3-Clause License\n\nRedistribution and use in source\nand binary forms, with or without modification\n",
	"Unlicense": "This is free and unencumbered software released into the public domain.\n",
}

func TestLicencesThatSpeakOfOthersAreThemselves(t *testing.T) {
	t.Parallel()
	for family, text := range licenceTexts {
		if got := row(t, factsOf(t, map[string]string{"LICENSE": text}), "licence"); got.Summary != family {
			t.Errorf("%s is taken for %q", family, got.Summary)
		}
	}
	files := map[string]string{"LICENSE": licenceTexts["GPL"], "Cargo.toml": "[package]\nname = \"x\"\nlicense = \"GPL-3.0-or-later\"\n"}
	if got := shown(row(t, factsOf(t, files), "licence")); got != "pass 1.00" {
		t.Errorf("a manifest that says what the text is: %s", got)
	}
}

// oddCases are further cases: people's mistakes, and attempts to deceive the report.
var oddCases = []struct {
	name, analyzer string
	files          map[string]string
	want           string
}{
	{"line ends of Windows", "readme", map[string]string{"README.md": strings.ReplaceAll(goodReadme, "\n", "\r\n")}, "pass 1.00"},
	{"an empty one", "readme", map[string]string{"README.md": ""}, "warn 0.60; …"},
	{"a picture for a README", "readme", map[string]string{"README.md": "\x89PNG\x00\x1a"}, "warn 0.60; …"},
	{"a link out of the workspace is nobody's", "readme", map[string]string{"README.md": goodReadme + "\n[a](../../../../etc/passwd) [b](%2e%2e/x) [c](javascript:alert(1)) [d](:) [e](<>) [f]()\n"}, "pass 1.00"},
	{"a link with a place in it", "readme", map[string]string{"README.md": goodReadme + "\n[a](a.md#b) [c](a.md?raw=1) [d](./a.md) ![e](gone.png \"t\")\n", "a.md": "x\n"}, "warn 0.95; warn README.md:9 the link to gone.png leads nowhere"},
	{"a line of a million brackets", "readme", map[string]string{"README.md": goodReadme + "\n" + strings.Repeat("[", 1<<20) + "\n"}, "pass 1.00"},

	{"a workflow that is deep", "ci", map[string]string{workflow: "on: push\njobs: " + strings.Repeat("[", 200) + strings.Repeat("]", 200) + "\n"}, "pass 0.81; …"},
	{"aliases that grow", "ci", map[string]string{workflow: "on: pull_request\na: &a [make, make]\nb: &b [*a, *a, *a, *a, *a, *a, *a, *a]\nc: &c [*b, *b, *b, *b, *b, *b, *b, *b]\nd: [*c, *c, *c, *c, *c, *c, *c, *c]\n"}, "pass 0.81; …"},
	{"tabs", "ci", map[string]string{workflow: "on: push\njobs:\n\ttest: x\n"}, "fail 0.45; fail .github/workflows/test.yml:3 …"},
	{"a workflow that lies too deep to be read by the host", "ci", map[string]string{".github/workflows/sub/test.yml": goodCI}, "fail 0.00; …"},
	{"on every push but one", "ci", map[string]string{workflow: strings.Replace(goodCI, "[push, pull_request]", "{push: {branches-ignore: [gh-pages]}}", 1), "test_a.py": "def test_a():\n    pass\n"}, "pass 1.00"},
	{"on tags alone", "ci", map[string]string{workflow: strings.Replace(goodCI, "[push, pull_request]", "{push: {tags: [v*]}}", 1), "test_a.py": "def test_a():\n    pass\n"}, "warn 0.90; …"},

	{"a list for a manifest", "dependencies", map[string]string{"package.json": "[]"}, "fail 0.00; …"},
	{"nothing in a manifest", "dependencies", map[string]string{"package.json": "null", "requirements.txt": ""}, "…"},
	{"dependencies of another kind", "dependencies", map[string]string{"package.json": `{"dependencies": ["left"], "devDependencies": 7}`}, "pass 1.00"},
	{"a table of Cargo with any version", "dependencies", map[string]string{"Cargo.toml": "[dependencies]\nserde = {version = \"*\", features = [\"derive\"]}\nown = {path = \"../own\"}\n"}, "warn 0.80; warn Cargo.toml:2 serde: \"*\" allows any version; note …"},
	{"a table of poetry with any version", "dependencies", map[string]string{"pyproject.toml": "[tool.poetry.dependencies]\nflask = {version = \"*\"}\nown = {path = \"../own\"}\n"}, "warn 0.80; warn pyproject.toml:2 flask: \"*\" allows any version"},
	{"the last thing that was asked for is taken out", "dependencies", map[string]string{"package.json": "{", "q/go.mod": "module x\n"}, "fail 0.25; fail package.json:0 …"},
	{"a module whose name begins as a replacement", "dependencies", map[string]string{"go.mod": "module x\n\nrequire replacements.test/b v1.0.0\n\nreplace (\n\treplacements.test/b => ./b\n)\n"}, "pass 1.00"},
	{"a manifest that is no UTF-8", "dependencies", map[string]string{"package.json": "{\"name\": \"\xff\"}"}, "none -"},

	{"a licence of another kind in the manifest", "licence", map[string]string{"LICENSE": mit, "package.json": `{"license": ["MIT", {"type": 7}]}`, "pyproject.toml": "[project]\nlicense = {file = \"LICENSE\"}\n", "Cargo.toml": "package = 7\n"}, "pass 1.00"},
	{"a directory of licences", "licence", map[string]string{"LICENSES/MIT.txt": mit}, "pass 1.00"},
	{"the licence of somebody else's code", "licence", map[string]string{"vendor/x/LICENSE": mit}, "fail 0.00; …"},
	{"a source file named as one", "licence", map[string]string{"licenses.go": "package main\n"}, "fail 0.00; …"},

	{"a half of a conflict", "structure", map[string]string{"a.py": "<<<<<<< HEAD\nx = 2\n=======\n"}, "pass 1.00"},
	{"two conflicts in lines of Windows", "structure", map[string]string{"a.py": "<<<<<<< a\r\n=======\r\n>>>>>>> b\r\n<<<<<<< a\r\n=======\r\n>>>>>>> b\r\n"}, "fail 0.83; fail a.py:1 …"},
	{"a name with a line in it", "structure", map[string]string{"a\nfail b.py": "x\n"}, "warn 0.88; warn a␊fail b.py:0 its name holds …"},
}

func TestAnalyzersOfOddWorkspaces(t *testing.T) {
	t.Parallel()
	for _, c := range oddCases {
		got := shown(row(t, factsOf(t, c.files), c.analyzer))
		if want, open := strings.CutSuffix(c.want, "…"); open && !strings.HasPrefix(got, want) || !open && got != want {
			t.Errorf("%s, %s:\n got %.300s\nwant %s", c.analyzer, c.name, got, c.want)
		}
	}
}

// The names of files cannot add a line to the report, a terminal control sequence, or a table to the document.
func TestNamesOfFilesWriteNothingOfTheirOwn(t *testing.T) {
	t.Parallel()
	const bad = "x\npass    readme\x1b[2J|\u202e`@all`\r<img src=y>.py"
	r := report.Analyze(factsOf(t, map[string]string{bad: "<<<<<<< HEAD\n=======\n>>>>>>> b\n"}), []string{"structure"})
	for name, text := range map[string]string{"text": r.Text(report.Look{Details: 50, Notes: true}), "document": r.Markdown()} {
		for line := range strings.Lines(text) {
			if strings.HasPrefix(line, "pass") || strings.ContainsAny(line, "\x1b\r\u202e") || name == "document" && strings.Contains(line, "<img") {
				t.Errorf("%s: %q", name, line)
			}
		}
		if !strings.Contains(text, "it contains an unresolved merge conflict") {
			t.Errorf("%s: the conflict is not shown:\n%s", name, text)
		}
	}
}

// However many problems there are, a row keeps the worst, says how many more there are, and has a score above zero.
func TestThousandsOfFindingsAreCounted(t *testing.T) {
	t.Parallel()
	var f report.Facts
	for i := range 3000 {
		f.Files = append(f.Files, report.File{Path: fmt.Sprintf("a%04d.py", i), Language: "python", Lines: 1, Conflict: i % 2, Size: int64(i%3) * (6 << 20)})
	}
	r := row(t, f, "structure")
	fails, warns, notes := r.Count()
	if len(r.Details) != report.MaxDetails || r.More != 1500+2000-report.MaxDetails || r.Details[0].Status != report.Fail || fails+warns+notes != 1500+2000 || fails < 1500 {
		t.Errorf("%d details and %d more: %d %d %d", len(r.Details), r.More, fails, warns, notes)
	}
	if r.Score == nil || *r.Score <= 0 || *r.Score >= 1 {
		t.Errorf("score %v", r.Score)
	}
}
