package gate_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"agent/images"
	"agent/images/dependencies"
	"agent/orchestrator/run"
	"agent/orchestrator/run/runtest"
	"agent/verify"
)

// installer is an image builder that installs as a test wants, and else tells
// its images apart by what is installed.
type installer struct {
	runtest.Frozen
	install func(n int, d dependencies.Set) (images.Image, error)
	asked   int
}

func (i *installer) Install(_ context.Context, toolchain images.Image, d dependencies.Set) (images.Image, error) {
	i.asked++
	if i.install != nil {
		return i.install(i.asked, d)
	}
	if d.Empty() {
		return toolchain, nil
	}
	return images.Image{ID: "sha256:deps", Installed: string(rune('0' + i.asked))}, nil
}

func (*installer) Snapshot(_ context.Context, on images.Image, tree images.Tree, _ string) (images.Image, error) {
	return images.Image{ID: "sha256:" + tree.Digest() + on.Installed, Installed: on.Installed}, nil
}

const dependencyPatch = `<EDIT file="requirements.txt"><SEARCH>
one==1
</SEARCH><REPLACE>
one==2
</REPLACE></EDIT>`

// A patch that changes what is installed is judged beside it only when that was
// approved before; one that is held is judged beside what the base has.
func TestAPatchIsJudgedBesideItsOwnDependenciesWhenTheyAreApproved(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		patch   string
		allow   []string
		off     bool
		base    string // what is installed for each side; "" for the same image or nothing
		patched string
		exit    int
	}{
		"another file": {runtest.Patch, nil, false, "1", "", run.ExitDone},
		"approved":     {dependencyPatch, []string{"dependencies"}, false, "1", "2", run.ExitDone},
		"held":         {dependencyPatch, nil, false, "1", "", run.ExitApproval},
		"a remark":     {strings.ReplaceAll(dependencyPatch, "one==2", "one==1  # sic"), []string{"dependencies"}, false, "1", "", run.ExitDone},
		"switched off": {dependencyPatch, []string{"dependencies"}, true, "", "", run.ExitDone},
	} {
		var got verify.Request
		b := runtest.Setup(t, func(ctx context.Context, req verify.Request) (verify.Report, error) {
			got = req
			return runtest.Says(verify.Pass)(ctx, req)
		})
		b.Write(t, "requirements.txt", "one==1\n")
		b.Runner.Images = &installer{}
		req := b.Request()
		req.Patch, req.Allow, req.NoInstall = []byte(c.patch), c.allow, c.off
		doc := b.Run(t.Context(), req)
		if got.Installed != c.base || got.Patched.Installed != c.patched || (got.Patched.Snapshot == "") != (c.patched == "") || doc.Exit != c.exit {
			t.Errorf("%s: judged beside %q and %+v, exit %d (%+v)", name, got.Installed, got.Patched, doc.Exit, doc.Error)
		}
	}
}

// That packages of a workspace find each other takes no registry.
func TestPackagesAreLinkedWithoutAnInstallation(t *testing.T) {
	t.Parallel()
	b := runtest.Setup(t, runtest.Says(verify.Pass))
	b.Write(t, "package.json", `{"workspaces":["a"],"dependencies":{"x":"1"}}`)
	if err := os.Mkdir(filepath.Join(b.Dir, "a"), 0o755); err != nil {
		t.Fatal(err)
	}
	b.Write(t, "a/package.json", "{\"name\":\"one\"}\n")
	read := func(name string) dependencies.Set {
		return dependencies.Read(map[string][]byte{"package.json": []byte(`{"workspaces":["a"]}`), "a/package.json": []byte(`{"name":"` + name + `"}`)})
	}
	want := []dependencies.Set{read("one"), read("two")} // of the base and of the patch
	i := &installer{}
	i.install = func(n int, d dependencies.Set) (images.Image, error) {
		if n > len(want) || !d.Equal(want[n-1]) {
			t.Errorf("for the %d. time: %+v", n, d)
		}
		return images.Image{ID: "sha256:tools"}, nil
	}
	b.Runner.Images = i
	req := b.Request()
	req.NoInstall, req.Allow = true, []string{"dependencies"}
	req.Patch = []byte("<EDIT file=\"a/package.json\"><SEARCH>\n{\"name\":\"one\"}\n</SEARCH><REPLACE>\n{\"name\":\"two\"}\n</REPLACE></EDIT>")
	if doc := b.Run(t.Context(), req); doc.Exit != run.ExitDone || i.asked != 2 {
		t.Errorf("exit %d, asked %d times: %+v", doc.Exit, i.asked, doc.Error)
	}
}

// Without the approval the patch cannot find its package, and the way out is
// not to write the package anew.
func TestAPackageThatWaitsForAnApprovalIsNamedWithIt(t *testing.T) {
	t.Parallel()
	b := runtest.Setup(t, func(_ context.Context, req verify.Request) (verify.Report, error) {
		gate := verify.Gate{Name: "smoke", Verdict: verify.Fail, Findings: []verify.Finding{{Message: "ModuleNotFoundError: No module named 'one'"}}}
		return verify.Report{Verdict: verify.Fail, Gates: []verify.Gate{gate}, Changeset: req.Changeset}, nil
	})
	b.Write(t, "requirements.txt", "one==1\n")
	b.Runner.Images = &installer{}
	for text, want := range map[string]bool{dependencyPatch: true, runtest.Patch: false} {
		req := b.Request()
		req.Patch = []byte(text)
		if doc := b.Run(t.Context(), req); doc.Error == nil || strings.Contains(doc.Error.Next, "--allow dependencies") != want {
			t.Errorf("%+v", doc.Error)
		}
	}
}

func TestWhatCannotBeInstalledIsTheRegistrysFaultOrThePatchs(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		failing  int // which installation
		registry string
		verdict  verify.Verdict
		exit     int
	}{
		"the base, no registry":      {1, "https://pypi.example/simple", verify.Infra, run.ExitInfra},
		"the base":                   {1, "", verify.Infra, run.ExitInfra},
		"the candidate, no registry": {2, "https://pypi.example/simple", verify.Infra, run.ExitInfra},
		"the candidate":              {2, "", verify.Fail, run.ExitFail},
	} {
		b := runtest.Setup(t, func(context.Context, verify.Request) (verify.Report, error) {
			t.Errorf("%s: it was judged", name)
			return verify.Report{}, nil
		})
		b.Write(t, "requirements.txt", "one==1\n")
		b.Runner.Images = &installer{install: func(n int, _ dependencies.Set) (images.Image, error) {
			if n == c.failing {
				return images.Image{}, &images.InstallError{Registry: c.registry, Err: errors.New("no version fits one==2")}
			}
			return images.Image{ID: "sha256:deps", Installed: "1"}, nil
		}}
		req := b.Request()
		req.Patch, req.Allow = []byte(dependencyPatch), []string{"dependencies"}
		doc := b.Run(t.Context(), req)
		if doc.Verdict != c.verdict || doc.Exit != c.exit || doc.Error == nil {
			t.Errorf("%s: %s, exit %d: %+v", name, doc.Verdict, doc.Exit, doc.Error)
			continue
		}
		if c.verdict == verify.Infra && (!strings.Contains(doc.Error.Message, c.registry) || !strings.Contains(doc.Error.Next, "--no-install")) {
			t.Errorf("%s: %+v", name, doc.Error)
		}
	}
}
