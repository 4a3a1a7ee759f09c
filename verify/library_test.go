package verify

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"agent/sandbox/workspace"
	"agent/verify/check"
	"agent/verify/checktest"
	"agent/verify/smoke"
	"agent/verify/verifytest"
)

func TestLibraryThatCannotBeImportedAnyMoreFails(t *testing.T) {
	t.Parallel()
	s := newSite(t, map[string]string{
		"pyproject.toml":       "[project]\nname = \"shop\"\nversion = \"1\"\n",
		"src/shop/__init__.py": "from shop.cart import total\n\n__all__ = [\"total\"]\n",
		"src/shop/cart.py":     "total = 1\n",
		"remote.py":            "import numpy_of_nobody\n",
		"web/package.json":     "{\"main\": \"index.js\"}\n",
		"web/index.js":         "module.exports = require('./part.js');\n",
		"web/part.js":          "setInterval(() => {}, 1000);\n",
	})
	r := s.verify(t, map[string]string{"src/shop/cart.py": "import shop.price\n\ntotal = shop.price.of(1)\n", "web/part.js": "module.exports = part;\n"})
	if r.Verdict != check.Fail || skipped(r, check.GateSmoke) != "" {
		t.Fatalf("%s: %+v %+v", r.Verdict, r.Gates, r.Skipped)
	}
	g := find(t, r, check.GateSmoke)
	var got []string
	for _, f := range g.Findings {
		got = append(got, f.File+" "+f.Message)
	}
	want := []string{
		"src/shop/cart.py import python src/shop: ModuleNotFoundError: No module named 'shop.price'",
		"web/part.js import node web: ReferenceError: part is not defined",
	}
	if d := cmp.Diff(want, got); d != "" || g.Old != 1 || !strings.Contains(g.Detail, "imported 0 of 3") {
		t.Errorf("%s: %s, %d old", d, g.Detail, g.Old)
	}
}

func TestEitherTheProgramOrTheLibrariesAreTried(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		files     map[string]string
		command   []string
		program   bool
		libraries bool
	}{
		"a program":           {map[string]string{"main.py": "", "shop/__init__.py": ""}, nil, true, false},
		"a configured one":    {map[string]string{"shop/__init__.py": ""}, []string{"shop"}, true, false},
		"a guess at one":      {map[string]string{"shop/__init__.py": "", "tools/a.py": checktest.Guard}, nil, true, true},
		"a guess alone":       {map[string]string{"tools/a.py": checktest.Guard}, nil, true, false},
		"libraries":           {map[string]string{"shop/__init__.py": ""}, nil, false, true},
		"neither, but a page": {map[string]string{"index.html": ""}, nil, false, false},
	} {
		s, _ := offline(verifytest.Scan(t, c.files), verifytest.NewMemory(), workspace.Changeset{})
		s.req.Config.Smoke.Command = c.command
		s.plan(func() {})
		_, noProgram := s.results.skipped[smoke.ProgramName]
		_, noLibraries := s.results.skipped[smoke.ImportsName]
		if noProgram == c.program || noLibraries == c.libraries {
			t.Errorf("%s: left out are %q", name, s.results.skipped)
		}
	}
}
