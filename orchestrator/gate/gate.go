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
	"cmp"
	"context"
	"time"

	"agent/images"
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
	Install(ctx context.Context, toolchain images.Image, d images.Dependencies) (images.Image, error)
	Near(ctx context.Context, toolchain images.Image, tree images.Tree, workspace string, earlier func() images.Tree) (images.Image, images.Delta, error)
	Snapshot(ctx context.Context, toolchain images.Image, tree images.Tree, workspace string) (images.Image, error)
}

// A Verifier judges a candidate. *verify.Verifier is one.
type Verifier interface {
	Verify(ctx context.Context, req verify.Request, emit func(verify.Event)) (verify.Report, error)
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
	// it run code of its own while it is installed.
	NoInstall, InstallScripts bool
	Config                    verify.Config
}

// A Gate freezes workspaces and judges candidates. It is safe for concurrent use
// where what it is given is.
type Gate struct {
	Images   Snapshotter
	Verifier Verifier
	Rules    Rules
	// Run is the label of the boxes.
	Run string
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

// A Watch says how a candidate is judged among others, and who watches. The zero
// value is for one alone that nobody watches.
type Watch struct {
	// Rank is its place among those that want boxes at the same time.
	Rank int
	// Settled, when not nil, is called once the bytes of the candidate are final.
	Settled func(workspace.Changeset)
	// Event, when not nil, takes what the gates do, one event at a time. An error
	// is that of the judgement, which goes on.
	Event func(verify.Event) error
}

// Judge has the gates judge a candidate on a stage, and fills the judgement in.
// The changeset of the candidate is then the one that the gates left, since the
// format gate may change it. The error is trouble of the machine, of ctx or of
// w.Event, and then the candidate is not judged.
func (g *Gate) Judge(ctx context.Context, st Stage, cand *Candidate, w Watch) error {
	// A patch that changes what is to be installed is judged with that installed.
	// Where this did not succeed the candidate has its verdict already.
	patched, ok, err := g.reinstall(ctx, st, cand)
	if err != nil || !ok {
		return err
	}
	var lost error // of what has to be recorded before anything is judged
	report, err := g.Verifier.Verify(ctx, verify.Request{
		Run: g.Run, Lease: time.Now().Add(LeaseFor), Snapshot: st.Image.ID, Delta: st.Delta, Installed: st.Image.Installed, Patched: patched,
		Toolchain: st.Tools.ID, Versions: st.Tools.Versions, Base: st.Base, Changeset: cand.Changeset, Config: g.Rules.Config,
		Rank: w.Rank, Settled: w.Settled,
	}, func(e verify.Event) {
		if w.Event != nil {
			lost = cmp.Or(lost, w.Event(e))
		}
	})
	if err = cmp.Or(err, lost); err != nil {
		return err
	}
	if report.Baseline != nil && g.Alongside != nil {
		g.Alongside.Go(func() { g.keepBaseline(ctx, report) })
	}
	cand.Verdict, cand.Gates, cand.Skipped, cand.Unproven = report.Verdict, report.Gates, report.Skipped, report.Unproven
	g.Seal(cand, report.Changeset)
	// What only the whole workspace tells is asked of what may be promoted.
	cand.Holds = append(cand.Holds, report.Holds...)
	cand.Holds = append(cand.Holds, verify.Holds(st.Base, report.Changeset)...)
	cand.Holds = append(cand.Holds, policy.Hidden(ctx, st.Base, report.Changeset)...)
	return ctx.Err()
}

// keepBaseline keeps what only the next run will ask for, also when the run that
// found it has ended.
func (g *Gate) keepBaseline(ctx context.Context, report verify.Report) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), keepFor)
	defer cancel()
	if err := report.Baseline.Keep(ctx); err != nil {
		g.note(err.Error())
	}
}
