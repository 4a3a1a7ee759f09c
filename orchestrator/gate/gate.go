// Package gate takes a response to its verdict: it freezes a workspace, makes
// the changeset that the response asks for, and has that judged. It needs no
// record and leaves none, so that a run, a replay and an edit without a run all
// take the same way.
//
// It owns the [Stage], on which candidates are judged, and the [Candidate], with
// everything that follows from its changeset. It does not match edits (package
// edit), run gates (package verify) or build images (package images), and it
// neither writes to a workspace nor approves anything: its caller asks about the
// holds of a candidate and promotes it.
//
// Nothing is judged that could not be written: a changeset that no approval
// allows is rejected before any box is started.
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
	// keepFor bounds how long the baseline for the next run may take to be kept.
	keepFor = 5 * time.Second
)

// A Snapshotter makes images. *images.Builder is one.
type Snapshotter interface {
	Ensure(ctx context.Context, name string) (images.Image, error)
	Install(ctx context.Context, toolchain images.Image, d dependencies.Set) (images.Image, error)
	// Has reports whether Install would find what it is to install.
	Has(ctx context.Context, toolchain images.Image, d dependencies.Set) (bool, error)
	Near(ctx context.Context, toolchain images.Image, tree images.Tree, workspace string, earlier func() images.Tree) (images.Image, images.Delta, error)
	Snapshot(ctx context.Context, toolchain images.Image, tree images.Tree, workspace string) (images.Image, error)
}

// A Verifier judges a candidate. *verify.Verifier is one.
type Verifier interface {
	Verify(ctx context.Context, req verify.Request, emit func(verify.Event)) (verify.Report, error)
}

// A Repairer has linters repair what they alone have against a candidate. *repair.Repairer is one.
type Repairer interface {
	Repair(ctx context.Context, req verify.Request, gates []verify.Gate) (cs workspace.Changeset, what string, err error)
}

// A Background does work that its caller does not wait for. Its owner does,
// before it gives back what the work stands on. *sync.WaitGroup is one.
type Background interface{ Go(work func()) }

// Rules are what of a request decides how a workspace is frozen and a candidate
// judged.
type Rules struct {
	// Protect names the paths that need an approval of their own, as the
	// configuration said before; nil for none.
	Protect *policy.Protection
	// Allow are the kinds of Hold that were approved in advance.
	Allow []string
	// NoInstall leaves out what the workspace depends on; InstallScripts lets
	// it run code of its own while it is installed; InstallAll judges nothing
	// where a part of it cannot be.
	NoInstall, InstallScripts, InstallAll bool
	// Packages are those of Debian that the boxes have besides the tools.
	Packages []string
	// Model says that a model wrote the candidate and nobody has seen it: what a rewritten test
	// expects is then that model's word alone, and blocks even where it pins down the change.
	Model  bool
	Config verify.Config
}

// A Gate freezes workspaces and judges candidates. It is safe for concurrent use
// where what it is given is.
type Gate struct {
	Images   Snapshotter
	Verifier Verifier
	// Repairer repairs candidates before a model is asked to; nil for nobody.
	Repairer Repairer
	Rules    Rules
	// Run is the label of the boxes.
	Run string
	// Earlier tells what a test file held before the last promotions; see verify.Request. Nil for nobody who knows.
	Earlier func(ctx context.Context, path string, now []byte) ([]byte, error)
	// Alongside does what only the next run profits from; nil where it is left
	// undone.
	Alongside Background
	// Note takes what people should know of, as an installation that takes
	// minutes; nil for nobody.
	Note func(text string)
}

// note tells people something.
func (g *Gate) note(text string) {
	if g.Note != nil {
		g.Note(text)
	}
}
