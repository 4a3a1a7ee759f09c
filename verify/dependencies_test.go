package verify

import (
	"archive/zip"
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"agent/images/dependencies"
	"agent/sandbox"
	"agent/sandbox/guest"
	"agent/sandbox/workspace"
	"agent/verify/check"
	"agent/verify/checktest"
	"agent/verify/verifytest"
)

// pythonIndex serves one planted package with types, like an index of Python packages.
func pythonIndex(t *testing.T) string {
	t.Helper()
	var file bytes.Buffer
	z := zip.NewWriter(&file)
	for name, text := range map[string]string{
		"planted/__init__.py": "def double(n: int) -> int:\n    return 2 * n\n", "planted/py.typed": "",
		"planted-1.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: planted\nVersion: 1.0\n",
		"planted-1.0.dist-info/WHEEL":    "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
		"planted-1.0.dist-info/RECORD":   "",
	} {
		w, err := z.Create(name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	const wheel = "planted-1.0-py3-none-any.whl"
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/planted/":
			fmt.Fprintf(w, `<!DOCTYPE html><a href="/%s">%s</a>`, wheel, wheel)
		case "/" + wheel:
			_, _ = w.Write(file.Bytes()) // a client that hangs up is not a problem of this test
		default:
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// dependent is a workspace in three languages, each of which needs a package.
var dependent = map[string]string{
	"requirements.txt": "planted==1.0\n",
	"calc.py":          "import planted\n\n\ndef four() -> int:\n    return planted.double(2)\n",
	"test_calc.py":     "import calc\n\n\ndef test_four():\n    assert calc.four() == 4\n",
	"package.json":     `{"dependencies":{"is-number":"7.0.0"}}` + "\n",
	"package-lock.json": `{"lockfileVersion":3,"packages":{"":{"dependencies":{"is-number":"7.0.0"}},"node_modules/is-number":{"version":"7.0.0",
"resolved":"https://registry.npmjs.org/is-number/-/is-number-7.0.0.tgz",
"integrity":"sha512-41Cifkg6e8TylSpdtTpeLVMqvSBEVzTttHvERD741+pnZ8ANv0004MRL43QKPDlK9cGvNp6NZWZUBlbGXYxxng=="}}}` + "\n",
	"index.js": "const isNumber = require(\"is-number\");\nconsole.log(isNumber(1));\n",
	"go.mod":   "module example.com/a\n\ngo 1.22\n\nrequire github.com/google/uuid v1.6.0\n",
	"go.sum": "github.com/google/uuid v1.6.0 h1:NIvaJDMOsjHA8n1jAhLSgzrAzy1Hgr+hNrb57e+94F0=\n" +
		"github.com/google/uuid v1.6.0/go.mod h1:TIyPZe4MgqvfeYDBFedMoGGpEw/LqOeaOT+nhxU+yHo=\n",
	"a_test.go": "package a\n\nimport (\n\t\"testing\"\n\n\t\"github.com/google/uuid\"\n)\n\nfunc TestID(t *testing.T) {\n\tuuid.New()\n}\n",
}

// TestABoxHasWhatTheWorkspaceDependsOn checks for each language that a package's types are known and its code is found, with nothing of
// it in the workspace itself.
func TestABoxHasWhatTheWorkspaceDependsOn(t *testing.T) {
	l := verifytest.Open(t)
	t.Setenv("PIP_INDEX_URL", pythonIndex(t))
	files := map[string][]byte{}
	for name, text := range dependent {
		if dependencies.Concerns(name) {
			files[name] = []byte(text)
		}
	}
	installed, err := l.Builder.Install(t.Context(), l.Toolchain, dependencies.Read(files))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Engine.RemoveImage(context.WithoutCancel(t.Context()), installed.ID); err != nil {
			t.Error(err)
		}
	})
	s := newSiteOn(t, installed, dependent)
	report := s.verify(t, map[string]string{"calc.py": dependent["calc.py"] + "\n\ndef six() -> int:\n    return planted.double(\"3\")\n"})
	expect(t, report, check.Fail, check.GateTypes)
	checktest.Single(t, find(t, report, check.GateTypes), "arg-type", "calc.py", 9)
	if tests := find(t, report, check.GateTests); !strings.Contains(tests.Detail, "1 passed") {
		t.Error(tests.Detail)
	}
	if smoke := find(t, report, check.GateSmoke); smoke.Old != 0 || !strings.Contains(smoke.Detail, "exit status 0") {
		t.Errorf("%+v", smoke)
	}
	box, err := l.Engine.Start(t.Context(), sandbox.Spec{Image: s.snapshot.ID, Run: "verify-test", Purpose: "test", Lease: time.Now().Add(time.Minute)})
	if err != nil {
		t.Fatal(err)
	}
	defer box.Close()
	res, err := box.Run(t.Context(), guest.Command{Args: []string{"/usr/lib/agent/go/run", "go", "test", "-vet=off", "./..."}})
	if err != nil || res.Exit != 0 {
		t.Errorf("go test: %v, exit status %d: %s%s", err, res.Exit, res.Stdout.Head, res.Stderr.Head)
	}
}

// Results that were found next to other installed packages do not apply to these.
func TestOutcomesAreKeptByWhatIsInstalled(t *testing.T) {
	t.Parallel()
	delta := &workspace.Changeset{}
	base := Request{Snapshot: "image", Delta: delta, Installed: "one"}
	if base.patched() != (Layer{"image", delta, "one"}) {
		t.Errorf("%+v", base.patched())
	}
	own := base
	own.Patched = Layer{"other", nil, ""}
	if own.patched() != own.Patched {
		t.Errorf("%+v", own.patched())
	}
	if standing("a", "") != "a" || standing("a", "one") == standing("a", "two") || standing("a", "one") == "a" {
		t.Error("two workspaces are one in the cache")
	}
	view := check.OnBase(verifytest.Scan(t, map[string]string{"a.py": "x = 1\n"}))
	kept, bare := newStore(verifytest.NewMemory(), "one", check.Toolchain, Config{}), Request{}
	if own.types(kept, view) != nil || base.types(newStore(nil, "one", check.Toolchain, Config{}), view) != nil || base.types(kept, view).Key == bare.types(kept, view).Key {
		t.Error("what mypy knows goes where other packages are")
	}
}
