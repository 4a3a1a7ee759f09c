package verify

import (
	"context"
	"time"

	"agent/sandbox"
	"agent/sandbox/egress"
	"agent/sandbox/workspace"
	"agent/verify/policy"
)

// A Verdict is how a gate, a candidate or a run was judged.
type Verdict string

// The verdicts. Infra is never charged to the patch.
const (
	Pass      Verdict = "pass"
	Fail      Verdict = "fail"
	Policy    Verdict = "policy"
	Timeout   Verdict = "timeout"
	OOM       Verdict = "oom"
	Infra     Verdict = "infra"
	Conflict  Verdict = "conflict"
	Cancelled Verdict = "cancelled"
	Budget    Verdict = "budget"
)

// A Finding is one thing that a gate has against a file.
type Finding struct {
	// Relative to the workspace; "" when it belongs to none.
	File string `json:"file,omitempty"`
	// From 1; 0 when it belongs to the file as a whole or to none.
	Line int `json:"line,omitempty"`
	// From 1; 0 when the tool names none.
	Column int `json:"column,omitempty"`
	// The check that found it, as "ruff"; a gate is made of several.
	Tool string `json:"tool,omitempty"`
	// The tool's code, as "F821" or "arg-type".
	Rule    string `json:"rule,omitempty"`
	Message string `json:"message"`
	// The line of the file, without its indentation. It is what recognises a
	// finding after an edit above it has moved it.
	Source string `json:"source,omitempty"`
	// The tool offers a repair that does not change what the program does.
	Fixable bool `json:"fixable,omitempty"`
	// An https address of what the tool's makers say of the rule; "" when none
	// is known for certain.
	Help string `json:"help,omitempty"`
	// It was there before the patch and is not held against it.
	Old bool `json:"old,omitempty"`
}

// A Gate is the result of one verification step on a candidate.
type Gate struct {
	// One of edit, format, syntax, lint, types, smoke, tests, the name of a gate
	// that the workspace defines, or contest of a candidate that could not win.
	Name    string  `json:"name"`
	Verdict Verdict `json:"verdict"`
	Seconds float64 `json:"seconds"`
	// New ones only: what the patch brought.
	Findings []Finding `json:"findings"`
	// Findings that were there before and are not held against the patch.
	Old int `json:"old"`
	// The first 100 of them, in the shape of the new ones. The smoke gate, which
	// judges a whole program, only counts.
	OldFindings []Finding `json:"old_findings"`
	// Findings of the baseline that are gone.
	Fixed int `json:"fixed"`
	// A sentence: what ran, or why it is infra and what to do about it.
	Detail string `json:"detail,omitempty"`
	// The end of what the tool or program wrote, escapes stripped, 4 KiB at most.
	Output string `json:"output,omitempty"`
	// Name and version, as "ruff 0.16.1"; "" when the image did not tell.
	Tool string `json:"tool,omitempty"`
	Peak int64  `json:"peak_bytes,omitempty"`
}

// A Skip is a gate that does not apply, with the reason.
type Skip struct {
	Name   string `json:"name"`
	Reason string `json:"reason"`
}

// A Report is the judgement of one candidate.
type Report struct {
	Verdict Verdict
	Gates   []Gate
	Skipped []Skip
	// With the format gate's output: these bytes were judged, so only these
	// may be promoted.
	Changeset workspace.Changeset
	// What a person should see although every gate passed: tests that the patch
	// rewrote, and that fail on it as they were.
	Holds []policy.Hold
	// What no gate judged; empty, not nil, when all was.
	Unproven []Unproven

	// Baseline is what the gates found in a candidate that passed, to be kept for the
	// run after its promotion; nil when nothing is worth it.
	Baseline Keeper `json:"-"`
}

// A Keeper has something that only a later run asks for. The verdict does not wait
// for it: the caller keeps it, in a goroutine of its own if it likes.
type Keeper interface {
	// Keep stores it. An error costs time later and nothing else.
	Keep(ctx context.Context) error
}

// Smoke says how the smoke test starts the program.
type Smoke struct {
	// Program and arguments, looked up in the box's PATH without a shell. When
	// empty the program is found by convention.
	Command []string `toml:"command"`
	// How long it is watched; 0 means 10, and more counts as 10.
	Seconds int               `toml:"seconds"`
	Env     map[string]string `toml:"env"`
	// What shows that the program is ready for its work: a path that it answers,
	// as "/health"; the same on one port, as "port:8080/health"; or a text that it
	// writes. When empty "/" on any port. Once ready it is not watched any longer.
	Ready string `toml:"ready"`
}

// Config is what a workspace may set, from the base revision of its agent.toml.
type Config struct {
	Smoke Smoke
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
	tools *toolPaths
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
	Verdict Verdict
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
	if report.Verdict == Pass {
		report.Baseline = candidateBaseline{s, report.Changeset}
	}
	return report, nil
}
