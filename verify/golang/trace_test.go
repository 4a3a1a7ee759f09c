package golang

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"agent/sandbox"
	"agent/sandbox/guest"
	"agent/verify/check"
	"agent/verify/checktest"
	"agent/verify/verifytest"
)

// traced is a program in which each line ends with what happens to it when Double is called with 1: "yes", "no", or nothing if there is
// nothing to execute.
const traced = `package lib

import "strings"

const answer = 42

var upper = strings.ToUpper("x")

var later = func() int {
	return 1 // no
}

// A type.
type kind struct{ n int }

func Empty() {} // yes

func Never( // no
	n int, // no
) int { // no
	return n // no
}

func one() int { return 1 } // yes

func _() int { return 1 }

func none() int { return 0 } // no

func Double( // yes
	n int, // yes
) int { // yes
	// A comment.
	if n > 5 { // yes
		return n // no
	} else if n > 4 { // yes
		return 9 // no
	} else { // yes
		n++ // yes
	}
	if n == 2 { // yes
		Empty() // yes
	} else { // no
		return 0 // no
	}
	switch n { // yes
	case 1: // no
		return 3 // no
	case 2, // yes
		3: // yes
	default: // no
		n += 0 // no
	}
	each(func(i int) { // yes
		n += i // yes
	}, []int{ // yes
		1, // yes
		2, // yes
	})
	text := ` + "`" + `a // yes
b // yes
` + "`" + ` // yes
	defer func() { // yes
		n = len(text) // yes
	}()
	for range n { // yes
		continue // yes
	}
	return n + // yes
		one() // yes
}

func each(f func(int), list []int) { // yes
	for _, i := range list { // yes
		f(i) // yes
	}
}
`

// marked reads the marks at the ends of the lines.
func marked(text string) (code, ran, all []int) {
	for i, line := range strings.Split(text, "\n") {
		all = append(all, i+1)
		if strings.HasSuffix(line, "// yes") {
			ran = append(ran, i+1)
		}
		if strings.HasSuffix(line, "// yes") || strings.HasSuffix(line, "// no") {
			code = append(code, i+1)
		}
	}
	return code, ran, all
}

func TestLinesThatTestsExecuteAreTold(t *testing.T) {
	t.Parallel()
	b := checktest.NewBench(t, map[string]string{
		"go.mod": "module example.com/m\n\ngo 1.26\n", "go.work": "go 1.26\n\nuse (\n\t.\n\t./tools\n)\n",
		"lib/lib.go": traced, "lib/lib_test.go": "package lib\n\nimport \"testing\"\n\nfunc TestDouble(t *testing.T) {\n\tif Double(1) != 6 {\n\t\tt.Fatal(Double(1))\n\t}\n}\n",
		"lib/lib_windows.go": "package lib\n\nfunc Windows() int { return 1 }\n", "lib/types.go": "package lib\n\ntype T int\n",
		"lib/tagged.go": "//go:build never\n\npackage lib\n\nfunc Tagged() int { return 1 }\n",
		"bare/bare.go":  "package bare\n\nfunc Bare() int { return 1 }\n", "alone/alone.go": "package alone\n\nfunc Alone() int { return 1 }\n",
		"cmd/prog/main.go":      "package main\n\nimport \"example.com/m/bare\"\n\nfunc main() { bare.Bare() }\n",
		"cmd/prog/main_test.go": "package main_test\n\nimport \"testing\"\n\nfunc TestNothing(t *testing.T) {}\n",
		"tools/go.mod":          "module example.com/tools\n\ngo 1.26\n", "tools/t.go": "package tools\n\nfunc T() int { return 1 }\n",
		"tools/t_test.go": "package tools\n\nimport (\n\t\"testing\"\n\n\t\"example.com/m/bare\"\n)\n\nfunc TestT(t *testing.T) { bare.Bare() }\n",
		"gen/gen.go":      "package gen\n\nfunc Before() {}\n\n//line gen.y:7\nfunc Gen() int {\n\treturn 1\n}\n", "gen/gen_test.go": "package gen\n\nimport \"testing\"\n\nfunc TestGen(t *testing.T) { Gen() }\n",
		"broken/b.go": "package broken\n\nfunc B() int { return x }\n",
	}, sandbox.Limits{})
	code, ran, all := marked(traced)
	b.Lines = check.Lines{
		"lib/lib.go": all, "lib/lib_windows.go": {3}, "lib/types.go": {3}, "lib/tagged.go": {5}, "lib/lib_test.go": {5}, "bare/bare.go": {1, 3},
		"alone/alone.go": {3}, "cmd/prog/main.go": {3, 5}, "tools/t.go": {3}, "gen/gen.go": {1, 6, 7, 8}, "broken/b.go": {3}, "go.mod": {1}, "a.py": {1},
	}
	out := runMeasured(t.Context(), b)
	bad := slices.DeleteFunc(slices.Clone(out.Tests), func(r check.TestResult) bool { return !r.Bad() })
	if out.Verdict != "" || out.Blocked != "" || len(bad) != 1 || bad[0].ID != "broken" {
		t.Fatalf("%+v", out)
	}
	if strings.Contains(out.Output, "coverage:") {
		t.Errorf("what measuring says is in the output: %s", out.Output)
	}
	want := &check.Trace{
		Code: check.Lines{"lib/lib.go": code, "lib/types.go": {}, "bare/bare.go": {3}, "alone/alone.go": {3}, "cmd/prog/main.go": {5}, "tools/t.go": {3}},
		Ran:  check.Lines{"lib/lib.go": ran, "lib/types.go": {}, "bare/bare.go": {3}, "alone/alone.go": {}, "cmd/prog/main.go": {}, "tools/t.go": {}},
	}
	if d := cmp.Diff(want, out.Traced); d != "" {
		t.Error(d)
	}
}

// disturbed has tests whose results change when they are measured.
const disturbed = `package lib

import (
	"os"
	"os/exec"
	"testing"
)

func TestText(t *testing.T) {
	if os.Getenv("LIB_CHILD") != "" {
		return
	}
	cmd := exec.Command(os.Args[0], "-test.run=^TestText$")
	cmd.Env = append(os.Environ(), "LIB_CHILD=1")
	if out, err := cmd.Output(); err != nil || string(out) != "PASS\n" {
		t.Fatalf("%s %v", out, err)
	}
}

func TestSkips(test *testing.T) {
	if testing.CoverMode() != "" {
		test.Skip("measured")
	}
}

func TestAlwaysSkips(test *testing.T) { test.Skip("always") }

func TestFails(t *testing.T) {
	if F(1) != 1 {
		t.Fatal(F(1))
	}
}
`

func TestWhatMeasuringDisturbsIsNoFault(t *testing.T) {
	t.Parallel()
	b := checktest.NewBench(t, map[string]string{
		"go.mod": "module example.com/m\n\ngo 1.26\n", "lib/lib.go": "package lib\n\nfunc F(n int) int {\n\treturn n + 1\n}\n", "lib/lib_test.go": disturbed,
	}, sandbox.Limits{})
	b.Lines = check.Lines{"lib/lib.go": {3, 4, 5}}
	if out := runGoTests(t.Context(), b, newTracer(b)); fmt.Sprint(outcomes(out)) != "[failed TestText skipped TestSkips skipped TestAlwaysSkips failed TestFails]" {
		t.Errorf("measured: %v", outcomes(out))
	}
	out := runMeasured(t.Context(), b)
	if got := outcomes(out); fmt.Sprint(got) != "[passed TestText passed TestSkips skipped TestAlwaysSkips failed TestFails]" || out.Detail != "go test: 2 passed, 1 failed, 1 skipped" {
		t.Errorf("%v: %+v", got, out)
	}
	if d := cmp.Diff(&check.Trace{Code: check.Lines{"lib/lib.go": {3, 4}}, Ran: check.Lines{"lib/lib.go": {3, 4}}}, out.Traced); d != "" {
		t.Error(d)
	}
}

func outcomes(out check.Outcome) (list []string) {
	for _, r := range out.Tests {
		_, name, _ := strings.Cut(r.ID, "::")
		list = append(list, r.Outcome+" "+name)
	}
	return list
}

func TestNothingIsMeasuredThatNobodyAsksFor(t *testing.T) {
	t.Parallel()
	b := checktest.NewBench(t, map[string]string{
		"go.mod": "module example.com/m\n\ngo 1.26\n", "a.go": "package m\n\nfunc F() int { return 1 }\n",
		"a_test.go": "package m\n\nimport \"testing\"\n\nfunc TestF(t *testing.T) {\n\tF()\n\tif testing.CoverMode() != \"\" {\n\t\tt.Fatal()\n\t}\n}\n",
	}, sandbox.Limits{})
	for _, b.Lines = range []check.Lines{nil, {"a.py": {1}, "a_test.go": {6}}} {
		if out := runMeasured(t.Context(), b); out.Traced != nil || fmt.Sprint(outcomes(out)) != "[passed TestF]" {
			t.Errorf("%v: %+v", b.Lines, out)
		}
	}
	b.Lines = check.Lines{"a.go": {3}}
	b.Reach = check.Reach{".": false}
	if out := runGoTests(t.Context(), b, newTracer(b)); out.Traced != nil || fmt.Sprint(outcomes(out)) != "[passed TestF]" {
		t.Errorf("a module that the patch cannot affect: %+v", out)
	}
}

func TestARefusalToMeasureIsNoVerdict(t *testing.T) {
	t.Parallel()
	// The last word of a command is a path, and Replayed looks at its end.
	b, box := checktest.Replayed(map[string]guest.Result{"...": verifytest.Ended(2, nil, []byte("flag provided but not defined: -coverpkg\n"))})
	b.View = checktest.View(map[string]string{"go.mod": "module m\n", "a.go": "package m\n\nfunc F() {}\n"})
	b.Lines = check.Lines{"a.go": {3}}
	listed := verifytest.Ended(0, []byte("\"m\" \"/work\" \"\" false 0 \"\" \"\"\n"), nil)
	b.Box = listing{box, listed}
	out := runMeasured(t.Context(), b)
	var flags []bool
	for _, cmd := range box.Ran {
		if slices.Contains(cmd.Args, "test") {
			flags = append(flags, slices.Contains(cmd.Args, "-coverpkg=m"))
		}
	}
	if !slices.Equal(flags, []bool{true, false}) || out.Traced == nil || len(out.Traced.Code) != 0 {
		t.Errorf("%v: %+v", flags, out)
	}
}

// listing answers go list, and leaves the rest to another box.
type listing struct {
	check.Runner
	listed guest.Result
}

func (l listing) Run(ctx context.Context, cmd guest.Command) (guest.Result, error) {
	if slices.Contains(cmd.Args, "list") {
		return l.listed, nil
	}
	return l.Runner.Run(ctx, cmd)
}
