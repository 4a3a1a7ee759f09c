package golang

import (
	"fmt"
	"maps"
	"testing"

	"agent/sandbox/guest"
	"agent/verify/check"
	"agent/verify/checktest"
	"agent/verify/verifytest"
)

// goListed returns what go list prints for one package.
func goListed(dir, err string) guest.Result {
	return verifytest.Ended(0, fmt.Appendf(nil, "%q %q \"\" false 0 %q %q\n", "m.com/"+dir, check.Work+"/"+dir, "", err), nil)
}

// A module in which nothing compiled keeps the compiler from judging the whole workspace, but not a patch of that module alone.
func TestModuleThatNeverCompiledBlocksNobody(t *testing.T) {
	t.Parallel()
	const absent = "no required module provides package x; module lookup disabled by GOPROXY=off"
	b, box := checktest.Replayed(map[string]guest.Result{"list": goListed("far", absent)})
	b.View = checktest.View(map[string]string{"far/go.mod": "module m.com/far\n\ngo 1.24\n", "near/go.mod": "module m.com/near\n\ngo 1.24\n"})
	if out := runGoTypes(t.Context(), b); out.Blocked != goNotInstalled || len(box.Ran) != 2 {
		t.Errorf("%+v, ran %+v", out, box.Ran)
	}
	b.Reach, b.Leave = check.Reach{"far": true, "near": false}, true
	out := runGoTypes(t.Context(), b)
	if out.Blocked != "" || len(box.Ran) != 3 || box.Ran[2].Dir != check.Work+"/far" {
		t.Errorf("%+v, ran %+v", out, box.Ran)
	}
	base := check.Outcome{Findings: out.Findings, Unjudged: out.Unjudged}
	if g := judgeGoTypes(base, out.Beside(base, b.Reach), check.Diff{}); g.Verdict != check.Pass || g.Old != 1 {
		t.Errorf("%+v", g)
	}
}

// The go command lists no directory for packages whose imports are in missing modules; each still has its own directory.
func TestPackagesOfNoDirectoryAreToldApart(t *testing.T) {
	t.Parallel()
	listed := verifytest.Ended(0, []byte(`"m.com/far" "" "" false 0 "" ""`+"\n"+`"m.com/far/a" "" "" false 0 "" ""`+"\n"+`"m.com/far/b" "`+check.Work+`/far/b" "" false 0 "" ""`+"\n"+`"m.com/farther" "" "" false 0 "" ""`+"\n"), nil)
	b, _ := checktest.Replayed(map[string]guest.Result{"list": listed})
	b.View = checktest.View(map[string]string{"far/go.mod": "module m.com/far\n\ngo 1.24\n"})
	dirs, out, done := goDirs(t.Context(), b, "far")
	if want := map[string]string{"m.com/far": "far", "m.com/far/a": "far/a", "m.com/far/b": "far/b", "m.com/farther": "."}; !done || !maps.Equal(dirs, want) {
		t.Errorf("%v, %+v", dirs, out)
	}
}
