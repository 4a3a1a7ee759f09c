package gate_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"agent/images"
	"agent/images/dependencies"
	"agent/orchestrator/gate"
	"agent/orchestrator/run"
	"agent/orchestrator/run/runtest"
	"agent/sandbox/workspace"
	"agent/verify"
	"agent/verify/node"
	"agent/verify/policy"
)

// installer is an image builder that installs as a test wants, and otherwise distinguishes its images by what is installed.
type installer struct {
	runtest.Frozen
	install func(n int, d dependencies.Set) (images.Image, error)
	asked   int
	known   bool // what is to be installed exists already
}

func (i *installer) Has(context.Context, images.Image, dependencies.Set) (bool, error) {
	return i.known, nil
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

const toxPatch = "<EDIT file=\"tox.ini\"><SEARCH>\ndeps = two\n</SEARCH><REPLACE>\ndeps = three\n</REPLACE></EDIT>"

// A patch that changes what is installed is judged next to its own dependencies only if they were approved before; a held one is judged
// next to the base's.
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
		"tox":          {toxPatch, []string{"dependencies", "tooling"}, false, "1", "2", run.ExitDone},
		"tox, held":    {toxPatch, []string{"tooling"}, false, "1", "", run.ExitDone},
		"switched off": {dependencyPatch, []string{"dependencies"}, true, "", "", run.ExitDone},
	} {
		var got verify.Request
		b := runtest.Setup(t, func(ctx context.Context, req verify.Request) (verify.Report, error) {
			got = req
			return runtest.Says(verify.Pass)(ctx, req)
		})
		b.Write(t, "requirements.txt", "one==1\n")
		b.Write(t, "tox.ini", "[testenv]\ndeps = two\n")
		b.Runner.Images = &installer{}
		req := b.Request()
		req.Patch, req.Allow, req.NoInstall = []byte(c.patch), c.allow, c.off
		doc := b.Run(t.Context(), req)
		if got.Installed != c.base || got.Patched.Installed != c.patched || (got.Patched.Snapshot == "") != (c.patched == "") || doc.Exit != c.exit {
			t.Errorf("%s: judged beside %q and %+v, exit %d (%+v)", name, got.Installed, got.Patched, doc.Exit, doc.Error)
		}
	}
}

// Linking the packages of a workspace to each other needs no registry.
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

// Without the approval the patch cannot find its package. The advice is to approve it, not to rewrite the package.
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

// Dependencies of the base that cannot be installed are reported as lacking. If only the patch's cannot be installed, that is the patch's
// fault, and if a registry is down, it is neither's.
func TestWhatCannotBeInstalledIsLackingOrTheRegistrysFaultOrThePatchs(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		failing  []int // numbers of the failing installations
		registry string
		all      bool // nothing may be lacking
		verdict  verify.Verdict
		exit     int
		lacking  bool
	}{
		"the base, no registry":        {[]int{1, 3}, "https://pypi.example/simple", false, verify.Pass, run.ExitDone, true},
		"the base":                     {[]int{1, 3}, "", false, verify.Pass, run.ExitDone, true},
		"the base, and then not":       {[]int{1}, "", false, verify.Pass, run.ExitDone, false},
		"the base, but all is asked":   {[]int{1}, "", true, verify.Infra, run.ExitInfra, false},
		"a registry, but all is asked": {[]int{1}, "https://pypi.example/simple", true, verify.Infra, run.ExitInfra, false},
		"the candidate, no registry":   {[]int{2}, "https://pypi.example/simple", false, verify.Infra, run.ExitInfra, false},
		"the candidate":                {[]int{2}, "", false, verify.Fail, run.ExitFail, false},
	} {
		var told []string
		b := runtest.Setup(t, runtest.Says(verify.Pass))
		b.Runner.Emit = func(e run.Event) { told = append(told, e.Note) }
		b.Write(t, "requirements.txt", "one==1\n")
		b.Runner.Images = &installer{install: func(n int, d dependencies.Set) (images.Image, error) {
			if slices.Contains(c.failing, n) && !d.Empty() {
				return images.Image{}, &images.InstallError{Registry: c.registry, Said: "no version fits\none==2", Err: errors.New("all that was said")}
			}
			return images.Image{ID: "sha256:deps", Installed: string(rune('0' + n))}, nil
		}}
		req := b.Request()
		req.Patch, req.Allow, req.InstallAll = []byte(dependencyPatch), []string{"dependencies"}, c.all
		doc := b.Run(t.Context(), req)
		if doc.Verdict != c.verdict || doc.Exit != c.exit || (doc.Error == nil) != (c.exit == run.ExitDone) {
			t.Errorf("%s: %s, exit %d: %+v", name, doc.Verdict, doc.Exit, doc.Error)
			continue
		}
		if c.verdict == verify.Infra && (!strings.Contains(doc.Error.Message, c.registry) || !strings.Contains(doc.Error.Next, "--no-install")) {
			t.Errorf("%s: %+v", name, doc.Error)
		}
		if lacking := len(doc.Unproven) == 1 && doc.Unproven[0].Kind == verify.NoDependencies && doc.Unproven[0].Part &&
			strings.Contains(doc.Unproven[0].Reason, "judged without the packages of Python, which pip could not install: ") &&
			strings.Contains(doc.Unproven[0].Reason, "no version fits; one==2; ") && strings.Contains(doc.Unproven[0].Reason, "--no-install"); lacking != c.lacking {
			t.Errorf("%s: %+v", name, doc.Unproven)
		}
		if c.lacking && !strings.Contains(strings.Join(told, "\n"), "continue "+strings.TrimPrefix(doc.Unproven[0].Reason, "judged ")) {
			t.Errorf("%s: told %q", name, told)
		}
		if c.verdict == verify.Fail {
			f := doc.Candidates[0].Gates[0].Findings
			if len(f) != 1 || f[0].File != "requirements.txt" || f[0].Message != "no version fits; one==2" {
				t.Errorf("%s: %+v", name, f)
			}
		}
	}
}

// A machine failure is not reported as missing dependencies.
func TestTroubleOfTheMachineIsNoLack(t *testing.T) {
	t.Parallel()
	b := runtest.Setup(t, runtest.Says(verify.Pass))
	b.Write(t, "requirements.txt", "one==1\n")
	b.Runner.Images = &installer{install: func(int, dependencies.Set) (images.Image, error) {
		return images.Image{}, errors.New("no space left on device")
	}}
	req := b.Request()
	req.Patch = []byte(runtest.Patch)
	if doc := b.Run(t.Context(), req); doc.Exit != run.ExitInfra || len(doc.Unproven) > 0 {
		t.Errorf("exit %d: %+v", doc.Exit, doc.Unproven)
	}
}

// If a tool is missing because it could not be installed, the report gives that cause and not a cure that would not help.
func TestAToolOfWhatIsLackingHasThatCause(t *testing.T) {
	t.Parallel()
	for lacking, want := range map[bool]string{true: "tsc of package.json is not installed, because it could not be", false: "tsc of package.json is not installed: commit a lock file"} {
		b := runtest.Setup(t, func(_ context.Context, req verify.Request) (verify.Report, error) {
			u := verify.Unproven{Gate: "types", Kind: "not-installed", Reason: "tsc of package.json is not installed" + node.AbsentCure}
			return verify.Report{Verdict: verify.Pass, Changeset: req.Changeset, Unproven: []verify.Unproven{u}}, nil
		})
		b.Write(t, "package.json", `{"dependencies":{"x":"1"}}`)
		b.Runner.Images = &installer{install: func(n int, _ dependencies.Set) (images.Image, error) {
			if lacking && n == 1 {
				return images.Image{}, &images.InstallError{Said: "it is gone", Err: errors.New("it is gone")}
			}
			return images.Image{ID: "sha256:deps"}, nil
		}}
		req := b.Request()
		req.Patch = []byte(runtest.Patch)
		doc := b.Run(t.Context(), req)
		if n := len(doc.Unproven); n == 0 || (n == 2) != lacking || !strings.HasPrefix(doc.Unproven[n-1].Reason, want) {
			t.Errorf("%v: %+v", lacking, doc.Unproven)
		}
	}
}

// An installation is reported and recorded as it happened, and called found again only if it was.
func TestWhatWasInstalledIsToldAsItWas(t *testing.T) {
	t.Parallel()
	for _, known := range []bool{false, true} {
		var told []string
		b := runtest.Setup(t, runtest.Says(verify.Pass))
		b.Runner.Emit = func(e run.Event) { told = append(told, e.Note) }
		b.Write(t, "package.json", `{"dependencies":{"x":"1"}}`)
		b.Runner.Images = &installer{known: known, install: func(int, dependencies.Set) (images.Image, error) {
			return images.Image{ID: "sha256:deps", Installed: "1", Report: "0 1 ERESOLVE\n"}, nil
		}}
		req := b.Request()
		req.Patch = []byte(runtest.Patch)
		var after sync.WaitGroup
		b.Runner.Recorder, b.Runner.AfterRun, req.Keep.Files = b.DB, &after, true
		doc := b.Run(t.Context(), req)
		after.Wait()
		ev, err := b.DB.Evidence(t.Context(), doc.Run)
		if err != nil || len(ev.Settings.Dependencies) != 1 || !strings.Contains(ev.Settings.Dependencies[0], "--legacy-peer-deps") {
			t.Errorf("recorded is %q, %v", ev.Settings.Dependencies, err)
		}
		text := strings.Join(told, "\n")
		if doc.Exit != run.ExitDone || strings.Contains(text, "reuse the dependencies") != known || strings.Contains(text, "install the dependencies by npm") == known ||
			!strings.Contains(text, "installed with --legacy-peer-deps, as npm advises") {
			t.Errorf("exit %d: %s", doc.Exit, text)
		}
	}
}

// A missing package is the cause if the failure names it, not if only the log of other tests does.
func TestAPackageIsTheCauseWhereTheFailureNamesIt(t *testing.T) {
	t.Parallel()
	const missing = "Error: Cannot find module 'one'"
	finding := func(text string) []verify.Finding { return []verify.Finding{{Message: text}} }
	for name, c := range map[string]struct {
		gate verify.Gate
		want string
	}{
		"its finding":         {verify.Gate{Name: "tests", Findings: finding(missing)}, "one"},
		"its log":             {verify.Gate{Name: "smoke", Output: missing, Findings: finding("exit status 1")}, "one"},
		"nothing but a log":   {verify.Gate{Name: "tests", Output: missing}, "one"},
		"the log of others":   {verify.Gate{Name: "tests", Output: missing, Findings: finding("AssertionError: 1 !== 2")}, ""},
		"as it failed before": {verify.Gate{Name: "tests", Output: missing, Findings: finding("exit status 1"), OldFindings: finding(missing)}, ""},
		"no code of its own":  {verify.Gate{Name: "lint", Output: missing}, ""},
	} {
		c.gate.Verdict = verify.Fail
		base := workspace.Manifest{}
		if got := (gate.Candidate{Gates: []verify.Gate{c.gate}}).Absent(&base); got != c.want {
			t.Errorf("%s: %q", name, got)
		}
	}
	cand := gate.Candidate{Unproven: []verify.Unproven{{Kind: verify.NoDependencies, Reason: "package.json: it is gone"}}}
	end := run.Lacking(run.End(run.Rejected, &run.Problem{Kind: run.ProblemPatch}), "one", cand)
	if !strings.Contains(end.Error.Next, "it is gone") || strings.Contains(end.Error.Next, "do without") {
		t.Errorf("%+v", end.Error)
	}
}

// Every file that decides what is installed is held: otherwise an unreviewed patch would choose what the next run is based on.
func TestWhatDecidesWhatIsInstalledIsHeld(t *testing.T) {
	t.Parallel()
	for _, name := range []string{
		"package.json", "a/package-lock.json", "npm-shrinkwrap.json", "pnpm-lock.yaml", "pnpm-workspace.yaml", "yarn.lock", ".npmrc", "bun.lock",
		"pyproject.toml", "poetry.lock", "uv.lock", "pdm.lock", "Pipfile", "Pipfile.lock", "setup.cfg", "setup.py", "tox.ini", "tox.toml", "hatch.toml", "noxfile.py",
		"requirements.txt", "requirements-dev.txt", "test-requirements.txt", "dev_requirements.txt", "requirements/tests.txt", "a/requirements/base.txt", "constraints.txt",
		"go.mod", "go.sum", "go.work", "go.work.sum", ".github/workflows/ci.yml", ".gitlab-ci.yml", "vendor/modules.txt",
	} {
		if !dependencies.Concerns(name) {
			t.Errorf("%s is not read", name)
		}
		cs := workspace.Changeset{Changes: []workspace.Change{{Op: workspace.Modify, Path: name, Before: []byte("a\n"), After: []byte("b\n")}}}
		if !slices.ContainsFunc(policy.ReviewText(cs, nil), func(h policy.Hold) bool { return h.Path == name && h.Block }) {
			t.Errorf("a change of %s is not held", name)
		}
	}
}
