package policy

import (
	"slices"
	"strings"
	"testing"

	"agent/sandbox/workspace"
	"agent/verify/check"
	"agent/verify/policy/checker"
	"agent/verify/policy/directive"
	"agent/verify/verifytest"
)

// Removing a suppression leaves the rest of its line, and every other line, in place.
func TestASuppressionIsTakenOutOfItsLine(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, before, after string
		bare, family        string // "" if it is not measured
	}{
		{"a.py", "x = 1\ny = 2\n", "x = 1  # noqa: B006\ny = 2\n", "x = 1\ny = 2\n", "noqa"},
		{"a.py", "x = 1\r\n", "x = f()  # type: ignore[arg-type]\r\n", "x = f()\r\n", "type: ignore"},
		{"a.py", "x = '# noqa'\n", "x = '# noqa'  # noqa\n", "x = '# noqa'\n", "noqa"},
		{"a.ts", "f();\n", "// eslint-disable-next-line no-undef\nf();\n", "\nf();\n", "eslint"},
		{"a.tsx", "<A/>;\n", "{/* @ts-ignore */}\n<A/>;\n", "{}\n<A/>;\n", "typescript"},
		{"a.go", "x := 1\n", "x := 1 //nolint:errcheck\n", "x := 1\n", "nolint"},
		{"a.sh", "echo $x\n", "# shellcheck disable=SC2086\necho $x\n", "\necho $x\n", "shellcheck"},
		{"a.py", "x = 1\n", "x = f()  # ruff: ignore[F821]\n", "x = f()\n", "noqa"},
		{"a.py", "x = 1\n", "# mypy: allow-untyped-defs\nx = 1\n", "\nx = 1\n", "type: ignore"},
		{"a.py", "x = 1\n", "# ruff: noqa\nx = 1\n", "", ""},
		{"a.ts", "f();\n", "/* eslint-disable */\nf();\n", "", ""},
		{"a.ts", "f();\n", "/* why\n@ts-ignore */\nf();\n", "", ""},
		{"a.py", "def f(): pass\n", "@no_type_check\ndef f(): pass\n", "", ""},
		{"a.py", "x = 1\n", "x = 1  # type: ignore # noqa\n", "", ""},
		{"a.py", "x = 1  # noqa\n", "x = 2  # noqa\n", "", ""},
		{"a.py", "", strings.Repeat("x = 1  # noqa\n", mostHolds+1), "", ""},
	} {
		cs := modify(c.name, c.before, c.after)
		list, bare := SilencedBy(cs)
		if c.family == "" {
			if len(list) != 0 || string(bare.Changes[0].After) != c.after {
				t.Errorf("%q: %+v", c.after, list)
			}
			continue
		}
		if len(list) != 1 || list[0].Family != c.family || string(bare.Changes[0].After) != c.bare || string(cs.Changes[0].After) != c.after {
			t.Errorf("%q: %+v, without %q", c.after, list, bare.Changes[0].After)
			continue
		}
		if held := ReviewText(cs, nil); len(held) != 1 || held[0] != list[0].Hold {
			t.Errorf("%q: held %+v, not %+v", c.after, held, list[0].Hold)
		}
	}
}

// A suppression that hides nothing of the program is shown and does not block: in a line of a test, or of what coverage leaves out. It
// still counts as a suppression and not as a mere comment.
func TestASuppressionThatHidesNothingOfTheProgramIsShown(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, before, after string
		blocks              bool
	}{
		{"tests/test_a.py", "x = 1\n", "x = f(1)  # type: ignore[arg-type]\n", false},
		{"tests/helpers.py", "x = 1\n", "x = 1  # noqa: B018\n", false},
		{"src/a.test.ts", "f();\n", "// @ts-expect-error no such overload\nf(1);\n", false},
		{"a_test.go", "package a\n", "package a //nolint:revive\n", false},
		{"a.py", "x = 1\n", "if x:  # pragma: no cover\n    x = 1\n", false},
		{"src/a.ts", "f();\n", "/* c8 ignore start */\nf();\n/* c8 ignore stop */\n", false},
		{"a.go", "const A_B = 1\n", "const A_B = 1 //nolint:revive,stylecheck // as the protocol has it\n", false},
		{"a.py", "def f(): pass\n", "def f(a, b, c): pass  # pylint: disable=too-many-arguments\n", false},
		{"a.ts", "f();\n", "//oxlint-disable-next-line no-console\nconsole.log(f());\n", false},
		{"a.ts", "f();\n", "// eslint-disable-next-line no-console -- for people\nconsole.log(f());\n", false},
		{"a.ts", "f();\n", "// eslint-disable-next-line no-eval, no-console\neval(f());\n", true},
		{"a.ts", "f();\n", "// eslint-disable-next-line\neval(f());\n", true},
		{"a.go", "f()\n", "f() //nolint:revive,errcheck\n", true},
		{"a.py", "f()\n", "f()  # pylint: disable=no-member\n", true},
		// Suppressions of all future lines, in the program, or in a file that only has the name of a test.
		{"tests/test_a.py", "x = 1\n", "# ruff: noqa\nx = 1\n", true},
		{"src/a.test.ts", "f();\n", "// @ts-nocheck\nf(1);\n", true},
		{"a.py", "x = 1\n", "x = f(1)  # type: ignore[arg-type]\n", true},
		{"src/testimony.py", "x = 1\n", "x = f(1)  # noqa\n", true},
		{"test_a.py", "", "x = f(1)  # type: ignore[arg-type]\n", false},
		{"a.py", "", "x = f(1)  # type: ignore[arg-type]\n", true},
	} {
		cs := modify(c.name, c.before, c.after)
		if c.before == "" {
			cs = create(c.name, c.after)
		}
		held := ReviewText(cs, nil)
		if len(held) != 1 || held[0].Kind != Suppression || held[0].Block != c.blocks {
			t.Errorf("%s: %q: %+v", c.name, c.after, held)
		}
		if list, _ := SilencedBy(cs); !c.blocks && len(list) > 0 {
			t.Errorf("%s: %q: measured though it does not block: %+v", c.name, c.after, list)
		}
		if !AddsSuppression(cs) || AddsSuppression(cs.Reverse()) {
			t.Errorf("%s: %q: a suppression is %v, its removal %v", c.name, c.after, AddsSuppression(cs), AddsSuppression(cs.Reverse()))
		}
	}
	// A file that only has the name of a test is named by the program.
	named := create("src/b.test.ts", "// @ts-expect-error\nf(1);\n")
	named.Changes = append(named.Changes, modify("src/a.ts", "f();\n", "import './b.test.js';\nf();\n").Changes...)
	if held := ReviewText(named, nil); len(held) != 1 || !held[0].Block {
		t.Errorf("one that the program names: %+v", held)
	}
	// Tests are compared with tests: a suppression that moves from a test into the program is new there.
	cs := modify("tests/test_a.py", "x = f(1)  # noqa: B006\n", "x = f(1)\n")
	cs.Changes = append(cs.Changes, modify("a.py", "y = 1\n", "y = f(1)  # noqa: B006\n").Changes...)
	if held := ReviewText(cs, nil); len(held) != 1 || !held[0].Block {
		t.Errorf("moved from a test into the program: %+v", held)
	}
}

// For tools that no gate runs, the configuration decides: a project that names a tool has it check.
func TestTheProjectSaysWhatItChecks(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		files  map[string]string
		family string
		want   bool
	}{
		{map[string]string{"a.py": "pylint = 1\n"}, "pylint", false},
		{map[string]string{".pylintrc": ""}, "pylint", true},
		{map[string]string{".github/workflows/ci.yml": "run: pylint a\n"}, "pylint", true},
		{map[string]string{"package.json": `{"devDependencies": {"xo": "1"}}`}, "eslint", true},
		{map[string]string{"package.json": `{}`}, "eslint", false},
		{nil, "of a tool that nobody knows", true},
	} {
		if got := Checks(check.NewView(verifytest.Scan(t, c.files), workspace.Changeset{}), c.family); got != c.want {
			t.Errorf("%v of %s: %v", c.files, c.family, got)
		}
	}
	for _, s := range directive.Suppressions() {
		// Generated code is checked less than other code, whatever the project says.
		if !checker.Known(s.Family) && !s.Code && s.Family != directive.Generated && !slices.Contains(coverageFamilies, s.Family) {
			t.Errorf("%s: nothing says who checks it", s.Family)
		}
	}
}

// A measured suppression replaces what the text says about its line, and about no other line.
func TestWhatWasMeasuredIsToldOnce(t *testing.T) {
	t.Parallel()
	base := verifytest.Scan(t, map[string]string{"a.py": "x = 1\n"})
	cs := modify("a.py", "x = 1\n", "x = 1  # noqa: B006\ny = 2  # noqa: B007\n")
	list, _ := SilencedBy(cs)
	if len(list) != 2 {
		t.Fatalf("%+v", list)
	}
	holds := Review(t.Context(), base, cs, nil, []Hold{list[1].Harmless()})
	if len(holds) != 2 || !holds[0].Block || holds[1].Block || !strings.Contains(holds[1].Reason, "B007 (without it") {
		t.Errorf("%+v", holds)
	}
}
