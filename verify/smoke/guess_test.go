package smoke

import (
	"testing"

	"agent/sandbox"
	"agent/sandbox/workspace"
	"agent/verify/check"
	"agent/verify/checktest"
	"agent/verify/verifytest"
)

func TestAGuessIsWhatNothingDeclares(t *testing.T) {
	t.Parallel()
	const cli, script = "shop/cli.py", "tools/count.py"
	for name, c := range map[string]struct {
		program, other, text string
		guess                bool
	}{
		"in a package":          {cli, "README.md", "# Shop\n", true},
		"in a directory":        {script, "README.md", "", true},
		"at the top":            {"count.py", "README.md", "", false},
		"in src":                {"src/count.py", "README.md", "", false},
		"by its name":           {"shop/__main__.py", "README.md", "", false},
		"documented as a part":  {cli, "docs/api.rst", ".. automodule:: shop.cli\n", true},
		"listed in the README":  {cli, "README.md", "- `shop.cli` reads arguments\n", true},
		"of another directory":  {cli, "README.md", "python workshop/cli.py\n", true},
		"a longer name":         {cli, "README.md", "python -m shop.client\n", true},
		"imported":              {cli, "shop/a.py", "from shop import cli  # shop/cli.py\n", true},
		"a script of a project": {cli, "pyproject.toml", "[project.scripts]\nshop = \"shop.cli:main\"\n", false},
		"an entry point":        {cli, "setup.py", "setup(entry_points={'console_scripts': ['shop = shop.cli : main']})\n", false},
		"in src, declared":      {"src/" + cli, "setup.cfg", "console_scripts =\n    shop = shop.cli:main\n", false},
		"of the README":         {cli, "README.md", "    $ python3 -m shop.cli --all\n", false},
		"an image's":            {cli, "deploy/Dockerfile", "CMD [\"python3\", \"-m\", \"shop.cli\"]\n", false},
		"a recipe":              {script, "Makefile", "count:\n\tpython tools/count.py\n", false},
		"in CI":                 {script, ".github/workflows/ci.yml", "jobs:\n  a:\n    steps:\n      - run: ./tools/count.py\n", false},
		"a README beside it":    {script, "tools/README.rst", "Run ``tools/count.py`` first.\n", false},
	} {
		files := map[string]string{c.program: checktest.Guard + "    pass\n", c.other: c.text, "shop/__init__.py": "", "src/shop/__init__.py": ""}
		base := check.NewView(verifytest.Scan(t, files), workspace.Changeset{})
		touched := verifytest.Change(t, base.Base, map[string]string{c.program: checktest.Guard + "    print()\n"})
		before, after, err := Entries(base, base, check.Toolchain, check.Smoke{})
		if err != nil || before.Path != c.program || before.Guess != c.guess || after.Guess != c.guess {
			t.Errorf("%s: %+v then %+v, want a guess %v, %v", name, before, after, c.guess, err)
		}
		// A program that the patch is about is watched to the end.
		if before, after, err = Entries(base, check.NewView(base.Base, touched), check.Toolchain, check.Smoke{}); err != nil || before.Guess != c.guess || after.Guess {
			t.Errorf("%s, touched: %+v then %+v, %v", name, before, after, err)
		}
	}
}

func TestAProgramThatThePatchBringsIsNoGuess(t *testing.T) {
	t.Parallel()
	base := verifytest.Scan(t, map[string]string{"README.md": ""})
	cand := check.NewView(base, verifytest.Change(t, base, map[string]string{"tools/count.py": checktest.Guard}))
	if _, after, err := Entries(check.OnBase(base), cand, check.Toolchain, check.Smoke{}); err != nil || after.Path == "" || after.Guess {
		t.Errorf("%+v, %v", after, err)
	}
}

// A brief look ends a program that keeps running and does not listen, and changes nothing else.
func TestAGuessIsLookedAt(t *testing.T) {
	t.Parallel()
	b := checktest.NewBench(t, map[string]string{
		"t/endless.py": "while True:\n    print('x' * 99)\n", "t/waits.py": "import time\ntime.sleep(99)\n", "t/ends.py": "print(1)\n", "t/crash.py": "raise LookupError('no')\n",
		"t/server.py": planted["server.py"],
	}, sandbox.Limits{})
	for p, want := range map[string]struct {
		glanced bool
		verdict check.Verdict
	}{
		"t/endless.py": {true, check.Pass}, "t/waits.py": {true, check.Pass}, "t/ends.py": {false, check.Pass}, "t/crash.py": {false, check.Fail}, "t/server.py": {false, check.Pass},
	} {
		b.Entry = startFile(b.View, b.Tools, p)
		b.Entry.Guess = true
		out := run(t.Context(), b)
		if out.Ending == nil || out.Ending.Glanced != want.glanced || out.Ending.Settled != (p == "t/server.py") || out.Ending.Wall > smokeTime {
			t.Errorf("%s: %+v", p, out)
			continue
		}
		if g := judge(check.Outcome{}, out, check.Diff{}); g.Verdict != want.verdict {
			t.Errorf("%s: %+v", p, g)
		}
	}
}
