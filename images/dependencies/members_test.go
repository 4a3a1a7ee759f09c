package dependencies

import (
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// named returns a package.json with that name.
func named(name string) string { return `{"name":"` + name + `"}` }

func TestPackagesOfAWorkspaceAreLinkedWhereTheyAreLookedFor(t *testing.T) {
	t.Parallel()
	const own = `{"workspaces":["packages/*"]}`
	for name, c := range map[string]struct {
		files map[string][]byte
		want  map[string]string // links into the workspace
		steps []string
	}{
		"none": {texts("package.json", named("a"), "b/package.json", named("b")), nil, nil},
		// A lock file that lists only members needs no registry.
		"npm": {
			texts("package.json", own, "package-lock.json", "{}", "packages/a/package.json", named("@x/a"), "packages/b/package.json", `{"dependencies":{"@x/a":"^1"}}`),
			map[string]string{"node_modules/@x/a": "/work/packages/a"},
			nil,
		},
		"npm, with a lock file that it takes no notice of": {
			texts("package.json", `{"workspaces":["packages/*"],"devDependencies":{"c":"1"}}`, "package-lock.json", "{}", "packages/a/package.json", `{"name":"a","dependencies":{"b":"1"}}`,
				"packages/a/package-lock.json", "{}", "docs/package.json", `{"name":"docs","dependencies":{"d":"1"}}`, "docs/package-lock.json", "{}"),
			nil,
			[]string{"npm", "docs", "npm", "."},
		},
		"yarn": {
			texts("w/package.json", `{"workspaces":{"packages":["./lib/"]}}`, "w/lib/package.json", named("lib"), "w/other/package.json", named("other")),
			map[string]string{"w/node_modules/lib": "/work/w/lib"},
			nil,
		},
		"pnpm": {
			texts("package.json", own, "pnpm-workspace.yaml", "packages: ['{apps,libs}/**']\n", "apps/web/package.json", `{"name":"web","devDependencies":{"deep":"workspace:*"}}`,
				"libs/a/deep/package.json", named("deep"), "libs/b/package.json", named("b"), "packages/p/package.json", named("p")),
			map[string]string{"apps/web/node_modules/deep": "/work/libs/a/deep"},
			nil,
		},
		"pnpm, not a member": {
			texts("package.json", "{}", "pnpm-workspace.yaml", "packages: ['*', '!old']\n", "a/package.json", `{"dependencies":{"old":"1"}}`, "old/package.json", named("old")),
			nil,
			[]string{"pnpm-unlocked", "."},
		},
		"in another one": {
			texts("package.json", own, "packages/a/package.json", `{"name":"a","workspaces":["b"]}`, "packages/a/b/package.json", named("b")),
			map[string]string{"node_modules/a": "/work/packages/a", "packages/a/node_modules/b": "/work/packages/a/b"},
			nil,
		},
		// The installer's own directory has these links, and takes the place of the whole directory.
		"installed": {
			texts("package.json", own, "packages/a/package.json", named("a"), "packages/b/package.json", `{"name":"b","dependencies":{"a":"workspace:^","is-number":"7"}}`),
			nil,
			[]string{"npm-unlocked", "."},
		},
		"not installed": {
			texts("package.json", own, "packages/a/package.json", `{"name":"a","dependencies":{"is-number":"git+https://example.org/x"}}`),
			map[string]string{"node_modules/a": "/work/packages/a"},
			nil,
		},
		"names and patterns of no use": {
			texts("package.json", `{"workspaces":["*","{","../*",7]}`, "a/package.json", named("../../etc"), "b/package.json", named("@x/../y"), "c/package.json", "{",
				"d/package.json", named("twice"), "e/package.json", named("twice"), "node_modules/package.json", named("x"), "f/package.json", `{"name":["f"]}`),
			map[string]string{"node_modules/twice": "/work/d"},
			nil,
		},
		"no patterns": {texts("package.json", `{"workspaces":"packages/*"}`, "pnpm-workspace.yaml", "- <<", "packages/a/package.json", named("a")), nil, nil},
	} {
		d := Read(c.files)
		links := map[string]string{}
		for at, to := range d.Links() {
			if !strings.HasPrefix(to, installedDir) {
				links[at] = to
			}
		}
		if c.want == nil {
			c.want = map[string]string{}
		}
		if diff := cmp.Diff(c.want, links) + cmp.Diff(c.steps, d.Steps()); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		for file, text := range d.held() {
			if strings.Contains(text, "workspace:") && d.steps[0].kind == "npm-unlocked" {
				t.Errorf("%s: %s asks npm for %s", name, file, text)
			}
		}
	}
}

func TestPatternsOfMembersAreThoseOfNpm(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		pattern, name string
		want          bool
	}{
		{"a/*", "a/b", true},
		{"a/*", "a/b/c", false},
		{"a/*", "a", false},
		{"a/**", "a/b/c", true},
		{"a/**", "a", true},
		{"a/**/c", "a/c", true},
		{"**", "x/y", true},
		{"{a,b/c}/*-?", "b/c/x-1", true},
		{"{a,b/c}/*-?", "b/x-1", false},
		{"a.b/[c]", "a.b/[c]", true},
		{"a.b/[c]", "axb/c", false},
	} {
		re, err := regexp.Compile(glob(c.pattern + "/package.json"))
		if err != nil || re.MatchString(c.name+"/package.json") != c.want {
			t.Errorf("%q and %q: %v, %v", c.pattern, c.name, !c.want, err)
		}
	}
}
