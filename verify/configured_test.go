package verify

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"agent/images/dependencies"
	"agent/verify/check"
	"agent/verify/policy"
	"agent/verify/verifytest"
)

// strictTypes is a mypy project with a sound module.
var strictTypes = map[string]string{"mypy.ini": "[mypy]\nstrict = true\n", "stock.py": "def price(count: int) -> int:\n    return count\n"}

// wrongType has a fault that only a type checker finds.
const wrongType = "def price(count: int) -> int:\n    return count\n\n\ndef name() -> str:\n    return price(1)\n"

// A file that the base's configuration names, whatever its name, is read from the base, even if the same patch also plants what the file
// would have found.
func TestWhatAConfigurationNamesIsThatOfTheBase(t *testing.T) {
	t.Parallel()
	const looseEqual = "export const same = (a, b) => a == b;\n"
	for name, c := range map[string]struct {
		base, patch map[string]string
		gate, rule  string
	}{
		"ruff": {
			map[string]string{"ruff.toml": "extend = \"conf/house.toml\"\n", "conf/house.toml": "[lint]\nselect = [\"F\", \"T20\"]\n", "a.py": "x = 1\n"},
			map[string]string{"conf/house.toml": "[lint]\nselect = [\"E9\"]\n", "a.py": "x = 1\nprint(x)\n"},
			check.GateLint, "T201",
		},
		"ruff, two steps and no ending": {
			map[string]string{"pyproject.toml": "[tool.ruff]\nextend = \"conf/house\"\n", "conf/house": "extend = \"deep\"\n", "conf/deep": "[lint]\nselect = [\"T20\"]\n", "a.py": "x = 1\n"},
			map[string]string{"conf/deep": "[lint]\nselect = [\"E9\"]\n", "a.py": "x = 1\nprint(x)\n"},
			check.GateLint, "T201",
		},
		"pyright": {
			map[string]string{"pyrightconfig.json": `{"extends": "./conf/house.json"}`, "conf/house.json": `{"reportReturnType": "error"}`, "a.py": "x = 1\n"},
			map[string]string{"conf/house.json": `{"reportReturnType": "none"}`, "a.py": "def f() -> str:\n    return 1\n"},
			check.GateTypes, "reportReturnType",
		},
		"biome": {
			map[string]string{"biome.json": `{"extends": ["./conf/house.json"]}`, "conf/house.json": `{"linter": {"rules": {"suspicious": {"noDoubleEquals": "error"}}}}`, "a.js": "export const one = 1;\n"},
			map[string]string{"conf/house.json": `{"linter": {"rules": {"suspicious": {"noDoubleEquals": "off"}}}}`, "a.js": looseEqual},
			check.GateLint, "suspicious/noDoubleEquals",
		},
		"typescript": {
			map[string]string{"tsconfig.json": `{"extends": "./conf/house"}`, "conf/house.json": `{"extends": "./deep.json"}`, "conf/deep.json": `{"compilerOptions": {"strict": true}}`, "a.ts": "export const one = 1;\n"},
			map[string]string{"conf/deep.json": `{"compilerOptions": {"strict": false}}`, "a.ts": "export const one = 1;\nexport const size: number = [1].pop();\n"},
			check.GateTypes, "TS2322",
		},
		"typescript, one that takes its place": {
			map[string]string{"tsconfig.json": `{"extends": "@acme/house/ts.json"}`, "package.json": `{"private": true, "workspaces": ["packages/*"]}`, "packages/house/package.json": `{"name": "@acme/house", "version": "1.0.0"}`, "packages/house/ts.json": `{"compilerOptions": {"strict": true}}`, "a.ts": "export const one = 1;\n"},
			map[string]string{"packages/house/package.json": `{"name": "@acme/house", "version": "1.0.0", "exports": {"./ts.json": "./loose.json"}}`, "packages/house/loose.json": `{"compilerOptions": {"strict": false}}`, "a.ts": "export const one = 1;\nexport const size: number = [1].pop();\n"},
			check.GateTypes, "TS2322",
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSiteOn(t, laid(t, c.base), c.base).only(c.gate)
			r := s.judge(t, verifytest.Change(t, s.base, c.patch))
			g := find(t, r, c.gate)
			if g.Verdict != check.Fail || !slices.ContainsFunc(g.Findings, func(f check.Finding) bool { return f.Rule == c.rule }) {
				t.Errorf("%s: %s %s, %+v\n%+v", c.gate, g.Verdict, g.Detail, g.Findings, r.Skipped)
			}
		})
	}
}

// There is a way to commit a linter's configuration together with the code that it allows: once the configuration is approved, it counts.
// What is wrong under both configurations stays wrong.
func TestAnApprovedConfigurationCounts(t *testing.T) {
	t.Parallel()
	base := map[string]string{"ruff.toml": "extend = \"conf/house.toml\"\n", "conf/house.toml": "[lint]\nselect = [\"F\", \"T20\"]\n", "a.py": "x = 1\n", "a.sh": script}
	printed := map[string]string{"conf/house.toml": "[lint]\nselect = [\"F\"]\n", "a.py": "x = 1\nprint(x)\n", "a.sh": script + "echo \"$z\"\n", ".shellcheckrc": "disable=SC2154\n"}
	undefined := maps.Clone(printed)
	undefined["a.py"] = "print(y)\n"
	s := newSite(t, base)
	for _, c := range []struct {
		patch map[string]string
		allow []string
		model bool
		want  check.Verdict
		held  int
	}{
		{printed, nil, false, check.Fail, 0},
		{printed, []string{policy.Suppression}, false, check.Fail, 0},
		{printed, []string{policy.Tooling}, false, check.Pass, 2},
		{printed, []string{policy.Tooling}, true, check.Fail, 0},
		{undefined, []string{policy.Tooling}, false, check.Fail, 1},
	} {
		req := s.request(verifytest.Change(t, s.base, c.patch))
		req.Allow, req.Model = c.allow, c.model
		r, err := s.verifier.Verify(t.Context(), req, nil)
		if err != nil {
			t.Fatal(err)
		}
		g := find(t, r, check.GateLint)
		if g.Verdict != c.want || strings.Contains(g.Detail, "--allow tooling") != (c.want == check.Fail && !slices.Contains(c.allow, policy.Tooling)) {
			t.Errorf("%v: %s %s %+v", c.allow, g.Verdict, g.Detail, g.Findings)
		}
		said := 0
		for _, h := range r.Holds {
			if h.Kind == policy.Tooling && h.Block && strings.Contains(h.Reason, "(with the configuration before the patch; the patch's configuration allows it)") {
				said++
			}
		}
		if said != c.held {
			t.Errorf("%v: %d findings are held: %+v", c.allow, said, r.Holds)
		}
	}
}

// A type checker's plugin sees the whole tree of the base. Whatever it imports, and however it does so, no code of a patch runs in the
// tool that judges the patch.
func TestAPluginImportsNothingOfThePatch(t *testing.T) {
	t.Parallel()
	const rest = "\n\ndef plugin(version: str) -> type[Plugin]:\n    return Own\n"
	const own = "import sys\n\nfrom mypy.plugin import Plugin\n\nsys.path.append(\"tools\")\n%s\n\nclass Own(Plugin):\n    def get_function_hook(self, fullname: str) -> None:\n        %s\n" + rest
	for name, c := range map[string]struct{ top, lazy, module string }{
		"from a package":          {"from pkg import sub", "return sub.found()", "tools/pkg/sub.py"},
		"relative in the package": {"import pkg.rules", "return pkg.rules.found()", "tools/pkg/sub.py"},
		"lazy":                    {"", "from pkg import sub; return sub.found()", "tools/pkg/sub.py"},
		"by its name":             {"import importlib", "return importlib.import_module(\"pkg.\" + \"sub\").found()", "tools/pkg/sub.py"},
		"by its file": {
			"import importlib.util\nimport pathlib\n\nspec = importlib.util.spec_from_file_location(\"sub\", pathlib.Path(\"tools/pkg/sub.py\").resolve())\nsub = importlib.util.module_from_spec(spec)\nspec.loader.exec_module(sub)",
			"return sub.found()", "tools/pkg/sub.py",
		},
		"one that comes first": {"try:\n    import early\nexcept ImportError:\n    early = None", "return None", "tools/early.py"},
	} {
		for _, end := range []string{"import os\n\nos._exit(0)\n", "import sys\n\nsys.exit(0)\n"} {
			t.Run(name, func(t *testing.T) {
				files := map[string]string{
					"mypy.ini": "[mypy]\nstrict = true\nplugins = tools/checker.py\nexclude = tools\n", "stock.py": strictTypes["stock.py"] + "\n\nprice(1)\n",
					"tools/checker.py": fmt.Sprintf(own, c.top, c.lazy), "tools/pkg/__init__.py": "", "tools/pkg/rules.py": "from .sub import found\n\n__all__ = [\"found\"]\n",
					"tools/pkg/sub.py": "def found() -> None:\n    return None\n",
				}
				s := newSite(t, files)
				r := s.only(check.GateTypes).judge(t, verifytest.Change(t, s.base, map[string]string{c.module: end, "stock.py": wrongType + "\n\nprice(1)\n"}))
				g := find(t, r, check.GateTypes)
				if g.Verdict != check.Fail || !slices.ContainsFunc(g.Findings, func(f check.Finding) bool { return f.Rule == "return-value" }) {
					t.Errorf("%s %s, %+v\n%s", g.Verdict, g.Detail, g.Findings, g.Output)
				}
			})
		}
	}
}

// A stub hides its module from a type checker, so the module is also checked without the stub.
func TestAStubHidesNothingOfItsModule(t *testing.T) {
	t.Parallel()
	s := newSite(t, strictTypes).only(check.GateTypes)
	// Stubs next to an old module, next to a new one, in a package, and for a whole package.
	const stub = "def name() -> str: ...\n"
	wrong := []string{"stock.py", "till.py", "shop/till.py", "mall/__init__.py"}
	patch := map[string]string{"stock.pyi": "def price(count: int) -> int: ...\n" + stub, "till.pyi": stub, "shop/__init__.py": "", "shop/till.pyi": stub, "mall/__init__.pyi": stub}
	for _, name := range wrong {
		patch[name] = wrongType
	}
	g := find(t, s.judge(t, verifytest.Change(t, s.base, patch)), check.GateTypes)
	for _, name := range wrong {
		if g.Verdict != check.Fail || !slices.ContainsFunc(g.Findings, func(f check.Finding) bool { return f.Rule == "return-value" && f.File == name }) {
			t.Errorf("%s: %s %s, %+v", name, g.Verdict, g.Detail, g.Findings)
		}
	}
	r := s.judge(t, verifytest.Change(t, s.base, map[string]string{"stock.pyi": "def price(count: int) -> int: ...\n"}))
	if g := find(t, r, check.GateTypes); g.Verdict != check.Pass {
		t.Errorf("a stub of a sound module: %s %+v", g.Verdict, g.Findings)
	}
}

// Whatever eslint's configuration loads, even by a computed name, is read from the base, and changes to it are held.
func TestWhatALinterLoadsIsThatOfTheBase(t *testing.T) {
	t.Parallel()
	const rules, loose = "module.exports = { eqeqeq: 'error' };\n", "module.exports = {};\n"
	const sound = "'use strict';\nmodule.exports = (a, b) => a === b;\n"
	const manifest = `{"private": true, "imports": {"#rules": "./own/house.cjs"}, "devDependencies": {"eslint": "9.37.0"}, "scripts": {"lint": "eslint ."}}`
	l := verifytest.Open(t)
	installed, err := l.Builder.Install(t.Context(), l.Toolchain, dependencies.Read(map[string][]byte{"package.json": []byte(manifest)}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Engine.RemoveImage(context.WithoutCancel(t.Context()), installed.ID); err != nil {
			t.Error(err)
		}
	})
	for name, c := range map[string]struct {
		config, helper, before, after string
	}{
		"a template string":      {"const kind = 'house';\nmodule.exports = [{ rules: require(`./own/${kind}.cjs`) }];\n", "own/house.cjs", rules, loose},
		"imports of its package": {"module.exports = [{ rules: require('#rules') }];\n", "own/house.cjs", rules, loose},
		"createRequire": {
			"const need = require('module').createRequire(__dirname + '/own/');\nmodule.exports = [{ rules: need('./' + 'house') }];\n", "own/house.js", rules, loose,
		},
		"an import": {
			"module.exports = (async () => [{ rules: (await import('./own/' + ['house', 'mjs'].join('.'))).default }])();\n", "own/house.mjs",
			"export default { eqeqeq: 'error' };\n", "export default {};\n",
		},
		"one that ends it": {"const kind = 'house';\nmodule.exports = [{ rules: require(`./own/${kind}.cjs`) }];\n", "own/house.cjs", rules, "process.exit(0);\n"},
		"a directory": {
			"const fs = require('fs');\nmodule.exports = fs.readdirSync(__dirname + '/own').map((f) => ({ rules: require('./own/' + f) }));\n", "own/house.cjs", rules, "-",
		},
		"one more in a directory": {
			"const fs = require('fs');\nmodule.exports = [{ rules: { eqeqeq: 'error' } }, ...fs.readdirSync(__dirname + '/own').map((f) => ({ rules: require('./own/' + f) }))];\n",
			"own/zz.cjs", "", "module.exports = { eqeqeq: 'off' };\n",
		},
		"data": {
			"const fs = require('fs');\nmodule.exports = [{ rules: JSON.parse(fs.readFileSync(__dirname + '/own/' + 'house.json')) }];\n", "own/house.json",
			`{"eqeqeq": "error"}`, `{}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			files := map[string]string{"package.json": manifest, "eslint.config.cjs": c.config, "sum.js": sound, "own/a.cjs": loose}
			if c.before != "" {
				files[c.helper] = c.before
			}
			s := newSiteOn(t, installed, files)
			r := s.only(check.GateLint).verify(t, map[string]string{c.helper: c.after, "sum.js": sound + "module.exports.more = (a) => a == 1;\n"})
			g := find(t, r, check.GateLint)
			if g.Verdict != check.Fail || !slices.ContainsFunc(g.Findings, func(f check.Finding) bool { return f.Rule == "eqeqeq" }) {
				t.Errorf("%s %s, %+v", g.Verdict, g.Detail, g.Findings)
			}
			if !slices.ContainsFunc(r.Holds, func(h policy.Hold) bool { return h.Path == c.helper && h.Kind == policy.Tooling && h.Block }) {
				t.Errorf("held %+v", r.Holds)
			}
		})
	}
}

// Files that no configuration names are read from the patch, whatever they look like, and a plugin is judged like any other source.
func TestWhatNoConfigurationNamesIsThatOfThePatch(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		base, patch map[string]string
		rule        string // "" for a pass
	}{
		"data that a program imports": {
			map[string]string{
				"tsconfig.json": `{"extends": "./conf/house.json", "include": ["*.ts"]}`, "conf/house.json": `{"compilerOptions": {"strict": true, "resolveJsonModule": true, "esModuleInterop": true}}`,
				"words.json": `{"one": 1}`, "package.json": `{"version": "1.0.0"}`, "a.ts": "import words from \"./words.json\";\nexport const one = words.one;\n",
			},
			map[string]string{
				"words.json": `{"one": 1, "two": 2}`, "more.json": `{"three": 3}`, "package.json": `{"version": "1.1.0"}`,
				"a.ts": "import more from \"./more.json\";\nimport words from \"./words.json\";\nexport const all = words.one + words.two + more.three;\n",
			},
			"",
		},
		"prose and data beside Python": {
			map[string]string{"ruff.toml": "extend = \"house.toml\"\n", "house.toml": "[lint]\nselect = [\"F\"]\n", "pyrightconfig.json": `{"extends": "./types.json"}`, "types.json": `{}`, "a.py": "x = 1\n", "README.md": "a\n"},
			map[string]string{"a.py": "x = 2\n", "README.md": "b\n", "data.json": "{}\n"},
			"",
		},
		"a plugin that is changed": {
			map[string]string{"mypy.ini": "[mypy]\nstrict = true\nplugins = tools/checker.py\n", "tools/checker.py": "from mypy.plugin import Plugin\n\n\ndef plugin(version: str) -> type[Plugin]:\n    return Plugin\n", "a.py": "x = 1\n"},
			map[string]string{"tools/checker.py": "from mypy.plugin import Plugin\n\n\ndef plugin(version: str) -> type[Plugin]:\n    return Plugin\n\n\ndef name() -> str:\n    return 1\n"},
			"return-value",
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t, c.base).only(check.GateLint, check.GateTypes)
			r := s.judge(t, verifytest.Change(t, s.base, c.patch))
			want := check.Pass
			if c.rule != "" {
				want = check.Fail
			}
			if r.Verdict != want || c.rule != "" && !slices.ContainsFunc(find(t, r, check.GateTypes).Findings, func(f check.Finding) bool { return f.Rule == c.rule }) {
				t.Errorf("%s: %+v", r.Verdict, r.Gates)
			}
		})
	}
}
