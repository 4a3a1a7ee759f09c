// Package gate takes a response to its verdict: it freezes a workspace, makes the changeset that the response asks for, and has that
// judged. It needs no record and leaves none, so that a run, a replay and an edit without a run all work the same way.
//
// It owns the [Stage], on which candidates are judged, and the [Candidate], with everything that follows from its changeset. It does
// not match edits (package edit), run gates (package verify) or build images (package images). It neither writes to a workspace nor
// approves anything: its caller asks about the holds of a candidate and promotes it.
//
// A changeset that could not be written is not judged: one that no approval allows is rejected before any box is started.
package gate

import (
	"context"
	"time"

	"agent/images"
	"agent/images/dependencies"
	"agent/sandbox/workspace"
	"agent/verify"
	"agent/verify/policy"
)

const (
	// LeaseFor bounds the life of a box whatever happens to its owner. It is
	// longer than all the time limits of one candidate together.
	LeaseFor = 30 * time.Minute
	// keepFor bounds how long it may take to keep the baseline for the next run.
	keepFor = 5 * time.Second
)

// A Snapshotter makes images. *images.Builder implements it.
type Snapshotter interface {
	Ensure(ctx context.Context, name string) (images.Image, error)
	Install(ctx context.Context, toolchain images.Image, d dependencies.Set) (images.Image, error)
	// Has reports whether Install would find its result already made.
	Has(ctx context.Context, toolchain images.Image, d dependencies.Set) (bool, error)
	Near(ctx context.Context, toolchain images.Image, tree images.Tree, workspace string, earlier func() images.Tree) (images.Image, images.Delta, error)
	Snapshot(ctx context.Context, toolchain images.Image, tree images.Tree, workspace string) (images.Image, error)
}

// A Verifier judges a candidate. *verify.Verifier implements it.
type Verifier interface {
	Verify(ctx context.Context, req verify.Request, emit func(verify.Event)) (verify.Report, error)
}

// A Repairer has linters repair a candidate that only they object to. *repair.Repairer implements it.
type Repairer interface {
	Repair(ctx context.Context, req verify.Request, gates []verify.Gate) (cs workspace.Changeset, what string, err error)
}

// A Background does work that its caller does not wait for. Its owner does, before it gives back what the work needs. *sync.WaitGroup
// implements it.
type Background interface{ Go(work func()) }

// Rules are the parts of a request that decide how a workspace is frozen and a candidate judged.
type Rules struct {
	// Protect names the paths that need an approval of their own, as configured before; nil for none.
	Protect *policy.Protection
	// Allow are the kinds of Hold that were approved in advance.
	Allow []string
	// NoInstall leaves out the workspace's dependencies. InstallScripts lets them run code of their own while they are installed.
	// InstallAll judges nothing if a part of them cannot be installed.
	NoInstall, InstallScripts, InstallAll bool
	// Packages are the Debian packages that the boxes have besides the tools.
	Packages []string
	// Model says that a model wrote the candidate and nobody has seen it. What a rewritten test expects is then only that model's word,
	// and blocks even if it pins down the change.
	Model  bool
	Config verify.Config
}

// A Gate freezes workspaces and judges candidates. It is safe for concurrent use if its fields are.
type Gate struct {
	Images   Snapshotter
	Verifier Verifier
	// Repairer repairs candidates before a model is asked to; nil repairs nothing.
	Repairer Repairer
	Rules    Rules
	// Run is the label of the boxes.
	Run string
	// Earlier returns what a test file held before the last promotions; see verify.Request. It is nil if that is unknown.
	Earlier func(ctx context.Context, path string, now []byte) ([]byte, error)
	// Alongside does work that only the next run profits from; if nil, that work is left undone.
	Alongside Background
	// Note receives what people should know, such as an installation that takes minutes; nil if nobody listens.
	Note func(text string)
}

// note passes text to Note.
func (g *Gate) note(text string) {
	if g.Note != nil {
		g.Note(text)
	}
}
