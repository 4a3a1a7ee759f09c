package dependencies

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Another party's archive may hold any name; apt gets neither options nor duplicates.
func TestDebianPackagesAreTheFirstStepAndSorted(t *testing.T) {
	t.Parallel()
	base := Read(texts("requirements.txt", "a\n"))
	if names, at := base.Debian(); names != nil || at != -1 {
		t.Errorf("without any: %q at %d", names, at)
	}
	d := base.WithDebian([]string{"zlib1g", "-y", "g++", "zlib1g", "a b", "../x.deb"})
	if names, at := d.Debian(); !slices.Equal(names, []string{"g++", "zlib1g"}) || at != 0 {
		t.Errorf("%q at %d", names, at)
	}
	if len(d.Notes) != 3 || !strings.HasPrefix(d.Notes[0], `nothing is installed: "-y" is not the name of a Debian package`) {
		t.Errorf("noted %q", d.Notes)
	}
	if diff := cmp.Diff([]string{"apt", ".", "g++ zlib1g", "", "", "pip", ".", "", "", mayDrop}, d.Arguments()); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"apt", "pip"}, d.Managers()); diff != "" {
		t.Error(diff)
	}
	if got := d.Part(0); got.String() != "Debian" || got.Same(d.Part(1)) || !got.Same(Part{"apt", "."}) {
		t.Errorf("%+v", got)
	}
	if d.Equal(base) || !d.Without(0).Equal(base) || len(base.Steps()) != 2 {
		t.Error("the set that it was added to has changed, or taking it out does not undo it")
	}
	for _, names := range [][]string{nil, {}, {"-y"}} {
		if got := base.WithDebian(names); !got.Equal(base) {
			t.Errorf("%q adds %v", names, got.Steps())
		}
	}
}

func TestManagersAreNamedOnceAndWithoutTheirForm(t *testing.T) {
	t.Parallel()
	d := Read(texts("a/package.json", numberPackage, "a/package-lock.json", numberLock, "b/package.json", numberPackage, "c/package.json", numberPackage, "c/pnpm-workspace.yaml", "packages: [x]\n", "go.mod", uuidModule))
	if diff := cmp.Diff([]string{"npm", "pnpm", "go"}, d.Managers()); diff != "" {
		t.Error(diff)
	}
	if !d.Part(0).Same(Part{"yarn", "a"}) || d.Part(0).Same(Part{"npm", "b"}) || d.Part(0).Same(Part{"go", "a"}) {
		t.Errorf("%+v is the same as it should not be", d.Part(0))
	}
}

// Members find each other even if no registry is asked.
func TestWhatIsNotInstalledIsLinkedAllTheSame(t *testing.T) {
	t.Parallel()
	d := Read(texts("package.json", `{"workspaces":["p/*"],"dependencies":{"is-number":"7"}}`, "p/a/package.json", named("a")))
	if d.Empty() || d.Links()["node_modules"] == "" || d.Links()["node_modules/a"] != "" {
		t.Fatalf("%v, %v", d.Steps(), d.Links())
	}
	less := d.Uninstalled()
	if diff := cmp.Diff(map[string]string{"node_modules/a": "/work/p/a"}, less.Links()); diff != "" || !less.Empty() || less.Equal(d) {
		t.Error(diff)
	}
}

func TestFilesThatTakePartAreKnownByTheirNames(t *testing.T) {
	t.Parallel()
	for p, want := range map[string]bool{
		"package.json": true, "a b/ü/package.json": true, "Package.json": false, "package.json/x": false, "xpackage.json": false,
		"vendor/modules.txt": true, "a/vendor/modules.txt": true, "modules.txt": false, "vendor/x/modules.txt": false,
		"requirements.txt": true, "requirements-dev.txt": true, "requirements.in": false, "requirements/base.txt": true, "requirements/base.md": false,
		"constraints.txt": true, "notes.txt": false, "test-requirements.txt": true, "setup.py": true, "setup.cfg": true, "sub/tox.ini": true, "tox.toml": true, "hatch.toml": true, "noxfile.py": true, "setup.pyc": false, ".npmrc": true, "npmrc": false,
		".github/workflows/ci.yml": true, "sub/.github/workflows/ci.yaml": true, ".github/ci.yml": false, ".github/workflows/sub/ci.yml": false,
		".circleci/config.yml": true, "x/.circleci/config.yml": false, "Dockerfile": true, "Dockerfile.dev": false, "bun.lockb": true, "": false, ".": false, "/": false,
	} {
		if got := Concerns(p); got != want {
			t.Errorf("%q: %v", p, got)
		}
	}
}

func TestTooManyFilesAreNotRead(t *testing.T) {
	t.Parallel()
	files := map[string][]byte{"requirements.txt": []byte("a\n")}
	for i := len(files); i < maxFiles; i++ {
		files[fmt.Sprintf("p%04d/requirements.txt", i)] = nil
	}
	if d := Read(files); d.Empty() || len(d.Notes) > 0 {
		t.Errorf("%d files: %q", len(files), d.Notes)
	}
	files["one/requirements.txt"] = nil
	if d := Read(files); !d.Empty() || len(d.Notes) != 1 || !strings.Contains(d.Notes[0], "has 2001 manifests and lock files, and at most 2000 are read") {
		t.Errorf("%d files: %q", len(files), d.Notes)
	}
}

// A note names a file that cannot be read, and everything else is still installed.
func TestOfAFileThatCannotBeReadThereIsANote(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		files map[string][]byte
		note  string // "": no note
	}{
		"a module":               {texts("a/go.mod", "module a\nrequire (\n"), "the modules of a/go.mod are not installed: it cannot be parsed"},
		"a module with a vendor": {texts("a/go.mod", "module a\nrequire (\n", "a/vendor/modules.txt", ""), ""},
		"a project":              {texts("a/pyproject.toml", "[project\n"), "a/pyproject.toml: its dependencies are not installed: it cannot be parsed"},
		"another encoding":       {texts("a/pyproject.toml", "\xff\xfe[\x00"), "a/pyproject.toml: its dependencies are not installed"},
		"a package":              {texts("a/package.json", "{", "a/yarn.lock", ""), "the packages of a/package.json are not installed: a/package.json: unexpected end of JSON input"},
		"a package of a member":  {texts("a/package.json", `{"workspaces":["*"],"dependencies":{"x":"1"}}`, "a/b/package.json", "[1"), "a/b/package.json is left out of the install:"},
		"members":                {texts("a/package.json", numberPackage, "a/pnpm-workspace.yaml", "a: [\n"), "the packages of a/package.json are not installed: pnpm-workspace.yaml:"},
		"a catalog":              {texts("a/package.json", numberPackage, "a/pnpm-workspace.yaml", "catalogs: {x: {y: 'github:evil/y'}}\n"), `a/pnpm-workspace.yaml: without "y", which does not come from the registry`},
		"overrides of pnpm":      {texts("a/package.json", `{"dependencies":{"x":"1"},"pnpm":{"overrides":{"y":"http://evil/y"}}}`), `a/package.json: without "y", which does not come from the registry`},
		"a lock of poetry":       {texts("a/pyproject.toml", "[project]\ndependencies = ['b']\n", "a/poetry.lock", "[["), ""},
	} {
		for other, text := range texts("go.mod", uuidModule, "z/requirements.txt", "fine==1\n") {
			c.files[other] = text
		}
		d := Read(c.files)
		if got := strings.Join(d.Notes, "\n"); !strings.Contains(got, c.note) || c.note == "" && got != "" {
			t.Errorf("%s: noted %q, want %q", name, got, c.note)
		}
		if steps := strings.Join(d.Steps(), " "); !strings.HasSuffix(steps, "pip . go .") || !strings.Contains(d.held()[requirementsFile], "fine==1\n") {
			t.Errorf("%s: %s, %q", name, steps, d.held())
		} else if name == "a package of a member" && !strings.Contains(steps, " a ") {
			t.Errorf("one broken package keeps the others out: %s", steps)
		}
	}
}

// A report is stored in an image, and packages may have written lines of it.
func TestAReportIsToldInSentences(t *testing.T) {
	t.Parallel()
	d := Read(texts(
		"a/package.json", `{"dependencies":{"x":"1"},"scripts":{"setup":"npm i --force"}}`,
		"b/package.json", numberPackage, "b/package-lock.json", numberLock,
		"c/package.json", numberPackage, "c/pnpm-lock.yaml", "a: 1\n",
		"requirements.txt", "x\n",
	))
	at := func(i int, rest string) string { return fmt.Sprintf("%d %s\n", i, rest) }
	index := map[string]int{}
	for i := range len(d.Steps()) / 2 {
		index[d.Part(i).Root] = i
	}
	for report, want := range map[string]string{
		at(index["a"], "1 ERESOLVE"):                  "npm refused what a/package.json asks for (ERESOLVE): installed with --force, as a/package.json does",
		at(index["b"], "1 ERESOLVE"):                  "npm refused what b/package.json asks for (ERESOLVE): installed with --legacy-peer-deps, as npm advises",
		at(index["b"], "2 EUSAGE"):                    "the lock file of b/package.json does not match it (EUSAGE): npm chose the versions that differ",
		at(index["c"], "1 OUTDATED"):                  "the lock file of c/package.json does not match it (OUTDATED): pnpm chose the versions that differ",
		at(index["b"], "foreign one github:evil/x"):   `"github:evil/x" wants "one", which does not come from the registry: it is left out`,
		at(index["."], "without x\x1b[2J"):            `the Python package "x\x1b[2J" is not installed: the index has no wheel of it that fits; set PIP_INDEX_URL to an index that has one, or ask for another version`,
		"-1 1 x\n9 1 x\n":                             "",
		"99999999999999999999 1 x\n":                  "",
		at(index["a"], "first ERESOLVE") + "\n \n1\n": "",
		"": "",
	} {
		done, lacking := d.Told(report)
		if got := strings.Join(append(done, lacking...), "\n"); got != want {
			t.Errorf("%q: %q, want %q", report, got, want)
		}
	}
}
