package images

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha512"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"agent/images/dependencies"
	"agent/images/registries"
)

// packages serves packages as an npm registry does: manifests by name, then version.
func packages(t *testing.T, all map[string]map[string]string) string {
	t.Helper()
	var server *httptest.Server
	server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name, file, archive := strings.Cut(strings.Trim(r.URL.Path, "/"), "/-/")
		if all[name] == nil {
			http.NotFound(w, r)
			return
		}
		versions := map[string]json.RawMessage{}
		latest := ""
		for version, manifest := range all[name] {
			content := archiveOf(t, manifest)
			if archive && file == name+"-"+version+".tgz" {
				_, _ = w.Write(content) // a client that goes away is not a failure here
				return
			}
			sum := sha512.Sum512(content)
			versions[version] = json.RawMessage(fmt.Sprintf(`%s,"dist":{"tarball":"%s/%s/-/%[3]s-%s.tgz","integrity":"sha512-%s"}}`,
				strings.TrimSuffix(manifest, "}"), server.URL, name, version, base64.StdEncoding.EncodeToString(sum[:])))
			latest = max(latest, version)
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"name": name, "versions": versions, "dist-tags": map[string]string{"latest": latest}})
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// breaking is a proxy in front of a registry. It breaks off as many answers as broken says for addresses with each suffix.
func breaking(t *testing.T, registry string, broken map[string]*atomic.Int32) string {
	t.Helper()
	target, err := url.Parse(registry)
	if err != nil {
		t.Fatal(err)
	}
	proxy := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: target.Scheme, Host: target.Host})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for suffix, left := range broken {
			if strings.HasSuffix(r.URL.Path, suffix) && r.Method == http.MethodGet && left.Add(-1) >= 0 {
				panic(http.ErrAbortHandler)
			}
		}
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	return server.URL + target.Path
}

// The connection breaks more often than a package manager retries by default, and less often than the install makes it retry.
func TestAConnectionThatBreaksIsNoEnd(t *testing.T) {
	t.Parallel()
	b, toolchain, e := newBuilder(t)
	var core, planted atomic.Int32
	core.Store(4)
	planted.Store(3)
	broken := map[string]*atomic.Int32{"/core": &core, "/simple/planted/": &planted}
	b = from(b, map[string]string{"NPM_CONFIG_REGISTRY": breaking(t, packages(t, plugins), broken), "PIP_INDEX_URL": breaking(t, index(t), broken)})
	d := dependencies.Read(texts("package.json", `{"name":"a","version":"1.0.0","dependencies":{"core":"^2.0.0"}}`, "requirements.txt", "planted==1.2.3\n"))
	img, err := b.Install(t.Context(), toolchain, d)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { removeImage(t, e, img.ID) })
	if done, lacking := d.Told(img.Report); len(done)+len(lacking) > 0 || core.Load() > 0 || planted.Load() > 0 {
		t.Errorf("told %q, %q; not broken off: %d of npm, %d of pip", done, lacking, core.Load(), planted.Load())
	}
}

// archiveOf returns an npm package that contains only its package.json.
func archiveOf(t *testing.T, manifest string) []byte {
	t.Helper()
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	w := tar.NewWriter(z)
	if err := w.WriteHeader(&tar.Header{Name: "package/package.json", Mode: 0o644, Size: int64(len(manifest)), ModTime: time.Unix(0, 0)}); err != nil {
		t.Fatal(err)
	}
	_, err := w.Write([]byte(manifest))
	if err := errors.Join(err, w.Close(), z.Close()); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// plugins are packages of which two conflict: plugin requires an older core than the newest.
var plugins = map[string]map[string]string{
	"core":   {"1.0.0": `{"name":"core","version":"1.0.0"}`, "2.0.0": `{"name":"core","version":"2.0.0"}`},
	"plugin": {"1.0.0": `{"name":"plugin","version":"1.0.0","peerDependencies":{"core":"^1.0.0"}}`},
}

const (
	conflicting = `{"name":"a","version":"1.0.0","dependencies":{"core":"^2.0.0","plugin":"^1.0.0"}}`
	// The form that npm writes with legacy-peer-deps: it names no peer.
	legacyLock = `{"name":"a","version":"1.0.0","lockfileVersion":3,"requires":true,"packages":{"":{"name":"a","version":"1.0.0","dependencies":{"core":"^2.0.0","plugin":"^1.0.0"}},
"node_modules/core":{"version":"2.0.0"},"node_modules/plugin":{"version":"1.0.0","peerDependencies":{"core":"^1.0.0"}}}}`
)

// An install that npm refuses is done as the project itself does it, else as npm advises, and the result is reported.
func TestWhatNpmRefusesIsInstalledAsTheProjectDoes(t *testing.T) {
	t.Parallel()
	b, toolchain, e := newBuilder(t)
	b = from(b, map[string]string{"NPM_CONFIG_REGISTRY": packages(t, plugins)})
	for name, c := range map[string]struct {
		files map[string][]byte
		told  string // "" if the install succeeds at once
	}{
		"npm's advice":  {texts("package.json", conflicting), "ERESOLVE): installed with --legacy-peer-deps, as npm advises"},
		"its settings":  {texts("package.json", conflicting, ".npmrc", "legacy-peer-deps=true\nregistry=http://127.0.0.1:1\n"), ""},
		"with a lock":   {texts("package.json", conflicting, ".npmrc", "legacy-peer-deps=true\n", "package-lock.json", legacyLock), ""},
		"its workflow":  {texts("package.json", conflicting, "package-lock.json", legacyLock, ".github/workflows/t.yml", "run: npm ci --force\n"), "installed with --force, as .github/workflows/t.yml does"},
		"an older lock": {texts("package.json", conflicting, ".npmrc", "legacy-peer-deps=true\n", "package-lock.json", `{"name":"a","lockfileVersion":3,"packages":{"":{"name":"a"}}}`), "(EUSAGE): npm chose the versions that differ"},
	} {
		d := dependencies.Read(c.files)
		img, err := b.Install(t.Context(), toolchain, d)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		t.Cleanup(func() { removeImage(t, e, img.ID) })
		done, lacking := d.Told(img.Report)
		if got := strings.Join(done, "\n"); !strings.HasSuffix(got, c.told) || c.told == "" && got != "" || len(lacking) > 0 {
			t.Errorf("%s: told %q, %q", name, got, lacking)
		}
		found := map[string]bool{}
		e.below(t, img.ID, "deps", func(h *tar.Header, _ []byte) { found[strings.TrimSuffix(h.Name, "/")] = true })
		if !found["deps/node/node_modules/core/package.json"] || !found["deps/node/node_modules/plugin/package.json"] {
			t.Errorf("%s: not installed", name)
		}
		if has, err := b.Has(t.Context(), toolchain, d); !has || err != nil {
			t.Errorf("%s: it is not found again: %v", name, err)
		}
		// A patch may not use an option that its base did not need, even if the image already exists.
		var lackingErr *InstallError
		_, err = b.Install(t.Context(), toolchain, d.Limited(dependencies.Read(texts("package.json", numberPackage)), ""))
		if refused := errors.As(err, &lackingErr); refused != (c.told != "") || refused && lackingErr.Registry != "" {
			t.Errorf("%s: of a patch: %v", name, err)
		}
	}
}

// A requirement that the index does not have as a wheel is left out and named; the others are installed.
func TestRequirementsThatCannotBeHadAreLeftOutByName(t *testing.T) {
	t.Parallel()
	b, toolchain, e := newBuilder(t)
	b = from(b, map[string]string{"PIP_INDEX_URL": index(t)})
	d := dependencies.Read(texts("requirements.txt", "planted==1.2.3\nnonesuch>=4 ; python_version > '3'\n"))
	for name, d := range map[string]dependencies.Set{
		"nonesuch": d,
		// It conflicts with the other requirement.
		"greedy": dependencies.Read(texts("requirements.txt", "planted==1.2.3\n", "tox.ini", "[testenv]\ndeps = greedy\n")),
	} {
		img, err := b.Install(t.Context(), toolchain, d)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { removeImage(t, e, img.ID) })
		done, lacking := d.Told(img.Report)
		if len(done) > 0 || len(lacking) != 1 || !strings.Contains(lacking[0], name) {
			t.Errorf("told %q, %q", done, lacking)
		}
		found := false
		e.below(t, img.ID, "deps", func(h *tar.Header, _ []byte) { found = found || h.Name == "deps/python/planted.py" })
		if !found {
			t.Errorf("the other one is not installed beside %s", name)
		}
	}
	var refused *InstallError
	if _, err := b.Install(t.Context(), toolchain, d.Limited(dependencies.Read(texts("requirements.txt", "planted==1.2.3\n")), "")); !errors.As(err, &refused) || refused.Registry != "" || !strings.Contains(refused.Said, "nonesuch") {
		t.Errorf("of a patch: %v", err)
	}
}

// A failed step names itself and the beginning of the package manager's complaint. A failure of the machine does not count.
func TestAFailedBuildIsToldApart(t *testing.T) {
	t.Parallel()
	d := dependencies.Read(texts("package.json", numberPackage, "requirements.txt", "a\n"))
	set := registries.Set{NPM: "https://npm.example", PyPI: "https://index.example"}
	for said, want := range map[string]*InstallError{
		"exit code: 1\nagent: not installed: 0\nnpm error code ETARGET\nnpm error notarget No matching version\n\nnpm error A complete log of this run can be found in: x\n": {
			Step: 0, Said: "npm error code ETARGET\nnpm error notarget No matching version",
		},
		"agent: registry does not answer: https://index.example\nagent: not installed: 1\n<urlopen error>\n": {Step: 1, Registry: "https://index.example", Said: "<urlopen error>"},
		"agent: not installed: 1\nERROR: HTTPSConnectionPool: Read timed out.\n":                             {Step: 1, Registry: "https://index.example", Said: "ERROR: HTTPSConnectionPool: Read timed out."},
		"agent: not installed: 0\nnpm error code E503\n":                                                     {Step: 0, Registry: "https://npm.example", Said: "npm error code E503"},
		"agent: not installed: 0\nProgress: resolved 1, reused 0\nLockfile is up to date\nPackages: +3\n+++\n WARN  deprecated a\nProgress: resolved 3\n ERR_PNPM_NO_MATCHING_VERSION  No matching version found for a\nhelp\n": {
			Step: 0, Said: "ERR_PNPM_NO_MATCHING_VERSION  No matching version found for a\nhelp",
		},
		"agent: not installed: 0\nnpm warn old lockfile\nnpm notice\nrunning x\nnpm error code ERESOLVE\n": {Step: 0, Said: "npm error code ERESOLVE"},
		"agent: not installed: 0\nnothing that looks like a complaint\nmore\n":                             {Step: 0, Said: "nothing that looks like a complaint\nmore"},
		"agent: not installed: 0\nagent: no end within 60 seconds\n":                                       {Step: 0, Registry: "https://npm.example", Said: "agent: no end within 60 seconds"},
		"agent: not installed: 7\nx":                               nil,
		"write /var/lib/docker: no space left on device":           nil,
		"exit code: 137\nKilled":                                   nil,
		"npm error code ENOSPC":                                    nil,
		"dial BuildKit in the engine: connect: connection refused": nil,
	} {
		err := installError(errors.New(said), d, set)
		var got *InstallError
		switch {
		case errors.As(err, &got) != (want != nil):
			t.Errorf("%q: %v", said, err)
		case want != nil && (got.Step != want.Step || got.Registry != want.Registry || got.Said != want.Said):
			t.Errorf("%q: %+v", said, got)
		}
	}
}

// A package manager that ran out of time gets less of it in the next hour, and all of it again after that. A registry
// that did not answer changes nothing.
func TestTheNextAttemptWaitsLess(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	mark := markOf(strings.Repeat("0", 64))
	slow := &InstallError{Said: outOfTime + "600 seconds"}
	for i, c := range []struct {
		err  error
		want time.Duration
	}{{nil, managerTime}, {&InstallError{Said: "x", Registry: "y"}, managerTime}, {slow, shortTime}, {slow, shortTime}, {nil, managerTime}} {
		if mark.set(c.err); mark.patience() != c.want {
			t.Errorf("%d: %s", i, mark.patience())
		}
	}
	mark.set(slow)
	if err := os.Chtimes(string(mark), time.Time{}, time.Now().Add(-2*spareSlow)); err != nil || mark.patience() != managerTime {
		t.Errorf("after that: %s, %v", mark.patience(), err)
	}
}

// A step that asks for the same install again gets the failure at once; a cancelled install is not remembered.
func TestAFailureStandsForAMoment(t *testing.T) {
	t.Parallel()
	var log failureLog
	_ = log.keep("a", context.Canceled)
	if err := log.recent("a"); err != nil {
		t.Error(err)
	}
	want := log.keep("a", &InstallError{Said: "x"})
	if got := log.recent("a"); got != want || log.recent("b") != nil {
		t.Errorf("%v", got)
	}
	log.list["a"] = failure{want, time.Now().Add(-2 * spareFailure)}
	if got := log.recent("a"); got != nil {
		t.Errorf("after that: %v", got)
	}
}

// Debian packages are installed first, lie below the workspace's dependencies, and remove nothing from the image.
func TestPackagesOfDebianAreInstalled(t *testing.T) {
	t.Parallel()
	b, toolchain, e := newBuilder(t)
	d := dependencies.Set{}.WithDebian([]string{"hello", "-y", "hello"})
	if names, _ := d.Debian(); len(names) != 1 || len(d.Notes) != 1 {
		t.Errorf("%q, noted %q", names, d.Notes)
	}
	img, err := b.Install(t.Context(), toolchain, d)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { removeImage(t, e, img.ID) })
	found := map[string]bool{}
	look := func(h *tar.Header, _ []byte) {
		if h.Name == "tmp/said" || h.Name == "usr/bin/hello" || strings.HasPrefix(h.Name, "var/lib/apt/lists/") && !strings.HasSuffix(h.Name, "/") {
			found[h.Name] = true
		}
	}
	for _, place := range []string{"tmp", "usr/bin", "var/lib/apt"} {
		e.below(t, img.ID, place, look)
	}
	if !found["usr/bin/hello"] || len(found) > 1 {
		t.Errorf("the image has %v", found)
	}
	// An unavailable package is a part that the run may continue without.
	d = dependencies.Read(texts("requirements.txt", "planted==1.2.3\n")).WithDebian([]string{"no-such-package-here"})
	_, err = b.Install(t.Context(), toolchain, d)
	var lacking *InstallError
	if !errors.As(err, &lacking) || lacking.Step != 0 || d.Part(0).String() != "Debian" || !strings.Contains(lacking.Error(), "Unable to locate package no-such-package-here") ||
		!strings.Contains(lacking.Next(), "environment.packages") {
		t.Errorf("%v", err)
	}
	if names, _ := d.Without(0).Debian(); len(names) > 0 || d.Without(0).Empty() {
		t.Errorf("without it %v are left", d.Without(0).Steps())
	}
}

// If no index answers, Debian packages replace those of pip as far as they exist.
func TestPackagesOfDebianStandInForThoseOfPip(t *testing.T) {
	t.Parallel()
	b, toolchain, e := newBuilder(t)
	b = from(b, map[string]string{"PIP_INDEX_URL": "http://127.0.0.1:9/simple"})
	wanted := dependencies.Read(texts("requirements.txt", "PyYAML==1.0\npython-dateutil>=2 ; python_version < '3'\nno-such-package-here\nbeautifulsoup4\npyinstrument\n")) // today's archive has the last for a newer Python only
	var lacking *InstallError
	if _, err := b.Install(t.Context(), toolchain, wanted); !errors.As(err, &lacking) || lacking.Registry == "" {
		t.Fatalf("an index that nobody serves: %v", err)
	}
	d, ok := wanted.Standby(lacking.Step)
	if groups, at := d.OnStandby(); !ok || at != 0 || len(groups) != 5 || len(d.Files()) > 0 {
		t.Fatalf("%v, %q at %d, files %v", ok, groups, at, d.Files())
	}
	img, err := b.Install(t.Context(), toolchain, d)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { removeImage(t, e, img.ID) })
	done, left := d.Told(img.Report)
	if told := strings.Join(done, "; "); len(left) > 0 || !strings.Contains(told, "python3-yaml ") || !strings.Contains(told, "python3-dateutil ") || !strings.Contains(told, "python3-bs4 ") || strings.Contains(told, "no-such") {
		t.Errorf("told %q, %q", done, left)
	}
	found := false
	for _, place := range []string{"usr/lib/python3/dist-packages", "var/lib/apt", "tmp"} {
		e.below(t, img.ID, place, func(h *tar.Header, _ []byte) {
			if h.Name == "tmp/names" || strings.HasPrefix(h.Name, "tmp/dh-") {
				t.Errorf("%s is left", h.Name)
			}
			found = found || strings.HasSuffix(h.Name, "dist-packages/yaml/__init__.py")
			if strings.HasPrefix(h.Name, "var/lib/apt/lists/") && !strings.HasSuffix(h.Name, "/") {
				t.Errorf("%s is left", h.Name)
			}
		})
	}
	if !found {
		t.Error("the image has no module of python3-yaml")
	}
	// If the archive has none of them, nothing is installed.
	none, _ := dependencies.Read(texts("requirements.txt", "no-such-package-here\n")).Standby(0)
	img, err = b.Install(t.Context(), toolchain, none)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { removeImage(t, e, img.ID) })
	if done, left := none.Told(img.Report); len(done)+len(left) > 0 {
		t.Errorf("told %q, %q", done, left)
	}
	if _, ok := dependencies.Read(texts("go.mod", "module a\n\nrequire example.com/b v1.0.0\n")).Standby(0); ok {
		t.Error("Debian stands in for Go")
	}
}

// A package that a registry package wants from a git repository is left out alone; the install does not look for it.
func TestWhatAPackageWantsFromElsewhereIsLeftOut(t *testing.T) {
	t.Parallel()
	b, toolchain, e := newBuilder(t)
	b = from(b, map[string]string{"NPM_CONFIG_REGISTRY": packages(t, map[string]map[string]string{
		"core": {"1.0.0": `{"name":"core","version":"1.0.0"}`},
		"tool": {"1.0.0": `{"name":"tool","version":"1.0.0","dependencies":{"fork":"somebody/fork#main","core":"1"}}`},
		"fork": {"9.0.0": `{"name":"fork","version":"9.0.0"}`},
	})})
	d := dependencies.Read(texts("package.json", `{"name":"a","version":"1.0.0","devDependencies":{"tool":"^1.0.0"}}`))
	img, err := b.Install(t.Context(), toolchain, d)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { removeImage(t, e, img.ID) })
	done, lacking := d.Told(img.Report)
	if want := `"tool" wants "fork", which does not come from the registry: it is left out`; strings.Join(done, "; ") != want || len(lacking) > 0 {
		t.Errorf("told %q, %q", done, lacking)
	}
	var found []string
	e.below(t, img.ID, "deps", func(h *tar.Header, _ []byte) {
		if name := strings.TrimSuffix(h.Name, "/"); strings.HasPrefix(name, "deps/node/") && strings.HasSuffix(name, "package.json") {
			found = append(found, name)
		}
	})
	slices.Sort(found)
	if want := []string{"deps/node/node_modules/core/package.json", "deps/node/node_modules/tool/package.json", "deps/node/package.json"}; !slices.Equal(found, want) {
		t.Errorf("installed are %q", found)
	}
	if has, err := b.Has(t.Context(), toolchain, d); !has || err != nil {
		t.Errorf("it is not found again: %v", err)
	}
}

// A package or version that the registry does not have is left out by name, whether the workspace or another package
// asks for it, with or without a lock file; the others are installed. A patch that asks for such a package is refused.
func TestWhatTheRegistryDoesNotHaveIsLeftOut(t *testing.T) {
	t.Parallel()
	b, toolchain, e := newBuilder(t)
	b = from(b, map[string]string{"NPM_CONFIG_REGISTRY": packages(t, map[string]map[string]string{
		"core": {"1.0.0": `{"name":"core","version":"1.0.0"}`},
		"tool": {"1.0.0": `{"name":"tool","version":"1.0.0","dependencies":{"gone":"1","core":"1"}}`},
	})})
	const manifest = `{"name":"a","version":"1.0.0","dependencies":{"core":"1"},"devDependencies":{"gone":"1.2.3"}}`
	const lock = `{"name":"a","version":"1.0.0","lockfileVersion":3,"requires":true,"packages":{"":{"name":"a","version":"1.0.0","dependencies":{"core":"1"},"devDependencies":{"gone":"1.2.3"}},
"node_modules/core":{"version":"1.0.0"},"node_modules/gone":{"version":"1.2.3","dev":true}}}`
	sum := sha512.Sum512(archiveOf(t, `{"name":"core","version":"1.0.0"}`))
	core := "sha512-" + base64.StdEncoding.EncodeToString(sum[:])
	pnpm := "lockfileVersion: '9.0'\n\nimporters:\n\n  .:\n    dependencies:\n      core:\n        specifier: '1'\n        version: 1.0.0\n    devDependencies:\n      gone:\n        specifier: 1.2.3\n        version: 1.2.3\n\n" +
		"packages:\n\n  core@1.0.0:\n    resolution: {integrity: " + core + "}\n\n  gone@1.2.3:\n    resolution: {integrity: " + core + "}\n\nsnapshots:\n\n  core@1.0.0: {}\n\n  gone@1.2.3: {}\n"
	yarn := "# yarn lockfile v1\n\n\ncore@1:\n  version \"1.0.0\"\n  resolved \"https://registry.yarnpkg.com/core/-/core-1.0.0.tgz\"\n  integrity " + core +
		"\n\ngone@1.2.3:\n  version \"1.2.3\"\n  resolved \"https://registry.yarnpkg.com/gone/-/gone-1.2.3.tgz\"\n  integrity " + core + "\n"
	const member = "packages: []\n"
	for name, files := range map[string]map[string][]byte{
		"pnpm with a lock":        texts("package.json", manifest, "pnpm-lock.yaml", pnpm),
		"pnpm of another package": texts("package.json", `{"name":"a","version":"1.0.0","dependencies":{"core":"1"},"devDependencies":{"tool":"1"}}`, "pnpm-workspace.yaml", member),
		"yarn with a lock":        texts("package.json", manifest, "yarn.lock", yarn),
		"yarn of another package": texts("package.json", `{"name":"a","version":"1.0.0","dependencies":{"core":"1"},"devDependencies":{"tool":"1"}}`, "yarn.lock", "# yarn lockfile v1\n"),
		"asked for":               texts("package.json", manifest),
		"with a lock":             texts("package.json", manifest, "package-lock.json", lock),
		"of another package":      texts("package.json", `{"name":"a","version":"1.0.0","devDependencies":{"tool":"1"}}`),
		"another version":         texts("package.json", `{"name":"a","version":"1.0.0","dependencies":{"core":"1","tool":"2"}}`),
	} {
		d := dependencies.Read(files)
		img, err := b.Install(t.Context(), toolchain, d)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		t.Cleanup(func() { removeImage(t, e, img.ID) })
		missing := "gone"
		if name == "another version" {
			missing = "tool"
		}
		if done, lacking := d.Told(img.Report); len(done) > 0 != (name == "yarn of another package") || strings.Join(lacking, "; ") != fmt.Sprintf("the npm package %q is not installed: the registry does not have it; set NPM_CONFIG_REGISTRY to one that does, or ask for another version", missing) {
			t.Errorf("%s: told %q, %q", name, done, lacking)
		}
		found := false
		e.below(t, img.ID, "deps", func(h *tar.Header, _ []byte) {
			// pnpm installs it as a link.
			found = found || h.Name == "deps/node/node_modules/core/package.json" || h.Name == "deps/node/node_modules/core" && h.Typeflag == tar.TypeSymlink
		})
		if !found {
			t.Errorf("%s: the other one is not installed", name)
		}
		if !strings.HasSuffix(name, "with a lock") { // the others give the same result
			continue
		}
		var refused *InstallError
		_, err = b.Install(t.Context(), toolchain, d.Limited(dependencies.Read(texts("package.json", `{"name":"a"}`)), ""))
		if !errors.As(err, &refused) || refused.Registry != "" || !strings.Contains(refused.Said, missing) {
			t.Errorf("%s: of a patch: %v", name, err)
		}
		if _, err := b.Install(t.Context(), toolchain, d.Limited(d, img.Report)); err != nil {
			t.Errorf("%s: of a patch that changes nothing of it: %v", name, err)
		}
	}
}
