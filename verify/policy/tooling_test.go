package policy

import (
	"slices"
	"strings"
	"testing"

	"agent/sandbox/workspace"
	"agent/verify/verifytest"
)

func TestAChangeOfAPluginIsHeld(t *testing.T) {
	t.Parallel()
	base := verifytest.Scan(t, map[string]string{
		"mypy.ini": "[mypy]\nplugins = tools/checker.py\n", "tools/checker.py": "import ast\nimport shapes\n", "tools/shapes.py": "", "tools/other.py": "",
		"conftest.py": "pytest_plugins = ['tools.plug']\n", "tools/plug.py": "",
	})
	cs := verifytest.Change(t, base, map[string]string{
		"tools/checker.py": "x = 1\n", "tools/shapes.py": "-", "tools/other.py": "x = 1\n", "tools/plug.py": "x = 1\n",
		"tools/ast.py": "in the place of the library's\n", "ast.py": "where nothing looks\n", "stock.py": "x = 1\n",
	})
	var got []string
	for _, h := range toolHolds(base, cs) {
		if h.Kind != "tooling" || !h.Block || h.Reason == "" {
			t.Errorf("%+v", h)
		}
		got = append(got, h.Path)
	}
	if want := []string{"tools/ast.py", "tools/checker.py", "tools/plug.py", "tools/shapes.py"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	moved := workspace.Changeset{Changes: []workspace.Change{{Op: workspace.Rename, From: "tools/checker.py", Path: "gone.py", Before: []byte("import ast\nimport shapes\n")}}}
	if holds := toolHolds(base, moved); len(holds) != 1 || holds[0].Path != "tools/checker.py" {
		t.Errorf("a rename: %+v", holds)
	}
}

// The files that make up eslint's configuration are held, wherever they are.
func TestWhatConfiguresESLintIsHeld(t *testing.T) {
	t.Parallel()
	base := verifytest.Scan(t, map[string]string{
		"package.json": `{"devDependencies": {"eslint": "9"}, "scripts": {"lint": "eslint src --fix"}}`, "web/package.json": `{"scripts": {"lint": "eslint ."}}`,
		"eslint.config.js": "import own from './rules';\nexport default own;\n", "rules/index.js": "module.exports = require('../tools/names.cjs');\n",
		"tools/names.cjs": "", "src/a.js": "", ".gitignore": "",
	})
	cs := verifytest.Change(t, base, map[string]string{
		"package.json": `{}`, "eslint.config.js": "export default [];\n", "web/.eslintrc.json": "{}", "rules.js": "", "tools/names.cjs": "x", "src/a.js": "x", ".gitignore": "src",
	})
	if holds := toolHolds(base, cs); len(holds) != 3 || holds[0].Path != "rules.js" || holds[1].Path != "tools/names.cjs" || !strings.Contains(holds[2].Reason, "set up: scripts.lint.") {
		t.Errorf("%+v", holds)
	}
}

// A key of package.json configures a tool just as a file does.
func TestWhatPackageJSONSaysOfTheJudgesIsHeld(t *testing.T) {
	t.Parallel()
	base := verifytest.Scan(t, map[string]string{
		"package.json":     `{"devDependencies": {"eslint": "8"}, "eslintConfig": {"rules": {"eqeqeq": 2}}, "scripts": {"build": "x"}}`,
		"web/package.json": `{"jest": {"bail": true}, "scripts": {"test": "jest", "build": "x"}}`,
		"old/package.json": `{"mocha": {}, "eslintIgnore": []}`, "same/package.json": `{"jest": {"a": 1, "b": 2}}`, "broken/package.json": "{",
	})
	cs := verifytest.Change(t, base, map[string]string{
		"package.json":     `{"devDependencies": {"eslint": "8"}, "eslintConfig": {"rules": {"eqeqeq": 0}}, "scripts": {"build": "y"}}`,
		"web/package.json": `{"jest": {}, "scripts": {"test": "jest --testPathIgnorePatterns a", "test:all": "jest", "build": "y"}}`,
		"old/package.json": "-", "same/package.json": `{ "jest": {"b": 2, "a": 1}, "version": "2" }`, "broken/package.json": `{"name": "b"}`,
		"new/package.json": `{"eslintConfig": {"root": true}}`, "a.js": "",
	})
	var held []string
	for _, h := range toolHolds(base, cs) {
		_, keys, _ := strings.Cut(h.Reason, "set up: ")
		held = append(held, h.Path+" "+keys)
		if h.Kind != "tooling" || !h.Block {
			t.Errorf("%+v", h)
		}
	}
	want := []string{
		"new/package.json eslintConfig.", "old/package.json eslintIgnore, mocha.", "package.json eslintConfig.",
		"web/package.json jest, scripts.test, scripts.test:all.",
	}
	if !slices.Equal(held, want) {
		t.Errorf("%q, want %q", held, want)
	}
}

// A file that a gate saw a tool load, and that the text also names, is held once.
func TestWhatATextNamesAndAToolLoadsIsHeldOnce(t *testing.T) {
	t.Parallel()
	base := verifytest.Scan(t, map[string]string{"tsconfig.json": `{"extends": "./conf/house.json"}`, "conf/house.json": "{}", "conf/other.json": "{}"})
	cs := verifytest.Change(t, base, map[string]string{"conf/house.json": "[]", "conf/other.json": "[]"})
	gates := []Hold{{Path: "conf/house.json", Kind: Tooling, Block: true, Reason: "loaded"}, {Path: "conf/other.json", Kind: Tooling, Block: true, Reason: "loaded"}}
	held := map[string]int{}
	for _, h := range Review(t.Context(), base, cs, nil, gates) {
		held[h.Path]++
	}
	if held["conf/house.json"] != 1 || held["conf/other.json"] != 1 {
		t.Errorf("held %v", held)
	}
}
