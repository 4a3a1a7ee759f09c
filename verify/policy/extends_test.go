package policy

import (
	"maps"
	"strings"
	"testing"

	"agent/verify/verifytest"
)

// An extendingCase is a workspace, a file that a patch changes, and whether it is held.
type extendingCase struct {
	name    string
	files   map[string]string
	changed string
	want    bool
}

// extendingCases has the ways in which configuration names other files, and text that only looks like it.
var extendingCases = []extendingCase{
	// Each format, and each way to write it.
	{"tsconfig", map[string]string{"tsconfig.json": `{"extends": "./configs/base.json"}`, "configs/base.json": `{"compilerOptions": {"strict": true}}`}, "configs/base.json", true},
	{"tsconfig without an end", map[string]string{"tsconfig.json": `{"extends": "./configs/base"}`, "configs/base.json": "{}"}, "configs/base.json", true},
	{"tsconfig, a list", map[string]string{"tsconfig.json": "{\n  // both\n  \"extends\": [\n    \"./a/one.json\",\n    \"./a/two.json\"\n  ],\n  \"include\": [\"src\"]\n}", "a/one.json": "{}", "a/two.json": "{}"}, "a/two.json", true},
	{"tsconfig, a chain", map[string]string{"app/tsconfig.build.json": `{"extends": "../shared/node.json"}`, "shared/node.json": `{"extends": "./strict.json"}`, "shared/strict.json": "{}"}, "shared/strict.json", true},
	{"tsconfig, a package of the workspace", map[string]string{"tsconfig.json": `{"extends": "@acme/ts/base.json"}`, "packages/ts/package.json": `{"name": "@acme/ts"}`, "packages/ts/base.json": "{}"}, "packages/ts/base.json", true},
	{"tsconfig, a reference", map[string]string{"tsconfig.json": `{"references": [{"path": "./configs/lib.json"}]}`, "configs/lib.json": "{}"}, "configs/lib.json", true},
	{"ruff", map[string]string{"ruff.toml": "extend = \"../shared.toml\"\n"}, "shared.toml", false}, // outside
	{"ruff below", map[string]string{"app/ruff.toml": "extend = \"../lint/shared.toml\"\n", "lint/shared.toml": "line-length = 88\n"}, "lint/shared.toml", true},
	{"ruff in pyproject", map[string]string{"pyproject.toml": "[tool.ruff]\nline-length = 88\nextend = 'lint/shared.toml'\n", "lint/shared.toml": ""}, "lint/shared.toml", true},
	{"ruff beside", map[string]string{"ruff.toml": "extend='base.toml'", "base.toml": ""}, "base.toml", true},
	{"pyright", map[string]string{"pyrightconfig.json": `{"extends": "conf/strict.json"}`, "conf/strict.json": "{}"}, "conf/strict.json", true},
	{"pyright in pyproject", map[string]string{"pyproject.toml": "[tool.pyright]\nextends = \"conf/strict.toml\"\n", "conf/strict.toml": ""}, "conf/strict.toml", true},
	{"biome", map[string]string{"biome.json": `{"extends": ["./tools/lint.json"]}`, "tools/lint.json": "{}"}, "tools/lint.json", true},
	{"biome, one word", map[string]string{"biome.jsonc": `{"extends": "tools/lint.jsonc"}`, "tools/lint.jsonc": "{}"}, "tools/lint.jsonc", true},
	{"eslint, YAML", map[string]string{".eslintrc.yml": "root: true\nextends:\n  - eslint:recommended\n  - ./lint/own.yml\n", "lint/own.yml": ""}, "lint/own.yml", true},
	{"eslint, old style", map[string]string{".eslintrc.js": "module.exports = { root: true, extends: ['./lint/own'] }", "lint/own.js": ""}, "lint/own.js", true},
	{"eslint, resolved", map[string]string{".eslintrc.cjs": "module.exports = {\n  extends: [require.resolve('./lint/own')],\n}", "lint/own.cjs": ""}, "lint/own.cjs", true},
	{"eslint, a package", map[string]string{".eslintrc.json": `{"extends": ["acme"]}`, "packages/lint/package.json": `{"name": "eslint-config-acme", "main": "./rules.js"}`, "packages/lint/rules.js": ""}, "packages/lint/rules.js", true},
	{"eslint, a scope", map[string]string{".eslintrc.json": `{"extends": "@acme"}`, "packages/lint/package.json": `{"name": "@acme/eslint-config", "exports": {".": {"require": "./rules.js"}}}`, "packages/lint/rules.js": ""}, "packages/lint/rules.js", true},
	{"eslint, flat", map[string]string{"eslint.config.mjs": "import own from './lint/own.js';\nexport default [...own];\n", "lint/own.js": ""}, "lint/own.js", true},
	{"eslint, flat, a package", map[string]string{"eslint.config.mjs": "import own from '@acme/lint';\n", "packages/lint/package.json": `{"name": "@acme/lint"}`, "packages/lint/index.js": "import './more.js';", "packages/lint/more.js": ""}, "packages/lint/more.js", true},
	{"eslint in package.json", map[string]string{"package.json": `{"eslintConfig": {"extends": ["react-app", "./lint/own.json"]}}`, "lint/own.json": "{}"}, "lint/own.json", true},
	{"stylelint", map[string]string{".stylelintrc": "extends: ./css/rules.json\n", "css/rules.json": "{}"}, "css/rules.json", true},
	{"prettier", map[string]string{"package.json": `{"prettier": "./style/code.json"}`, "style/code.json": "{}"}, "style/code.json", true},
	{"prettier, a program", map[string]string{"prettier.config.js": "export { default } from './style/code.js';\n", "style/code.js": ""}, "style/code.js", true},
	{"jest", map[string]string{"jest.config.js": "module.exports = { preset: './testing/preset' }", "testing/preset/jest-preset.js": ""}, "testing/preset/jest-preset.js", true},
	{"jest, a program", map[string]string{"packages/a/jest.config.ts": "import base from '../../testing/base';\nexport default { ...base };\n", "testing/base.ts": ""}, "testing/base.ts", true},
	{"vitest", map[string]string{"vitest.config.ts": "import shared from './testing/shared.js'\nexport default mergeConfig(shared, {})\n", "testing/shared.ts": ""}, "testing/shared.ts", true},
	{"mocha", map[string]string{".mocharc.yml": "extends: ./testing/mocha.yml\n", "testing/mocha.yml": ""}, "testing/mocha.yml", true},
	{"babel", map[string]string{"babel.config.js": "module.exports = { presets: [['./tools/preset', { loose: true }]] }", "tools/preset.js": ""}, "tools/preset.js", true},
	{"a script", map[string]string{"package.json": `{"scripts": {"lint": "eslint --config conf/rules.js src"}}`, "conf/rules.js": ""}, "conf/rules.js", true},
	{"a script, short", map[string]string{"package.json": `{"scripts": {"test:unit": "jest -c conf/unit.json"}}`, "conf/unit.json": "{}"}, "conf/unit.json", true},
	{"options of pytest", map[string]string{"setup.cfg": "[tool:pytest]\naddopts = -q -c conf/tests.ini\n", "conf/tests.ini": ""}, "conf/tests.ini", true},

	// Files that configuration names for other reasons.
	{"what is compiled", map[string]string{"tsconfig.json": `{"extends": "./b.json", "include": ["src/a.ts"], "files": ["src/a.ts"]}`, "b.json": "{}", "src/a.ts": ""}, "src/a.ts", false},
	{"what is compiled, of a list", map[string]string{"tsconfig.json": `{"extends": ["./b.json"], "files": ["./src/a.ts"], "compilerOptions": {"paths": {"x": ["./src/a.ts"]}}}`, "b.json": "{}", "src/a.ts": ""}, "src/a.ts", false},
	{"what builds, where what tests imports it", map[string]string{"vitest.config.ts": "import vite from './vite.config'", "vite.config.ts": "export default {}"}, "vite.config.ts", true},
	{"a project's entry", map[string]string{"tsconfig.json": `{"references": [{"path": "./packages/a"}]}`, "packages/a/tsconfig.json": "{}", "packages/a/index.ts": ""}, "packages/a/index.ts", false},
	{"jest's projects", map[string]string{"jest.config.js": "module.exports = { projects: ['<rootDir>/packages/a'] }", "packages/a/index.js": ""}, "packages/a/index.js", false},
	{"what is excluded", map[string]string{"ruff.toml": "extend-exclude = [\"src/gen.py\"]\nextend-select = [\"I\"]\n", "src/gen.py": ""}, "src/gen.py", false},
	{"the options of a plugin", map[string]string{"babel.config.js": "module.exports = { plugins: [['module-resolver', { alias: { x: './src/x.js' } }]] }", "src/x.js": ""}, "src/x.js", false},
	{"a plugin of that name", map[string]string{".eslintrc.json": `{"plugins": ["react", "security"]}`, "react/index.js": "", "security.js": ""}, "react/index.js", false},
	{"a directory of a plugin's name", map[string]string{".eslintrc.json": `{"plugins": ["security"], "extends": "prettier"}`, "security.js": ""}, "security.js", false},
	{"the entry of a package", map[string]string{"package.json": `{"main": "src/a.js", "files": ["src/a.js"], "scripts": {"start": "node src/a.js"}}`, "src/a.js": ""}, "src/a.js", false},
	{"a bundler", map[string]string{"package.json": `{"scripts": {"build": "webpack --config build/prod.js && mkdir -p src"}}`, "build/prod.js": "", "src/index.js": ""}, "build/prod.js", false},
	{"a directory that a script makes", map[string]string{"package.json": `{"scripts": {"test": "mkdir -p src && jest"}}`, "src/index.js": ""}, "src/index.js", false},
	{"a release tool", map[string]string{"package.json": `{"release": {"plugins": ["./scripts/notes.js"]}}`, "scripts/notes.js": ""}, "scripts/notes.js", false},
	{"what a test imports", map[string]string{"jest.config.js": "module.exports = {}", "src/a.test.js": "import './a.js'", "src/a.js": ""}, "src/a.js", false},
	{"what vite imports", map[string]string{"vitest.config.ts": "import vite from './vite.config'", "vite.config.ts": "import './src/version'", "src/version.ts": ""}, "src/version.ts", false},
	{"what playwright imports", map[string]string{"playwright.config.ts": "import { port } from './src/port'", "src/port.ts": ""}, "src/port.ts", false},
	{"a class that extends", map[string]string{"src/a.ts": "class A extends B {}\nconst c = { extends: './b' }", "src/b.ts": ""}, "src/b.ts", false},
	{"data beside it", map[string]string{"tsconfig.json": `{"extends": "./configs/base.json"}`, "configs/base.json": "{}", "configs/data.json": "{}"}, "configs/data.json", false},
	{"a project of Python", map[string]string{"pyproject.toml": "[project]\nname = \"shop\"\n[project.scripts]\nshop = \"shop.main:run\"\n[tool.mypy]\nfiles = [\"shop/main.py\"]\n", "shop/main.py": ""}, "shop/main.py", false},
	{"a plugin that is installed", map[string]string{"mypy.ini": "[mypy]\nplugins = pydantic.mypy\n", "pydantic.py": ""}, "other.py", false},
	{"pinned requirements", map[string]string{"tox.ini": "[testenv]\ncommands = pip install -c pins/all.txt -r x.txt\n", "pins/all.txt": ""}, "pins/all.txt", false},
}

func TestWhatConfigurationExtendsIsHeld(t *testing.T) {
	t.Parallel()
	for _, c := range extendingCases {
		files := maps.Clone(c.files)
		if _, ok := files[c.changed]; !ok {
			files[c.changed] = ""
		}
		base := verifytest.Scan(t, files)
		holds := toolHolds(base, verifytest.Change(t, base, map[string]string{c.changed: "changed"}))
		held := len(holds) == 1 && holds[0].Path == c.changed && holds[0].Kind == "tooling" && holds[0].Block
		if held != c.want || !c.want && len(holds) > 0 {
			t.Errorf("%s: %s: %+v", c.name, c.changed, holds)
		}
		// A new file at a path that configuration names is held just the same.
		if c.want {
			delete(files, c.changed)
			base = verifytest.Scan(t, files)
			if holds := toolHolds(base, verifytest.Change(t, base, map[string]string{c.changed: "new"})); len(holds) != 1 || holds[0].Path != c.changed {
				if !strings.Contains(c.name, "chain") {
					t.Errorf("%s: a new %s: %+v", c.name, c.changed, holds)
				}
			}
		}
	}
}

func TestConfigurationThatNamesItselfIsFollowedOnce(t *testing.T) {
	t.Parallel()
	files := map[string]string{"tsconfig.json": `{"extends": "./a.json"}`, "a.json": `{"extends": "./b.json"}`, "b.json": `{"extends": ["./a.json", "./b.json"]}`}
	files["ruff.toml"] = "extend = \"" + strings.Repeat("[", 100_000) + "\nextends = [" + strings.Repeat("[\"", 100_000)
	base := verifytest.Scan(t, files)
	cs := verifytest.Change(t, base, map[string]string{"a.json": "{}", "b.json": "{}"})
	if holds := toolHolds(base, cs); len(holds) != 2 || !strings.Contains(holds[1].Reason, "a.json names it") {
		t.Errorf("%+v", holds)
	}
}
