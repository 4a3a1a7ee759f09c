package python

import (
	"maps"
	"strings"
	"testing"

	"agent/sandbox"
	"agent/verify/checktest"
)

// metadataTests ask importlib.metadata about the projects of the workspace, as programs do for their own version.
const metadataTests = `import importlib.metadata as m
import subprocess
import sys

import pytest


@pytest.mark.parametrize("name, version", [
    ("shop-cart", "1.2.3"), ("Shop.Cart", "1.2.3"), ("tax", "4.5"), ("old_style", "2.0"), ("rated", "0.7"), ("script", "3.1"), ("unknown", "0.0.0"),
])
def test_version(name, version):
    assert m.version(name) == version


def test_child():
    assert subprocess.check_output([sys.executable, "-c", "import importlib.metadata as m; print(m.version('shop-cart'))"]) == b"1.2.3\n"


def test_installed_first():
    assert m.version("pytest") != "0.1"
    assert not [e for e in m.entry_points(group="pytest11") if "shop" in e.value]
    assert [d.version for d in m.distributions(name="tax", path=["/nowhere"])] == []


def test_entry_points():
    assert [e.value for e in m.entry_points(group="shop.plugins")] == ["shop_cart.plug:Plug"]
    assert "cart" in m.entry_points(group="console_scripts").names
    assert not {"gone", "old"} & m.entry_points(group="console_scripts").names
    assert m.metadata("shop-cart")["Summary"] == "A cart."
    with pytest.raises(m.PackageNotFoundError):
        m.version("broken")
`

func TestAWorkspaceIsADistribution(t *testing.T) {
	t.Parallel()
	b := checktest.NewBench(t, map[string]string{
		"pyproject.toml": "[project]\nname = 'shop-cart'\nversion = '1.2.3'\ndescription = \"A\\ncart.\"\n[project.scripts]\ncart = 'shop_cart:main'\ngone = 'gone:main'\n" +
			"[project.entry-points.'shop.plugins']\nplug = 'shop_cart.plug:Plug'\n[project.entry-points.pytest11]\nshop = 'shop_cart.testing'\n",
		"src/shop_cart/__init__.py": "", "src/shop_cart/plug.py": "", "libs/old/old.py": "",
		"test_metadata.py":        metadataTests,
		"libs/tax/pyproject.toml": "[project]\nname = 'tax'\ndynamic = ['version']\n[tool.hatch.version]\npath = 'src/about_tax.py'\n", "libs/tax/src/about_tax.py": "__version__ = '4.5'\n",
		"libs/old/setup.cfg":   "[metadata]\nname = old-style\nversion = 2.0\n[options.entry_points]\nconsole_scripts =\n    old = old:main\n",
		"libs/rated/setup.cfg": "[metadata]\nname = rated\nversion = attr: rated.__version__\n", "libs/rated/rated/__init__.py": "__version__: str = \"0.7\"\n",
		"libs/script/setup.py":        "from setuptools import setup\nsetup(name='script', version='3.1', entry_points={})\nprint 'of Python 2'\nraise SystemExit('not run')\n",
		"libs/unknown/pyproject.toml": "[tool.poetry]\nname = 'unknown'\n", "libs/broken/pyproject.toml": "[project\nname = 'broken'\n", "libs/pytest/pyproject.toml": "[project]\nname = 'pytest'\nversion = '0.1'\n",
	}, sandbox.Limits{})
	out := Pytest.Run(t.Context(), b)
	if !strings.Contains(out.Detail, "10 passed") {
		t.Errorf("%s: %s", out.Detail, out.Output)
	}
	for _, r := range out.Tests {
		if r.Bad() {
			t.Errorf("%s: %s", r.ID, r.Message)
		}
	}
}

// commandTests start the project's commands, as tests of terminal programs do.
const commandTests = `import os
import subprocess

import pytest


@pytest.mark.parametrize("command, status, said", [(["cart", "apple"], 0, b"1 apple\n"), (["Cart.Deep"], 7, b"deep\n")])
def test_command(command, status, said, tmp_path):
    ended = subprocess.run(command, cwd=tmp_path, env={"PATH": os.environ["PATH"]}, capture_output=True)
    assert (ended.stdout, ended.stderr, ended.returncode) == (said, b"", status)


@pytest.mark.parametrize("command", ["gone", "nothing", "../out"])
def test_none(command):
    with pytest.raises(FileNotFoundError):
        subprocess.run([command])
`

func TestTestsFindTheCommandsOfTheirProject(t *testing.T) {
	t.Parallel()
	const commands = "cart = shop_cart:main\n    Cart.Deep = shop_cart.deep:App.run\n"
	for name, manifests := range map[string]map[string]string{
		"pyproject": {"pyproject.toml": "[project]\nname = 'shop-cart'\n[project.scripts]\ncart = 'shop_cart:main'\n'Cart.Deep' = 'shop_cart.deep:App.run [extra]'\ngone = 'gone:main'\nnothing = 'shop_cart'\n'../out' = 'shop_cart:main'\n"},
		"setup.cfg": {"pyproject.toml": "[build-system]\nrequires = ['setuptools']\n", "setup.cfg": "[metadata]\nname = shop-cart\n[options.entry_points]\nconsole_scripts =\n    " + commands},
		"list":      {"setup.py": "from setuptools import setup\nsetup(name='shop-cart', entry_points={'console_scripts': ['cart=shop_cart:main', 'Cart.Deep = shop_cart.deep:App.run [extra]', 'gone = gone:main']})\n"},
		"text":      {"setup.py": "import setuptools\nsetuptools.setup(name='shop-cart', entry_points='''\n[console_scripts]\n" + strings.ReplaceAll(commands, "    ", "") + "''')\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			files := map[string]string{
				"test_commands.py":          commandTests,
				"src/shop_cart/__init__.py": "import sys\n\n\ndef main():\n    print(len(sys.argv[1:]), *sys.argv[1:])\n",
				"src/shop_cart/deep.py":     "class App:\n    @staticmethod\n    def run():\n        print('deep')\n        return 7\n",
			}
			maps.Copy(files, manifests)
			b := checktest.NewBench(t, files, sandbox.Limits{})
			out := Pytest.Run(t.Context(), b)
			if !strings.Contains(out.Detail, "5 passed") || len(out.Tests) != 5 {
				t.Errorf("%s: %s", out.Detail, out.Output)
			}
		})
	}
}

// childTests start programs that import the project, with their own environments.
const childTests = `import os
import subprocess
import sys

import pytest


@pytest.mark.parametrize("env", [
    {**os.environ, "PYTHONPATH": "/nowhere"},
    {k: v for k, v in os.environ.items() if k != "PYTHONPATH"},
    {"PATH": os.environ["PATH"]},
], ids=["another", "without", "empty"])
def test_child(env):
    out = subprocess.check_output([sys.executable, "-c", "import shop_cart, json, sys; print(shop_cart.NAME, json.__file__.startswith('/usr'))"], env=env, cwd="/tmp")
    assert out == b"cart True\n"


def test_own_order():
    import json
    assert json.__file__.startswith("/usr")
`

// Every program that tests start finds an installable project, after what is installed, as with an editable install. Without a manifest
// nothing would install it.
func TestProgramsThatTestsStartFindTheProject(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		manifest, top, want string
	}{
		"in src":             {"pyproject.toml", "src/", "4 passed"},
		"at the top":         {"setup.py", "", "4 passed"},
		"without a manifest": {"README.md", "src/", "3 failed"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := checktest.NewBench(t, map[string]string{
				c.manifest: "", "tests/test_child.py": childTests, c.top + "shop_cart.py": "NAME = 'cart'\n",
			}, sandbox.Limits{})
			if out := Pytest.Run(t.Context(), b); !strings.Contains(out.Detail, c.want) || len(out.Tests) != 4 {
				t.Errorf("%s: %s", out.Detail, out.Output)
			}
		})
	}
}

// In the box of a suite pytest may be started again. What the workspace has interpreters run when they start, and what the first run
// left in the user's own directories, does not come before the recorder then.
func TestTheNextRunBeginsWithoutTheWorkspace(t *testing.T) {
	t.Parallel()
	const custom = "import sys\nif any('run_tests.py' in a for a in sys.orig_argv):\n    open('/tmp/loaded', 'a').write(__name__ + ' ')\n"
	b := checktest.NewBench(t, map[string]string{
		"pyproject.toml": "[project]\nname = 'shop'\n", "src/sitecustomize.py": custom, "src/usercustomize.py": custom,
		"test_all.py": "import os\nimport shutil\nimport site\n\n\ndef test_clean():\n    assert not os.path.exists('/tmp/loaded'), open('/tmp/loaded').read()\n" +
			"    os.makedirs(site.getusersitepackages(), exist_ok=True)\n    shutil.copy('src/usercustomize.py', site.getusersitepackages())\n",
	}, sandbox.Limits{})
	for range 2 {
		if out := Pytest.Run(t.Context(), b); !strings.Contains(out.Detail, "1 passed") {
			t.Fatalf("%s: %s", out.Detail, out.Output)
		}
		if err := b.Sweep(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}
