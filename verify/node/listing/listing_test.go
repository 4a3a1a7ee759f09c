package listing

import (
	"slices"
	"testing"
)

// A list counts where the runner reads it, and not where another tool has a list of that name.
func TestListsOfTests(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		runner, manifest, file, text string
		want                         []string
	}{
		"of the runner":      {"vitest", "", "vite.config.ts", "export default defineConfig({ test: { include: ['lib/*.js', \"./spec/*.js\"] } })", []string{"lib/*.js", "spec/*.js"}},
		"of the measure":     {"vitest", "", "vitest.config.mts", "export default defineConfig({\n  resolve: { alias: [{ find: /^me$/ }] },\n  test: {\n    dir: 'tests',\n    coverage: {\n      include: ['src/**/'],\n    },\n  },\n})\n", nil},
		"behind the measure": {"vitest", "", "vitest.config.ts", "export default { test: { coverage: { include: ['src/**'] }, typecheck: { include: ['types/*'] }, include: ['t/*.ts'] } }", []string{"t/*.ts"}},
		"of a bundler":       {"vitest", "", "vite.config.js", "export default defineConfig({ optimizeDeps: { include: ['vue'] } })", nil},
		"of a plugin":        {"vitest", "", "vite.config.js", "export default defineConfig({ plugins: [react({ include: '**/*.tsx' })] })", nil},
		"of a project":       {"vitest", "", "vitest.config.ts", "export default defineConfig({ test: { projects: [{ test: { name: 'a', include: ['a/*.ts'] } }] } })", []string{"a/*.ts"}},
		"merged":             {"vitest", "", "vitest.config.ts", "export default mergeConfig(base, defineConfig({ test: { include: ['a/*.ts'] } }))", []string{"a/*.ts"}},
		"by itself":          {"vitest", "", "vitest.config.ts", "const test = { include: ['a/*.ts'] }\nexport default { test }", []string{"a/*.ts"}},
		"in a comment":       {"vitest", "", "vitest.config.ts", "export default { test: {\n // include: ['src/*'],\n /* include: ['src/*'], */ include: ['a/*'] } }", []string{"a/*"}},
		"behind a brace":     {"vitest", "", "vitest.config.ts", "export default { root: '{', test: { name: \"it's {\", include: ['a/*'] } }", []string{"a/*"}},
		"mocha":              {"mocha", "", ".mocharc.yml", "require: ./env.js\nspec:\n  - 'spec/**/*.ts'\n", []string{"spec/**/*.ts"}},
		"of the manifest":    {"mocha", `{"mocha": {"spec": "test/deep/*.js"}}`, ".mocharc.yml", "spec: other\n", []string{"test/deep/*.js"}},
		"jest":               {"jest", "", "jest.config.js", "module.exports = { projects: [{ testMatch: ['<rootDir>/spec/**/*.[jt]s'] }] }", []string{"spec/**/*.[jt]s"}},
		"nothing":            {"ava", "{}", "", "", nil},
	} {
		got := Patterns(c.runner, c.manifest, func(name string) string {
			if name == c.file {
				return c.text
			}
			return ""
		})
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
