package images

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

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

// held is what the installer is given, by path.
func (d Dependencies) held() map[string]string {
	held := map[string]string{}
	for _, f := range d.files {
		if f.mode&fs.ModeDir == 0 {
			held[f.path] = string(f.content)
		}
	}
	return held
}

const (
	numberPackage = `{"name":"web","dependencies":{"is-number":"^7.0.0"}}`
	numberLock    = `{"name":"web","lockfileVersion":3,"requires":true,"packages":{"":{"name":"web","dependencies":{"is-number":"^7.0.0"}},
"node_modules/is-number":{"version":"7.0.0","resolved":"https://registry.npmjs.org/is-number/-/is-number-7.0.0.tgz",
"integrity":"sha512-41Cifkg6e8TylSpdtTpeLVMqvSBEVzTttHvERD741+pnZ8ANv0004MRL43QKPDlK9cGvNp6NZWZUBlbGXYxxng=="}}}`
	numberDigest = "sha512-41Cifkg6e8TylSpdtTpeLVMqvSBEVzTttHvERD741+pnZ8ANv0004MRL43QKPDlK9cGvNp6NZWZUBlbGXYxxng=="
	numberYarn   = "# yarn lockfile v1\n\n\nis-number@^7.0.0:\n  version \"7.0.0\"\n" +
		"  resolved \"https://registry.yarnpkg.com/is-number/-/is-number-7.0.0.tgz#7535345b896734d5f80c4d06c50955527a14f12b\"\n  integrity " + numberDigest + "\n"
	numberPnpm = "lockfileVersion: '9.0'\nsettings:\n  autoInstallPeers: true\n  excludeLinksFromLockfile: false\nimporters:\n  .:\n    dependencies:\n" +
		"      is-number:\n        specifier: ^7.0.0\n        version: 7.0.0\n      b:\n        specifier: workspace:*\n        version: link:b\n  b: {}\n" +
		"packages:\n  is-number@7.0.0:\n    resolution: {integrity: " + numberDigest + "}\nsnapshots:\n  is-number@7.0.0: {}\n"
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
		"go with a vendor":        {texts("go.mod", uuidModule, "vendor/modules.txt", "# x\n"), nil},
		"go work":                 {texts("go.work", "go 1.22\nuse ./a\n", "a/go.mod", uuidModule), []string{"go", "."}},
		"requirements":            {texts("requirements.txt", "a==1\n", "sub/requirements-dev.txt", "b\n"), []string{"pip", "."}},
		"pyproject":               {texts("pyproject.toml", "[project]\ndependencies = ['a>=1']\n"), []string{"pip", "."}},
		"pyproject without any":   {texts("pyproject.toml", "[tool.ruff]\nline-length = 80\n"), nil},
		"requirements of nothing": {texts("requirements.txt", "# none\n-e .\n"), nil},
	} {
		d := ReadDependencies(c.files)
		if diff := cmp.Diff(c.want, d.args()); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		if d.Empty() != (len(c.want) == 0) || len(d.Notes) > 0 {
			t.Errorf("%s: empty %v, notes %v", name, d.Empty(), d.Notes)
		}
	}
}

// What a workspace may say about its packages is their names and versions. Each of these would have an installer ask another
// machine, or run something.
func TestAWorkspaceDecidesNeitherWherePackagesComeFromNorWhatRuns(t *testing.T) {
	t.Parallel()
	lock := func(resolved string) string {
		return `{"packages":{"node_modules/x":{"version":"1.0.0","resolved":"` + resolved + `"}}}`
	}
	for name, c := range map[string]struct {
		files map[string][]byte
		note  string // "" where it is taken, and what stands in it is changed
	}{
		"npm address":        {texts("package.json", `{"dependencies":{"x":"http://127.0.0.1/x.tgz"}}`), "elsewhere"},
		"npm git":            {texts("package.json", `{"dependencies":{"x":"git+ssh://evil/x"}}`), "ask for a version of it there, or keep it in the workspace"},
		"npm repository":     {texts("package.json", `{"devDependencies":{"x":"evil/x"}}`), "elsewhere"},
		"npm override":       {texts("package.json", `{"dependencies":{"x":"1"},"overrides":{"y":{"z":"https://evil/z.tgz"}}}`), "elsewhere"},
		"npm lock address":   {texts("package.json", numberPackage, "package-lock.json", lock("http://169.254.169.254/latest")), "elsewhere"},
		"npm lock escaped":   {texts("package.json", numberPackage, "package-lock.json", lock(`\u0067it+https://evil/x`)), "elsewhere"},
		"npm lock link":      {texts("package.json", numberPackage, "package-lock.json", `{"packages":{"node_modules/x":{"resolved":"p/x","link":true}}}`), ""},
		"npm lock one":       {texts("package.json", numberPackage, "package-lock.json", `{"dependencies":{"x":{"version":"git+https://evil/x"}}}`), "elsewhere"},
		"npm lock broken":    {texts("package.json", numberPackage, "package-lock.json", "<<<<"), "package-lock.json"},
		"npm elsewhere":      {texts("package.json", numberPackage, "package-lock.json", lock("http://evil.example/npm/@a/x/-/x-1.0.0.tgz")), ""},
		"yarn address":       {texts("package.json", numberPackage, "yarn.lock", "x@1:\n  version \"1\"\n  resolved \"http://evil/x.tgz\"\n"), "elsewhere"},
		"yarn name":          {texts("package.json", numberPackage, "yarn.lock", "\"x@https://evil/x.tgz\":\n  version \"1\"\n"), "elsewhere"},
		"yarn two":           {texts("package.json", numberPackage, "yarn.lock", "__metadata:\n  version: 8\n"), "commit the pnpm-lock.yaml that `pnpm import` makes"},
		"yarn elsewhere":     {texts("package.json", numberPackage, "yarn.lock", "x@1:\n  version \"1\"\n  resolved \"http://evil.example/x/-/x-1.tgz#ab\"\n"), ""},
		"pnpm tarball":       {texts("package.json", numberPackage, "pnpm-lock.yaml", "packages:\n  x@1.0.0:\n    resolution: {tarball: 'http://evil/x'}\n"), "elsewhere"},
		"pnpm git":           {texts("package.json", numberPackage, "pnpm-lock.yaml", "packages:\n  x@1.0.0:\n    resolution: {repo: 'git@evil', commit: a, type: git}\n"), "elsewhere"},
		"pnpm alias":         {texts("package.json", numberPackage, "pnpm-lock.yaml", "a: &a {b: c}\nd: *a\n"), "alias"},
		"pnpm elsewhere":     {texts("package.json", numberPackage, "pnpm-lock.yaml", "packages:\n  x@1.0.0:\n    resolution: {tarball: 'http://evil.example/x/-/x-1.0.0.tgz'}\n"), ""},
		"pip index":          {texts("requirements.txt", "--index-url http://evil.example\na\n"), "PIP_INDEX_URL"},
		"pip index, short":   {texts("requirements.txt", "-ihttp://evil.example\na\n"), "PIP_INDEX_URL"},
		"pip continued":      {texts("requirements.txt", "a \\\n --global-option=x\n"), "no name"},
		"pip address":        {texts("requirements.txt", "a @ http://evil.example/a.whl\n"), "no name"},
		"pip plain address":  {texts("requirements.txt", "https://evil.example/a.whl\n"), "no name"},
		"pip git":            {texts("requirements.txt", "git+https://evil.example/a\n"), "no name"},
		"pip path":           {texts("requirements.txt", "../a.whl\n"), "no name"},
		"pip project":        {texts("pyproject.toml", "[project]\ndependencies = [\"a @ http://evil.example/a.whl\", \"--pre\"]\n"), "no name"},
		"pip included index": {texts("requirements.txt", "-r sub/requirements/base.txt\n", "sub/requirements/base.txt", "--extra-index-url=http://evil.example\na\n"), "PIP_INDEX_URL"},
		"poetry git":         {texts("pyproject.toml", "[tool.poetry.group.dev.dependencies]\nmy_x = {git = 'https://evil.example/x'}\n"), "ask for a version in one"},
		"uv address":         {texts("pyproject.toml", "[project]\ndependencies = ['My.x']\n[tool.uv.sources]\nmy-x = [{url = 'https://evil.example/x.whl'}]\n"), "comes from elsewhere"},
		"pipenv git":         {texts("Pipfile.lock", `{"develop":{"x":{"git":"https://evil.example/x","ref":"a"}}}`), "comes from elsewhere"},
		"pipenv option":      {texts("Pipfile.lock", `{"default":{"x":{"version":"==1 --index-url=http://evil.example"}}}`), "no name"},
		"scripts, settings":  {texts("package.json", `{"dependencies":{"x":"1"},"scripts":{"install":"evil.example"},"packageManager":"pnpm@1","pnpm":{"onlyBuiltDependencies":["evil.example"]}}`, ".npmrc", "registry=http://evil.example\n"), ""},
		"pnpm settings":      {texts("package.json", numberPackage, "pnpm-lock.yaml", "a: 1\n", "pnpm-workspace.yaml", "packages: [p]\nregistries: {default: http://evil.example}\nconfigDependencies: {a: evil.example}\n"), ""},
	} {
		d := ReadDependencies(c.files)
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
	d := ReadDependencies(texts(
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
	// What a project has beside it is not another one of that name in an index.
	d = ReadDependencies(texts("pyproject.toml", "[project]\ndependencies = ['own', 'a']\n[tool.uv.sources]\nown = {workspace = true}\n", "pdm.lock", "[[package]]\nname = 'a'\nversion = '2'\n"))
	if diff := cmp.Diff(map[string]string{requirementsFile: "a\n", constraintsFile: "a==2\n"}, d.held()); diff != "" || len(d.Notes) > 0 {
		t.Error(diff, d.Notes)
	}
	// pip takes a digest for everything or for nothing.
	digest := " --hash=sha256:" + strings.Repeat("0", 64)
	d = ReadDependencies(texts("requirements.txt", "a==1 \\\n   "+digest+"\n", "pyproject.toml", "[project]\ndependencies = ['b']\n"))
	if got := d.held()[requirementsFile]; got != "a==1"+digest+"\n" {
		t.Errorf("%q", got)
	}
	const lock = `{"default":{"a":{"version":"==1","hashes":["%s"],"extras":["x","y"],"markers":"python_version > '3'"},"own":{"path":".","editable":true}},"develop":{"b":{"version":"==2","hashes":["%[1]s"]}}}`
	pipenv := []string{"Pipfile", "[packages]\na = '*'\n", "Pipfile.lock", fmt.Sprintf(lock, strings.TrimPrefix(digest, " --hash="))}
	d = ReadDependencies(texts(append(pipenv, "pyproject.toml", "[project]\ndependencies = ['never']\n")...))
	if got := d.held()[requirementsFile]; got != "a[x,y]==1 ; python_version > '3'"+digest+"\nb==2"+digest+"\n" || len(d.Notes) > 0 {
		t.Errorf("%q, %q", got, d.Notes)
	}
	for want, files := range map[string][]string{
		"sub/Pipfile are not installed: run `pipenv lock`": {"sub/Pipfile", pipenv[1]},
		"it is not readable: run `pipenv lock`":            {"Pipfile.lock", "{"},
		"the requirements files count":                     append(pipenv, "requirements.txt", "a==1\n"),
	} {
		if d := ReadDependencies(texts(files...)); len(d.Notes) != 1 || !strings.Contains(d.Notes[0], want) || strings.Contains(d.held()[requirementsFile], "b==2") {
			t.Errorf("%q, want %q: %q", d.Notes, want, d.held())
		}
	}
}

func TestLinksToWhatIsInstalledNeverLeaveTheWorkspace(t *testing.T) {
	t.Parallel()
	tree := linkTree{
		memTree: memTree{{path: "a", mode: fs.ModeDir | 0o755}, {path: "a/node_modules", content: []byte("mine")}, {path: "f", content: []byte("x")}},
		links:   map[string]string{"web": "/agent"},
	}
	links := map[string]string{"node_modules": "/1", "a/node_modules": "/2", "web/node_modules": "/3", "f/node_modules": "/4", "new/sub/node_modules": "/5"}
	var got []string
	laid := withLinks(tree, links)
	for _, f := range laid.Files() {
		got = append(got, strings.TrimSuffix(f.Path+" "+f.Target, " "))
	}
	if diff := cmp.Diff([]string{"a", "a/node_modules", "f", "new", "new/sub", "new/sub/node_modules /5", "node_modules /1", "web /agent"}, got); diff != "" {
		t.Error(diff)
	}
	if laid.Digest() != tree.Digest() {
		t.Error("the links are part of the workspace")
	}
}

// wheel is a package of Python with one module.
func wheel(t *testing.T, name, version, module string) []byte {
	t.Helper()
	var out bytes.Buffer
	z := zip.NewWriter(&out)
	info := fmt.Sprintf("%s-%s.dist-info/", name, version)
	for _, f := range [][2]string{
		{name + ".py", module},
		{"sitecustomize.py", "raise SystemExit('it ran')\n"},
		{info + "METADATA", fmt.Sprintf("Metadata-Version: 2.1\nName: %s\nVersion: %s\n", name, version)},
		{info + "WHEEL", "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"},
		{info + "RECORD", ""},
	} {
		w, err := z.Create(f[0])
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(f[1])); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// index serves one package as an index of Python does.
func index(t *testing.T) string {
	t.Helper()
	file := wheel(t, "planted", "1.2.3", "ANSWER = 42\n")
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/simple/planted/":
			fmt.Fprint(w, `<!DOCTYPE html><a href="/planted-1.2.3-py3-none-any.whl">planted-1.2.3-py3-none-any.whl</a>`)
		case "/planted-1.2.3-py3-none-any.whl":
			_, _ = w.Write(file) // a client that goes away is its own trouble
		default:
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(server.Close)
	return server.URL + "/simple"
}

// from returns a builder whose user has these settings.
func from(b *Builder, settings map[string]string) *Builder {
	getenv := b.host.getenv
	return &Builder{Guest: b.Guest, engine: b.engine, quiet: b.quiet, host: host{func(name string) string {
		if v, ok := settings[name]; ok {
			return v
		}
		return getenv(name)
	}, b.host.readFile}}
}

func TestWhatAWorkspaceDependsOnIsInstalledOnce(t *testing.T) {
	t.Parallel()
	b, toolchain, e := newBuilder(t)
	b = from(b, map[string]string{"PIP_INDEX_URL": index(t)})
	locked := fmt.Sprintf(`{"default":{"planted":{"version":"==1.2.3","hashes":["sha256:%x"]}}}`, sha256.Sum256(wheel(t, "planted", "1.2.3", "ANSWER = 42\n")))
	d := ReadDependencies(texts(
		"web/package.json", `{"dependencies":{"is-number":"^7.0.0"},"scripts":{"preinstall":"exit 3"}}`, "web/package-lock.json", numberLock,
		"package.json", `{"name":"top","workspaces":["packages/*"],"devDependencies":{"is-number":"7.0.0"}}`, "packages/a/package.json", `{"name":"a","version":"1.0.0"}`,
		"packages/c/package.json", `{"name":"c","dependencies":{"a":"workspace:^"}}`,
		"q/package.json", "{}", "q/pnpm-workspace.yaml", "packages: ['*']\n", "q/d/package.json", `{"name":"d","dependencies":{"e":"workspace:*","is-number":"7.0.0"}}`, "q/e/package.json", `{"name":"e"}`,
		"y/package.json", numberPackage, "y/yarn.lock", numberYarn,
		"p/package.json", `{"dependencies":{"is-number":"^7.0.0","b":"workspace:*"}}`, "p/pnpm-lock.yaml", numberPnpm,
		"p/pnpm-workspace.yaml", "packages: [b]\n", "p/b/package.json", `{"name":"b","version":"1.0.0"}`,
		"go.mod", uuidModule, "go.sum", uuidSums, "Pipfile.lock", locked,
	))
	if len(d.Notes) > 0 {
		t.Error(d.Notes)
	}
	img, err := b.Install(t.Context(), toolchain, d)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { removeImage(t, e, img.ID) })
	want := map[string]string{ // to the target of a link
		"deps/node/web/node_modules/is-number/package.json":                                  "",
		"deps/node/node_modules/is-number/package.json":                                      "",
		"deps/node/node_modules/a":                                                           "/work/packages/a",
		"deps/node/y/node_modules/is-number/package.json":                                    "",
		"deps/node/p/node_modules/.pnpm/is-number@7.0.0/node_modules/is-number/package.json": "",
		"deps/node/p/node_modules/is-number":                                                 ".pnpm/is-number@7.0.0/node_modules/is-number",
		"deps/node/y/node_modules/.vite-temp":                                                "/work/y",
		"deps/node/node_modules/.cache":                                                      "/tmp",
		"deps/node/p/node_modules/b":                                                         "/work/p/b",
		"deps/node/node_modules/c":                                                           "/work/packages/c",
		"deps/node/q/d/node_modules/e":                                                       "/work/q/e",
		"deps/node/q/d/node_modules/is-number":                                               "../../node_modules/.pnpm/is-number@7.0.0/node_modules/is-number",
		"deps/go/github.com/google/uuid@v1.6.0/go.mod":                                       "",
		"deps/python/planted.py":                                                             "",
		"usr/lib/python3/dist-packages/agent-dependencies.pth":                               "",
	}
	e.export(t, img.ID, func(h *tar.Header, _ []byte) {
		name := strings.TrimSuffix(h.Name, "/")
		if target, ok := want[name]; ok && target == h.Linkname {
			delete(want, name)
		}
		if strings.HasPrefix(name, "deps/") && (strings.HasSuffix(name, ".zip") || strings.Contains(name, "sitecustomize") || strings.HasPrefix(name, "deps/.tmp")) {
			t.Errorf("%s is left", name)
		}
		mode := h.FileInfo().Mode()
		if strings.HasPrefix(name, "deps/") && h.Typeflag != tar.TypeSymlink && (h.Uid >= 20_000 || mode&0o444 != 0o444 || mode&0o022 != 0 || mode.IsDir() && mode&0o111 != 0o111) {
			t.Errorf("%s has mode %v and owner %d: not for every user of a box to read, and for none to write", name, mode, h.Uid)
		}
	})
	if len(want) > 0 {
		t.Errorf("missing: %v", want)
	}
	again, err := b.Install(t.Context(), toolchain, d)
	if err != nil || again.ID != img.ID {
		t.Errorf("the second time: %v, %v", again, err)
	}
	space := own(t, b)
	shot, err := b.Snapshot(t.Context(), again, memTree{{path: "web", mode: fs.ModeDir | 0o755}, {path: "web/a.js", content: []byte("1"), mode: 0o644}}, space)
	if err != nil {
		t.Fatal(err)
	}
	if got := frozen(t, e, shot)["web/node_modules"]; got.Target != "/deps/node/web/node_modules" || shot.Installed != img.Installed {
		t.Errorf("%+v of %+v", got, shot)
	}
}

// labelled is an engine of which only the labels of images are seen.
type labelled struct {
	Engine
	images map[string]map[string]string
}

func (l labelled) ImagesLabelled(context.Context, string) ([]string, error) {
	return sortedKeys(l.images), nil
}

func (l labelled) ImageLabels(_ context.Context, ref string) (string, map[string]string, error) {
	if labels, ok := l.images[ref]; ok {
		return ref, labels, nil
	}
	return "", nil, nil
}

func (l labelled) RemoveImage(_ context.Context, ref string) error {
	delete(l.images, ref)
	return nil
}

func TestDependenciesThatNoSnapshotStandsOnArePruned(t *testing.T) {
	t.Parallel()
	at := func(ago time.Duration) string { return time.Now().Add(-ago).Format(time.RFC3339Nano) }
	e := labelled{images: map[string]map[string]string{
		"used": {labelDependencies: "one", labelTaken: at(100 * time.Hour)},
		"shot": {labelDependencies: "one", labelTaken: at(100 * time.Hour), labelSnapshot: "x"},
		"old":  {labelDependencies: "two", labelTaken: at(2 * spareInstalled)},
		"new":  {labelDependencies: "three", labelTaken: at(spareInstalled / 2)},
	}}
	gone, err := New(e, nil, nil).pruneInstalled(t.Context())
	if diff := cmp.Diff([]string{"old"}, gone); diff != "" || err != nil || len(e.images) != 3 {
		t.Errorf("%v, %v: %s", e.images, err, diff)
	}
}

func TestARegistryThatDoesNotAnswerIsNamed(t *testing.T) {
	t.Parallel()
	b, toolchain, _ := newBuilder(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	dead := "http://" + l.Addr().String()
	l.Close() // nobody listens there any more
	b = from(b, map[string]string{"PIP_INDEX_URL": dead + "/simple", "NPM_CONFIG_REGISTRY": dead, "GOPROXY": dead})
	for _, files := range []map[string][]byte{texts("requirements.txt", "planted\n"), texts("package.json", numberPackage), texts("go.mod", uuidModule)} {
		_, err := b.Install(t.Context(), toolchain, ReadDependencies(files))
		var lacking *InstallError
		if !errors.As(err, &lacking) || !strings.HasPrefix(lacking.Registry, dead) || !strings.Contains(lacking.Next(), "--no-install") {
			t.Errorf("%v", err)
		}
	}
	// One that answers and has no such package is another matter.
	_, err = from(b, map[string]string{"PIP_INDEX_URL": index(t)}).Install(t.Context(), toolchain, ReadDependencies(texts("requirements.txt", "nonesuch\n")))
	var lacking *InstallError
	if !errors.As(err, &lacking) || lacking.Registry != "" || !strings.Contains(err.Error(), "nonesuch") {
		t.Errorf("%v", err)
	}
}

func TestTheUsersSettingsDecideWherePackagesComeFrom(t *testing.T) {
	t.Parallel()
	read := func(env map[string]string, files map[string]string) (market, error) {
		return host{func(n string) string { return env[n] }, func(p string) ([]byte, error) {
			if text, ok := files[p]; ok {
				return []byte(text), nil
			}
			return nil, fs.ErrNotExist
		}}.market()
	}
	m, err := read(nil, nil)
	if err != nil || m.index != "https://pypi.org/simple" || m.proxy != "https://proxy.golang.org" || len(m.sums) != 0 {
		t.Errorf("%+v, %v", m, err)
	}
	m, err = read(map[string]string{"HOME": "/h", "GOPROXY": "https://p,direct", "GOSUMDB": "off"}, map[string]string{"/h/.config/pip/pip.conf": "[global]\nindex-url = https://i/simple\n"})
	if err != nil || m.index != "https://i/simple" || m.proxy != "https://p,direct" || m.sums["GOSUMDB"] != "off" {
		t.Errorf("%+v, %v", m, err)
	}
	for _, bad := range []string{"file:///etc", "https://me:secret@i/simple"} {
		if _, err := read(map[string]string{"PIP_INDEX_URL": bad}, nil); err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v", bad, err)
		}
	}
}

func TestTheDigestNamesAllThatDecidesWhatIsInstalled(t *testing.T) {
	t.Parallel()
	d := ReadDependencies(texts("package.json", numberPackage, "package-lock.json", numberLock))
	seen := map[string]string{}
	for name, change := range map[string]func(*Dependencies, *Image, *market){
		"nothing":   func(*Dependencies, *Image, *market) {},
		"toolchain": func(_ *Dependencies, i *Image, _ *market) { i.ID = "other" },
		"scripts":   func(d *Dependencies, _ *Image, _ *market) { d.Scripts = true },
		"registry":  func(_ *Dependencies, _ *Image, m *market) { m.registry = "https://other" },
		"index":     func(_ *Dependencies, _ *Image, m *market) { m.index = "https://other" },
		"sums":      func(_ *Dependencies, _ *Image, m *market) { m.sums = map[string]string{"GOSUMDB": "off"} },
		"lock": func(d *Dependencies, _ *Image, _ *market) {
			*d = ReadDependencies(texts("package.json", numberPackage, "package-lock.json", strings.ReplaceAll(numberLock, "7.0.0", "7.0.1")))
		},
	} {
		d, img, m := d, Image{ID: "tools"}, market{}
		change(&d, &img, &m)
		digest, err := d.digest(img, m)
		if err != nil || seen[digest] != "" {
			t.Errorf("%s is the same as %s (%v)", name, seen[digest], err)
		}
		seen[digest] = name
	}
	var fields map[string]any
	if err := json.Unmarshal([]byte(d.held()["node/package.json"]), &fields); err != nil || len(fields) != 2 {
		t.Errorf("%v, %v", fields, err)
	}
}
