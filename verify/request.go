package verify

import (
	"context"
	"time"

	"agent/sandbox"
	"agent/sandbox/egress"
	"agent/sandbox/turns"
	"agent/sandbox/workspace"
	"agent/verify/check"
	"agent/verify/kept"
	"agent/verify/keylock"
)

// A Layer is what the boxes of one side of a comparison stand on.
type Layer struct {
	// Image ID with the base at /snapshot, and below it what the workspace depends on.
	Snapshot string
	// What makes the base of that, where it holds an earlier state; nil for nothing.
	Delta *workspace.Changeset
	// Names what is installed there, "" for nothing: outcomes are kept by it.
	Installed string
}

// layer is that of the base.
func (r Request) layer() Layer { return Layer{r.Snapshot, r.Delta, r.Installed} }

// patched is the layer of the candidate: that of the base, unless the patch
// changes what is installed and was allowed to.
func (r Request) patched() Layer {
	if r.Patched.Snapshot != "" {
		return r.Patched
	}
	return r.layer()
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

// A Cache keeps results that stay true.
type Cache = kept.Cache

// A Verifier judges candidates. It is safe for concurrent use.
type Verifier struct {
	Boxes Launcher
	Cache Cache
	// Making has one at a time make a row of the cache, where several judge at the same time; nil for who judges alone.
	Making *keylock.Locks
	// Turns bounds the boxes of all verifiers on the machine; nil bounds only those of each candidate.
	Turns *turns.Turns
	// Hide takes the configured secrets out of a text. All that leaves a Verifier has gone
	// through it; the verdict does not depend on it. Nil hides nothing.
	Hide func(text string) string

	// Other places of the tools, for tests of what a missing one means.
	tools *check.Tools
	// The gates that are asked beside format and syntax, for tests of what one of them says; nil for all.
	gates []string
	// The least time for mutants, 0 for leastWeigh: a busy machine would measure less in a test.
	weighFor time.Duration
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
	// Tells what a test file that the changeset rewrites held before the last promotions, nil where that is not known; now is what
	// the base has. A test that is weakened step by step is measured by that as well. Nil is nobody who knows.
	Earlier func(ctx context.Context, path string, now []byte) ([]byte, error)
	// The kinds of policy.Hold that were approved in advance.
	Allow []string
	// A model wrote the changeset and nobody has seen it: that a test went with its subject is
	// that model's word alone.
	Model bool
	// Among the requests of one Verifier the boxes of the lowest rank have their
	// turns first.
	Rank int
	// Called once with the bytes that are judged, when no gate changes them any
	// more; nil is no one to tell.
	Settled func(workspace.Changeset)
}
