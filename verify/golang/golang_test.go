package golang

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"agent/sandbox/guest"
	"agent/sandbox/workspace"
	"agent/verify/check"
	"agent/verify/checktest"
	"agent/verify/verifytest"
)

func TestGoModulesAreRoots(t *testing.T) {
	t.Parallel()
	v := checktest.View(map[string]string{
		"go.mod": "", "tools/go.mod": "", "tools/testdata/m/go.mod": "", "vendor/x/go.mod": "", "_old/go.mod": "", "web/.cache/go.mod": "",
		"alone/go.mod": "", "go.work": "go 1.24\n\nuse . // the first\nuse (\n\t./tools\n\t// ./alone\n)\n",
		"other/go.work": "use `./m`\n", "other/m/go.mod": "", "node_modules/a/go.mod": "",
	})
	if got := Roots(v); !slices.Equal(got, []string{"alone", ".", "other/m", "tools"}) {
		t.Errorf("%q", got)
	}
	for root, want := range map[string]string{
		".": "/work/go.work", "tools": "/work/go.work", "alone": "off", "other/m": "/work/other/go.work",
	} {
		if got := goWork(v, root); got != want {
			t.Errorf("go.work of %s: %s, want %s", root, got, want)
		}
	}
	if goApplies(v) != "" || goApplies(checktest.View(map[string]string{"a.go": "", "testdata/go.mod": ""})) == "" {
		t.Error("whether there is a module is told wrong")
	}
}

// listed is the output of go list for a module with one fault of each kind.
const listed = `
"example.com/m/area" "/work/m/area" "" false 0 "" "# example.com/m/area\narea/a.go:5:28: not enough arguments in call to F\n\thave ()\n\twant (int)\n./b.go:6: undefined: x\n"
"example.com/m/nowhere" "" "" true 0 "app/main.go:3:8" "no required module provides package example.com/m/nowhere; to add it:\n\tgo get example.com/m/nowhere"
"strin" "" "" true 0 "app/main.go:4:8" "package strin is not in std (/usr/lib/go-1.26/src/strin)"
"github.com/google/uuid" "" "" true 0 "net/n.go:3:8" "github.com/google/uuid@v1.6.0: module lookup disabled by GOPROXY=off"

"example.com/m/app" "/work/m/app" "" false 3 "" ""
"example.com/m/net" "/work/m/net" "" false 1 "" ""
"example.com/m/two" "/work/m/two" "" false 0 "" "found packages a (a.go) and b (b.go) in /work/m/two"
"example.com/m/sound" "/work/m/sound" "" false 0 "" ""
"example.com/m/sound_test [example.com/m/sound.test]" "/work/m/sound" "example.com/m/sound" false 1 "" ""
"example.com/m/sound.test" "/work/m/sound" "" false 1 "" ""
"example.com/m/whole" "/work/m/whole" "" false 0 "" ""
"example.com/m/whole [example.com/m/whole.test]" "/work/m/whole" "example.com/m/whole" false 0 "" ""
"example.com/m/whole.test" "/work/m/whole" "" false 0 "" ""
`

func TestGoPackagesAreRead(t *testing.T) {
	t.Parallel()
	packages, err := parseGoList(verifytest.Ended(0, []byte(listed), nil))
	if err != nil || len(packages) != 13 {
		t.Fatalf("%d packages, %v", len(packages), err)
	}
	sum := goTypes{unjudged: map[string]bool{}, seen: map[check.Finding]bool{}}
	for _, p := range slices.Concat(packages, packages[:1]) { // again for the tests
		sum.add(p, "m")
	}
	want := []check.Finding{
		{File: "m/area/a.go", Line: 5, Column: 28, Rule: ruleGoTypes, Message: "not enough arguments in call to F have () want (int)"},
		{File: "m/b.go", Line: 6, Rule: ruleGoTypes, Message: "undefined: x"},
		{File: "m/app/main.go", Line: 3, Column: 8, Rule: ruleGoTypes, Message: "no required module provides package example.com/m/nowhere"},
		{File: "m/app/main.go", Line: 4, Column: 8, Rule: ruleGoTypes, Message: "package strin is not in std"},
		{File: "m/net/n.go", Line: 3, Column: 8, Rule: ruleGoAbsent, Message: "a module that go.mod requires is not installed"},
		{File: "m/two", Rule: ruleGoTypes, Message: "found packages a (a.go) and b (b.go) in /work/m/two"},
	}
	if d := cmp.Diff(want, sum.found); d != "" {
		t.Error(d)
	}
	scopes := map[string]bool{"m/app/*.go": true, "m/net/*.go": true, "m/two/*.go": true, "m/sound/*_test.go": true}
	if d := cmp.Diff(scopes, sum.unjudged); d != "" || !sum.absent {
		t.Error(d, sum.absent)
	}
	sound, half, unjudged := goSound(packages, "m")
	if !slices.Equal(sound, []string{"example.com/m/whole"}) || !slices.Equal(half, []string{"m/sound"}) ||
		unjudged["m/sound/*.go"] || !unjudged["m/sound/*_test.go"] || !unjudged["m/area/*.go"] || !unjudged["m/area/*_test.go"] || len(unjudged) != 9 {
		t.Errorf("linted %q and %q, not %v", sound, half, unjudged)
	}
	v := check.NewView(verifytest.Scan(t, map[string]string{"m/sound/a.go": "", "m/sound/a_test.go": "", "m/sound/b.go": "", "m/sound/c.txt": "", "m/sound/d/e.go": ""}), workspace.Changeset{})
	if got := goFiles(v, "m", "m/sound"); !slices.Equal(got, []string{"./sound/a.go", "./sound/b.go"}) {
		t.Errorf("without its tests it is %q", got)
	}
}

func TestGoListThatIsNoAnswerIsTold(t *testing.T) {
	t.Parallel()
	const one = `"m" "/work" "" false 0 "" ""`
	for name, res := range map[string]guest.Result{
		"status 1 with packages":  verifytest.Ended(1, []byte(one+"\n"), []byte("signal: killed")),
		"nothing":                 verifytest.Ended(0, nil, nil),
		"a line cut":              verifytest.Ended(0, []byte(one[:20]), nil),
		"text":                    verifytest.Ended(0, []byte("ok\n"), nil),
		"a name missing":          verifytest.Ended(0, []byte(`"" "/work" "" false 0 "" ""`), nil),
		"dropped":                 {Stdout: guest.Output{Head: []byte(one), Dropped: 1}},
		"no room for the cache":   verifytest.Ended(1, nil, []byte("go: writing to cache: no space left on device\n")),
		"a bad escape in its end": verifytest.Ended(0, []byte(strings.Replace(one, "work", `w\qrk`, 1)), nil),
	} {
		if list, err := parseGoList(res); err == nil {
			t.Errorf("%s: taken for an answer: %+v", name, list)
		}
	}
	// A fault in the module itself is a finding on its go.mod.
	for stderr, want := range map[string]string{
		"go: errors parsing go.mod:\ngo.mod:2: unknown directive: foo\n":                                     "go.mod:2: unknown directive: foo",
		"go: go.mod requires go >= 1.99 (running go 1.26.8; GOTOOLCHAIN=local)\n":                            "go.mod requires go >= 1.99 (running go 1.26.8; GOTOOLCHAIN=local)",
		"go: downloading example.org/m v1.0.0\ngo: updates to go.mod needed; to update it:\n\tgo mod tidy\n": "updates to go.mod needed; to update it: go mod tidy",
		"go: inconsistent vendoring in /work:\n\ta@v1: is explicitly required in go.mod, but not":            "a@v1: is explicitly required in go.mod, but not",
	} {
		list, err := parseGoList(verifytest.Ended(1, nil, []byte(stderr)))
		if err != nil || len(list) != 1 {
			t.Errorf("%q: %+v, %v", stderr, list, err)
			continue
		}
		f := list[0].findings("tools")
		if d := cmp.Diff([]check.Finding{{File: "tools/go.mod", Rule: ruleGoTypes, Message: want}}, f); d != "" || goScope(list[0], "tools") != "tools/..." {
			t.Error(d)
		}
	}
	if list, err := parseGoList(verifytest.Ended(0, nil, []byte("go: warning: \"./...\" matched no packages\n"))); err != nil || len(list) != 0 {
		t.Errorf("a module without packages: %v, %v", list, err)
	}
}

// Findings in a package that was not seen before the patch are old, except on lines that the patch wrote. A package that is no longer
// seen is not proved.
func TestGoFindingsOfUnseenPackagesAreOld(t *testing.T) {
	t.Parallel()
	at := func(file string, line int) check.Finding {
		return check.Finding{File: file, Line: line, Rule: ruleGoTypes, Message: file}
	}
	absent := check.Finding{File: "a/a.go", Rule: ruleGoAbsent, Message: "x"}
	d := check.Diff{Hunks: map[string][]check.Region{"a/a.go": {{NewFrom: 3, NewTo: 5}}}}
	for name, c := range map[string]struct {
		base, cand check.Outcome
		want       check.Verdict
		old        int
	}{
		"seen":                    {check.Outcome{}, check.Outcome{Findings: []check.Finding{at("a/a.go", 1)}}, check.Fail, 0},
		"unseen":                  {check.Outcome{Unjudged: []string{"a/*.go"}}, check.Outcome{Findings: []check.Finding{at("a/a.go", 1)}}, check.Pass, 1},
		"unseen module":           {check.Outcome{Unjudged: []string{"..."}}, check.Outcome{Findings: []check.Finding{at("a/a.go", 1)}}, check.Pass, 1},
		"other module":            {check.Outcome{Unjudged: []string{"b/..."}}, check.Outcome{Findings: []check.Finding{at("a/a.go", 1)}}, check.Fail, 0},
		"written by the patch":    {check.Outcome{Unjudged: []string{"a/*.go"}}, check.Outcome{Findings: []check.Finding{at("a/a.go", 4)}}, check.Fail, 0},
		"package, tests unseen":   {check.Outcome{Unjudged: []string{"a/*_test.go"}}, check.Outcome{Findings: []check.Finding{at("a/a.go", 1)}}, check.Fail, 0},
		"tests, tests unseen":     {check.Outcome{Unjudged: []string{"a/*_test.go"}}, check.Outcome{Findings: []check.Finding{at("a/a_test.go", 1)}}, check.Pass, 1},
		"seen no more":            {check.Outcome{Findings: []check.Finding{absent}}, check.Outcome{Findings: []check.Finding{absent}, Unjudged: []string{"a/*.go"}}, check.Infra, 1},
		"seen no more, explained": {check.Outcome{}, check.Outcome{Findings: []check.Finding{at("b/b.go", 1)}, Unjudged: []string{"a/*.go"}}, check.Fail, 0},
		"never seen":              {check.Outcome{Unjudged: []string{"a/*.go"}}, check.Outcome{Unjudged: []string{"a/*.go"}}, check.Pass, 0},
	} {
		if g := judgeGoTypes(c.base, c.cand, d); g.Verdict != c.want || g.Old != c.old {
			t.Errorf("%s: %s with %d old: %+v", name, g.Verdict, g.Old, g)
		}
	}
}

func TestAnswersOfGoVetAreRead(t *testing.T) {
	t.Parallel()
	const one = "{\n\t\"m/a\": {\n\t\t\"printf\": [\n\t\t\t{\"posn\": \"/work/a/a.go:10:26\", \"end\": \"/work/a/a.go:10:28\", \"message\": \"wrong type\"}\n\t\t]\n\t}\n}\n{}\n"
	found, _, err := parseVet(verifytest.Ended(0, []byte(one), nil), 2)
	want := []check.Finding{{File: "a/a.go", Line: 10, Column: 26, Rule: "vet-printf", Message: "wrong type", Help: "https://pkg.go.dev/golang.org/x/tools/go/analysis/passes/printf"}}
	if d := cmp.Diff(want, found); d != "" || err != nil {
		t.Error(d, err)
	}
	for name, res := range map[string]guest.Result{
		"a package that is missing": verifytest.Ended(0, []byte("{}\n"), nil),
		"status 1":                  verifytest.Ended(1, []byte(one), []byte("vet: a.go:1:1: undefined")),
		"cut":                       verifytest.Ended(0, []byte(one[:50]), nil),
		"dropped":                   {Stdout: guest.Output{Head: []byte(one), Dropped: 1}},
		"an analyzer that gave up":  verifytest.Ended(0, []byte("{\"m/a\": {\"printf\": {\"error\": \"panic\"}}}\n{}\n"), nil),
		"no place":                  verifytest.Ended(0, []byte("{\"m/a\": {\"printf\": [{\"message\": \"x\"}]}}\n{}\n"), nil),
	} {
		if found, _, err := parseVet(res, 2); err == nil {
			t.Errorf("%s: taken for an answer: %+v", name, found)
		}
	}
}

func TestAnswersOfStaticcheckMustAgreeWithItsStatus(t *testing.T) {
	t.Parallel()
	line := func(code string) []byte {
		return fmt.Appendf(nil, "{\"code\":%q,\"severity\":\"error\",\"location\":{\"file\":\"/work/a/b.go\",\"line\":8,\"column\":2},\"message\":\"m\"}\n", code)
	}
	for name, c := range map[string]struct {
		res     guest.Result
		want    int // -1 for an error
		blocked string
	}{
		"one":               {verifytest.Ended(1, line("SA5000"), nil), 1, ""},
		"none":              {verifytest.Ended(0, nil, nil), 0, ""},
		"one, said sound":   {verifytest.Ended(0, line("SA5000"), nil), -1, ""},
		"none, said faulty": {verifytest.Ended(1, nil, []byte("panic")), -1, ""},
		"cut":               {verifytest.Ended(1, line("SA5000")[:30], nil), -1, ""},
		"no code":           {verifytest.Ended(1, line(""), nil), -1, ""},
		"not loaded":        {verifytest.Ended(1, line("compile"), nil), -1, ""},
		"configuration":     {verifytest.Ended(1, line("config"), nil), 1, "staticcheck does not accept a/b.go: m"},
		"an old option":     {verifytest.Ended(2, nil, []byte("flag provided but not defined")), -1, ""},
	} {
		found, blocked, err := parseStatic(c.res, 1)
		if (err != nil) != (c.want < 0) || err == nil && len(found) != c.want || err == nil && blocked != c.blocked {
			t.Errorf("%s: %+v, %q, %v", name, found, blocked, err)
		}
		if len(found) == 1 && (found[0].File != "a/b.go" || found[0].Line != 8 || found[0].Help != "https://staticcheck.dev/docs/checks#"+found[0].Rule) {
			t.Errorf("%s: %+v", name, found[0])
		}
	}
}

func TestGofmtMustAccountForItsFiles(t *testing.T) {
	t.Parallel()
	const fault = "./a b.go:2:6: expected 'IDENT', found '{'\n"
	for name, c := range map[string]struct {
		res  guest.Result
		want int // -1 for an error
	}{
		"one":                {verifytest.Ended(2, nil, []byte(fault)), 1},
		"all sound":          {verifytest.Ended(0, []byte("a b.go\n"), nil), 0},
		"a fault, status 0":  {verifytest.Ended(0, nil, []byte(fault)), -1},
		"none, status 2":     {verifytest.Ended(2, nil, nil), -1},
		"a file not read":    {verifytest.Ended(2, nil, []byte(fault+"lstat ./c.go: no such file\n")), -1},
		"a file not asked":   {verifytest.Ended(2, nil, []byte(strings.Replace(fault, "a b", "z", 1))), -1},
		"crashed":            {verifytest.Ended(2, nil, []byte("panic: x\n")), -1},
		"some faults missed": {guest.Result{Exit: 2, Stderr: guest.Output{Head: []byte(fault), Dropped: 1}}, -1},
	} {
		found, err := parseGofmt(c.res, []string{"a b.go", "c.go"})
		if (err != nil) != (c.want < 0) || err == nil && len(found) != c.want {
			t.Errorf("%s: %+v, %v", name, found, err)
		}
		if len(found) == 1 && found[0] != (check.Finding{File: "a b.go", Line: 2, Column: 6, Rule: "go-syntax", Message: "expected 'IDENT', found '{'"}) {
			t.Errorf("%s: %+v", name, found[0])
		}
	}
}

// A directory in which only tests exist, and they do not compile, has no files left to lint. Given no files, a tool would take another
// package.
func TestAPackageOfBrokenTestsAloneIsNotLinted(t *testing.T) {
	t.Parallel()
	const listed = `"m/half" "/work/half" "" false 0 "" ""
"m/half [m/half.test]" "/work/half" "m/half" false 0 "" "# m/half\nhalf/a_test.go:1:1: no\n"
`
	b, box := checktest.Replayed(map[string]guest.Result{"list": verifytest.Ended(0, []byte(listed), nil)})
	box.Answers["./..."] = box.Answers["list"]
	b.View = check.NewView(verifytest.Scan(t, map[string]string{"go.mod": "module m\n\ngo 1.21\n", "half/a_test.go": "package half\n"}), workspace.Changeset{})
	out := runVet(t.Context(), b)
	if out.Verdict != "" || len(box.Ran) != 1 || !slices.Contains(out.Unjudged, "half/*_test.go") {
		t.Errorf("%+v, commands: %v", out, box.Ran)
	}
}

// staticcheck's findings in tests count if the project runs it; its findings in the program always count.
func TestStaticcheckSpeaksOfTestsWhereTheProjectRunsIt(t *testing.T) {
	t.Parallel()
	said := func(file string) []byte {
		return fmt.Appendf(nil, "{\"code\":\"SA5001\",\"severity\":\"error\",\"location\":{\"file\":\"/work/%s\",\"line\":3,\"column\":2},\"message\":\"m\"}\n", file)
	}
	for name, c := range map[string]struct {
		more map[string]string
		want int
	}{
		"nothing":         {nil, 1},
		"a CI definition": {map[string]string{".github/workflows/lint.yml": "run: staticcheck ./..."}, 2},
		"a Makefile":      {map[string]string{"Makefile": "lint:\n\tgolangci-lint run\n"}, 2},
		"golangci-lint":   {map[string]string{".golangci.yaml": "version: 2\n"}, 2},
		"a configuration": {map[string]string{"staticcheck.conf": "checks = ['SA*']\n"}, 2},
		"a README":        {map[string]string{"README.md": "We like staticcheck.\n"}, 1},
		"an import":       {map[string]string{"tools.go": "package a\n\nimport _ \"honnef.co/go/tools/cmd/staticcheck\"\n"}, 1},
	} {
		b, _ := checktest.Replayed(map[string]guest.Result{"list": goListed("a", ""), "staticcheck": verifytest.Ended(1, append(said("a/a.go"), said("a/a_test.go")...), nil)})
		files := map[string]string{"go.mod": "module m.com\n\ngo 1.24\n", "a/a.go": "package a\n", "a/a_test.go": "package a\n"}
		maps.Copy(files, c.more)
		b.View = check.OnBase(verifytest.Scan(t, files))
		out := runStatic(t.Context(), b)
		if len(out.Findings) != c.want || out.Verdict != "" || strings.Contains(out.Detail, "except tests") != (c.want == 1) {
			t.Errorf("%s: %+v", name, out)
		}
	}
}
