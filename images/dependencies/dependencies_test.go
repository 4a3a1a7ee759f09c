package dependencies

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// texts turns texts into the files of a workspace.
func texts(pairs ...string) map[string][]byte {
	files := map[string][]byte{}
	for i := 0; i < len(pairs); i += 2 {
		files[pairs[i]] = []byte(pairs[i+1])
	}
	return files
}

// held returns the files that the installer gets, by path.
func (d Set) held() map[string]string {
	held := map[string]string{}
	for name, content := range d.files {
		held[name] = string(content)
	}
	return held
}

const (
	numberPackage = `{"name":"web","dependencies":{"is-number":"^7.0.0"}}`
	numberLock    = `{"name":"web","lockfileVersion":3,"requires":true,"packages":{"":{"name":"web","dependencies":{"is-number":"^7.0.0"}},
"node_modules/is-number":{"version":"7.0.0","resolved":"https://registry.npmjs.org/is-number/-/is-number-7.0.0.tgz",
"integrity":"sha512-41Cifkg6e8TylSpdtTpeLVMqvSBEVzTttHvERD741+pnZ8ANv0004MRL43QKPDlK9cGvNp6NZWZUBlbGXYxxng=="}}}`
	uuidModule = "module example.com/a\n\ngo 1.22\n\nrequire github.com/google/uuid v1.6.0\n"
	uuidSums   = "github.com/google/uuid v1.6.0 h1:NIvaJDMOsjHA8n1jAhLSgzrAzy1Hgr+hNrb57e+94F0=\n" +
		"github.com/google/uuid v1.6.0/go.mod h1:TIyPZe4MgqvfeYDBFedMoGGpEw/LqOeaOT+nhxU+yHo=\n"
)

func TestDependenciesAreReadFromEachKindOfProject(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		files map[string][]byte
		want  []string // kind and root of each step
	}{
		"nothing":                 {texts("a.py", "import x\n"), nil},
		"a package without any":   {texts("package.json", `{"name":"a","scripts":{"test":"x"}}`, "package-lock.json", `{"packages":{}}`), nil},
		"npm":                     {texts("package.json", numberPackage, "package-lock.json", numberLock), []string{"npm", "."}},
		"npm below":               {texts("my web/package.json", numberPackage, "my web/package-lock.json", numberLock), []string{"npm", "my web"}},
		"members of a workspace":  {texts("package.json", `{"workspaces":["p/*"]}`, "package-lock.json", numberLock, "p/a/package.json", numberPackage), []string{"npm", "."}},
		"no lock":                 {texts("package.json", numberPackage), []string{"npm-unlocked", "."}},
		"pnpm before npm":         {texts("package.json", numberPackage, "package-lock.json", numberLock, "pnpm-lock.yaml", "lockfileVersion: '9.0'\n"), []string{"pnpm", "."}},
		"yarn":                    {texts("package.json", numberPackage, "yarn.lock", "# yarn lockfile v1\n"), []string{"yarn", "."}},
		"go":                      {texts("go.mod", uuidModule, "go.sum", uuidSums, "tools/go.mod", "module b\n"), []string{"go", "."}},
		"go that go passes over":  {texts("_examples/x/go.mod", uuidModule, "a/testdata/b/go.mod", uuidModule), nil},
		"go with a vendor":        {texts("go.mod", uuidModule, "vendor/modules.txt", "# x\n"), nil},
		"go work":                 {texts("go.work", "go 1.22\nuse ./a\n", "a/go.mod", uuidModule), []string{"go", "."}},
		"requirements":            {texts("requirements.txt", "a==1\n", "sub/requirements-dev.txt", "b\n"), []string{"pip", "."}},
		"pyproject":               {texts("pyproject.toml", "[project]\ndependencies = ['a>=1']\n"), []string{"pip", "."}},
		"pyproject without any":   {texts("pyproject.toml", "[tool.ruff]\nline-length = 80\n"), nil},
		"requirements of nothing": {texts("requirements.txt", "# none\n-e .\n"), nil},
	} {
		d := Read(c.files)
		if diff := cmp.Diff(c.want, d.Steps()); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		if d.Empty() != (len(c.want) == 0) || len(d.Notes) > 0 {
			t.Errorf("%s: empty %v, notes %v", name, d.Empty(), d.Notes)
		}
	}
}

// A workspace may only name its packages and their versions. Each of these files would make an installer contact
// another machine or run something.
func TestAWorkspaceDecidesNeitherWherePackagesComeFromNorWhatRuns(t *testing.T) {
	t.Parallel()
	lock := func(resolved string) string {
		return `{"packages":{"node_modules/x":{"version":"1.0.0","resolved":"` + resolved + `"}}}`
	}
	for name, c := range map[string]struct {
		files map[string][]byte
		note  string // "" if the file is taken with its content changed
	}{
		"npm address":        {texts("package.json", `{"dependencies":{"x":"http://127.0.0.1/x.tgz"}}`), "does not come from the registry"},
		"npm git":            {texts("package.json", `{"dependencies":{"x":"git+ssh://evil/x"}}`), "ask for a version of it there, or keep it in the workspace"},
		"npm repository":     {texts("package.json", `{"devDependencies":{"x":"evil/x"}}`), "does not come from the registry"},
		"npm override":       {texts("package.json", `{"dependencies":{"x":"1"},"overrides":{"y":{"z":"https://evil/z.tgz"}}}`), "does not come from the registry"},
		"npm lock address":   {texts("package.json", numberPackage, "package-lock.json", lock("http://169.254.169.254/latest")), "does not come from the registry"},
		"npm lock escaped":   {texts("package.json", numberPackage, "package-lock.json", lock(`\u0067it+https://evil/x`)), "does not come from the registry"},
		"npm lock link":      {texts("package.json", numberPackage, "package-lock.json", `{"packages":{"node_modules/x":{"resolved":"p/x","link":true}}}`), ""},
		"npm lock one":       {texts("package.json", numberPackage, "package-lock.json", `{"dependencies":{"x":{"version":"git+https://evil/x"}}}`), "does not come from the registry"},
		"npm lock broken":    {texts("package.json", numberPackage, "package-lock.json", "<<<<"), "package-lock.json"},
		"npm elsewhere":      {texts("package.json", numberPackage, "package-lock.json", lock("http://evil.example/npm/@a/x/-/x-1.0.0.tgz")), ""},
		"yarn address":       {texts("package.json", numberPackage, "yarn.lock", "x@1:\n  version \"1\"\n  resolved \"http://evil/x.tgz\"\n"), "does not come from the registry"},
		"yarn name":          {texts("package.json", numberPackage, "yarn.lock", "\"x@https://evil/x.tgz\":\n  version \"1\"\n"), "does not come from the registry"},
		"yarn two":           {texts("package.json", numberPackage, "yarn.lock", "__metadata:\n  version: 8\n\"x@npm:1\":\n  version: http://evil\n  resolution: \"x@npm:http://evil\"\n\"y@npm:1\":\n  version: 1.0.0\n  resolution: \"y@npm:1.0.0\"\n  dependencies:\n    x: git@evil:x\n"), ""},
		"yarn elsewhere":     {texts("package.json", numberPackage, "yarn.lock", "x@1:\n  version \"1\"\n  resolved \"http://evil.example/x/-/x-1.tgz#ab\"\n"), ""},
		"pnpm tarball":       {texts("package.json", numberPackage, "pnpm-lock.yaml", "packages:\n  x@1.0.0:\n    resolution: {tarball: 'http://evil/x'}\n"), "does not come from the registry"},
		"pnpm git":           {texts("package.json", numberPackage, "pnpm-lock.yaml", "packages:\n  x@1.0.0:\n    resolution: {repo: 'git@evil', commit: a, type: git}\n"), "does not come from the registry"},
		"pnpm alias":         {texts("package.json", numberPackage, "pnpm-lock.yaml", "a: &a {b: c}\nd: *a\n"), "alias"},
		"pnpm extension":     {texts("package.json", `{"dependencies":{"x":"1"},"pnpm":{"packageExtensions":{"x@1":{"dependencies":{"y":"https://evil/y.tgz"}}}}}`, "pnpm-workspace.yaml", "packages: [p]\n"), `without "y", which does not come from the registry`},
		"pnpm elsewhere":     {texts("package.json", numberPackage, "pnpm-lock.yaml", "packages:\n  x@1.0.0:\n    resolution: {tarball: 'http://evil.example/x/-/x-1.0.0.tgz'}\n"), ""},
		"pip index":          {texts("requirements.txt", "--index-url http://evil.example\na\n"), "PIP_INDEX_URL"},
		"pip index, short":   {texts("requirements.txt", "-ihttp://evil.example\na\n"), "PIP_INDEX_URL"},
		"pip continued":      {texts("requirements.txt", "a \\\n --global-option=x\n"), "is not a name"},
		"pip address":        {texts("requirements.txt", "a @ http://evil.example/a.whl\n"), "is not a name"},
		"pip plain address":  {texts("requirements.txt", "https://evil.example/a.whl\n"), "is not a name"},
		"pip git":            {texts("requirements.txt", "git+https://evil.example/a\n"), "is not a name"},
		"pip path":           {texts("requirements.txt", "../a.whl\n"), "is not a name"},
		"pip project":        {texts("pyproject.toml", "[project]\ndependencies = [\"a @ http://evil.example/a.whl\", \"--pre\"]\n"), "is not a name"},
		"pip included index": {texts("requirements.txt", "-r sub/requirements/base.txt\n", "sub/requirements/base.txt", "--extra-index-url=http://evil.example\na\n"), "PIP_INDEX_URL"},
		"poetry git":         {texts("pyproject.toml", "[tool.poetry.group.dev.dependencies]\nmy_x = {git = 'https://evil.example/x'}\n"), "ask for a version in one"},
		"uv address":         {texts("pyproject.toml", "[project]\ndependencies = ['My.x']\n[tool.uv.sources]\nmy-x = [{url = 'https://evil.example/x.whl'}]\n"), "does not come from an index"},
		"pipenv git":         {texts("Pipfile.lock", `{"develop":{"x":{"git":"https://evil.example/x","ref":"a"}}}`), "does not come from an index"},
		"pipenv option":      {texts("Pipfile.lock", `{"default":{"x":{"version":"==1 --index-url=http://evil.example"}}}`), "is not a name"},
		"scripts, settings":  {texts("package.json", `{"dependencies":{"x":"1"},"scripts":{"install":"evil.example"},"packageManager":"pnpm@1","pnpm":{"onlyBuiltDependencies":["evil.example"]}}`, ".npmrc", "registry=http://evil.example\n"), ""},
		"pnpm settings":      {texts("package.json", numberPackage, "pnpm-lock.yaml", "a: 1\n", "pnpm-workspace.yaml", "packages: [p]\nregistries: {default: http://evil.example}\nconfigDependencies: {a: evil.example}\n"), ""},
	} {
		d := Read(c.files)
		if got := strings.Join(d.Notes, "\n"); c.note == "" && got != "" || !strings.Contains(got, c.note) {
			t.Errorf("%s: noted %q, want %q", name, got, c.note)
		}
		if c.note == "" && d.Empty() {
			t.Errorf("%s: nothing is left to install", name)
		}
		for file, text := range d.held() {
			if strings.Contains(text, "evil") || strings.Contains(text, "127.0.0.1") || strings.Contains(text, "169.254") {
				t.Errorf("%s: %s has %s", name, file, text)
			}
		}
	}
}

func TestRequirementsOfAllProjectsAreGathered(t *testing.T) {
	t.Parallel()
	d := Read(texts(
		"requirements.txt", "A[x,y] >= 1.0, <2 ; python_version > '3' # why\nb==2\n-r more.txt\n-c constraints.txt\n",
		"constraints.txt", "c==3\n", "more.txt", "never read: no such name\n",
		"lib/pyproject.toml", "[project]\ndependencies = ['d~=1.2']\n[project.optional-dependencies]\ntest = ['e']\ndocs = ['no']\n"+
			"[dependency-groups]\ndev = ['f', {include-group = 'test'}]\n[tool.poetry.dependencies]\npython = '^3'\ng = '^1'\n",
		"lib/uv.lock", "[[package]]\nname = 'd'\nversion = '1.2.3'\n[[package]]\nname = 'two'\nversion = '1'\n[[package]]\nname = 'two'\nversion = '2'\n",
	))
	want := map[string]string{
		requirementsFile: "A[x,y] >= 1.0, <2 ; python_version > '3'\nb==2\nd~=1.2\ne\nf\ng\n",
		constraintsFile:  "c==3\nd==1.2.3\n",
	}
	if diff := cmp.Diff(want, d.held()); diff != "" {
		t.Error(diff)
	}
	// A package that the project contains is not the one with that name in an index.
	d = Read(texts("pyproject.toml", "[project]\ndependencies = ['own', 'a']\n[tool.uv.sources]\nown = {workspace = true}\n", "pdm.lock", "[[package]]\nname = 'a'\nversion = '2'\n"))
	if diff := cmp.Diff(map[string]string{requirementsFile: "a\n", constraintsFile: "a==2\n"}, d.held()); diff != "" || len(d.Notes) > 0 {
		t.Error(diff, d.Notes)
	}
	// A requirement on the project's own name asks for its extras, and for nothing that is published under that name.
	d = Read(texts("pyproject.toml", "[project]\nname = 'My_Own'\n[project.optional-dependencies]\ndev = ['my-own[all, cli]', 'e']\nall = ['my.own[cli,all]', 'f']\ncli = ['g>=1']\ndocs = ['h']\n"))
	if diff := cmp.Diff(map[string]string{requirementsFile: "e\nf\ng>=1\n", constraintsFile: ""}, d.held()); diff != "" || len(d.Notes) > 0 {
		t.Error(diff, d.Notes)
	}
	// pip takes digests for all requirements or for none.
	digest := " --hash=sha256:" + strings.Repeat("0", 64)
	d = Read(texts("requirements.txt", "a==1 \\\n   "+digest+"\n", "pyproject.toml", "[project]\ndependencies = ['b']\n"))
	if got := d.held()[requirementsFile]; got != "a==1"+digest+"\n" {
		t.Errorf("%q", got)
	}
	const lock = `{"default":{"a":{"version":"==1","hashes":["%s"],"extras":["x","y"],"markers":"python_version > '3'"},"own":{"path":".","editable":true}},"develop":{"b":{"version":"==2","hashes":["%[1]s"]}}}`
	pipenv := []string{"Pipfile", "[packages]\na = '*'\n", "Pipfile.lock", fmt.Sprintf(lock, strings.TrimPrefix(digest, " --hash="))}
	d = Read(texts(append(pipenv, "pyproject.toml", "[project]\ndependencies = ['never']\n")...))
	if got := d.held()[requirementsFile]; got != "a[x,y]==1 ; python_version > '3'"+digest+"\nb==2"+digest+"\n" || len(d.Notes) > 0 {
		t.Errorf("%q, %q", got, d.Notes)
	}
	for want, files := range map[string][]string{
		"sub/Pipfile are not installed: run `pipenv lock`": {"sub/Pipfile", pipenv[1]},
		"it cannot be parsed: run `pipenv lock`":           {"Pipfile.lock", "{"},
		"the requirements files are used instead":          append(pipenv, "requirements.txt", "a==1\n"),
	} {
		if d := Read(texts(files...)); len(d.Notes) != 1 || !strings.Contains(d.Notes[0], want) || strings.Contains(d.held()[requirementsFile], "b==2") {
			t.Errorf("%q, want %q: %q", d.Notes, want, d.held())
		}
	}
}

func TestOfAPackageWhatDecidesIsKept(t *testing.T) {
	t.Parallel()
	d := Read(texts("package.json", numberPackage, "package-lock.json", numberLock))
	var fields map[string]any
	if err := json.Unmarshal([]byte(d.held()["node/package.json"]), &fields); err != nil || len(fields) != 2 {
		t.Errorf("%v, %v", fields, err)
	}
}

// A name is never an option of apt, nor a request to remove something.
func TestPackagesOfDebianHaveTheirNames(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]bool{"libpq-dev": true, "g++": true, "python3.11": true, "-y": false, "mawk-": false, "a b": false, "A": false, "x": false, "a=1": false, "a/sid": false, "./a.deb": false, "": false} {
		if err := CheckDebian([]string{name}); (err == nil) != want {
			t.Errorf("%q: %v", name, err)
		}
	}
	if err := CheckDebian(make([]string, maxDebian+1)); err == nil {
		t.Error("any number will do")
	}
}

// A package from elsewhere is left out of the manifest and of the lock file, and only that package.
func TestAPackageFromElsewhereIsLeftOutAlone(t *testing.T) {
	t.Parallel()
	lock := strings.Replace(strings.Replace(numberLock, `"dependencies":{"is-number":"^7.0.0"}`, `"dependencies":{"is-number":"^7.0.0"},"devDependencies":{"own":"github:evil/own"}`, 1),
		`"node_modules/is-number"`, `"node_modules/own":{"version":"1.0.0","resolved":"git+ssh://git@evil.example/own.git#0","dev":true},"node_modules/own/node_modules/y":{"version":"1.0.0","resolved":"https://registry.npmjs.org/y/-/y-1.0.0.tgz"},"node_modules/is-number"`, 1)
	d := Read(texts("package.json", `{"name":"web","dependencies":{"is-number":"^7.0.0"},"devDependencies":{"own":"github:evil/own"}}`, "package-lock.json", lock))
	if len(d.Notes) != 1 || !strings.Contains(d.Notes[0], `package.json: without "own", which does not come from the registry`) || fmt.Sprint(d.Steps()) != "[npm .]" {
		t.Errorf("noted %q, steps %v", d.Notes, d.Steps())
	}
	var got, want any
	if err := json.Unmarshal(d.Files()["node/package-lock.json"], &got); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(strings.ReplaceAll(strings.Replace(numberLock, `"dependencies":{"is-number":"^7.0.0"}`, `"dependencies":{"is-number":"^7.0.0"},"devDependencies":{}`, 1), "https://registry.npmjs.org", registryPlaceholder)), &want); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// Packages that a workspace patches are installed as the registry has them.
func TestPatchedPackagesAreTakenWithoutTheirPatches(t *testing.T) {
	t.Parallel()
	manifest := `{"dependencies":{"is-number":"patch:is-number@npm%3A^7.0.0#~/.yarn/patches/is-number.patch","@a/b":"patch:@a/b@1.2.3#./b.patch"},"resolutions":{"c@npm:^4":"patch:c@npm:4.0.2#~/c.patch","d":"patch:d@npm%3Ahttp%3A%2F%2Fevil#p"}}`
	d := Read(texts("package.json", manifest, "yarn.lock", "__metadata:\n  version: 8\n"))
	want := `{"dependencies":{"@a/b":"1.2.3","is-number":"^7.0.0"},"resolutions":{"c@npm:^4":"4.0.2"},"version":"0.0.0"}`
	if got := d.held()["node/package.json"]; got != want || fmt.Sprint(d.Steps()) != "[yarn .]" || !strings.Contains(strings.Join(d.Notes, "\n"), `package.json: without the workspace's patch of "is-number"`) {
		t.Errorf("%s, steps %v, noted %q", got, d.Steps(), d.Notes)
	}
	lock := "lockfileVersion: '9.0'\npatchedDependencies:\n  is-number@7.0.0:\n    hash: abc\n    path: patches/is-number.patch\nimporters:\n  .:\n    dependencies:\n      is-number:\n        specifier: ^7.0.0\n        version: 7.0.0(patch_hash=abc)(x@1)\n" +
		"snapshots:\n  is-number@7.0.0(patch_hash=abc)(x@1): {}\n"
	d = Read(texts("package.json", numberPackage, "pnpm-lock.yaml", lock))
	got := d.held()["node/pnpm-lock.yaml"]
	if strings.Contains(got, "patch") || !strings.Contains(got, "version: 7.0.0(x@1)\n") || !strings.Contains(got, "is-number@7.0.0(x@1): {}") || fmt.Sprint(d.Steps()) != "[pnpm .]" {
		t.Errorf("%s, steps %v", got, d.Steps())
	}
	if len(d.Notes) != 1 || d.Notes[0] != `pnpm-lock.yaml: without the workspace's patch of "is-number@7.0.0"` {
		t.Errorf("%q", d.Notes)
	}
}
