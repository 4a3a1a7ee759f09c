package wire

import (
	"context"
	"errors"
	"fmt"

	"agent/images"
	"agent/images/dependencies"
	"agent/orchestrator/export"
	"agent/orchestrator/ledger"
	"agent/orchestrator/loop"
	"agent/orchestrator/report/gather"
	"agent/orchestrator/run"
	"agent/orchestrator/survey"
	"agent/sandbox/turns"
	"agent/sandbox/workspace"
	"agent/verify"
)

// Analyst returns the analyst of this process: one for all runs, so that the ledger is read from the record only once.
func (s *Session) Analyst() *survey.Analyst {
	if s.analyst == nil {
		s.analyst = &survey.Analyst{Symbols: s.DB, Images: s.Builder, Boxes: s.Engine, Note: func(text string) {
			if s.Notify != nil {
				s.Notify(run.Event{Note: text})
			}
		}}
	}
	return s.analyst
}

// Survey brings the ledger of a workspace up to date. It queues what the user's own edits since the last survey
// concern, as for the changes of a run.
func (s *Session) Survey(ctx context.Context, base *workspace.Manifest) (survey.Survey, error) {
	book, err := s.Analyst().Study(ctx, base, func(found []ledger.Ripple) error {
		// Tell the user before queueing: an unreachable queue is a separate error.
		if s.Notify != nil {
			s.Notify(run.Event{Note: "queued " + run.Count(len(found), "file") + " with uses of what changed"})
		}
		return loop.Cascade(ctx, s.DB, base.Root, loop.Label("edit"), nil)(found)
	})
	if err != nil {
		return survey.Survey{}, err
	}
	said, err := survey.Described(ctx, s.DB, base.Root, book)
	return survey.Survey{Ledger: book, Summaries: said}, err
}

// Recorded is Survey without looking at the files and without an engine: it returns what was known the last time.
func (s *Session) Recorded(ctx context.Context, base *workspace.Manifest) (survey.Survey, error) {
	book, err := s.Analyst().Recall(ctx, base.Root)
	if err != nil {
		return survey.Survey{}, err
	}
	said, err := survey.Described(ctx, s.DB, base.Root, book)
	return survey.Survey{Ledger: book, Summaries: said}, err
}

// examiner returns the examiner that looks at the target of a run before any change.
func (s *Session) examiner() *survey.Examiner {
	// The cache is the one that the run's own verifier uses: what is found out here need not be found out again.
	return &survey.Examiner{
		Images: s.Builder, Inspector: &verify.Verifier{Boxes: s.Engine, Cache: s.DB, Making: &s.making, Hide: s.Hide}, Run: "analyze",
		Gate: func(e verify.Event) {
			if s.Notify != nil {
				s.Notify(run.Event{Gate: &e})
			}
		},
	}
}

// Gatherer returns a gatherer of what a report on a workspace is made of. Without boxes it runs nothing, and knows of files what was
// recorded.
func (s *Session) Gatherer(boxes bool, why string) *gather.Gatherer {
	g := &gather.Gatherer{
		NoBoxes: why, Run: "report", Note: func(text string) {
			if s.Notify != nil {
				s.Notify(run.Event{Note: text})
			}
		},
		Ledger: func(ctx context.Context, base *workspace.Manifest) (*ledger.Ledger, error) {
			if !boxes {
				return s.Analyst().Recall(ctx, base.Root)
			}
			found, err := s.Survey(ctx, base)
			return found.Ledger, err
		},
		Gate: s.examiner().Gate,
	}
	if boxes {
		g.Images, g.Inspector = s.Builder, &verify.Verifier{Boxes: s.Engine, Cache: s.DB, Making: &s.making, Turns: turns.New(), Hide: s.Hide}
	}
	return g
}

// Glance returns the examiner of `agent context`: it knows what was found out before, and starts nothing to find out
// more.
func (s *Session) Glance() *survey.Examiner {
	return &survey.Examiner{Images: finder{s.Builder}, Inspector: &verify.Verifier{Cache: s.DB, Hide: s.Hide}}
}

// A finder finds images and builds none.
type finder struct{ builder *images.Builder }

// Ensure implements gate.Snapshotter; without an engine there is no image.
func (l finder) Ensure(ctx context.Context, name string) (images.Image, error) {
	if l.builder == nil {
		return images.Image{}, images.ErrAbsent
	}
	return l.builder.Find(ctx, name)
}

// Install implements gate.Snapshotter. What would be installed is enough to look up the cache, so it installs nothing.
func (l finder) Install(_ context.Context, toolchain images.Image, d dependencies.Set) (images.Image, error) {
	if l.builder == nil {
		return toolchain, nil
	}
	return l.builder.Planned(toolchain, d)
}

// Has implements gate.Snapshotter. Nothing is installed, so nothing needs announcing.
func (finder) Has(context.Context, images.Image, dependencies.Set) (bool, error) { return true, nil }

// Near implements gate.Snapshotter.
func (l finder) Near(_ context.Context, installed images.Image, _ images.Tree, _ string, _ func() images.Tree) (images.Image, images.Delta, error) {
	return images.Image{Installed: installed.Installed}, images.Delta{}, nil
}

// Snapshot implements gate.Snapshotter. The digest of the workspace is enough to look up the cache, so no snapshot is
// needed.
func (l finder) Snapshot(_ context.Context, installed images.Image, _ images.Tree, _ string) (images.Image, error) {
	return images.Image{Installed: installed.Installed}, nil
}

// Follow brings the ledger up to date with the current content of a workspace.
//
// found receives the files that use what has changed. It is called before the new state counts, so what it records is
// not lost if it fails.
func (s *Session) Follow(ctx context.Context, dir string, exclude []string, found func([]ledger.Ripple) error) error {
	base, err := workspace.Rescan(ctx, dir, exclude, workspace.Limits{})
	if err != nil {
		return fmt.Errorf("scan the workspace: %w", err)
	}
	_, err = s.Analyst().Study(ctx, base, found)
	return err
}

// Ripple queues the files that use what a run changed. A workspace that was never analyzed has no ledger to compare
// with and is left alone: a patch should not wait for a first reading of everything.
func (s *Session) Ripple(ctx context.Context, doc run.Document, exclude []string) error {
	book, err := s.Analyst().Recall(ctx, doc.Workspace)
	if err != nil || len(book.Paths()) == 0 {
		return err
	}
	return s.Follow(ctx, doc.Workspace, exclude, func(found []ledger.Ripple) error {
		p, err := s.DB.PromotionOf(ctx, doc.Run)
		if err != nil {
			return err
		}
		return loop.Cascade(ctx, s.DB, doc.Workspace, doc.Run, loop.Diffs(p.Changeset))(found)
	})
}

// Export writes the part of the record that people read into the workspace, if the user wants it there.
//
// It writes both parts even if one of them fails: they are copies for people, and the record is what counts.
func (s *Session) Export(ctx context.Context, dir string) error {
	if !s.exports {
		return nil
	}
	return errors.Join(export.Memory(ctx, s.DB, dir), export.History(ctx, s.DB, dir))
}
