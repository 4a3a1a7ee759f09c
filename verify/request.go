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

// A Layer is what the boxes of one side of a comparison start from.
type Layer struct {
	// Snapshot is the image ID with the base at /snapshot, and below it the workspace's dependencies.
	Snapshot string
	// Delta turns the state in Snapshot into the base, if Snapshot holds an earlier one; nil otherwise.
	Delta *workspace.Changeset
	// Installed names what is installed there, "" for nothing: it is part of the keys of outcomes.
	Installed string
}

// layer returns the layer of the base.
func (r Request) layer() Layer { return Layer{r.Snapshot, r.Delta, r.Installed} }

// patched returns the layer of the candidate: that of the base, unless the patch changes what is installed and this was
// allowed.
func (r Request) patched() Layer {
	if r.Patched.Snapshot != "" {
		return r.Patched
	}
	return r.layer()
}

// Config has the settings of a workspace, from the base revision of its agent.toml.
type Config struct {
	Smoke check.Smoke
	// Limits may only lower the defaults.
	Limits sandbox.Limits
	// Runtime is the engine's runtime for the boxes, such as "runsc"; "" for its default.
	Runtime string
	// Timeout applies to each gate except smoke; 0 means 5 minutes.
	Timeout time.Duration
	// Gates are the workspace's own, which come after the built-in ones; see CheckGates.
	Gates []CustomGate
	// Egress lists what the smoke test, the tests and the workspace's own gates may reach; empty means nothing. Static
	// gates and proofs never reach anything.
	Egress egress.List
	// AffectedTests leaves out the tests of packages that the patch cannot affect: their results from before the patch
	// stand. Otherwise these tests only come last.
	AffectedTests bool
}

// A Launcher starts boxes. *sandbox.Engine is one.
type Launcher interface {
	Start(ctx context.Context, spec sandbox.Spec) (*sandbox.Box, error)
}

// A Cache stores results that stay true.
type Cache = kept.Cache

// A Verifier judges candidates. It is safe for concurrent use.
type Verifier struct {
	Boxes Launcher
	Cache Cache
	// Making lets only one verifier at a time make a row of the cache, if several judge concurrently; nil for a single one.
	Making *keylock.Locks
	// Turns bounds the boxes of all verifiers on the machine; if it is nil, only those of each candidate are bounded.
	Turns *turns.Turns
	// Hide removes the configured secrets from a text. Everything that leaves a Verifier has gone through it; the
	// verdict does not depend on it. Nil hides nothing.
	Hide func(text string) string

	// tools replaces the locations of the tools, for tests of the effects of a missing one.
	tools *check.Tools
	// gates are the gates to run besides format and syntax, for tests of one of them; nil for all.
	gates []string
	// weighFor is the least time for mutants, 0 for leastWeigh: in a test, a busy machine would measure less.
	weighFor time.Duration
}

// A Request is one candidate to judge.
type Request struct {
	// Run is the label of the boxes, by which a later process finds boxes that were left over.
	Run string
	// Lease is when the boxes are no longer wanted; then anyone may remove them.
	Lease time.Time
	// Snapshot is the image ID with the base at /snapshot, or with an earlier state of it.
	Snapshot string
	// Delta turns an earlier state into the base, in every box; nil if there is none.
	Delta *workspace.Changeset
	// Installed names the dependencies that are installed below Snapshot, "" for none.
	Installed string
	// Patched is what the candidate's boxes start from if the patch changes the dependencies and may; the zero value
	// means Snapshot.
	Patched Layer
	// Toolchain is the image ID that Snapshot is based on, without dependencies; proofs run in it and have it in their
	// keys.
	Toolchain string
	// Versions has the tool versions of Toolchain.
	Versions map[string]string
	// Base is the content of Snapshot, with Delta.
	Base *workspace.Manifest
	// Changeset has been checked: Verify checks neither whether its paths may be written nor whether it fits the base.
	Changeset workspace.Changeset
	Config    Config
	// Earlier returns what a test file that the changeset rewrites held before the last promotions, nil if that is unknown; now
	// is its content in the base. A test that is weakened step by step is also measured by that. Earlier may be nil.
	Earlier func(ctx context.Context, path string, now []byte) ([]byte, error)
	// Allow has the kinds of policy.Hold that were approved in advance.
	Allow []string
	// Model says that a model wrote the changeset and no person has seen it: only that model then claims that a test
	// went with its subject.
	Model bool
	// Rank orders the requests of one Verifier: boxes of the lowest rank have their turns first.
	Rank int
	// Settled is called once with the bytes that are judged, when no gate changes them any more; it may be nil.
	Settled func(workspace.Changeset)
}
