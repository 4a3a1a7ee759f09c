package verify

import (
	"context"
	"strings"
	"testing"
	"time"

	"agent/sandbox/workspace"
	"agent/verify/check"
	"agent/verify/checktest"
	"agent/verify/verifytest"
)

// What is found out about the base for a look is what Verify compares with
// later, under the same configuration only; and the other way round.
func TestFindingsOfTheBaseAreThoseOfTheBaseline(t *testing.T) {
	t.Parallel()
	base := verifytest.Scan(t, map[string]string{"a.py": "x = 1\n"})
	cache := verifytest.NewMemory()
	s, started := offline(base, cache, workspace.Changeset{})
	req := s.req
	cache.Rows[s.store.baselineKey(base.Digest(), check.GroupStatic)] = []byte(`{"ruff": {"findings": [{"file": "a.py", "line": 1, "rule": "E1", "message": "m"}]}, "mypy": {}}`)
	v := &Verifier{Boxes: closedEngine{started}, Cache: cache}
	gates, err := v.Findings(t.Context(), req, nil)
	if err != nil || len(gates) != 2 || gates[0].Name != check.GateLint || len(gates[0].Findings) != 1 || gates[1].Findings == nil || len(*started) != 0 {
		t.Errorf("%+v, %v, boxes %q", gates, err, *started)
	}
	// What they say is masked where a model is shown it, as behind a change.
	v.Hide = func(text string) string { return strings.ReplaceAll(text, "m", "[key]") }
	if gates, err := v.Findings(t.Context(), req, nil); err != nil || gates[0].Findings[0].Message != "[key]" {
		t.Errorf("%+v, %v", gates, err)
	}
	v.Hide = nil
	req.Config.Timeout = time.Minute
	gates, err = v.Findings(t.Context(), req, nil)
	if err != nil || len(*started) != 1 || gates[0].Verdict != check.Infra || len(gates[0].Findings) != 0 {
		t.Errorf("another configuration: %+v, %v, boxes %q", gates, err, *started)
	}
}

// Who has no boxes is told what is known, which may be nothing.
func TestFindingsWithoutBoxesComeFromTheCache(t *testing.T) {
	t.Parallel()
	for name, cache := range map[string]Cache{"empty": verifytest.NewMemory(), "broken": brokenCache{}, "none": nil} {
		v := &Verifier{Cache: cache}
		gates, err := v.Findings(t.Context(), Request{Base: verifytest.Scan(t, map[string]string{"a.py": "x = 1\n"})}, nil)
		if err != nil || len(gates) != 0 {
			t.Errorf("%s: %+v, %v", name, gates, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := (&Verifier{Cache: verifytest.NewMemory()}).Findings(ctx, Request{Base: verifytest.Scan(t, nil)}, nil); err == nil {
		t.Error("a look that was cancelled ended well")
	}
}

// On the real engine the faults of the files are told, and what was found out
// serves the judgement of a patch: no baseline of these gates is made again.
func TestFindingsOfARealWorkspaceServeTheRunToo(t *testing.T) {
	t.Parallel()
	s := newSite(t, map[string]string{"a.py": "print(y)\n", "b.py": "x: int = \"a\"\n"})
	gates, err := s.verifier.Findings(t.Context(), s.request(workspace.Changeset{}), nil)
	if err != nil || len(gates) != 2 {
		t.Fatalf("%+v, %v", gates, err)
	}
	checktest.Single(t, gates[0], "F821", "a.py", 1)
	if len(gates[1].Findings) != 2 || gates[1].Tool == "" {
		t.Errorf("types: %+v", gates[1])
	}
	var again []string
	_, err = s.verifier.Verify(t.Context(), s.request(verifytest.Change(t, s.base, map[string]string{"a.py": "print(1)\n"})), func(e Event) {
		if e.Baseline && !e.Done && (e.Gate == check.GateLint || e.Gate == check.GateTypes) {
			again = append(again, e.Gate)
		}
	})
	if err != nil || len(again) > 0 {
		t.Errorf("%v; judged again: %q", err, again)
	}
}
