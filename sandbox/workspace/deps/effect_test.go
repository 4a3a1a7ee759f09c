package deps

import (
	"reflect"
	"testing"
)

func TestWhatAManifestChanges(t *testing.T) {
	t.Parallel()
	installs := Effect{Installs: true}
	for name, c := range map[string]struct {
		file, before, after string
		want                Effect
	}{
		// A project's description of itself.
		"version":          {"package.json", `{"version":"1","dependencies":{"a":"1"}}`, `{"dependencies":{"a":"1"},"version":"2"}`, Effect{}},
		"layout":           {"web/package.json", "{\n  \"devDependencies\": {\"a\": \"*\"}\n}", "{\"devDependencies\":{\"a\":\"*\"}}\n", Effect{}},
		"exports":          {"package.json", `{"exports":{".":"./a.js"},"files":["a.js"]}`, `{"exports":{"./b":"./b.js"},"files":["a.js","lib"]}`, Effect{}},
		"authors":          {"pyproject.toml", "[tool.poetry]\nauthors = ['a']\nversion = '1'\n", "[tool.poetry]\nauthors = ['a', 'b']\nversion = '2'\n", Effect{}},
		"classifiers":      {"pyproject.toml", "[project]\nname = 'a'\nclassifiers = ['x']\n", "# why\n[project]\nname = 'a'\nversion = '2'\n", Effect{}},
		"metadata":         {"setup.cfg", "[metadata]\nname = a\nversion = 1\nclassifiers =\n    x\n", "[metadata]\nname = a\nversion = 2\nclassifiers =\n    x\n    y\n", Effect{}},
		"a limit":          {"package.json", `{"size-limit":[{"path":"a.js","limit":"2.15 kB"}],"bundlesize":{"max":1}}`, `{"size-limit":[{"path":"a.js","limit":"2 kB"}],"bundlesize":{"max":2}}`, Effect{}},
		"a release":        {"pyproject.toml", "[tool.bumpversion]\ncurrent_version = '1.10.0'\n", "[tool.bumpversion]\ncurrent_version = '1.11.0rc1'\n", Effect{}},
		"release":          {"setup.cfg", "[bumpversion]\ncurrent_version = 1.9\ncommit = True\n", "[bumpversion]\ncurrent_version = 2.0-rc.1\ncommit = True\n", Effect{}},
		"of a setup":       {"setup.py", "# a\nfrom setuptools import setup\n\nsetup(\n    name='a',\n    version='1.0',  # now\n    url=\"b\",\n    zip_safe=False)\n", "# a\nfrom setuptools import setup\n\nsetup(\n    name='a',\n    version='1.1',  # then\n    url=\"c\",\n    zip_safe=False)\n", Effect{}},
		"an encoding kept": {"setup.py", "#!/usr/bin/python3\n# -*- coding: UTF-8 -*-\n# a\nsetup(version='1')\n", "#!/usr/bin/python3\n# -*- coding: UTF-8 -*-\n# b\nsetup(version='2')\n", Effect{}},
		"their list":       {"setup.py", "import setuptools as s\ns.setup(classifiers=[\n    'a',\n    'b: c',\n], keywords=('x' \"y\"), packages=['a'])", "import setuptools as s\ns.setup(classifiers=[\n    'b: c',\n], keywords=('x',), packages=['a'])", Effect{}},
		"long texts":       {"setup.py", "setup(description='''a\n\\'''b''', long_description=r\"\"\"c\"\"\")", "setup(description=u'd', long_description='e')", Effect{}},
		"in a lock":        {"package-lock.json", `{"version":"1","packages":{"":{"version":"1","dependencies":{"a":"1"}},"node_modules/a":{"version":"1.0.0"}}}`, `{"version":"2","packages":{"":{"version":"2","license":"MIT","dependencies":{"a":"1"}},"node_modules/a":{"version":"1.0.0"}}}`, Effect{}},
		"a language":       {"go.mod", "module m\n\ngo 1.13\n\nrequire a.b/c v1.0.0\n", "module m\n\ngo 1.23.0\n\nrequire (\n\ta.b/c v1.0.0 // indirect\n)\n\nretract v1.0.1 // broken\n", Effect{}},
		"sums that go":     {"x/go.sum", "a v1.0.0 h1:x\na v1.0.0/go.mod h1:y\nb v1.0.0 h1:z\n", "a v1.0.0 h1:x\na v1.0.0/go.mod h1:y\n", Effect{}},
		"all sums go":      {"go.work.sum", "a v1.0.0 h1:x\n", "", Effect{}},
		// Settings of the tools that check the program.
		"a linter":     {"pyproject.toml", "[tool.ruff]\nline-length = 80\n[build-system]\nrequires = ['a']\n", "[tool.ruff]\nline-length = 90\n[build-system]\nrequires = ['a']\n", Effect{Tools: []string{"ruff"}}},
		"two tools":    {"setup.cfg", "[mypy]\nstrict = 1\n", "[mypy]\nstrict = 1\n[mypy-a.*]\nignore_errors = true\n[tool:pytest]\ntestpaths = t\n", Effect{Tools: []string{"mypy", "pytest"}}},
		"their values": {"setup.cfg", "[coverage:run]\nsource =\n    a\n    b\n", "[coverage:run]\nsource =\n    a\n", Effect{Tools: []string{"coverage"}}},
		// Scripts.
		"a script":       {"package.json", `{"scripts":{"test":"ava"}}`, `{"scripts":{"test":"ava","snap":"ava -u"}}`, Effect{Scripts: []string{"snap"}}},
		"the only one":   {"package.json", `{}`, `{"scripts":{"snap":"ava -u"}}`, Effect{Scripts: []string{"snap"}}},
		"on installing":  {"package.json", `{"scripts":{"test":"ava"}}`, `{"scripts":{"test":"ava","postinstall":"sh x"}}`, installs},
		"before another": {"package.json", `{}`, `{"scripts":{"preview":"sh x"}}`, installs},
		"on preparing":   {"package.json", `{"scripts":{"prepare":"a"}}`, `{"scripts":{"prepare":"b"}}`, installs},
		"of pnpm":        {"package.json", `{}`, `{"scripts":{"pnpm:devPreinstall":"sh x"}}`, installs},
		"no scripts":     {"package.json", `{"scripts":"a"}`, `{"scripts":"b"}`, installs},
		// What is installed, and everything unknown.
		"packages":           {"package.json", `{"dependencies":{"a":"1"}}`, `{"dependencies":{"a":"2"}}`, installs},
		"overrides":          {"package.json", `{}`, `{"overrides":{"a":"1"}}`, installs},
		"engines":            {"package.json", `{"engines":{"node":">=6"}}`, `{"engines":{"node":">=8"}}`, installs},
		"commands":           {"package.json", `{}`, `{"bin":{"ls":"a.js"}}`, installs},
		"the manager":        {"package.json", `{}`, `{"packageManager":"pnpm@9"}`, installs},
		"something new":      {"package.json", `{}`, `{"whatever":1}`, installs},
		"the last one wins":  {"package.json", `{"dependencies":{}}`, `{"dependencies":{},"version":"1","dependencies":{"a":"1"}}`, installs},
		"of Python":          {"pyproject.toml", "[project]\nrequires-python = '>=3.7'\n", "[project]\nrequires-python = '>=3.8'\n", installs},
		"where it comes":     {"pyproject.toml", "", "[[tool.uv.index]]\nurl = 'http://x'\n", installs},
		"how it is built":    {"pyproject.toml", "[tool.hatch]\nx = 1\n", "[tool.hatch]\nx = 2\n", installs},
		"an unknown tool":    {"pyproject.toml", "", "[tool.tox]\nx = 1\n", installs},
		"both":               {"pyproject.toml", "[tool.ruff]\nx = 1\n", "[tool.mypy]\nx = 1\n[project]\ndependencies = ['a']\n", Effect{true, []string{"mypy", "ruff"}, nil}},
		"options":            {"setup.cfg", "[options]\ninstall_requires = a\n", "[options]\ninstall_requires = b\n", installs},
		"code of it":         {"setup.cfg", "[metadata]\nversion = 1\n", "[metadata]\nversion = attr: evil.version\n", installs},
		"values of all":      {"setup.cfg", "[metadata]\nversion = 1\n", "[DEFAULT]\ncmdclass = x\n[metadata]\nversion = 1\n", installs},
		"a hidden section":   {"setup.cfg", "[flake8]\nx = 1\n", "[flake8]\nx = 1\n\n  [options]\ninstall_requires = a\n", installs},
		"twice":              {"setup.cfg", "[flake8]\nx = 1\n", "[flake8]\nx = 1\n[flake8]\nx = 1\n", installs},
		"no section":         {"setup.cfg", "[flake8]\n", "x = 1\n[flake8]\n", installs},
		"no key":             {"setup.cfg", "[flake8]\n", "[flake8]\nwhatever\n", installs},
		"a value without":    {"setup.cfg", "[flake8]\n", "[flake8]\n  whatever\n", installs},
		"broken":             {"package.json", `{}`, `{"version":`, installs},
		"was broken":         {"pyproject.toml", "[", "", installs},
		"no table":           {"package.json", `{}`, `[]`, installs},
		"code":               {"setup.py", "a", "b", installs},
		"of a lock":          {"package-lock.json", `{"packages":{"node_modules/a":{"version":"1","integrity":"x"}}}`, `{"packages":{"node_modules/a":{"version":"1","integrity":"y"}}}`, installs},
		"at first of a lock": {"package-lock.json", `{"packages":{"":{"dependencies":{"a":"1"}}}}`, `{"packages":{"":{"dependencies":{"a":"2"}}}}`, installs},
		"a module":           {"go.mod", "module m\n\nrequire a.b/c v1.0.0\n", "module m\n\nrequire a.b/c v1.0.1\n", installs},
		"a sum":              {"go.sum", "a v1.0.0 h1:x\n", "a v1.0.0 h1:x\na v1.0.1 h1:y\n", installs},
		"another sum":        {"go.sum", "a v1.0.0 h1:x\n", "a v1.0.0 h1:y\n", installs},
		"in its place":       {"go.mod", "module m\n", "module m\n\nreplace a.b/c => ../c\n", installs},
		"an older language":  {"go.mod", "module m\n\ngo 1.23\n", "module m\n\ngo 1.13\n", installs},
		"no language":        {"go.mod", "module m\n\ngo 1.23\n", "module m\n", installs},
		"a first language":   {"go.mod", "module m\n", "module m\n\ngo 1.23\n", installs},
		"a toolchain":        {"go.mod", "module m\n\ngo 1.23\n", "module m\n\ngo 1.23\n\ntoolchain go1.25.0-evil\n", installs},
		"odd language":       {"go.mod", "module m\n\ngo 1.23\n", "module m\n\ngo evil\n", installs},
		"an encoding":        {"setup.py", "a\n", "a # coding: utf-7\n", installs},
		"an interpreter":     {"setup.py", "#!/usr/bin/python3\na\n", "#!/usr/bin/evil\na\n", installs},
		"a hidden quote":     {"setup.py", "# coding: utf-7\nsetup(version='1')", "# coding: utf-7\nsetup(version='+ACcAKQ-')", installs},
		"a call":             {"setup.py", "setup(version='1')", "setup(version='1' + evil())", installs},
		"called":             {"setup.py", "setup(version='1')", "setup(version='%s'.format(x))", installs},
		"code in a text":     {"setup.py", "setup(version='1')", "setup(version=f'{evil()}')", installs},
		"a text in that":     {"setup.py", "setup(version='1')", "setup(version='1', x=f'{a['b']}')", installs},
		"packages of it":     {"setup.py", "setup(version='1', install_requires=['a'])", "setup(version='2', install_requires=['b'])", installs},
		"deeper":             {"setup.py", "setup(x=f(version='1'))", "setup(x=f(version='2'))", installs},
		"of another call":    {"setup.py", "run(version='1')", "run(version='2')", installs},
		"behind a text":      {"setup.py", "setup(version='1')", "setup(version='1')\nevil()", installs},
		"within a line":      {"setup.py", "setup(version='1')", "setup(version='1\n')", installs},
		"compared":           {"setup.py", "setup(version=='1')", "setup(version=='2')", installs},
		"in the open":        {"setup.py", "setup(version='1'", "setup(version='2'", installs},
		"closed too often":   {"setup.py", "setup(version='1'))", "setup(version='2'))", installs},
		"a key":              {"setup.py", "setup(version={'a': '1'}[x])", "setup(version={'a': '2'}[x])", installs},
		"its indentation":    {"setup.py", "if a:\n    b\nc", "if a:\n    b\n    c", installs},
		"a hook":             {"pyproject.toml", "[tool.bumpversion]\ncurrent_version = '1'\n", "[tool.bumpversion]\ncurrent_version = '2'\npre_commit_hooks = ['sh x']\n", installs},
		"no version":         {"setup.cfg", "[bumpversion]\ncurrent_version = 1\n", "[bumpversion]\ncurrent_version = sh x\n", installs},
		"no size":            {"package.json", `{"size-limit":[{"limit":"2 kB"}]}`, `{"size-limit":[{"limit":"2 kB","config":"x.js"}]}`, installs},
		"a lock":             {"uv.lock", "", "version = 1\n", installs},
		"a name of its kind": {"Package.json", `{"version":"1"}`, `{"version":"2"}`, installs},
	} {
		if got := EffectOf(c.file, []byte(c.before), []byte(c.after)); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %+v, not %+v", name, got, c.want)
		}
		if got := EffectOf(c.file, []byte(c.after), []byte(c.after)); got.Tools != nil || got.Scripts != nil || got.Installs && !c.want.Installs {
			t.Errorf("%s: compared with itself: %+v", name, got)
		}
	}
	for _, c := range [][2][]byte{{nil, []byte(`{"version":"1"}`)}, {[]byte(`{"version":"1"}`), nil}} {
		if got := EffectOf("package.json", c[0], c[1]); !got.Installs {
			t.Errorf("%s to %s: %+v", c[0], c[1], got)
		}
	}
}
