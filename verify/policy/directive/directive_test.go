package directive

import (
	"slices"
	"strings"
	"testing"

	"agent/sandbox/workspace/lang"
)

// lines splits a text of a file into lines.
func lines(name, text string) (lang.Family, []lang.Line) {
	l := lang.ByExtension(name)
	return l.Family, l.Lex(text)
}

func TestEveryRowIsWhole(t *testing.T) {
	t.Parallel()
	for _, r := range slices.Concat(Suppressions(), demands) {
		if len(r.Langs) == 0 || r.Family == "" || r.form == nil || r.form.MatchString("") {
			t.Errorf("%+v", r)
		}
	}
}

func TestALineIsReadForItsSuppressions(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, text, want string }{
		{"a.py", "x = 1  # noqa: E501, E401", "noqa=e401 e501"},
		{"a.py", "x = 1  # type: ignore[arg-type]  # noqa", "noqa=; type: ignore=arg-type"},
		{"a.py", "# ruff: noqa", "noqa=wide"},
		{"a.py", "@typing.no_type_check", "type: ignore="},
		{"a.py", "s = '# noqa'", ""},
		{"a.py", "# noqable", ""},
		{"a.ts", "// @ts-ignore", "typescript="},
		{"a.ts", "// @ts-check", ""},
		{"a.go", "x() //nolint:errcheck // why", "nolint=errcheck"},
		{"a.sh", "# shellcheck disable=SC2086", "shellcheck=sc2086"},
		{"a.py", "", ""},
	} {
		var found []string
		family, list := lines(c.name, c.text+"\n")
		In(family, list[0], func(r Row, codes string) {
			if r.Wide {
				codes = "wide" + codes
			}
			found = append(found, r.Family+"="+codes)
		})
		slices.Sort(found)
		if got := strings.Join(found, "; "); got != c.want {
			t.Errorf("%s %q: %s, want %s", c.name, c.text, got, c.want)
		}
	}
	if Suppresses(lang.Python, "# noqa") != true || Suppresses(lang.Go, "# noqa") || Suppresses(lang.Python, "") || Suppresses("", "# noqa") {
		t.Error("a comment by itself is read otherwise")
	}
	// A person sees that many on one line as one.
	var n int
	family, list := lines("a.py", "x = 1"+strings.Repeat("  # noqa", 10_000)+"\n")
	if In(family, list[0], func(Row, string) { n++ }); n == 0 || n > mostCodes {
		t.Errorf("%d suppressions on one line", n)
	}
}

func TestALineIsReadForWhatItHasReported(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, text, want string }{
		{"a.py", "# mypy: strict", "mypy strict"},
		{"a.py", "# mypy: disallow-untyped-defs, warn-return-any", "mypy disallow-untyped-defs warn-return-any"},
		{"a.py", "# mypy: allow-untyped-defs", ""},
		{"a.py", "# mypy: strict, ignore-errors", ""},
		{"a.py", "# pyright: strict", "pyright strict"},
		{"a.py", "# pyright: reportMissingImports=true", "pyright reportmissingimports"},
		{"a.py", "# pyright: reportMissingImports=false", ""},
		{"a.py", "# we use mypy: strict", ""},
		{"a.py", "s = '# mypy: strict'", ""},
		{"a.js", "// @ts-check", "typescript"},
		{"a.js", "/* @flow strict */", "flow strict"},
		{"a.js", "/* eslint eqeqeq: 2 */", "eslint eqeqeq"},
		{"a.js", "/* eslint eqeqeq: 0 */", ""},
		{"a.js", "// @ts-nocheck", ""},
		{"a.go", "// mypy: strict", ""},
		{"a.js", "", ""},
	} {
		family, list := lines(c.name, c.text+"\n")
		if got := strings.Join(Demands(family, list[0]), "; "); got != c.want {
			t.Errorf("%s %q: %q, want %q", c.name, c.text, got, c.want)
		}
	}
}
