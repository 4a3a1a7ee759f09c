package verify

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	"agent/images"
	"agent/sandbox/workspace"
	"agent/verify/check"
	"agent/verify/verifytest"
)

// A site is one workspace with its snapshot.
type site struct {
	lab      *verifytest.Lab
	dir      string
	base     *workspace.Manifest
	snapshot images.Image
	verifier *Verifier
	config   Config
}

// newSite makes a workspace of files and snapshots it.
func newSite(t *testing.T, files map[string]string) *site {
	t.Helper()
	return newSiteOn(t, verifytest.Open(t).Toolchain, files)
}

// newSiteOn is like newSite, on an image with dependencies.
func newSiteOn(t *testing.T, image images.Image, files map[string]string) *site {
	t.Helper()
	l := verifytest.Open(t)
	base := verifytest.Scan(t, files)
	return &site{
		lab: l, dir: base.Root, base: base, snapshot: l.Snapshot(t, image, base),
		verifier: &Verifier{Boxes: l.Engine, Cache: l.Cache},
	}
}

// request returns the request to judge one changeset on the site.
func (s *site) request(cs workspace.Changeset) Request {
	return Request{
		Run: "verify-test", Lease: time.Now().Add(10 * time.Minute), Snapshot: s.snapshot.ID, Installed: s.snapshot.Installed, Toolchain: s.lab.Toolchain.ID,
		Versions: s.lab.Toolchain.Versions, Base: s.base, Changeset: cs, Config: s.config,
	}
}

// verify judges the patch that sets the files to these texts.
func (s *site) verify(t *testing.T, files map[string]string) Report {
	t.Helper()
	return s.judge(t, verifytest.Change(t, s.base, files))
}

// judge judges a changeset, and keeps the result that the next verdict is compared with.
func (s *site) judge(t *testing.T, cs workspace.Changeset) Report {
	t.Helper()
	report, err := s.verifier.Verify(t.Context(), s.request(cs), nil)
	if err != nil {
		t.Fatal(err)
	}
	if report.Baseline != nil {
		if err := report.Baseline.Keep(t.Context()); err != nil {
			t.Logf("costs time later: %v", err)
		}
	}
	return report
}

// only returns the same site with only these gates, format and syntax.
func (s *site) only(gates ...string) *site {
	some, verifier := *s, *s.verifier
	verifier.gates = gates
	some.verifier = &verifier
	return &some
}

// find returns the gate of that name.
func find(t *testing.T, r Report, name string) check.Gate {
	t.Helper()
	for _, g := range r.Gates {
		if g.Name == name {
			return g
		}
	}
	t.Fatalf("no gate %s in %+v, skipped %+v", name, r.Gates, r.Skipped)
	return check.Gate{}
}

// expect checks the overall verdict, and that exactly the named gates have it.
func expect(t *testing.T, r Report, want check.Verdict, gates ...string) {
	t.Helper()
	if r.Verdict != want {
		t.Errorf("verdict %s, want %s", r.Verdict, want)
	}
	for _, g := range r.Gates {
		if bad := g.Verdict != check.Pass; bad != slices.Contains(gates, g.Name) {
			t.Errorf("gate %s: %s: %s %+v\n%s", g.Name, g.Verdict, g.Detail, g.Findings, g.Output)
		}
	}
	if t.Failed() {
		t.Logf("skipped: %+v", r.Skipped)
	}
}

// withTimeout returns cfg as a session sees it.
func withTimeout(cfg Config) Config {
	cfg.Timeout = defaultTimeout
	return cfg
}

// proofKey returns the key of the proof of this lab's image.
func proofKey(l *verifytest.Lab) string {
	return newStore(nil, l.Toolchain.ID, check.Toolchain, Config{}).ProofKey()
}

// allProved returns a cache row in which every check has proved itself.
func allProved() []byte {
	var names []string
	for _, c := range allChecks() {
		names = append(names, c.Name)
	}
	row, err := json.Marshal(names)
	if err != nil {
		panic(err)
	}
	return row
}
