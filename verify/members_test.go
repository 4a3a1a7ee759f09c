package verify

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"agent/images"
	"agent/images/dependencies"
	"agent/sandbox"
	"agent/verify/checktest"
	"agent/verify/node"
	"agent/verify/verifytest"
)

// members is a workspace whose packages import each other by name and need nothing from a registry. Most of what their package.json files
// name is not built yet.
var members = map[string]string{
	"package.json": `{"private": true, "workspaces": ["packages/*"]}` + "\n",

	"packages/core/package.json":    `{"name": "@acme/core", "version": "1.0.0", "main": "dist/index.js", "types": "dist/index.d.ts"}` + "\n",
	"packages/core/tsconfig.json":   `{"compilerOptions": {"strict": true, "rootDir": "source", "outDir": "dist"}}` + "\n",
	"packages/core/source/index.ts": "export function double(n: number): number {\n  return 2 * n;\n}\n",

	// Built by a bundler, so only the names tell which source each file is built from.
	"packages/bundle/package.json":  `{"name": "bundle", "exports": {".": {"types": "./dist/index.d.ts", "import": "./dist/index.mjs"}, "./of/*": "./dist/esm/*.js", "./two": "./dist/two.js", "./three": "./dist/three.mjs"}}` + "\n",
	"packages/bundle/tsconfig.json": `{"compilerOptions": {"strict": true, "noEmit": true}}` + "\n",
	"packages/bundle/src/index.ts":  "export const one: number = 1;\n",
	"packages/bundle/src/part.tsx":  "export const part: number = 2;\n",
	"packages/bundle/src/piece.ts":  "export const piece: number = 3;\n",
	"packages/bundle/src/two.ts":    "export const a = 1;\n",
	"packages/bundle/src/three.ts":  "const three: number = 3;\nexport default three;\n",
	"packages/bundle/two.ts":        "export const b = 1;\n",

	// For node, the source is not a module of the same kind as what is built from it.
	"packages/node/package.json":  `{"name": "node", "type": "module", "dependencies": {"bundle": "*"}}` + "\n",
	"packages/node/tsconfig.json": `{"compilerOptions": {"strict": true, "module": "nodenext"}}` + "\n",
	"packages/node/node.ts":       "import three from \"bundle/three\";\n\nexport const n: number = three;\n",

	// The declared type of first depends on compiler options that the importer does not share.
	"packages/loose/package.json":  `{"name": "loose", "main": "dist"}` + "\n",
	"packages/loose/tsconfig.json": `{"compilerOptions": {"strict": false}}` + "\n",
	"packages/loose/src/dist.ts":   "export const first = (a: string[]) => a.pop();\n",

	"packages/page/package.json": `{"name": "page", "type": "module", "exports": "./index.js"}` + "\n",
	"packages/page/index.js":     "export const title = (s) => s.toUpperCase();\n",

	"packages/web/package.json":  `{"name": "web", "type": "module", "dependencies": {"@acme/core": "*", "page": "*", "bundle": "*", "loose": "*"}, "peerDependencies": {"absent": "*"}}` + "\n",
	"packages/web/tsconfig.json": `{"compilerOptions": {"strict": true, "module": "esnext", "moduleResolution": "bundler", "types": ["node"]}}` + "\n",
	"packages/web/web.ts": "import absent from \"absent\";\nimport { one } from \"bundle\";\nimport { part } from \"bundle/of/part\";\nimport { piece } from \"bundle/of/piece\";\nimport { c } from \"bundle/two\";\n" +
		"import { first, gone } from \"loose\";\nimport { double } from \"@acme/core\";\n\nexport const total: number = double(21) + absent.sum(c, part, gone);\nexport const sum: string = one;\n" +
		"export const also: string = piece;\nexport const word: string = first([\"\"]);\nprocess.exit(total);\n",
	"packages/web/web.js":      "import { double, triple } from \"@acme/core\";\n\nconsole.log(double(1), triple);\n",
	"packages/web/web.test.js": "import assert from \"node:assert\";\nimport test from \"node:test\";\n\nimport { title } from \"page\";\n\ntest(\"title\", () => assert.equal(title(\"a\"), \"A\"));\n",
}

// laid returns the toolchain image with the dependencies that these files ask for.
func laid(t *testing.T, files map[string]string) images.Image {
	t.Helper()
	read := map[string][]byte{}
	for name, text := range files {
		if dependencies.Concerns(name) {
			read[name] = []byte(text)
		}
	}
	l := verifytest.Open(t)
	image, err := l.Builder.Install(t.Context(), l.Toolchain, dependencies.Read(read))
	if err != nil {
		t.Fatal(err)
	}
	return image
}

// A patch to one package shows its effect in the packages that import it by name.
func TestPackagesOfAWorkspaceAreFoundByTheirNames(t *testing.T) {
	t.Parallel()
	s := newSiteOn(t, laid(t, members), members)
	b := checktest.NewBenchOn(t, s.snapshot.ID, s.base, verifytest.Change(t, s.base, map[string]string{
		"packages/core/source/index.ts": "export function double(n: string): string {\n  return n + n;\n}\n",
		"packages/page/index.js":        "export const title = (s) => s.toLowerCase();\n",
	}), sandbox.Limits{})
	b.Timeout = defaultTimeout
	out := node.Script.Run(t.Context(), b)
	var got []string
	for _, f := range out.Findings {
		got = append(got, fmt.Sprintf("%s:%d %s", strings.TrimPrefix(f.File, "packages/web/"), f.Line, f.Rule))
	}
	want := []string{"web.js:1 TS2305", "web.ts:10 TS2322", "web.ts:11 TS2322", "web.ts:9 TS2322", "web.ts:9 TS2345"}
	if slices.Sort(got); out.Verdict != "" || !slices.Equal(got, want) {
		t.Errorf("%+v: %q, want %q", out, got, want)
	}
	tests := node.Tests.Run(t.Context(), b).Tests
	if len(tests) != 1 || tests[0].Outcome != "failed" || !strings.Contains(fmt.Sprint(tests), "'a'") {
		t.Errorf("tests %+v", tests)
	}
}
