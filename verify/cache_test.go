package verify

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"agent/sandbox"
	"agent/sandbox/workspace"
	"agent/verify/check"
	"agent/verify/checktest"
	"agent/verify/node"
	"agent/verify/python"
	"agent/verify/shell"
	"agent/verify/smoke"
	"agent/verify/verifytest"
)

// A closedEngine starts no box, like an engine whose daemon is gone.
type closedEngine struct{ started *[]string }

// closing guards the records of what closed engines were asked for, since groups of gates ask concurrently.
var closing sync.Mutex

func (e closedEngine) Start(_ context.Context, spec sandbox.Spec) (*sandbox.Box, error) {
	closing.Lock()
	defer closing.Unlock()
	*e.started = append(*e.started, spec.Purpose)
	return nil, errors.New("no daemon")
}

// offline returns a session on base that cannot start a box, and the purposes of the boxes that it asked for.
func offline(base *workspace.Manifest, cache Cache, cs workspace.Changeset) (*session, *[]string) {
	started := &[]string{}
	v := &Verifier{Boxes: closedEngine{started}, Cache: cache}
	return newSession(v, Request{Toolchain: "image", Base: base, Changeset: cs}, nil), started
}

func TestTroubleIsNeverKept(t *testing.T) {
	t.Parallel()
	base := verifytest.Scan(t, map[string]string{"a.py": checktest.Guard, "test_a.py": "", "a.sh": ""})
	cache := verifytest.NewMemory()
	s, started := offline(base, cache, workspace.Changeset{})
	s.plan(func() {})
	for _, group := range []string{check.GroupStatic, check.GroupSmoke, check.GroupTests} {
		var defs []check.Check
		for _, def := range checks() {
			if def.Group == group && (def.Applies == nil || def.Applies(s.base) == "") {
				defs = append(defs, def)
			}
		}
		s.baseline(t.Context(), group, defs)
		for _, def := range defs {
			if out := s.results.base[def.Name]; out.Verdict != check.Infra || !strings.Contains(out.Detail, "no daemon") {
				t.Errorf("%s: %+v", def.Name, out)
			}
		}
	}
	s.proof(t.Context(), allChecks())
	if len(s.results.proof) != len(allChecks()) {
		t.Errorf("not proved: %q", s.results.proof)
	}
	if len(cache.Rows) != 0 {
		t.Errorf("kept %q", cache.Saves)
	}
	if d := strings.Join(*started, " "); d != "baseline-static baseline-smoke baseline-tests proof" {
		t.Errorf("boxes %s", d)
	}
}

func TestKnownResultsNeedNoBox(t *testing.T) {
	t.Parallel()
	base := verifytest.Scan(t, map[string]string{"a.py": "x = 1\n"})
	cache := verifytest.NewMemory()
	s, started := offline(base, cache, workspace.Changeset{})
	cache.Rows[s.store.ProofKey()] = allProved()
	cache.Rows[s.store.BaselineKey(base.Digest(), check.GroupStatic)] = []byte(`{"ruff": {"blocked": "b"}, "shellcheck": {}, "mypy": {"findings": [{"file": "a.py", "message": "m"}]}}`)
	s.baseline(t.Context(), check.GroupStatic, []check.Check{python.Ruff, shell.Shellcheck, python.Mypy})
	s.proof(t.Context(), allChecks())
	if len(*started) != 0 || s.results.base[python.RuffName].Blocked != "b" || len(s.results.base[python.MypyName].Findings) != 1 || s.results.proof == nil {
		t.Errorf("boxes %q, baseline %+v", *started, s.results.base)
	}
}

func TestARowIsCompletedAndNonsenseIsNone(t *testing.T) {
	t.Parallel()
	base := verifytest.Scan(t, map[string]string{"a.py": "x = 1\n"})
	for name, row := range map[string]string{
		"one check is missing": `{"shellcheck": {}, "mypy": {}}`, "null": "null", "list": "[]", "cut": `{"ruff": {}, "mypy": {`, "empty": "", "other gates": `{"program": {}, "pytest": {}}`,
	} {
		cache := verifytest.NewMemory()
		s, started := offline(base, cache, workspace.Changeset{})
		cache.Rows[s.store.BaselineKey(base.Digest(), check.GroupStatic)] = []byte(row)
		for _, proved := range []string{"true", "null", `["ruf"]`, `{"ruff": true}`, ""} {
			cache.Rows[s.store.ProofKey()] = []byte(proved)
			s.proof(t.Context(), allChecks())
		}
		s.baseline(t.Context(), check.GroupStatic, []check.Check{python.Ruff, shell.Shellcheck, python.Mypy})
		if len(*started) != 6 || s.results.base[python.RuffName].Verdict != check.Infra {
			t.Errorf("%s: boxes %q, lint %+v", name, *started, s.results.base[python.RuffName])
		}
	}
}

func TestGateWithNothingToDoBeforeHasAnEmptyBaseline(t *testing.T) {
	t.Parallel()
	// The patch brings the first Python file, program and test.
	cs := workspace.Changeset{Changes: []workspace.Change{{Op: workspace.Create, Path: "main.py"}, {Op: workspace.Create, Path: "test_a.py"}}}
	s, started := offline(verifytest.Scan(t, map[string]string{"notes.txt": ""}), nil, cs)
	s.plan(func() {})
	for _, def := range checks() {
		s.baseline(t.Context(), def.Group, []check.Check{def})
		if out, ok := s.results.base[def.Name]; !ok || out.Verdict != "" {
			t.Errorf("%s: %+v", def.Name, out)
		}
	}
	if len(*started) != 0 {
		t.Errorf("boxes %q", *started)
	}
}

func TestPassedCandidateIsKeptUnlessItsResultsWouldMislead(t *testing.T) {
	t.Parallel()
	base := verifytest.Scan(t, map[string]string{"main.py": "x = 1\n", "a.py": "x = 1\n"})
	edit := workspace.Change{Op: workspace.Modify, Path: "a.py", Before: []byte("x = 1\n"), After: []byte("x = 2\n"), Mode: 0o644}
	good := map[string]check.Outcome{python.RuffName: {}, python.MypyName: {}, smoke.ProgramName: {Ending: &check.Ending{}}, python.PytestName: {}}
	with := func(name string, out check.Outcome) map[string]check.Outcome {
		m := map[string]check.Outcome{name: out}
		for k, v := range good {
			if k != name {
				m[k] = v
			}
		}
		return m
	}
	all := []string{check.GroupSmoke, check.GroupStatic, check.GroupTests}
	for _, c := range []struct {
		name string
		cs   []workspace.Change
		cand map[string]check.Outcome
		want []string // groups
	}{
		{"all well", []workspace.Change{edit}, good, all},
		{"nothing changed", nil, good, nil},
		{"configuration changed", []workspace.Change{edit, {Op: workspace.Create, Path: "ruff.toml"}}, good, nil},
		{"types in trouble", []workspace.Change{edit}, with(python.MypyName, check.Outcome{Verdict: check.Infra}), all},
		{"tests late", []workspace.Change{edit}, with(python.PytestName, check.Outcome{Verdict: check.Timeout}), []string{check.GroupSmoke, check.GroupStatic}},
		{"another program comes", []workspace.Change{edit, {Op: workspace.Delete, Path: "main.py"}, {Op: workspace.Create, Path: "app.py"}}, good, all},
	} {
		cs := workspace.Changeset{Changes: c.cs}
		cache := verifytest.NewMemory()
		s, _ := offline(base, cache, cs)
		s.plan(func() {})
		s.results.cand = c.cand
		for name := range c.cand {
			s.results.judged[name] = check.Gate{Name: name, Verdict: check.Pass}
		}
		if err := s.keepAsBaseline(t.Context(), cs); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		var got []string
		for _, key := range cache.Saves {
			if !strings.HasPrefix(key, "baseline/"+base.With(cs).Digest()+"/image/") {
				t.Errorf("%s: kept under %s", c.name, key)
			}
			got = append(got, key[strings.LastIndexByte(key, '/')+1:])
		}
		if slices.Sort(got); !slices.Equal(got, c.want) {
			t.Errorf("%s: kept %q, want %q", c.name, got, c.want)
		}
	}
}

func TestWhatACheckDidNotSeeIsNoBaseline(t *testing.T) {
	t.Parallel()
	base := verifytest.Scan(t, map[string]string{"mypy.ini": "[mypy]\nplugins = plug\n", "plug.py": "x = 1\n", "eslint.config.js": "import \"./rules.js\";\n", "rules.js": ""})
	for name, unseen := range map[string][]string{
		"a.py": nil, "plug.py": {python.MypyName}, "rules.js": {node.ESLintName}, "web/package.json": node.OwnGroups, ".gitignore": node.OwnGroups,
	} {
		cs := workspace.Changeset{Changes: []workspace.Change{{Op: workspace.Modify, Path: name, After: []byte("x = 2\n"), Mode: 0o644}}}
		s, _ := offline(base, nil, cs)
		for _, def := range checks() {
			if saw := s.sawAll(def, cs); saw == slices.Contains(unseen, def.Name) {
				t.Errorf("%s saw all of a change to %s: %v", def.Name, name, saw)
			}
		}
	}
}

func TestProgramThatTheNextRunWouldNotStartIsNotKept(t *testing.T) {
	t.Parallel()
	// run.py stays the program of this run; main.py becomes that of the next one.
	base := verifytest.Scan(t, map[string]string{"run.py": checktest.Guard})
	cs := workspace.Changeset{Changes: []workspace.Change{{Op: workspace.Create, Path: "main.py", After: []byte("x = 1\n"), Mode: 0o644}}}
	s, _ := offline(base, nil, cs)
	s.plan(func() {})
	next := check.NewView(base.With(cs), workspace.Changeset{})
	if s.after.Path != "run.py" || s.sameEntry(next) {
		t.Errorf("%s is kept as the program of the next run", s.after.Path)
	}
	s.req.Config.Smoke.Command = []string{"run"}
	if !s.sameEntry(next) {
		t.Error("a configured command is another one")
	}
}

func TestKeysAreDistinct(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.SampledFrom([]string{"a", "b", "sha256:1", "sha256:2"})
		type parts struct {
			image, snapshot, group string
			seconds                int
		}
		draw := func() (parts, string, string) {
			p := parts{name.Draw(t, "image"), name.Draw(t, "snapshot"), rapid.SampledFrom([]string{check.GroupStatic, check.GroupSmoke}).Draw(t, "group"), rapid.IntRange(0, 2).Draw(t, "seconds")}
			st := newStore(nil, p.image, check.Toolchain, Config{Smoke: check.Smoke{Seconds: p.seconds}})
			return p, st.BaselineKey(p.snapshot, p.group), st.ProofKey()
		}
		p, key, proof := draw()
		q, other, otherProof := draw()
		if (p == q) != (key == other) {
			t.Fatalf("%+v is %s, %+v is %s", p, key, q, other)
		}
		// A proof depends only on the image, since planted files have no configuration.
		if (p.image == q.image) != (proof == otherProof) || proof == key {
			t.Fatalf("%+v is proved by %s, %+v by %s", p, proof, q, otherProof)
		}
	})
}

func TestPlanNamesEveryGateOnce(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		files  map[string]string
		patch  workspace.Change
		wanted string // the checks, in order
		jobs   int    // static, programs, their baselines, proof
	}{
		{"everything", map[string]string{"main.py": "", "test_a.py": ""}, workspace.Change{Op: workspace.Create, Path: "b.py"}, "ruff format, parsers, ruff, mypy, program, pytest", 7},
		{"text only", map[string]string{"a.txt": ""}, workspace.Change{Op: workspace.Create, Path: "b.txt"}, "", 2},
		{"text beside a program", map[string]string{"main.py": ""}, workspace.Change{Op: workspace.Create, Path: "b.txt"}, "ruff, mypy, program", 5},
		{"last test deleted", map[string]string{"test_a.py": ""}, workspace.Change{Op: workspace.Delete, Path: "test_a.py"}, "pytest", 4},
		{"shell", map[string]string{"run.sh": ""}, workspace.Change{Op: workspace.Create, Path: "b.css"}, "parsers, shellcheck, biome", 3},
		{"node", map[string]string{"server.js": ""}, workspace.Change{Op: workspace.Create, Path: "b.css"}, "parsers, biome, typescript, program", 5},
		{"library", map[string]string{"shop/__init__.py": ""}, workspace.Change{Op: workspace.Create, Path: "b.css"}, "parsers, ruff, biome, mypy, imports", 5},
	} {
		s, _ := offline(verifytest.Scan(t, c.files), nil, workspace.Changeset{Changes: []workspace.Change{c.patch}})
		jobs := s.plan(func() {})
		for name, reason := range s.results.skipped {
			if reason == "" {
				t.Errorf("%s: no reason for %s", c.name, name)
			}
		}
		var wanted []string
		for _, def := range s.results.wanted() {
			wanted = append(wanted, def.Name)
		}
		if got := strings.Join(wanted, ", "); got != c.wanted || len(jobs) != c.jobs {
			t.Errorf("%s: %d boxes, wanted %s", c.name, len(jobs), got)
		}
		if jobs[0].program || jobs[len(jobs)-1].program {
			t.Errorf("%s: a syntax error would end the static gates or the proof", c.name)
		}
	}
}

func TestRunWithoutAnEngineEndsAndIsInfra(t *testing.T) {
	t.Parallel()
	base := verifytest.Scan(t, map[string]string{"main.py": "", "test_a.py": ""})
	started := &[]string{}
	lock := make(chan struct{}, 1)
	v := &Verifier{Boxes: serial{closedEngine{started}, lock}}
	req := Request{Base: base, Lease: time.Now(), Changeset: workspace.Changeset{Changes: []workspace.Change{{Op: workspace.Create, Path: "b.py", After: []byte("x = 1\n")}}}}
	report, err := v.Verify(t.Context(), req, nil)
	if err != nil {
		t.Fatal(err)
	}
	expect(t, report, check.Infra, gateOrder...)
	if len(*started) != 7 {
		t.Errorf("boxes %q", *started)
	}
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if report, err := v.Verify(ctx, req, nil); !errors.Is(err, context.Canceled) || report.Verdict != "" || len(*started) != 7 {
		t.Errorf("after its end: %v %+v, boxes %q", err, report, (*started)[7:])
	}
}

// A serial launcher starts one box at a time.
type serial struct {
	Launcher
	lock chan struct{}
}

func (s serial) Start(ctx context.Context, spec sandbox.Spec) (*sandbox.Box, error) {
	s.lock <- struct{}{}
	defer func() { <-s.lock }()
	return s.Launcher.Start(ctx, spec)
}

// If the tests did not end in time a while ago, no box runs all of them, on either side, unless the result for this very base is known.
func TestALongSuiteGetsNoBoxForAllOfIt(t *testing.T) {
	t.Parallel()
	base := verifytest.Scan(t, map[string]string{"a.py": "x = 1\n", "test_a.py": "import a\n\n\ndef test_a():\n    assert a.x\n"})
	cs := workspace.Changeset{Changes: []workspace.Change{{Op: workspace.Modify, Path: "a.py", Before: []byte("x = 1\n"), After: []byte("x = 2\n"), Mode: 0o644}}}
	for name, c := range map[string]struct{ long, known, whole bool }{"nothing is known": {whole: true}, "it is long": {long: true}, "this base is known": {long: true, known: true, whole: true}} {
		cache := verifytest.NewMemory()
		s, started := offline(base, cache, cs)
		if c.long {
			if err := s.store.SaveLong(t.Context(), base.Root, s.base.Paths(), python.PytestName); err != nil {
				t.Fatal(err)
			}
		}
		if c.known {
			known := map[string]check.Outcome{python.PytestName: {Tests: []check.TestResult{{ID: "test_a.py::test_a", Outcome: "passed"}}}}
			if err := s.store.Save(t.Context(), s.store.BaselineKey(base.Digest(), check.GroupTests), known); err != nil {
				t.Fatal(err)
			}
		}
		s.recallLong(t.Context())
		for _, j := range s.plan(func() {}) {
			j.do(t.Context())
		}
		if got := slices.Contains(*started, check.GroupTests); got != c.whole {
			t.Errorf("%s: a box for all tests: %v; %q", name, got, *started)
		}
		if cand := s.results.cand[python.PytestName]; c.whole == (cand.Verdict == check.Timeout) {
			t.Errorf("%s: %+v", name, cand)
		}
	}
}
