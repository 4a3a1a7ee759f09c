package directive

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"agent/sandbox/workspace/lang"
)

// found words what a line of a file holds.
func found(name, line string) string {
	var list []string
	family, lines := lines(name, line+"\n")
	In(family, lines[0], func(r Row, codes string) {
		list = append(list, fmt.Sprintf("%s %t [%s]", r.Family, r.Wide, codes))
	})
	slices.Sort(list)
	return strings.Join(list, "; ")
}

// However a suppression is dressed it is found, and a look-alike that no tool heeds is none.
func TestDressesAndLookAlikes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, line, want string }{
		{"a.py", "x = 1  #noqa", "noqa false []"},
		{"a.py", "x = 1  # NoQA:F401,E501", "noqa false [e501 f401]"},
		{"a.py", "x = 1  # why # noqa:F401 # and why", "noqa false [f401]"},
		{"a.py", "#\ttype:ignore", "type: ignore false []"},
		{"a.py", "x = 1  # pylint: disable=all", "pylint false []"},
		{"a.py", "x = 1  # pylint: disable=b, a ,b", "pylint false [a b]"},
		{"a.py", "# pylint:skip-file", "pylint true []"},
		{"a.py", "# mypy: ignore-errors", "type: ignore true []"},
		{"a.py", "# mypy: disable-error-code=\"attr-defined\"", "type: ignore true [attr-defined]"},
		{"a.py", "# pyright: basic, reportFoo=false", "type: ignore true []; type: ignore true [reportfoo]"},
		{"a.py", "x()  # nosec B101, B102", "nosec false [b101 b102]"},
		{"a.py", "x = '''# noqa'''", ""},
		{"a.py", "# see the docs of noqa", ""},
		{"a.py", "# typed: ignore", ""},
		{"a.ts", "// eslint-disable-next-line no-eval -- it is safe", "eslint false [no-eval]"},
		{"a.ts", "/* eslint-disable */", "eslint true []"},
		{"a.ts", "/* eslint no-eval: off */", "eslint true [no-eval]"},
		{"a.ts", "/* eslint no-eval: error */", ""},
		{"a.ts", "x // @ts-expect-error", "typescript false []"},
		{"a.ts", "const s = '// @ts-ignore'", ""},
		{"a.ts", "// biome-ignore lint/a: why", "biome false [lint/a]"},
		{"a.go", "x() // nolint", "nolint false []"},
		{"a.go", "x() //nolint:all", "nolint false []"},
		{"a.go", "x() //nolinted", ""},
		{"a.go", "//lint:file-ignore U1000 why", "staticcheck true [u1000]"},
		{"a.go", "x() // #nosec G104", "nosec false [g104]"},
		{"a.rs", "#![allow(dead_code, unused)]", "allow true [dead_code unused]"},
		{"a.rs", "#[expect(dead_code)]", "allow false [dead_code]"},
		{"A.java", `@SuppressWarnings({"unchecked", "rawtypes"})`, "SuppressWarnings false [rawtypes unchecked]"},
		{"A.java", "// @SuppressWarnings(\"unchecked\")", ""},
		{"a.sh", "# shellcheck source=x disable=SC1,SC2", "shellcheck false [sc1 sc2]"},
		{"a.css", "/* stylelint-disable-line a, b */", "stylelint false [a b]"},
		{"a.html", "<!-- stylelint-disable -->", "stylelint true []"},
	} {
		if got := found(c.name, c.line); got != c.want {
			t.Errorf("%s %q: %q, want %q", c.name, c.line, got, c.want)
		}
	}
}

// What spares most lines the search misses none: whatever a row finds in a comment, a line that holds it is looked at.
func TestTheFirstLookMissesNoRow(t *testing.T) {
	t.Parallel()
	forms := map[string]string{
		"noqa": "noqa", "type: ignore": "type: ignore", "pylint": "pylint: disable=x", "no cover": "pragma: no cover", "nosec": "nosec", "eslint": "eslint-disable-line",
		"tslint": "tslint:disable-line", "deno-lint": "deno-lint-ignore", "typescript": "@ts-ignore", "biome": "biome-ignore x", "coverage": "c8 ignore next",
		"scanner": "gitleaks:allow", "nolint": "nolint", "staticcheck": "lint:ignore X", "revive": "revive:disable-line", "shellcheck": "shellcheck disable=X", "stylelint": "stylelint-disable-line",
		"html-validate": "[html-validate-disable-next x]", "allow": "", "SuppressWarnings": "",
	}
	names := map[lang.Family][2]string{
		lang.Python: {"a.py", "# %s"}, lang.Script: {"a.ts", "// %s"}, lang.Go: {"a.go", "//%s"}, lang.Shell: {"a.sh", "# %s"}, lang.CSS: {"a.css", "/* %s */"}, lang.Markup: {"a.html", "<!-- %s -->"},
	}
	for _, r := range Suppressions() {
		form, listed := forms[r.Family]
		if !listed {
			t.Errorf("%s is a family without a line in this test", r.Family)
		}
		for _, family := range r.Langs {
			file, ok := names[family]
			if !ok || form == "" {
				continue
			}
			if got := found(file[0], fmt.Sprintf(file[1], form)); !strings.HasPrefix(got, r.Family+" ") {
				t.Errorf("%s in %s is read as %q", form, file[0], got)
			}
			if !Suppresses(family, fmt.Sprintf(file[1], form)) {
				t.Errorf("%s by itself is none in %s", form, file[0])
			}
		}
	}
}

// More codes than anybody lists are one suppression of everything; hostile lines take no time.
func TestHostileLinesAreBounded(t *testing.T) {
	t.Parallel()
	many := make([]string, mostCodes+1)
	for i := range many {
		many[i] = fmt.Sprintf("E%03d", i)
	}
	if got := found("a.py", "# noqa: "+strings.Join(many, ",")); got != "noqa false []" {
		t.Errorf("%d codes are %.80s", len(many), got)
	}
	if got := found("a.py", "# noqa: "+strings.Join(many[:mostCodes], ",")); strings.Count(got, "e0") != mostCodes {
		t.Errorf("%d codes are %.80s", mostCodes, got)
	}
	began := time.Now()
	for _, c := range [][2]string{
		{"a.py", "#" + strings.Repeat(" mypy: a,", 1<<12)},
		{"a.py", "# mypy:" + strings.Repeat(" ", 1<<14) + "x"},
		{"a.py", strings.Repeat("#", 1<<14) + " ignore"},
		{"a.ts", "/* eslint " + strings.Repeat("a ", 1<<13) + "*/"},
		{"a.ts", "/" + strings.Repeat("*", 1<<14) + " eslint-disable"},
		{"a.go", "//nolint:" + strings.Repeat("a,", 1<<13)},
		{"a.rs", strings.Repeat("#[allow(", 1<<12)},
		{"a.html", "<!-- " + strings.Repeat("<!-- stylelint-disable ", 1<<10)},
		{"a.py", "# noqa\x00\xff: E501\u2028# noqa"},
	} {
		found(c[0], c[1])
		family, list := lines(c[0], c[1]+"\n")
		for _, l := range list {
			Demands(family, l)
		}
	}
	if took := time.Since(began); took > 10*time.Second {
		t.Errorf("it took %s", took)
	}
}
