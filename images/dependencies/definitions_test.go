package dependencies

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The requirements of a project's tests are found wherever the project declares them.
func TestWhatTestsNeedIsFoundWhereTheProjectSaysIt(t *testing.T) {
	t.Parallel()
	const project = "[project]\nname = 'own'\ndependencies = ['a']\n[project.optional-dependencies]\nhttp2 = ['h2']\nDocs_ = ['no']\n"
	for name, c := range map[string]struct {
		files map[string][]byte
		want  string
	}{
		"groups that include others": {
			texts("pyproject.toml", "[dependency-groups]\nTests = ['p', {include-group = 'Dj_Ango'}, {include-group = 'lint'}]\ndj-ango = ['d', {include-group = 'tests'}]\nlint = ['l']\ndocs = ['no']\n"), "d l p",
		},
		"a group that is not there": {texts("pyproject.toml", "[dependency-groups]\ntests = ['p', {include-group = 'gone'}, {}, 1]\n"), "p"},
		"uv, pdm and Poetry before groups": {
			texts("pyproject.toml", "[tool.uv]\ndev-dependencies = ['u']\n[tool.pdm.dev-dependencies]\ntest = ['p']\ndoc = ['no']\n[tool.poetry.dev-dependencies]\no = '^1'\n"), "o p u",
		},
		"setup.cfg": {
			texts("setup.cfg", "[metadata]\nname = own\n[options]\ninstall_requires =\n  a>1 # why\n  b;python_version<'4'\n[options.extras_require]\ntesting = own[more]\n  t\nmore = m\ndocs = no\n[options.package_data]\n* = *.typed\n"),
			"a>1 b;python_version<'4' m t",
		},
		"setup.py": {
			texts("setup.py", "from setuptools import setup\nrequires = ['a', # a comment with ']'\n  \"b>\" '1']\ntests = ('t',)\nsetup(name='own', install_requires=requires, tests_require=tests,\n  extras_require={'Dev': [*tests, 'd'], 'docs': ['no'], f'{x}': ['no']}, entry_points={'x': ['no']})\n"),
			"a b>1 d t",
		},
		"what tests work on":       {texts("tests/data/setup.py", "setup(install_requires=['no'])\n", "test/x/pyproject.toml", project, "tests/tox.ini", "[testenv]\ndeps = no\n", "tests/requirements.txt", "t\n"), "t"},
		"an extension has a name":  {texts("setup.py", "e = Extension(name='a')\nsetup(name='own', install_requires=['a', 'own[x]'], extras_require={'x': ['b']})\n"), "a b"},
		"a setup.py that computes": {texts("setup.py", "setup(install_requires=read('x'), tests_require=[x for x in open('r')], extras_require=dict(test=['no']), name=NAME[0])\n"), ""},
		"tox.ini": {
			texts("pyproject.toml", project, "tox.ini", "[base]\ndeps = b\n[testenv]\nextras = http2\ndeps =\n  {[base]deps}\n  t>1 # why\n  -r{toxinidir}/requirements/x.txt\n  !lint: n\n  py27: no\n  own\n  a==0\n  {env:X:no}\n[testenv:docs]\ndeps = no\n[testenv:py3{8,9}-x]\ndeps = y\n",
				"requirements/x.txt", "x\n"),
			"a b h2 n t>1 x y",
		},
		"tox.toml":                      {texts("pyproject.toml", project, "tox.toml", "[env_run_base]\ndeps = ['t']\nextras = ['http2']\n[env.docs]\ndeps = ['no']\n"), "a h2 t"},
		"tox in pyproject.toml":         {texts("pyproject.toml", project+"[tool.tox]\nlegacy_tox_ini = '''\n[testenv]\ndeps = t\n'''\n[tool.tox.env_run_base]\ndependency_groups = ['more']\n[dependency-groups]\nmore = ['g']\n"), "a g t"},
		"hatch":                         {texts("pyproject.toml", project+"[tool.hatch.envs.default]\ndependencies = ['t']\n[tool.hatch.envs.hatch-test]\nextra-dependencies = ['e']\nfeatures = ['http2']\n[tool.hatch.envs.docs]\ndependencies = ['no']\n"), "a e h2 t"},
		"hatch.toml":                    {texts("hatch.toml", "[envs.test]\ndependencies = ['t']\n"), "t"},
		"a table of another shape":      {texts("pyproject.toml", project+"[tool]\nhatch = 1\ntox = ['x']\n"), "a"},
		"nox":                           {texts("pyproject.toml", project, "noxfile.py", "import nox\n@nox.session\ndef tests(session):\n    session.install('-e', '.[http2]', \"t>1\", *more, f'{no}', '-r', 'requirements-x.txt') # 'no'\n    session.install(*nox.project.dependency_groups(PYPROJECT, 'tests'))\n    session.run('pytest', 'no')\n    session.run('uv', 'sync', '--group=g')\ndef docs(session):\n    session.install('no')\n"), "a h2 t>1"},
		"extras in a requirements file": {texts("pyproject.toml", project, "requirements.txt", "-e .[http2, gone]\nr\n"), "a h2 r"},
		"a project below":               {texts("lib/setup.cfg", "[options.extras_require]\nall = x\n", "dev-requirements.txt", "./lib[all]\n"), "x"},
		"CI, where nothing else says it": {
			texts("pyproject.toml", project, ".github/workflows/test.yml", "jobs:\n  a:\n    steps:\n    - run: python -m pip install --upgrade pip tox && pip install -e '.[http2]' \"t>1\" --extra-index-url https://no.example -t no u \\\n          v ${{ matrix.no }} $no # no\n    - run: echo pipx install no; uv pip install --system w || true\n"),
			"a h2 t>1 u v w",
		},
		"CI of another language":   {texts("go.mod", "module x\n", ".gitlab-ci.yml", "a:\n  script: pip install no\n"), ""},
		"a Dockerfile":             {texts("pyproject.toml", project, "Dockerfile", "RUN pip install no\n"), "a"},
		"CI, where something does": {texts("pyproject.toml", "[dependency-groups]\ntest = ['t']\n", ".gitlab-ci.yml", "a:\n  script: pip install no\n"), "t"},
		"what another line names":  {texts("requirements.txt", "T.x==1\n", "tox.ini", "[testenv]\ndeps = t-x>2\n  t_y\n  t-y<3\n"), "T.x==1 t_y"},
	} {
		d := Read(c.files)
		if got := all(d); got != c.want || len(d.Notes) > 0 {
			t.Errorf("%s: %q, not %q; %q", name, got, c.want, d.Notes)
		}
	}
}

// Whatever a definition contains, an installer gets only names with versions from it, and a note names what is left out.
func TestDefinitionsOfTestsSmuggleNothing(t *testing.T) {
	t.Parallel()
	for _, line := range []string{"git+https://evil.example/x", "evil @ https://evil.example/x", "evil==1 --pre", "../evil.whl", "--index-url=https://evil.example", "-ihttps://evil.example", "-r ../../etc/passwd"} {
		for name, files := range map[string]map[string][]byte{
			"tox.ini": texts("tox.ini", "[testenv]\ndeps =\n  "+line+"\n"), "tox.toml": texts("tox.toml", "[env_run_base]\ndeps = [\""+line+"\"]\n"),
			"noxfile.py": texts("noxfile.py", "def tests(s):\n    s.install('"+line+"')\n"), "setup.py": texts("setup.py", "setup(install_requires=['"+line+"'])"),
			"setup.cfg": texts("setup.cfg", "[options]\ninstall_requires =\n  "+line+"\n"), "hatch.toml": texts("hatch.toml", "[envs.test]\ndependencies = ['"+line+"']\n"),
		} {
			if d := Read(files); !d.Empty() || !strings.HasPrefix(line, "-") && len(d.Notes) == 0 {
				t.Errorf("%s with %q: %q, %q", name, line, d.held(), d.Notes)
			}
		}
	}
}

// Another author's script costs no more than one look at it.
func TestLiteralsAreReadInBoundedTime(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"deep":     "setup(install_requires=" + strings.Repeat("[", 100_000),
		"names":    "setup(install_requires=[" + strings.Repeat("a,", 100_000) + "])",
		"circle":   "a = b\nb = a\nsetup(install_requires=a)",
		"strings":  "setup(install_requires=[" + strings.Repeat(`"""`+"'''", 40_000),
		"open":     "setup(install_requires=['a', 'b",
		"keywords": strings.Repeat("name=", 50_000),
	} {
		d := Read(texts("setup.py", text))
		if diff := cmp.Diff([]string(nil), d.Steps()); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	if d := Read(texts("tox.ini", "[testenv]\ndeps =\n"+strings.Repeat("  {[testenv]deps}\n", 1000)+"  a\n")); len(d.Files()[laterFile]) > 1000 {
		t.Errorf("a section that names itself: %d bytes", len(d.Files()[laterFile]))
	}
}

// all returns the requirements of a set.
func all(d Set) string {
	return strings.Join(slices.Sorted(strings.FieldsSeq(d.held()[requirementsFile]+d.held()[laterFile])), " ")
}
