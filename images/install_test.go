package images

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"agent/images/dependencies"
	"agent/images/registries"
)

// texts turns texts into the files of a workspace.
func texts(pairs ...string) map[string][]byte {
	files := map[string][]byte{}
	for i := 0; i < len(pairs); i += 2 {
		files[pairs[i]] = []byte(pairs[i+1])
	}
	return files
}

const (
	numberPackage = `{"name":"web","dependencies":{"is-number":"^7.0.0"}}`
	numberLock    = `{"name":"web","lockfileVersion":3,"requires":true,"packages":{"":{"name":"web","dependencies":{"is-number":"^7.0.0"}},
"node_modules/is-number":{"version":"7.0.0","resolved":"https://registry.npmjs.org/is-number/-/is-number-7.0.0.tgz",
"integrity":"sha512-41Cifkg6e8TylSpdtTpeLVMqvSBEVzTttHvERD741+pnZ8ANv0004MRL43QKPDlK9cGvNp6NZWZUBlbGXYxxng=="}}}`
	numberDigest = "sha512-41Cifkg6e8TylSpdtTpeLVMqvSBEVzTttHvERD741+pnZ8ANv0004MRL43QKPDlK9cGvNp6NZWZUBlbGXYxxng=="
	numberYarn   = "# yarn lockfile v1\n\n\nis-number@^7.0.0:\n  version \"7.0.0\"\n" +
		"  resolved \"https://registry.yarnpkg.com/is-number/-/is-number-7.0.0.tgz#7535345b896734d5f80c4d06c50955527a14f12b\"\n  integrity " + numberDigest + "\n"
	numberBerry = "__metadata:\n  version: 8\n\n\"is-number@npm:>=6.0.0\":\n  version: 6.0.0\n  resolution: \"is-number@npm:6.0.0\"\n  checksum: 10c0/abc\n"
	numberPnpm  = "lockfileVersion: '9.0'\nsettings:\n  autoInstallPeers: true\n  excludeLinksFromLockfile: false\nimporters:\n  .:\n    dependencies:\n" +
		"      is-number:\n        specifier: ^7.0.0\n        version: 7.0.0\n      b:\n        specifier: workspace:*\n        version: link:b\n  b: {}\n" +
		"packages:\n  is-number@7.0.0:\n    resolution: {integrity: " + numberDigest + "}\nsnapshots:\n  is-number@7.0.0: {}\n"
	uuidModule = "module example.com/a\n\ngo 1.22\n\nrequire github.com/google/uuid v1.6.0\n"
	uuidSums   = "github.com/google/uuid v1.6.0 h1:NIvaJDMOsjHA8n1jAhLSgzrAzy1Hgr+hNrb57e+94F0=\n" +
		"github.com/google/uuid v1.6.0/go.mod h1:TIyPZe4MgqvfeYDBFedMoGGpEw/LqOeaOT+nhxU+yHo=\n"
)

// wheel returns a Python package with one module and these requirements.
func wheel(t *testing.T, name, version, module string, requires ...string) []byte {
	t.Helper()
	var out bytes.Buffer
	z := zip.NewWriter(&out)
	info, required := fmt.Sprintf("%s-%s.dist-info/", name, version), ""
	for _, r := range requires {
		required += "Requires-Dist: " + r + "\n"
	}
	for _, f := range [][2]string{
		{name + ".py", module},
		{"sitecustomize.py", "raise SystemExit('it ran')\n"},
		{info + "METADATA", fmt.Sprintf("Metadata-Version: 2.1\nName: %s\nVersion: %s\n%s", name, version, required)},
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

// index serves two packages as a Python index does; one requires an older version of the other than there is.
func index(t *testing.T) string {
	t.Helper()
	file := wheel(t, "planted", "1.2.3", "ANSWER = 42\n")
	greedy := wheel(t, "greedy", "1.0", "", "planted<1")
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/simple/greedy/":
			fmt.Fprint(w, `<!DOCTYPE html><a href="/greedy-1.0-py3-none-any.whl">greedy-1.0-py3-none-any.whl</a>`)
		case "/greedy-1.0-py3-none-any.whl":
			_, _ = w.Write(greedy)
		case "/simple/planted/":
			fmt.Fprint(w, `<!DOCTYPE html><a href="/planted-1.2.3-py3-none-any.whl">planted-1.2.3-py3-none-any.whl</a>`)
		case "/planted-1.2.3-py3-none-any.whl":
			_, _ = w.Write(file) // a client that goes away is not a failure here
		default:
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(server.Close)
	return server.URL + "/simple"
}

// from returns a builder whose user has these settings.
func from(b *Builder, settings map[string]string) *Builder {
	getenv := b.host.Getenv
	return &Builder{Guest: b.Guest, engine: b.engine, quiet: b.quiet, host: registries.Host{Getenv: func(name string) string {
		if v, ok := settings[name]; ok {
			return v
		}
		return getenv(name)
	}, ReadFile: b.host.ReadFile}}
}

func TestWhatAWorkspaceDependsOnIsInstalledOnce(t *testing.T) {
	t.Parallel()
	b, toolchain, e := newBuilder(t)
	b = from(b, map[string]string{"PIP_INDEX_URL": index(t)})
	locked := fmt.Sprintf(`{"default":{"planted":{"version":"==1.2.3","hashes":["sha256:%x"]}}}`, sha256.Sum256(wheel(t, "planted", "1.2.3", "ANSWER = 42\n")))
	d := dependencies.Read(texts(
		"web/package.json", `{"dependencies":{"is-number":"^7.0.0"},"scripts":{"preinstall":"exit 3"}}`, "web/package-lock.json", numberLock,
		"package.json", `{"name":"top","workspaces":["packages/*"],"devDependencies":{"is-number":"7.0.0"}}`, "packages/a/package.json", `{"name":"a","version":"1.0.0"}`,
		"packages/c/package.json", `{"name":"c","dependencies":{"a":"workspace:^"}}`,
		"q/package.json", "{}", "q/pnpm-workspace.yaml", "packages: ['*']\n", "q/d/package.json", `{"name":"d","dependencies":{"e":"workspace:*","is-number":"7.0.0"}}`, "q/e/package.json", `{"name":"e"}`,
		"y/package.json", numberPackage, "y/yarn.lock", numberYarn,
		"m/package.json", `{"name":"m","workspaces":["lib"]}`, "m/lib/package.json", `{"name":"lib","dependencies":{"is-number":"^7.0.0"}}`, "m/yarn.lock", numberYarn,
		"z/package.json", `{"name":"z","workspaces":["lib"],"devDependencies":{"lib":"workspace:^"}}`, "z/lib/package.json", `{"name":"lib","dependencies":{"is-number":">=6.0.0"}}`, "z/yarn.lock", numberBerry,
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
	want := map[string]string{ // path to link target
		"deps/node/web/node_modules/is-number/package.json":                                  "",
		"deps/node/node_modules/is-number/package.json":                                      "",
		"deps/node/node_modules/a":                                                           "/work/packages/a",
		"deps/node/y/node_modules/is-number/package.json":                                    "",
		"deps/node/p/node_modules/.pnpm/is-number@7.0.0/node_modules/is-number/package.json": "",
		"deps/node/p/node_modules/is-number":                                                 ".pnpm/is-number@7.0.0/node_modules/is-number",
		"deps/node/m/node_modules/is-number/package.json":                                    "",
		"deps/node/m/node_modules/lib":                                                       "/work/m/lib",
		"deps/node/z/node_modules/is-number/package.json":                                    "",
		"deps/node/z/node_modules/lib":                                                       "/work/z/lib",
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
	look := func(h *tar.Header, content []byte) {
		name := strings.TrimSuffix(h.Name, "/")
		if name == "deps/node/z/node_modules/is-number/package.json" && !bytes.Contains(content, []byte(`"version": "6.0.0"`)) {
			t.Errorf("another version than that of the lock file: %s", content)
		}
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
	}
	e.below(t, img.ID, "deps", look)
	e.below(t, img.ID, "usr/lib/python3/dist-packages", look)
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

// labelled is an engine that only shows the labels of images.
type labelled struct {
	Engine
	images map[string]map[string]string
}

func (l labelled) ImagesLabelled(context.Context, string) ([]string, error) {
	return slices.Sorted(maps.Keys(l.images)), nil
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
	gone, err := New(e, nil, nil).pruneUnused(t.Context(), labelDependencies)
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
	l.Close() // nothing listens there any more
	b = from(b, map[string]string{"PIP_INDEX_URL": dead + "/simple", "NPM_CONFIG_REGISTRY": dead, "GOPROXY": dead})
	for _, files := range []map[string][]byte{texts("requirements.txt", "planted\n"), texts("package.json", numberPackage), texts("go.mod", uuidModule)} {
		_, err := b.Install(t.Context(), toolchain, dependencies.Read(files))
		var lacking *InstallError
		if !errors.As(err, &lacking) || !strings.HasPrefix(lacking.Registry, dead) || !strings.Contains(lacking.Next(), "--no-install") {
			t.Errorf("%v", err)
		}
	}
	// A registry that answers but lacks the package is different.
	_, err = from(b, map[string]string{"PIP_INDEX_URL": index(t)}).Install(t.Context(), toolchain, dependencies.Read(texts("requirements.txt", "nonesuch\n")))
	var lacking *InstallError
	if !errors.As(err, &lacking) || lacking.Registry != "" || !strings.Contains(err.Error(), "nonesuch") {
		t.Errorf("%v", err)
	}
}

func TestTheDigestNamesAllThatDecidesWhatIsInstalled(t *testing.T) {
	t.Parallel()
	d := dependencies.Read(texts("package.json", numberPackage, "package-lock.json", numberLock))
	seen := map[string]string{}
	for name, change := range map[string]func(*dependencies.Set, *Image, *registries.Set){
		"nothing":   func(*dependencies.Set, *Image, *registries.Set) {},
		"toolchain": func(_ *dependencies.Set, i *Image, _ *registries.Set) { i.ID = "other" },
		"scripts":   func(d *dependencies.Set, _ *Image, _ *registries.Set) { d.Scripts = true },
		"registry":  func(_ *dependencies.Set, _ *Image, m *registries.Set) { m.NPM = "https://other" },
		"index":     func(_ *dependencies.Set, _ *Image, m *registries.Set) { m.PyPI = "https://other" },
		"sums":      func(_ *dependencies.Set, _ *Image, m *registries.Set) { m.GoSums = map[string]string{"GOSUMDB": "off"} },
		"lock": func(d *dependencies.Set, _ *Image, _ *registries.Set) {
			*d = dependencies.Read(texts("package.json", numberPackage, "package-lock.json", strings.ReplaceAll(numberLock, "7.0.0", "7.0.1")))
		},
	} {
		d, img, m := d, Image{ID: "tools"}, registries.Set{}
		change(&d, &img, &m)
		digest, err := installDigest(d, img, m)
		if err != nil || seen[digest] != "" {
			t.Errorf("%s is the same as %s (%v)", name, seen[digest], err)
		}
		seen[digest] = name
	}
}

// With nothing to install, the image is the toolchain's, but a snapshot on it with other links is another snapshot.
func TestLinksBetweenPackagesMakeAnotherSnapshot(t *testing.T) {
	t.Parallel()
	files := texts("package.json", `{"workspaces":["*"]}`, "a/package.json", `{"name":"a"}`)
	d := dependencies.Read(files)
	b, tools := New(labelled{}, nil, nil), Image{ID: "sha256:tools", Ref: "tools"}
	on, err := b.Install(t.Context(), tools, d)
	if err != nil || on.ID != tools.ID || on.Ref != tools.Ref || on.Installed == "" {
		t.Fatalf("%+v, %v", on, err)
	}
	if planned, err := b.Planned(tools, d); err != nil || planned.Installed != on.Installed {
		t.Errorf("planned is %+v, %v", planned, err)
	}
	tree := memTree{{path: "a", mode: fs.ModeDir | 0o755}}
	if snapshotRef(on, tree, "/w") == snapshotRef(tools, tree, "/w") {
		t.Error("both have one name")
	}
	files["a/package.json"] = []byte(`{"name":"b"}`)
	if other := dependencies.Read(files); other.Equal(d) || !other.Uninstalled().Equal(other) {
		t.Error("a package of another name is the same")
	}
}
