package verify

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"agent/sandbox"
	"agent/sandbox/egress"
	"agent/sandbox/workspace"
	"agent/verify/check"
	"agent/verify/checktest"
	"agent/verify/format"
	"agent/verify/python"
	"agent/verify/shell"
	"agent/verify/smoke"
	"agent/verify/syntax"
	"agent/verify/verifytest"
)

// A brokenCache answers every call with an error, like a database that has gone away.
type brokenCache struct{}

var errGone = errors.New("the database has gone")

func (brokenCache) Load(context.Context, string) ([]byte, bool, error) { return nil, false, errGone }
func (brokenCache) Save(context.Context, string, []byte) error         { return errGone }

func TestCacheThatDoesNotAnswerOnlySlowsDown(t *testing.T) {
	t.Parallel()
	s := newSite(t, map[string]string{"lib.py": "x = 1\n"}).only(check.GateLint)
	for name, cache := range map[string]Cache{"broken": brokenCache{}, "none": nil} {
		s.verifier.Cache = cache
		r := s.verify(t, map[string]string{"lib.py": "x = 2\n"})
		expect(t, r, check.Pass)
		if told := strings.Contains(r.Gates[0].Detail, errGone.Error()); told != (cache != nil) {
			t.Errorf("%s: detail %q", name, r.Gates[0].Detail)
		}
	}
}

func TestRowThatCannotBeReadIsMadeAnew(t *testing.T) {
	t.Parallel()
	s := newSite(t, map[string]string{"lib.py": "x = nothing\n"})
	st := newStore(nil, s.lab.Toolchain.ID, check.Toolchain, withTimeout(s.config))
	key := st.BaselineKey(s.base.Digest(), check.GroupStatic)
	for name, row := range map[string]string{"garbage": "{", "of an older shape": "{\"lint\": {}}"} {
		cache := verifytest.NewMemory()
		cache.Rows[key] = []byte(row)
		cache.Rows[st.ProofKey()] = allProved()
		s.verifier.Cache = cache
		r := s.verify(t, map[string]string{"lib.py": "x = nothing\ny = 1\n"})
		expect(t, r, check.Pass)
		if g := find(t, r, check.GateLint); g.Old != 1 || !slices.Contains(cache.Saves, key) {
			t.Errorf("%s: %+v, saved %q", name, g, cache.Saves)
		}
	}
}

func TestRowOfTheCacheIsUsed(t *testing.T) {
	t.Parallel()
	s := newSite(t, map[string]string{"lib.py": "x = 1\n"})
	st := newStore(nil, s.lab.Toolchain.ID, check.Toolchain, withTimeout(s.config))
	cache := verifytest.NewMemory()
	// The row claims that the finding that the patch brings was there before.
	cache.Rows[st.BaselineKey(s.base.Digest(), check.GroupStatic)] = []byte(`{
		"ruff": {"findings": [{"file": "lib.py", "rule": "F821", "message": "Undefined name ` + "`nothing`" + `", "source": "return nothing"}]},
		"mypy": {"findings": [{"file": "lib.py", "rule": "name-defined", "message": "Name \"nothing\" is not defined", "source": "return nothing"}]}}`)
	cache.Rows[st.ProofKey()] = allProved()
	s.verifier.Cache = cache
	expect(t, s.verify(t, map[string]string{"lib.py": "x = 1\n\n\ndef y() -> int:\n    return nothing\n"}), check.Pass)
}

func TestBoxThatDoesNotStartIsInfra(t *testing.T) {
	t.Parallel()
	s := newSite(t, shop())
	req := s.request(verifytest.Change(t, s.base, map[string]string{"stock.py": stock + "\nONE = 1\n"}))
	t.Run("the candidate's", func(t *testing.T) {
		req := req
		req.Snapshot = "sha256:" + strings.Repeat("0", 64)
		r, err := s.verifier.Verify(t.Context(), req, nil)
		if err != nil {
			t.Fatal(err)
		}
		expect(t, r, check.Infra, gateOrder...)
		if g := find(t, r, check.GateLint); !strings.HasPrefix(g.Detail, "start a box for static: ") {
			t.Errorf("detail %q", g.Detail)
		}
	})
	t.Run("the proof's", func(t *testing.T) {
		req := req
		req.Toolchain = "sha256:" + strings.Repeat("0", 64)
		r, err := s.verifier.Verify(t.Context(), req, nil)
		if err != nil {
			t.Fatal(err)
		}
		expect(t, r, check.Infra, gateOrder...)
	})
	t.Run("for limits that no box can have", func(t *testing.T) {
		req := req
		req.Config.Limits.Memory = 1
		r, err := s.verifier.Verify(t.Context(), req, nil)
		if err != nil || r.Verdict != check.Infra {
			t.Errorf("%v %s", err, r.Verdict)
		}
	})
}

func TestPatchThatDoesNotFitIntoTheBoxIsNoPass(t *testing.T) {
	t.Parallel()
	s := newSite(t, map[string]string{"lib.py": "x = 1\n"})
	s.config.Limits.Work = 1 << 20
	r := s.verify(t, map[string]string{"data.json": "[\"" + strings.Repeat("x", 3<<19) + "\"]", "lib.py": "x = 2\n"})
	if g := find(t, r, check.GateSyntax); r.Verdict != check.Infra || !strings.HasPrefix(g.Detail, "apply the patch: ") {
		t.Errorf("%s %+v", r.Verdict, g)
	}
}

func TestWorkspaceThatChangedOnTheHostIsToldWhenItIsRead(t *testing.T) {
	t.Parallel()
	s := newSite(t, map[string]string{"run.py": checktest.Guard})
	if err := os.WriteFile(filepath.Join(s.dir, "run.py"), []byte("edited = 1\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	r := s.judge(t, workspace.Changeset{Changes: []workspace.Change{{Op: workspace.Create, Path: "b.py", After: []byte("x = 1\n"), Mode: 0o644}}})
	if g := find(t, r, check.GateSmoke); r.Verdict != check.Infra || !strings.Contains(g.Detail, "run.py") {
		t.Errorf("%s %+v", r.Verdict, g)
	}
}

func TestEveryGateTellsItsBeginningAndItsEnd(t *testing.T) {
	t.Parallel()
	s := newSite(t, shop())
	cache := verifytest.NewMemory()
	cache.Rows[proofKey(s.lab)] = allProved()
	s.verifier.Cache = cache
	var mu sync.Mutex // never contended: events come one at a time
	begun, done, baseline := map[string]int{}, map[string]check.Verdict{}, map[string]bool{}
	emit := func(e Event) {
		if !mu.TryLock() {
			t.Error("two events at a time")
			return
		}
		defer mu.Unlock()
		switch {
		case e.Baseline && e.Done:
			baseline[e.Gate] = true
		case e.Baseline:
		case e.Done:
			done[e.Gate] = e.Verdict
			if begun[e.Gate] == 0 {
				t.Errorf("%s ended before it began", e.Gate)
			}
		default:
			begun[e.Gate]++
		}
	}
	r, err := s.verifier.Verify(t.Context(), s.request(verifytest.Change(t, s.base, map[string]string{"till.py": "print(nothing)\n"})), emit)
	if err != nil {
		t.Fatal(err)
	}
	for _, g := range r.Gates {
		if done[g.Name] != g.Verdict {
			t.Errorf("%s: the event says %q, the report %q", g.Name, done[g.Name], g.Verdict)
		}
	}
	for _, name := range []string{check.GateLint, check.GateTypes, check.GateSmoke, check.GateTests} {
		if !baseline[name] {
			t.Errorf("no event for the baseline of %s", name)
		}
	}
}

func TestVerifierServesSeveralCandidatesAtOnce(t *testing.T) {
	t.Parallel()
	s := newSite(t, map[string]string{"lib.py": "def f(n: int) -> int:\n    return n\n"})
	texts := map[string]check.Verdict{
		"def f(n: int) -> int:\n    return n + 1\n":   check.Pass,
		"def f(n: int) -> int:\n    return missing\n": check.Fail,
	}
	var wg sync.WaitGroup
	for text, want := range texts {
		req := s.request(verifytest.Change(t, s.base, map[string]string{"lib.py": text}))
		wg.Go(func() {
			r, err := s.verifier.Verify(t.Context(), req, nil)
			if err != nil || r.Verdict != want {
				t.Errorf("%q: %s, %v", text, r.Verdict, err)
			}
		})
	}
	wg.Wait()
}

func TestDefinitionsNameWhatShapesAResult(t *testing.T) {
	t.Parallel()
	seen := map[string]string{}
	for name, cfg := range map[string]Config{
		"default": {},
		"command": {Smoke: check.Smoke{Command: []string{"x"}}},
		"env":     {Smoke: check.Smoke{Env: map[string]string{"A": "1"}}},
		"seconds": {Smoke: check.Smoke{Seconds: 3}},
		"limits":  {Limits: sandbox.Limits{Memory: 1 << 28}},
		"timeout": {Timeout: time.Second},
		"egress":  {Egress: egress.List{{Host: "a.example", Port: 443}}},
		"port":    {Egress: egress.List{{Host: "a.example", Port: 80}}},
	} {
		d := definitionDigest(check.Toolchain, cfg)
		if other, ok := seen[d]; ok {
			t.Errorf("%s and %s share the key %s", name, other, d)
		}
		seen[d] = name
	}
	other := check.Toolchain
	other.Ruff = "/opt/ruff"
	if definitionDigest(other, Config{}) == definitionDigest(check.Toolchain, Config{}) {
		t.Error("another tool gives the same key")
	}
}

func TestGateNamesItsTool(t *testing.T) {
	t.Parallel()
	versions := map[string]string{"ruff": "0.16.1", "mypy": "mypy 1.15.0", "node": "20.19.2", "python3": "3.13.5"}
	for name, want := range map[string]string{
		python.RuffName: "ruff 0.16.1", format.Name: "ruff 0.16.1", python.MypyName: "mypy 1.15.0", shell.Name: "",
		syntax.Name: "python3 3.13.5, node 20.19.2", python.PytestName: "", smoke.ProgramName: "",
	} {
		if got := toolVersion(name, versions); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}
