package smoke

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"agent/sandbox/guest"
	"agent/sandbox/workspace"
	"agent/verify/check"
	"agent/verify/checktest"
	"agent/verify/verifytest"
)

func TestLibrariesAreFoundByConvention(t *testing.T) {
	t.Parallel()
	many := map[string]string{}
	for i := range 30 {
		many["m"+strings.Repeat("x", i)+".py"] = ""
	}
	for _, c := range []struct {
		name  string
		files map[string]string
		want  string
	}{
		{"package", map[string]string{"shop/__init__.py": "", "shop/cart.py": "", "shop/deep/__init__.py": ""}, "python shop"},
		{"in src", map[string]string{"src/shop/__init__.py": "", "src/shop/cart.py": ""}, "python src/shop"},
		{"modules", map[string]string{"a.py": "", "b.pyi": "", "c.txt": "", "not-a-name.py": "", "1.py": "", "README": ""}, "python a"},
		{"tests and build scripts", map[string]string{"setup.py": "", "conftest.py": "", "noxfile.py": "", "test_a.py": "", "tests/__init__.py": "", "docs/conf.py": "", "__main__.py": ""}, ""},
		{"projects", map[string]string{"libs/a/pyproject.toml": "", "libs/a/a/__init__.py": "", "libs/b/setup.cfg": "", "libs/b/src/b/__init__.py": "", "libs/c/c/__init__.py": ""}, "python libs/a/a, python libs/b/src/b"},
		{"node", map[string]string{"package.json": `{"main": "lib/a.js"}`, "lib/a.js": ""}, "node . lib/a.js"},
		{"node without an ending", map[string]string{"p/package.json": `{"main": "./lib"}`, "p/lib/index.js": "", "q/package.json": `{"main": "./q"}`, "q/q.js": ""}, "node p p/lib/index.js, node q q/q.js"},
		{"node's exports", map[string]string{"package.json": `{"main": "x.js", "exports": {".": {"types": "./a.d.ts", "import": {"default": "./a.mjs"}}, "./b": "./b.js"}}`, "a.mjs": "", "b.js": "", "x.js": ""}, "node . a.mjs"},
		{"node's exports, in short", map[string]string{"package.json": `{"exports": "./a.cjs"}`, "a.cjs": ""}, "node . a.cjs"},
		{"node's exports without the package", map[string]string{"package.json": `{"exports": {"./b": "./b.js"}}`, "b.js": ""}, ""},
		{"node, not built yet", map[string]string{"package.json": `{"main": "dist/a.js"}`, "src/a.ts": ""}, ""},
		{"node, no script", map[string]string{"package.json": `{"main": "a.ts"}`, "a.ts": ""}, ""},
		{"node, elsewhere", map[string]string{"package.json": `{"main": "../../etc/a.js"}`, "a.js": ""}, ""},
		{"no package", map[string]string{"package.json": `{"private": true}`, "a/package.json": "[", "b/package.json": "[1]"}, ""},
		{"installed", map[string]string{"node_modules/x/package.json": `{"main": "a.js"}`, "node_modules/x/a.js": ""}, ""},
		{"conditions without an end", map[string]string{"package.json": `{"exports": ` + strings.Repeat(`{"node":`, 50) + `"./a.js"` + strings.Repeat("}", 50) + "}", "a.js": ""}, ""},
	} {
		v := check.NewView(verifytest.Scan(t, c.files), workspace.Changeset{})
		var got []string
		for _, lib := range libraries(v, check.Toolchain) {
			text := lib.name
			if strings.HasPrefix(text, "node ") {
				text += " " + lib.file
			}
			got = append(got, text)
		}
		if list := strings.Join(got, ", "); list != c.want {
			t.Errorf("%s: %q, want %q", c.name, list, c.want)
		}
		if reason := importsApply(v); (reason == "") != (c.want != "") {
			t.Errorf("%s: applies %q", c.name, reason)
		}
	}
	if n := len(libraries(check.NewView(verifytest.Scan(t, many), workspace.Changeset{}), check.Toolchain)); n != maxImports {
		t.Errorf("%d packages of 30", n)
	}
}

func TestImportsAreJudgedOneByOne(t *testing.T) {
	t.Parallel()
	fine := check.ImportResult{Name: "python shop"}
	fails := func(rule, message string, outside bool) check.ImportResult {
		return check.ImportResult{Name: "python shop", Failed: true, Outside: outside, Why: check.Finding{Rule: rule, Message: message}}
	}
	name := fails("NameError", "NameError: name 'x' is not defined", false)
	requests := fails("ModuleNotFoundError", "ModuleNotFoundError: No module named 'requests'", true)
	yaml := fails("ModuleNotFoundError", "ModuleNotFoundError: No module named 'yaml'", true)
	cart := fails("ModuleNotFoundError", "ModuleNotFoundError: No module named 'shop.cart'", false)
	for _, c := range []struct {
		name       string
		base, cand []check.ImportResult
		found, old int
	}{
		{"fine", []check.ImportResult{fine}, []check.ImportResult{fine}, 0, 0},
		{"fails", []check.ImportResult{fine}, []check.ImportResult{name}, 1, 0},
		{"new, and fails", nil, []check.ImportResult{name}, 1, 0},
		{"fails as before", []check.ImportResult{name}, []check.ImportResult{name}, 0, 1},
		{"fails otherwise", []check.ImportResult{name}, []check.ImportResult{cart}, 1, 0},
		{"not installed, as before", []check.ImportResult{requests}, []check.ImportResult{requests}, 0, 1},
		{"another is missed first", []check.ImportResult{requests}, []check.ImportResult{yaml}, 0, 1},
		{"not installed, anew", []check.ImportResult{fine}, []check.ImportResult{requests}, 1, 0},
		{"its own module instead", []check.ImportResult{requests}, []check.ImportResult{cart}, 1, 0},
		{"a fault before it", []check.ImportResult{requests}, []check.ImportResult{name}, 1, 0},
		{"gone", []check.ImportResult{fine}, nil, 0, 0},
	} {
		g := judgeImports(check.Outcome{Imports: c.base}, check.Outcome{Imports: c.cand}, check.Diff{})
		if len(g.Findings) != c.found || g.Old != c.old || (g.Verdict == check.Pass) != (c.found == 0) {
			t.Errorf("%s: %s %+v, %d old", c.name, g.Verdict, g.Findings, g.Old)
		}
	}
	if g := judgeImports(check.Outcome{Imports: []check.ImportResult{name}}, check.Outcome{Imports: []check.ImportResult{fine}}, check.Diff{}); g.Fixed != 1 {
		t.Errorf("mended: %+v", g)
	}
	if g := judgeImports(check.Outcome{}, check.Outcome{Verdict: check.OOM}, check.Diff{}); g.Verdict != check.OOM {
		t.Errorf("out of memory: %+v", g)
	}
}

func TestImportThatDoesNotComeToItsEndFailed(t *testing.T) {
	t.Parallel()
	v := check.NewView(verifytest.Scan(t, map[string]string{"a.py": "x = 1\n\n\ny\n", "shop/cart.py": ""}), workspace.Changeset{})
	absent := func(name string) []byte {
		return []byte("Traceback (most recent call last):\n  File \"/work/a.py\", line 4, in <module>\nModuleNotFoundError: No module named '" + name + "'\n")
	}
	for name, c := range map[string]struct {
		res  guest.Result
		want check.ImportResult
	}{
		"comes to its end": {verifytest.Ended(exitImported, nil, absent("told")), check.ImportResult{}},
		"is late":          {guest.Result{TimedOut: true, Exit: exitImported}, check.ImportResult{Failed: true, Why: check.Finding{File: "a.py", Rule: "import", Message: "the import did not finish: still running when the watch was over"}}},
		"exits":            {verifytest.Ended(0, nil, nil), check.ImportResult{Failed: true, Why: check.Finding{File: "a.py", Rule: "import", Message: "the import did not finish: exit status 0"}}},
		"ends by a signal": {guest.Result{Exit: -1, Signal: "SIGSEGV"}, check.ImportResult{Failed: true, Why: check.Finding{File: "a.py", Rule: "import", Message: "the import did not finish: ended by SIGSEGV"}}},
		"is not installed": {verifytest.Ended(1, nil, absent("requests.adapters")), check.ImportResult{Failed: true, Outside: true, Why: check.Finding{File: "a.py", Line: 4, Source: "y", Rule: "ModuleNotFoundError", Message: "ModuleNotFoundError: No module named 'requests.adapters'"}}},
		"a part is gone":   {verifytest.Ended(1, nil, absent("shop.card")), check.ImportResult{Failed: true, Why: check.Finding{File: "a.py", Line: 4, Source: "y", Rule: "ModuleNotFoundError", Message: "ModuleNotFoundError: No module named 'shop.card'"}}},
		"node's own":       {verifytest.Ended(1, nil, []byte(checktest.CrashRequire)), check.ImportResult{Failed: true, Why: check.Finding{File: "req.js", Line: 1, Rule: "Error", Message: "Error: Cannot find module './nowhere'"}}},
		"node's, outside":  {verifytest.Ended(1, nil, []byte(strings.ReplaceAll(checktest.CrashRequire, "./nowhere", "@scope/x"))), check.ImportResult{Failed: true, Outside: true, Why: check.Finding{File: "req.js", Line: 1, Rule: "Error", Message: "Error: Cannot find module '@scope/x'"}}},
	} {
		c.want.Name = "python a"
		got := importResult(check.Bench{View: v}, library{name: "python a", file: "a.py"}, c.res)
		if d := cmp.Diff(c.want, got); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
}
