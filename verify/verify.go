package verify

import (
	"context"
	"time"

	"agent/sandbox"
	"agent/sandbox/egress"
	"agent/sandbox/workspace"
	"agent/verify/check"
	"agent/verify/policy"
)

// A Skip is a gate that does not apply, with the reason.
type Skip struct {
	Name   string `json:"name"`
	Reason string `json:"reason"`
}

// A Report is the judgement of one candidate.
type Report struct {
	Verdict check.Verdict
	Gates   []check.Gate
	Skipped []Skip
	// With the format gate's output: these bytes were judged, so only these
	// may be promoted.
	Changeset workspace.Changeset
	// What a person should see although every gate passed: tests that the patch
	// rewrote, and that fail on it as they were.
	Holds []policy.Hold
	// What no gate judged; empty, not nil, when all was.
	Unproven []Unproven

	// Stores what the gates found in a candidate that passed as the baseline of the
	// workspace that it becomes, so that the run after its promotion starts warm; nil
	// when nothing is worth it. The verdict does not wait for it, and an error costs
	// time later and nothing else.
	Keep func(ctx context.Context) error `json:"-"`
}

// Config is what a workspace may set, from the base revision of its agent.toml.
type Config struct {
	Smoke check.Smoke
	// May only lower the defaults.
	Limits sandbox.Limits
	// The engine's runtime for the boxes, as "runsc"; "" for its default.
	Runtime string
	// For each gate but smoke; 0 means 5 minutes.
	Timeout time.Duration
	// The workspace's own, after the built-in ones; see CheckGates.
	Gates []CustomGate
	// What the smoke test, the tests and the workspace's own gates may reach; none is
	// nothing. Static gates and proofs never reach anything.
	Egress egress.List
	// Tests of packages that the patch cannot affect are not run: what they said
	// before the patch stands. Otherwise they only come last.
	AffectedTests bool
}

// A Launcher starts boxes. *sandbox.Engine is one.
type Launcher interface {
	Start(ctx context.Context, spec sandbox.Spec) (*sandbox.Box, error)
}

// A Cache keeps results that stay true: baselines by snapshot, image and gate, and the proof of each gate by image and
// gate. Load answers ok false for an unknown key.
type Cache interface {
	Load(ctx context.Context, key string) (data []byte, ok bool, err error)
	Save(ctx context.Context, key string, data []byte) error
}

// A Verifier judges candidates. It is safe for concurrent use.
type Verifier struct {
	Boxes Launcher
	Cache Cache
	// Turns bounds the boxes of all verifiers on the machine; nil bounds only those
	// of each candidate.
	Turns *sandbox.Turns
	// Hide takes the configured secrets out of a text. All that leaves a Verifier has gone
	// through it; the verdict does not depend on it. Nil hides nothing.
	Hide func(text string) string

	// Other places of the tools, for tests of what a missing one means.
	tools *check.Tools
}

// A Request is one candidate to judge.
type Request struct {
	// Label of the boxes, by which a later process finds those that were left.
	Run string
	// Until when the boxes are wanted; anyone may remove them afterwards.
	Lease time.Time
	// Image ID with the base at /snapshot, or with an earlier state of it.
	Snapshot string
	// What makes the base of an earlier state, in every box; nil for nothing.
	Delta *workspace.Changeset
	// Names the dependencies that are installed below Snapshot, "" for none.
	Installed string
	// What the candidate's boxes stand on when the patch changes the
	// dependencies and may; the zero value for Snapshot.
	Patched Layer
	// Image ID that Snapshot stands on, without dependencies; proofs run in it
	// and are cached by it.
	Toolchain string
	// Tool versions of Toolchain.
	Versions map[string]string
	// What Snapshot holds, with Delta.
	Base *workspace.Manifest
	// Checked already: Verify asks neither whether its paths may be written nor
	// whether it fits the base.
	Changeset workspace.Changeset
	Config    Config
	// Among the requests of one Verifier the boxes of the lowest rank have their
	// turns first.
	Rank int
	// Called once with the bytes that are judged, when no gate changes them any
	// more; nil is no one to tell.
	Settled func(workspace.Changeset)
}

// An Event tells that a gate began or ended, for live progress, or what left a box.
type Event struct {
	Gate string
	// A request that has ended, for the record; nil for the other events. Gate is
	// then the purpose of its box, as "baseline-tests".
	Request *egress.Request
	// The gate runs on the unpatched snapshot; its Verdict is then no judgement
	// of the patch.
	Baseline bool
	Done     bool
	// Set when Done; "" when the gate was skipped in the end.
	Verdict check.Verdict
	// Set when Done.
	Seconds float64
	// As Gate.Detail, or what is going on.
	Detail string
	// Set when Done: the gate passes because nothing ran in it.
	Idle bool
}

// Verify judges one candidate. Trouble of the engine or of a tool makes the
// report's verdict Infra, if it is still there when the engine has come back and all
// was judged once more; the error is only that of a ctx that ended. emit may
// be called from several goroutines, one at a time; nil is no one to tell.
func (v *Verifier) Verify(ctx context.Context, req Request, emit func(Event)) (Report, error) {
	s := newSession(v, req, emit)
	s.run(ctx)
	// What an engine takes with it when it restarts says nothing about the patch.
	if s.lost.Load() && ctx.Err() == nil && v.awaitEngine(ctx, req) {
		s = newSession(v, req, emit)
		s.results.note("the engine lost a box: everything was judged once more")
		s.run(ctx)
	}
	// A report that was cut short would look like one with less to say.
	if err := ctx.Err(); err != nil {
		return Report{}, err
	}
	report := s.report().hidden(v.Hide)
	// Only a pass is worth a row: nothing else is promoted without a person, who
	// may change more before the next run.
	if report.Verdict == check.Pass {
		report.Keep = func(ctx context.Context) error { return s.keepAsBaseline(ctx, report.Changeset) }
	}
	return report, nil
}
