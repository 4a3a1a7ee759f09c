package python

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"agent/sandbox/workspace"
	"agent/verify/check"
	"agent/verify/verifytest"
)

// viewOf returns a view of files as the base has them.
func viewOf(t *testing.T, files map[string]string) check.View {
	t.Helper()
	return check.NewView(verifytest.Scan(t, files), workspace.Changeset{})
}

func TestCommandsOfAProjectAreRead(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ file, text, want string }{
		"tox":             {"tox.ini", "[testenv]\ndeps =\n    pytest\n    mypy\ncommands =\n    {envpython} -m pytest \\\n      --cov x {posargs:tests}\n    lint: mypy --strict src\n    # pytest old\n", "pytest --cov x tests|mypy --strict src"},
		"tox's default":   {"tox.ini", "[testenv]\ncommands = {env:CMD:pytest -W error} {posargs}\n", "pytest -W error"},
		"installed place": {"tox.ini", "[testenv]\ncommands = pytest --doctest-modules {env_site_packages_dir}/boltons {tox_root}/tests\n", "pytest --doctest-modules ./boltons ./tests"},
		"nox":             {"noxfile.py", "def tests(session):\n    session.install('pytest')\n    session.run(\n        \"pytest\", '--doctest-modules', *session.posargs)\n    # session.run('mypy')\n", "pytest --doctest-modules"},
		"CI":              {".github/workflows/ci.yml", "jobs:\n  a:\n    steps:\n    - name: Run mypy\n    - run: |\n        pip install pytest mypy\n        uv run --with x pytest -q && mypy .\n", "pytest -q|mypy ."},
		"make":            {"Makefile", "test: mypy\n\t@python3 -m pytest $(ARGS) tests\n\tcoverage run --source x -m unittest -v\n", "pytest tests|unittest -v"},
		"hatch":           {"pyproject.toml", "[tool.hatch.envs.test]\ndependencies = ['pytest']\n[tool.hatch.envs.test.scripts]\nrun = 'pytest --doctest-glob=*.rst {args}'\n", "pytest --doctest-glob=*.rst"},
		"poe":             {"pyproject.toml", "[tool.poe.tasks]\nmypy = 'mypy'\n[tool.poe.tasks.all]\nsequence = [{ cmd = 'pytest tests' }]\n", "pytest tests|mypy"},
		"tox.toml":        {"tox.toml", "[env_run_base]\ndeps = ['pytest', 'mypy']\ncommands = [['pytest', 'tests'], ['mypy', 'src']]\n", "pytest tests|mypy src"},
		"hooks":           {".pre-commit-config.yaml", "repos:\n- repo: x\n  hooks:\n  - id: mypy\n    args: [--strict]\n    files: ^src/\n  - id: ruff\n", "mypy --strict"},
		"a script":        {"scripts/test.sh", "#!/bin/sh\nif true; then :; fi\nPYTHONPATH=. pytest -p no:cacheprovider\n", "pytest -p no:cacheprovider"},
		"prose":           {"README.md", "pytest tests\n", ""},
	} {
		var got []string
		for _, c := range commandsOf(viewOf(t, map[string]string{c.file: c.text}), ".") {
			got = append(got, strings.Join(append([]string{c.Tool}, c.Args...), " "))
		}
		if strings.Join(got, "|") != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

func TestMypyIsAPromiseWhereTheProjectMakesIt(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		files map[string]string
		uses  bool
		want  typePromise
	}{
		"nothing names it":    {map[string]string{"a.py": ""}, false, typePromise{}},
		"files configured":    {map[string]string{"pyproject.toml": "[tool.mypy]\nfiles = ['src']\nstrict = true\n"}, true, typePromise{}},
		"all of it, strictly": {map[string]string{"setup.cfg": "[mypy]\ncheck_untyped_defs = true\n"}, true, typePromise{targets: []string{"."}, everything: true}},
		"configured alone":    {map[string]string{"mypy.ini": "[mypy]\nplugins = a.py\n"}, true, typePromise{targets: []string{"."}}},
		"by commands": {
			map[string]string{"src/a.py": "", "tox.ini": "[testenv]\ncommands =\n  mypy --strict --pretty src nowhere\n  mypy --strict --cache-dir x --warn-unused-ignores src\n"},
			true,
			typePromise{flags: []string{"--strict"}, targets: []string{"src"}},
		},
		"by itself and in a directory": {
			map[string]string{"src/a.py": "", "src2.py": "", "tox.ini": "[testenv]\ncommands =\n  mypy src/a.py\n  mypy src\n  mypy src2.py\n"},
			true,
			typePromise{targets: []string{"src", "src2.py"}},
		},
		"blind": {map[string]string{"Makefile": "a:\n\tmypy --ignore-missing-imports .\n"}, true, typePromise{flags: []string{"--ignore-missing-imports"}, targets: []string{"."}, blind: true}},
	} {
		got, uses := mypyPromise(viewOf(t, c.files), ".")
		if uses != c.uses || !slices.Equal(got.flags, c.want.flags) || !slices.Equal(got.targets, c.want.targets) || got.everything != c.want.everything || got.blind != c.want.blind {
			t.Errorf("%s: %t, %+v", name, uses, got)
		}
	}
	hooks := map[string]string{".pre-commit-config.yaml": "repos:\n- hooks:\n  - id: mypy\n    files: ^src/\n    exclude: ^src/old/\n"}
	p, _ := mypyPromise(viewOf(t, hooks), ".")
	if !p.covers("src/a.py") || p.covers("src/old/a.py") || p.covers("tests/a.py") || p.everything {
		t.Errorf("hooks: %+v", p)
	}
}

func TestWhatMypySaysForLackOfLibrariesIsNoPromise(t *testing.T) {
	t.Parallel()
	ignore, real, missing := check.Finding{Rule: "unused-ignore"}, check.Finding{Rule: "no-untyped-def"}, check.Finding{Rule: "import-not-found"}
	if got := promised([]check.Finding{ignore, real}, false); len(got) != 2 {
		t.Errorf("%+v", got)
	}
	for _, blind := range []bool{true, false} {
		if got := promised([]check.Finding{ignore, real, missing}, blind); !cmp.Equal(got, []check.Finding{real, missing}) {
			t.Errorf("%+v", got)
		}
	}
}

func TestWarningsCountWhereTheProjectAsksForThem(t *testing.T) {
	t.Parallel()
	warning, fault := check.Finding{Rule: "w", Unasked: true}, check.Finding{Rule: "e"}
	for name, c := range map[string]struct {
		makefile string
		want     int
	}{"not asked": {"a:\n\tpyright src\n", 1}, "asked": {"a:\n\tpyright --warnings\n", 2}, "of another": {"a:\n\tty check --warnings\n", 1}} {
		asked := asksForWarnings(viewOf(t, map[string]string{"Makefile": c.makefile}), ".", PyrightName, "--warnings")
		if got := errorsAlone([]check.Finding{warning, fault}, asked); len(got) != c.want || got[0].Unasked {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

func TestPluginsOfCommandsStandAsTheyWere(t *testing.T) {
	t.Parallel()
	v := viewOf(t, map[string]string{"tools/plug.py": "import helper\n", "helper.py": "", "tests/test_a.py": "", "tox.ini": "[testenv]\ncommands = pytest -p tools.plug -p no:xdist\n"})
	if got := TestPlugins(v, v); !slices.Equal(got, []string{"helper.py", "tools/plug.py"}) {
		t.Errorf("%q", got)
	}
	// mypy also has an option -p.
	v = viewOf(t, map[string]string{
		"shop/__init__.py": "", "shop/cart.py": "", "one.py": "", "two.py": "", "tests/test_a.py": "",
		"tox.ini":        "[testenv:mypy]\ncommands =\n    python -m mypy --config-file=mypy.ini -p shop\n",
		"setup.cfg":      "[tool:pytest]\naddopts =\n    -p one\nmarkers = slow\n[mypy]\nflags = -p shop\n",
		"pyproject.toml": "[tool.pytest.ini_options]\naddopts = [\n  \"-p\", \"two\",\n]\n",
	})
	if got := TestPlugins(v, v); !slices.Equal(got, []string{"one.py", "two.py"}) {
		t.Errorf("%q", got)
	}
	// If the product is a plugin, only the files with a part in it count.
	v = viewOf(t, map[string]string{
		"src/shop/__init__.py": "from shop import cart\n", "src/shop/cart.py": "from shop.price import total\n", "src/shop/price.py": "",
		"src/shop/testing.py": "import pytest\nimport shop.marks\n", "src/shop/marks.py": "from shop import names\n", "src/shop/names.py": "",
		"src/shop/more.py": "from shop import testing\n", "tests/test_a.py": "", "pytest.ini": "[pytest]\naddopts = -p shop -p shop.more\n",
	})
	if got := TestPlugins(v, v); !slices.Equal(got, []string{"src/shop/__init__.py", "src/shop/marks.py", "src/shop/more.py", "src/shop/testing.py"}) {
		t.Errorf("%q", got)
	}
	for name, want := range map[string]bool{PytestName: true, MypyName: true, "shellcheck": false} {
		if AsksBase(name, check.Plant(map[string]string{"tox.ini": ""})) != want || AsksBase(name, check.Plant(map[string]string{"a.py": ""})) {
			t.Errorf("%s: %t", name, !want)
		}
	}
	for p, want := range map[string]bool{"tox.ini": true, "noxfile.py": true, "sub/Makefile": true, "requirements.txt": true, "uv.lock": true, "a.py": false, "README.md": false} {
		if saysPromise(p) != want {
			t.Errorf("%s: %t", p, !want)
		}
	}
}

func TestUnittestsAreThoseThatTheProjectRuns(t *testing.T) {
	t.Parallel()
	const text = "class A(unittest.TestCase):\n    pass\n"
	files := map[string]string{"pkg/stock_check.py": text, "pkg/suite.py": text, "pkg/other.py": text, "pkg/empty_check.py": "", "test_a.py": text}
	if got := unittests(viewOf(t, files)); len(got) != 0 {
		t.Errorf("%q", got)
	}
	files["Makefile"] = "test:\n\tpython -m unittest discover -s pkg -p '*_check.py'\n\tpython -m unittest -v pkg.suite\n"
	if got := unittests(viewOf(t, files)); !slices.Equal(got, []string{"pkg/stock_check.py", "pkg/suite.py"}) {
		t.Errorf("%q", got)
	}
}
