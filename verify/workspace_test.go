package verify

import (
	"slices"
	"strings"
	"testing"

	"agent/sandbox"
	"agent/sandbox/workspace"
	"agent/verify/check"
	"agent/verify/checktest"
	"agent/verify/compare"
)

// skipped returns the reason why a gate was left out, "" when it was not.
func skipped(r Report, name string) string {
	for _, s := range r.Skipped {
		if s.Name == name {
			return s.Reason
		}
	}
	return ""
}

func TestGatesThatDoNotApplyAreSkippedWithAReason(t *testing.T) {
	t.Parallel()
	s := newSite(t, map[string]string{"notes.toml": "a = 1\n"})
	r := s.verify(t, map[string]string{"notes.toml": "a = 2\n"})
	expect(t, r, check.Pass)
	for name, want := range map[string]string{
		check.GateFormat: "no Python or Go file", check.GateLint: "no Python file", check.GateTypes: "no Python file",
		check.GateSmoke: "no entry point", check.GateTests: "no test files",
	} {
		if got := skipped(r, name); !strings.Contains(got, want) {
			t.Errorf("%s: skipped with %q", name, got)
		}
	}
	if len(r.Gates) != 1 || r.Gates[0].Name != check.GateSyntax {
		t.Errorf("gates %+v", r.Gates)
	}
}

func TestPatchOfTextStillRunsWhatAppliesToTheWorkspace(t *testing.T) {
	t.Parallel()
	files := shop()
	files["README.md"] = "one\n"
	s := newSite(t, files)
	r := s.verify(t, map[string]string{"README.md": "two\n"})
	expect(t, r, check.Pass)
	for _, name := range []string{check.GateLint, check.GateTypes, check.GateSmoke, check.GateTests} {
		find(t, r, name)
	}
}

func TestNodeProgramsAreStarted(t *testing.T) {
	t.Parallel()
	s := newSite(t, map[string]string{"server.js": "setInterval(() => {}, 1000);\n", "lib.js": "module.exports = 1;\n"}).only(check.GateTypes, check.GateSmoke)
	s.config.Smoke.Seconds = 3
	r := s.verify(t, map[string]string{"lib.js": "module.exports = 2;\n"})
	expect(t, r, check.Pass)
	if g := find(t, r, check.GateSmoke); !strings.Contains(g.Detail, "node server.js: still running") {
		t.Errorf("detail %q", g.Detail)
	}
	s.config.Smoke.Seconds = 60 // time to end in on a busy machine
	r = s.verify(t, map[string]string{"server.js": "require('./nowhere');\n"})
	expect(t, r, check.Fail, check.GateTypes, check.GateSmoke)
	if list := find(t, r, check.GateSmoke).Findings; len(list) == 0 || !strings.Contains(list[0].Message, "Cannot find module './nowhere'") {
		t.Errorf("findings %+v", list)
	}
}

func TestConfiguredProgramGetsItsCommandAndEnvironment(t *testing.T) {
	t.Parallel()
	s := newSite(t, map[string]string{"tool.py": "import os, sys\n\nsys.exit(0 if os.environ.get('MODE') == 'check' and sys.argv[1:] == ['--dry'] else 4)\n"}).only(check.GateSmoke)
	patch := map[string]string{"note.txt": "x\n"}
	s.config.Smoke = check.Smoke{Command: []string{"python3", "tool.py", "--dry"}, Env: map[string]string{"MODE": "check"}}
	r := s.verify(t, patch)
	expect(t, r, check.Pass)
	if g := find(t, r, check.GateSmoke); g.Old != 0 || !strings.HasSuffix(g.Detail, "python3 tool.py --dry: exit status 0") {
		t.Errorf("%+v", g)
	}
	s.config.Smoke = check.Smoke{Command: []string{"./absent"}}
	r = s.verify(t, patch)
	if g := find(t, r, check.GateSmoke); g.Verdict != check.Infra || !strings.Contains(g.Detail, "agent.toml") {
		t.Errorf("a command that is not there: %+v", g)
	}
}

func TestWorkspaceThatCannotBeJudgedBeforeIsNotBlamedOnThePatch(t *testing.T) {
	t.Parallel()
	s := newSite(t, map[string]string{
		"lib.py": "x = 1\n", "legacy.py": "print 'two'\n", "user.py": "import legacy\n", "ruff.toml": "select = 5\n",
		"pytest.ini": "[pytest]\nminversion = 99\n", "test_lib.py": "def test_x():\n    pass\n",
	})
	r := s.verify(t, map[string]string{"lib.py": "x  =  2\n"})
	expect(t, r, check.Pass)
	for name, want := range map[string]string{
		check.GateLint: "ruff does not accept the workspace's configuration", check.GateTypes: "legacy.py: ", check.GateTests: "requires pytest-99",
	} {
		if got := skipped(r, name); !strings.Contains(got, "even before the patch") || !strings.Contains(got, want) {
			t.Errorf("%s: skipped with %q, want %q", name, got, want)
		}
	}
	if got := string(r.Changeset.Changes[0].After); got != "x  =  2\n" {
		t.Errorf("formatted by a configuration that nobody can read: %q", got)
	}
}

func TestPatchThatKeepsToolsFromJudgingFails(t *testing.T) {
	t.Parallel()
	s := newSite(t, map[string]string{"lib.py": "x = 1\n", "test_lib.py": "def test_x():\n    pass\n"})
	r := s.only(check.GateTests).verify(t, map[string]string{"pytest.ini": "[pytest]\naddopts = --no-such-option=lib\n"})
	expect(t, r, check.Fail, check.GateTests)
	if !slices.ContainsFunc(find(t, r, check.GateTests).Findings, func(f check.Finding) bool { return f.Rule == compare.RuleSession }) {
		t.Errorf("%+v", find(t, r, check.GateTests))
	}
}

func TestFileIsNotHiddenFromTheLinterByAnIgnoreFile(t *testing.T) {
	t.Parallel()
	s := newSite(t, map[string]string{"lib.py": "x = 1\n"})
	r := s.only(check.GateLint, check.GateTypes).verify(t, map[string]string{".gitignore": "*.py\n", ".ignore": "*.py\n", "lib.py": "def f():\n    return nothing\n"})
	expect(t, r, check.Fail, check.GateLint, check.GateTypes)
}

func TestStyleRulesApplyOnlyWhereTheWorkspaceAsksForThem(t *testing.T) {
	t.Parallel()
	unsorted := map[string]string{"lib.py": "import sys\nimport os\n\nprint(sys, os)\n"}
	s := newSite(t, map[string]string{"lib.py": "x = 1\n"})
	expect(t, s.only(check.GateLint).verify(t, unsorted), check.Pass)
	s = newSite(t, map[string]string{"lib.py": "x = 1\n", "pyproject.toml": "[tool.ruff.lint]\nselect = [\"I\"]\n"}).only(check.GateLint)
	r := s.verify(t, unsorted)
	expect(t, r, check.Fail, check.GateLint)
	checktest.Single(t, find(t, r, check.GateLint), "I001", "lib.py", 1)
}

func TestRenameWithItsCallersIsNoNewTrouble(t *testing.T) {
	t.Parallel()
	files := shop()
	files["stock.py"] += "\n\ndef old():\n    return missing\n"
	s := newSite(t, files)
	test := strings.ReplaceAll(files["tests/test_till.py"], "till", "counter")
	r := s.judge(t, workspace.Changeset{Changes: []workspace.Change{
		{Op: workspace.Rename, Path: "counter.py", From: "till.py", Before: []byte(files["till.py"]), After: []byte(strings.ReplaceAll(files["till.py"], "stock", "shelf")), Mode: 0o644},
		{Op: workspace.Modify, Path: "main.py", Before: []byte(files["main.py"]), After: []byte(strings.ReplaceAll(files["main.py"], "till", "counter")), Mode: 0o644},
		{Op: workspace.Rename, Path: "shelf.py", From: "stock.py", Before: []byte(files["stock.py"]), After: []byte(files["stock.py"]), Mode: 0o644},
		{Op: workspace.Rename, Path: "tests/test_counter.py", From: "tests/test_till.py", Before: []byte(files["tests/test_till.py"]), After: []byte(test), Mode: 0o644},
	}})
	expect(t, r, check.Pass)
	if g := find(t, r, check.GateLint); g.Old != 1 {
		t.Errorf("lint %+v", g)
	}
}

func TestRenameWithoutItsCallersFails(t *testing.T) {
	t.Parallel()
	files := shop()
	s := newSite(t, files)
	r := s.judge(t, workspace.Changeset{Changes: []workspace.Change{
		{Op: workspace.Rename, Path: "shelf.py", From: "stock.py", Before: []byte(files["stock.py"]), After: []byte(files["stock.py"]), Mode: 0o644},
	}})
	expect(t, r, check.Fail, check.GateTypes, check.GateSmoke, check.GateTests)
	if f := find(t, r, check.GateSmoke).Findings[0]; f.File != "till.py" || f.Rule != "ModuleNotFoundError" {
		t.Errorf("smoke %+v", f)
	}
}

// It does not run in parallel, since it looks for boxes that any test left behind.
func TestServerThatForksAndIgnoresTermLeavesNothing(t *testing.T) {
	main := "import os, signal, time\n\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\nif os.fork() == 0:\n    os.setsid()\nwhile True:\n    time.sleep(1)\n"
	s := newSite(t, map[string]string{"main.py": main})
	s.config.Smoke.Seconds = 3
	expect(t, s.only(check.GateSmoke).verify(t, map[string]string{"main.py": main + "# again\n"}), check.Pass)
	boxes, err := s.lab.Engine.Boxes(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range boxes {
		// Another process may be running these tests at the same time.
		if b.Run == "verify-test" && b.Owner == sandbox.Owner() {
			t.Errorf("box %+v is left", b)
		}
	}
}

func TestProgramThatEatsTheMemoryIsOOM(t *testing.T) {
	t.Parallel()
	s := newSite(t, map[string]string{"main.py": "print(1)\n"})
	s.config.Limits.Memory = 400 << 20
	// By the megabyte, as pages take over 10 s on a busy machine; in huge pages if any, as others are too slow on a VM that frees memory.
	r := s.only(check.GateSmoke).verify(t, map[string]string{"main.py": "import mmap\n\nm = mmap.mmap(-1, 1 << 30, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)\nm.madvise(mmap.MADV_HUGEPAGE)\n" +
		"for i in range(1 << 10):\n    m.write(b'1' * (1 << 20))\n"})
	expect(t, r, check.OOM, check.GateSmoke)
}
