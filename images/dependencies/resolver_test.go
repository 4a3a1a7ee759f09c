package dependencies

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Of a workspace's settings, the resolver gets those that decide which versions fit, with values from a table. It gets
// none that choose a registry, a script or a path.
func TestOfSettingsTheResolverGetsWhatIsHarmless(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		files    map[string][]byte
		settings string
		retry    string
		from     string
	}{
		"nothing":        {texts("package.json", numberPackage), "", "--legacy-peer-deps", ""},
		"legacy":         {texts("package.json", numberPackage, ".npmrc", "# why\nlegacy-peer-deps=true\n"), "--legacy-peer-deps=true", "", ""},
		"with spaces":    {texts("package.json", numberPackage, ".npmrc", "legacy-peer-deps = \"true\"\r\n"), "--legacy-peer-deps=true", "", ""},
		"a switch":       {texts("package.json", numberPackage, ".npmrc", "force\n"), "--force=true", "--legacy-peer-deps", ""},
		"the last":       {texts("package.json", numberPackage, ".npmrc", "force=true\nforce=false\n"), "--force=false", "--legacy-peer-deps", ""},
		"strict":         {texts("package.json", numberPackage, ".npmrc", "strict-peer-deps=true\nlegacy-peer-deps=false"), "--legacy-peer-deps=false --strict-peer-deps=true", "--legacy-peer-deps", ""},
		"of elsewhere":   {texts("package.json", numberPackage, "sub/.npmrc", "force=true\n"), "", "--legacy-peer-deps", ""},
		"where it is":    {texts("sub/package.json", numberPackage, "sub/.npmrc", "force=true\n"), "--force=true", "--legacy-peer-deps", ""},
		"pnpm":           {texts("package.json", numberPackage, "pnpm-lock.yaml", "a: 1\n", ".npmrc", "auto-install-peers=false\nnode-linker=hoisted\nlegacy-peer-deps=true\n"), "--config.auto-install-peers=false --config.node-linker=hoisted", "", ""},
		"no such value":  {texts("package.json", numberPackage, ".npmrc", "force=true --registry=http://evil\nnode-linker=$(x)\nlegacy-peer-deps=true;true\n"), "", "--legacy-peer-deps", ""},
		"forbidden":      {texts("package.json", numberPackage, ".npmrc", "registry=http://evil\n@a:registry=http://evil\nignore-scripts=false\nscript-shell=/evil\nprefix=/evil\ncache=/evil\nproxy=http://evil\ncafile=/evil\nnode-options=--require=/evil\nglobalconfig=/evil\nstrict-ssl=false\n"), "", "--legacy-peer-deps", ""},
		"workflow":       {texts("package.json", numberPackage, ".github/workflows/ci.yml", "      - run: npm ci --legacy-peer-deps\n"), "", "--legacy-peer-deps", ".github/workflows/ci.yml"},
		"workflow force": {texts("package.json", numberPackage, ".github/workflows/ci.yaml", "run: |\n  npm --prefix . install -g npm\n  npm install --no-audit --force\n"), "", "--force", ".github/workflows/ci.yaml"},
		"variable":       {texts("package.json", numberPackage, ".gitlab-ci.yml", "variables:\n  NPM_CONFIG_LEGACY_PEER_DEPS: 'true'\n"), "", "--legacy-peer-deps", ".gitlab-ci.yml"},
		"a script":       {texts("package.json", `{"scripts":{"setup":"npm i --force && x"},"dependencies":{"x":"1"}}`), "", "--force", "package.json"},
		"another command": {
			texts("package.json", `{"scripts":{"setup":"npm ci; git push --force"},"dependencies":{"x":"1"}}`, ".travis.yml", "script: npm run x -- --force\n"), "", "--legacy-peer-deps", "",
		},
	} {
		d := Read(c.files)
		if len(d.steps) != 1 {
			t.Errorf("%s: %d steps, %v", name, len(d.steps), d.Notes)
			continue
		}
		s := d.steps[0]
		if s.settings != c.settings || s.retry != c.retry || s.from != c.from {
			t.Errorf("%s: %q, then %q of %q", name, s.settings, s.retry, s.from)
		}
		if told := strings.Contains(strings.Join(d.Notes, "\n"), ".npmrc says"); told != (c.settings != "") {
			t.Errorf("%s: %q", name, d.Notes)
		}
		for file := range c.files {
			if !Concerns(file) {
				t.Errorf("%s: %s is not read", name, file)
			}
		}
	}
}

// A note names each lock file that is not read, and where the versions come from instead.
func TestALockFileThatIsNotReadIsTold(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		files map[string][]byte
		step  string
		want  string // the beginning of the only note, "" for none
	}{
		"bun":               {texts("package.json", numberPackage, "bun.lock", "{}"), "npm-unlocked", "bun.lock is not read: versions come from package.json: commit the package-lock.json that `npm install"},
		"bun, binary":       {texts("a/package.json", numberPackage, "a/bun.lockb", "\x00"), "npm-unlocked", "a/bun.lockb is not read: versions come from a/package.json"},
		"beside one":        {texts("package.json", numberPackage, "package-lock.json", numberLock, "bun.lock", "{}"), "npm", "bun.lock is not read: versions come from package-lock.json"},
		"deno":              {texts("package.json", numberPackage, "deno.lock", "{}"), "npm-unlocked", "deno.lock is not read"},
		"yarn two":          {texts("package.json", numberPackage, "yarn.lock", "# x\n__metadata:\n  version: 8\n"), "yarn", ""},
		"yarn two, broken":  {texts("package.json", numberPackage, "yarn.lock", "__metadata:\n  version: 8\na: [\n"), "npm-unlocked", "yarn.lock, written by Yarn 2 or newer, is not read: versions come from package.json"},
		"yarn one":          {texts("package.json", numberPackage, "yarn.lock", "# yarn lockfile v1\n"), "yarn", ""},
		"of python":         {texts("pyproject.toml", "[project]\ndependencies = ['a']\n", "pylock.toml", "x"), "pip", "pylock.toml is not read: versions come from pyproject.toml"},
		"of another place":  {texts("package.json", numberPackage, "other/bun.lock", "{}"), "npm-unlocked", ""},
		"nothing to depend": {texts("package.json", `{"name":"a"}`, "bun.lock", "{}"), "", ""},
	} {
		d := Read(c.files)
		step, notes := "", strings.Join(d.Notes, "\n")
		if len(d.steps) > 0 {
			step = d.steps[0].kind
		}
		if step != c.step || c.want == "" && notes != "" || !strings.HasPrefix(notes, c.want) || len(d.Notes) > 1 {
			t.Errorf("%s: %q, %q", name, step, notes)
		}
	}
	for _, l := range lockFiles {
		if !Concerns(l.name) || (l.kind == "" || l.kind == "yarn") != (l.manifest != "" && l.cure != "") {
			t.Errorf("%+v is incomplete", l)
		}
	}
}

// A refusal is due to the patch's own change, since the install does no more for it than the workspace needed before.
func TestAPatchIsInstalledWithNoMoreThanTheBaseNeeded(t *testing.T) {
	t.Parallel()
	both := func(requirements string) Set {
		return Read(texts("package.json", numberPackage, "package-lock.json", numberLock, "requirements.txt", requirements))
	}
	base, report := both("a\nb==2\n"), "0 1 ERESOLVE\n1 without b==2\n\x00 nonsense\n9 9 9\n"
	if !base.Within(report) {
		t.Error("the base may not do what it did")
	}
	same := both("a\nb==2\nc\n").Limited(base, report)
	for text, want := range map[string]bool{
		"": true, report: true, "0 2 EUSAGE\n": false, "1 without c\n": false, "1 without b==2\n": true,
	} {
		if got := same.Within(text); got != want {
			t.Errorf("within %q: %v", text, got)
		}
	}
	if strict := both("a\n").Limited(both("a\n"), ""); strict.Within("0 1 ERESOLVE\n") || strict.Within("1 without a\n") || !strict.Within("") {
		t.Error("a patch is installed with what its base did not need")
	}
	// Limits do not belong to what is asked for.
	if diff := cmp.Diff(same.Options(), both("a\n").Options()); diff != "" {
		t.Error(diff)
	}
	done, lacking := base.Told(report)
	if want := []string{"npm refused what package.json asks for (ERESOLVE): installed with --legacy-peer-deps, as npm advises"}; !cmp.Equal(done, want) {
		t.Error(done)
	}
	if len(lacking) != 1 || !strings.HasPrefix(lacking[0], `the Python package "b==2" is not installed`) {
		t.Error(lacking)
	}
}

func TestWithoutAStepTheOthersStay(t *testing.T) {
	t.Parallel()
	d := Read(texts("top/package.json", numberPackage, "sub/package.json", numberPackage, "requirements.txt", "a\n", "go.mod", uuidModule))
	if got := strings.Join(d.Steps(), " "); got != "npm-unlocked sub npm-unlocked top pip . go ." {
		t.Fatal(got)
	}
	less := d.Without(0)
	if got := strings.Join(less.Steps(), " "); got != "npm-unlocked top pip . go ." {
		t.Error(got)
	}
	held := less.held()
	if held["node/sub/package.json"] != "" || held["node/top/package.json"] == "" || held["go/go.mod"] == "" || len(d.held()) != len(held)+1 {
		t.Errorf("%v", held)
	}
	if links := less.Links(); links["sub/node_modules"] != "" || links["top/node_modules"] == "" {
		t.Errorf("%v", links)
	}
	for !less.Empty() {
		less = less.Without(0)
	}
	if len(less.Links())+len(less.Files()) > 0 {
		t.Errorf("%v, %v", less.Links(), less.Files())
	}
	if got := d.Part(1).String() + ", " + d.Part(2).String() + ", " + d.Part(3).String(); got != "top/package.json, Python, go.mod" {
		t.Error(got)
	}
}
