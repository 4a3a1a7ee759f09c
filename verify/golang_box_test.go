package verify

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"

	"agent/sandbox"
	"agent/verify/check"
	"agent/verify/checktest"
	"agent/verify/format"
	"agent/verify/golang"
	"agent/verify/room"
	"agent/verify/syntax"
)

// goSite is a workspace of two modules, one of which uses the other. It contains an old fault of every kind.
var goSite = map[string]string{
	"go.mod":            "module example.com/site\n\ngo 1.24\n",
	"go.work":           "go 1.24\n\nuse (\n\t.\n\t./tools // the second\n)\n",
	"main.go":           "package main\n\nimport (\n\t\"fmt\"\n\n\t\"example.com/site/area\"\n)\n\nfunc main() { fmt.Println(area.Of(2, 3)) }\n",
	"area/area.go":      "// Package area knows areas.\npackage area\n\n// Of is the area of a rectangle.\nfunc Of(width, height int) int { return width * height }\n\n// Old is as it was.\nfunc Old(n int) int {\n\tn = n\n\treturn n\n}\n",
	"area/area_test.go": "package area\n\nimport \"testing\"\n\nfunc TestOf(t *testing.T) {\n\tfor _, n := range []int{1, 2} {\n\t\tt.Run(\"square\", func(t *testing.T) {\n\t\t\tif got := Of(n, n); got != n*n {\n\t\t\t\tt.Errorf(\"%d\", got)\n\t\t\t}\n\t\t})\n\t}\n}\n\nfunc TestOld(t *testing.T) { t.Fatal(\"old\") }\n",
	"old/old.go":        "package old\n\nimport _ \"example.com/absent\"\n\nvar x = y\n",
	// Its dependency is not installed, so nothing can tell what is wrong here.
	"far/go.mod":      "module example.com/far\n\ngo 1.24\n\nrequire github.com/google/uuid v1.6.0\n",
	"far/go.sum":      "github.com/google/uuid v1.6.0 h1:NIvaJDMOsjHA8n1jAhLSgzrAzy1Hgr+hNrb57e+94F0=\ngithub.com/google/uuid v1.6.0/go.mod h1:TIyPZe4MgqvfeYDBFedMoGGpEw/LqOeaOT+nhxU+yHo=\n",
	"far/far.go":      "package far\n\nimport \"github.com/google/uuid\"\n\n// X is of no type.\nvar X int = uuid.Nothing()\n",
	"far/far_test.go": "package far\n\nimport \"testing\"\n\nfunc TestX(t *testing.T) {}\n",
	"tools/go.mod":    "module example.com/tools\n\ngo 1.24\n",
	"tools/t.go":      "package tools\n\nimport \"example.com/site/area\"\n\n// Square is a square.\nfunc Square(n int) int { return area.Of(n, n) }\n",
}

func TestGoChecksProveThemselves(t *testing.T) {
	t.Parallel()
	b := checktest.NewBench(t, nil, sandbox.Limits{Tmp: room.Tmp})
	var list []check.Check
	for _, c := range allChecks() {
		switch c.Name {
		case format.Name, syntax.Name, golang.VetName, golang.StaticcheckName, golang.TypesName, golang.TestsName:
			list = append(list, c)
		}
	}
	for name, reason := range prove(t.Context(), b, list) {
		t.Errorf("%s: %s", name, reason)
	}
}

// Every fault is reported by its gate at its place, and no patch is blamed for the workspace's old faults.
func TestGoWorkspacesAreJudged(t *testing.T) {
	t.Parallel()
	s := newSite(t, goSite)
	patch := func(edits ...string) map[string]string {
		files := map[string]string{}
		for edit := range slices.Chunk(edits, 3) {
			text := cmp.Or(files[edit[0]], goSite[edit[0]])
			files[edit[0]] = strings.Replace(text, edit[1], edit[2], 1)
			if files[edit[0]] == text {
				t.Fatalf("%s has no %q", edit[0], edit[1])
			}
		}
		return files
	}
	r := s.verify(t, patch("area/area.go", "width * height", "height*width", "far/far.go", "of no", "of a"))
	expect(t, r, check.Pass)
	if got := string(r.Changeset.Changes[0].After); !strings.Contains(got, "height * width") {
		t.Errorf("not formatted: %s", got)
	}
	for _, gate := range gateOrder {
		if g := find(t, r, gate); (gate == check.GateLint || gate == check.GateTypes || gate == check.GateTests) && g.Old == 0 {
			t.Errorf("%s has no old finding: %+v", gate, g)
		}
	}
	// Errors in another module of the workspace that uses the package count as well.
	uncompiled := patch(
		"area/area.go", "(width, height int) int", "(width, height, _ int) int",
		"tools/t.go", "import", "import _ \"example.com/site/nowhere\"\n\nimport",
	)
	uncompiled["area/more.go"] = "package area\n\n" + strings.Repeat("var _ int = \"one\"\n", 11)
	types := []string{"area/area_test.go:8 go-types", "tools/t.go:3 go-types"}
	for i := range 11 { // one more than the compiler reports by default
		types = append(types, fmt.Sprintf("area/more.go:%d go-types", 3+i))
	}
	wantPlaces(t, s.verify(t, uncompiled), map[string][]string{
		check.GateLint: nil, check.GateTypes: types,
		check.GateSmoke: {"area/more.go:3 build"}, check.GateTests: {"area/more.go:3 test-error", "tools/t.go:3 test-error"},
	})
	r = s.verify(t, patch(
		"tools/t.go", "return area", "n = n\n\treturn area",
		"main.go", "fmt.Println(area.Of(2, 3))", "fmt.Println(area.Of(2, 3))\n\tpanic(\"planted\")",
		"area/area.go", "width * height", "width + height",
		"area/area_test.go", "\"%d\", got", "\"%s\", got",
		"area/area_test.go", "TestOld", "TestNew",
	))
	wantPlaces(t, r, map[string][]string{
		check.GateSmoke: {"main.go:11 panic"},
		check.GateLint:  {"area/area_test.go:9 vet-printf", "tools/t.go:7 vet-assign", "tools/t.go:7 SA4018"},
		check.GateTests: {
			"area/area_test.go:9 test-failed", "area/area_test.go:15 test-failed", "area/area_test.go:0 test-removed",
		},
	})
}

// wantPlaces compares the new findings of some gates by place and rule.
func wantPlaces(t *testing.T, r Report, want map[string][]string) {
	t.Helper()
	for gate, places := range want {
		var got []string
		for _, f := range find(t, r, gate).Findings {
			got = append(got, fmt.Sprintf("%s:%d %s", f.File, f.Line, f.Rule))
		}
		slices.Sort(got)
		slices.Sort(places)
		if !slices.Equal(got, places) {
			t.Errorf("%s: %q, want %q", gate, got, places)
		}
	}
}
