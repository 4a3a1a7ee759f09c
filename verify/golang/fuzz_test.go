package golang

import (
	"os"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/cover"

	"agent/verify/checktest"
	"agent/verify/verifytest"
)

// FuzzTests gives the reader of go test's events any bytes: what it accepts has only outcomes that the judgement knows, status 0 has no
// failed test or build, and a status other than 0 and 1 has one.
func FuzzTests(f *testing.F) {
	data, err := os.ReadFile("testdata/gotest.jsonl")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(1, data)
	f.Add(0, []byte(`{"Action":"start","Package":"a"}`+"\n"+`{"Action":"run","Package":"a","Test":"TestX"}`+"\n"+`{"Action":"pass","Package":"a","Test":"TestX"}`+"\n"+`{"Action":"pass","Package":"a"}`+"\n"))
	f.Add(1, []byte(`{"ImportPath":"a","Action":"build-output","Output":"a.go:1:1: x\n"}`+"\n"+`{"ImportPath":"a","Action":"build-fail"}`+"\n"+`{"Action":"fail","Package":"a","FailedBuild":"a"}`+"\n"))
	f.Add(2, []byte("null\n{}\n[]\n"))
	v := checktest.View(map[string]string{"go.mod": "module a\n", "a_test.go": "package a\n\nfunc TestX(t *testing.T) {}\n"})
	f.Fuzz(func(t *testing.T, exit int, data []byte) {
		run := parseGoTests(verifytest.Ended(exit, data, data), ".", map[string]string{"a": "."}, newGoTestFiles(v))
		bad := false
		for _, r := range run.results {
			bad = bad || r.Bad()
			if r.Outcome != "passed" && !r.Bad() && !r.Skipped() || strings.HasPrefix(r.File, "/") || r.Line < 0 {
				t.Errorf("%+v", r)
			}
		}
		if run.trouble == "" && (exit == 0) == bad && exit != 1 {
			t.Errorf("status %d with %+v", exit, run.results)
		}
	})
}

// FuzzFindings gives the same bytes to every reader of the output of Go's tools.
func FuzzFindings(f *testing.F) {
	f.Add(1, []byte("# a\n./a.go:1:2: undefined: x\nvet: ./a.go:1:2: x\n"))
	f.Add(1, []byte(`{"code":"SA1000","severity":"error","location":{"file":"/work/a.go","line":-1,"column":9999999999},"message":"m"}`+"\n"))
	f.Add(0, []byte(`{"ImportPath":"a","Dir":"/work","GoFiles":["../a.go"],"Error":{"Pos":"/etc/passwd:1:2","Err":"m"}}`+"\n"))
	f.Fuzz(func(t *testing.T, exit int, data []byte) {
		res := verifytest.Ended(exit, data, data)
		vet, _, _ := parseVet(res, 1)
		static, _, _ := parseStatic(res, 1)
		packages, err := parseGoList(res)
		if err == nil {
			for _, p := range packages {
				vet = append(vet, p.findings(".")...)
			}
		}
		gofmt, _ := parseGofmt(res, []string{"a.go"})
		checktest.Inside(t, append(append(vet, static...), append(gofmt, Compiled(".", string(data))...)...))
		goUses(string(data))
	})
}

// FuzzExecute asks which lines of any file were executed, given any blocks: executed lines are among the executable ones.
func FuzzExecute(f *testing.F) {
	f.Add([]byte("package a\n\nfunc f() {\n\tg()\n}\n"), 3, 10, 5, 2, 1)
	f.Add([]byte("package a\n//line b.go:99\nfunc f() { g() }\n"), -1, 0, 1<<40, 0, 0)
	f.Fuzz(func(t *testing.T, data []byte, startLine, startCol, endLine, endCol, count int) {
		asked := []int{-1, 0, 1, 2, 3, 4, 5, 1 << 40}
		code, ran, ok := execute(data, asked, []cover.ProfileBlock{{StartLine: startLine, StartCol: startCol, EndLine: endLine, EndCol: endCol, Count: count}})
		for _, line := range ran {
			if !ok || !slices.Contains(code, line) || !slices.Contains(asked, line) {
				t.Errorf("%d of %v in %v, %v", line, ran, code, ok)
			}
		}
	})
}
