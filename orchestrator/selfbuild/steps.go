package selfbuild

import (
	"context"
	"errors"
	"fmt"
	"time"

	"agent/images"
)

// A Phase is a step of an attempt. The journal stores it: the texts must not change.
type Phase string

// The phases, in order.
const (
	Gate    Phase = "gate"
	Build   Phase = "build"
	Canary  Phase = "canary"
	Swap    Phase = "swap"
	Trial   Phase = "trial"
	Settled Phase = "settled"
)

// Work is what the steps do besides the journal and the tags. Its functions are called one after another, by the goroutine that called
// Prove or Take. An error from any of them ends the attempt.
type Work struct {
	// Build makes the image of a source and gives it the tag. Its result is trusted for the image's ID: nothing afterwards uses the
	// tag.
	Build func(ctx context.Context, ref string) (images.Build, error)
	// Source is what Build builds from.
	Source images.Tree
	// Canary has an image prove itself, and returns the verdicts of the battery.
	Canary func(ctx context.Context, image string) (map[string]string, error)
	// HandOver has the agent's containers continue on the current image. It is called when the tag has moved, in either direction; nil
	// if there are no containers.
	HandOver func(ctx context.Context) error
	// Healthy asks the current image for its health.
	Healthy func(ctx context.Context) error
	// Period is how long the image is on trial; Every is the pause between two checks.
	Period, Every time.Duration
	// Tell receives each phase as it begins; nil if nobody watches.
	Tell func(Phase)
}

// quitTime bounds the end of an attempt that made no image: a caller that cancels waits no longer than that.
const quitTime = 30 * time.Second

// backTime bounds the way back. A container that is handed back has two minutes to finish what it is doing, and there may be several.
const backTime = 10 * time.Minute

// A step is one row of the table of steps. act may enter its phase again to record what it found. It does not undo: fail does that,
// from any phase.
type step struct {
	phase Phase
	act   func(ctx context.Context, j *Journal, w Work) error
}

// The steps before anything is written or moved, and the steps after.
var (
	// There are two lists because the run writes the change to the workspace between them.
	proving = []step{{Build, build}, {Canary, canary}}
	taking  = []step{{Swap, swap}, {Trial, trial}, {Settled, settled}}
)

// Attempt begins an attempt and has act take it through its steps: the change, Prove, writing the change, Take. If act returns before
// Prove or Take ended the attempt, it ends here, and cause turns act's error into what is recorded; cause never returns nil, since an
// attempt without a cause reads as settled. A kill leaves the attempt in the journal, and the next process ends it. The error joins
// act's error with that of going back.
func (j *Journal) Attempt(ctx context.Context, intent string, act func() error, cause func(error) error) error {
	if err := j.begin(intent); err != nil {
		return err
	}
	err := act()
	if j.state.Attempt == nil {
		return err
	}
	steady, cancel := context.WithTimeout(context.WithoutCancel(ctx), quitTime)
	defer cancel()
	return errors.Join(err, j.fail(steady, cause(err)))
}

// Prove builds the image and has it prove itself. An error is recorded as the end of the attempt.
func (j *Journal) Prove(ctx context.Context, w Work) error { return j.through(ctx, w, proving) }

// Take makes the proven image the current one. If its trial fails, everything is as before; the error says why and is recorded.
func (j *Journal) Take(ctx context.Context, w Work) error { return j.through(ctx, w, taking) }

// through performs steps, and ends the attempt at the first that fails.
//
// When an observer is told of a step, the step has not begun on the disk yet. The version that the attempt goes to is carried from
// phase to phase. The error is that of the step. If going back fails too, it wraps both errors; then either the attempt is still in the
// journal, or its end is, and the next process that opens the journal makes the tags follow.
func (j *Journal) through(ctx context.Context, w Work, steps []step) error {
	for _, s := range steps {
		if w.Tell != nil {
			w.Tell(s.phase)
		}
		var to *Version
		if a := j.state.Attempt; a != nil {
			to = a.To
		}
		err := j.enter(s.phase, to)
		if err == nil {
			err = s.act(ctx, j, w)
		}
		if err == nil {
			continue
		}
		err = fmt.Errorf("%s: %w", s.phase, err)
		if j.state.Attempt == nil { // settled: the next process that opens the journal does the rest
			return err
		}
		// In the earlier phases no container can have seen the new image.
		moved := s.phase != Build && s.phase != Canary
		// A caller that cancels wants the old image, which takes the engine a moment.
		steady, cancel := context.WithTimeout(context.WithoutCancel(ctx), backTime)
		defer cancel()
		if failed := j.fail(steady, err); failed != nil {
			err = fmt.Errorf("%w; and go back: %w: run `agent self status` to try again", err, failed)
		}
		// Even after such an error: the tags go back before the end is recorded.
		if moved && w.HandOver != nil {
			if back := w.HandOver(steady); back != nil {
				err = fmt.Errorf("%w; and hand back: %w", err, back)
			}
		}
		return err
	}
	return nil
}

// build makes the image, and keeps what it was made from. The journal knows about it only what exists: a source before, an image and a
// program after.
func build(ctx context.Context, j *Journal, w Work) error {
	v := Version{Source: w.Source.Digest(), Built: time.Now().UTC().Truncate(time.Second)}
	// What is already kept of the same source, so that ending the attempt puts it back.
	if was, err := readVersion(j.pod(v.Name())); err == nil {
		a := *j.state.Attempt
		a.Was, j.state.Attempt = &was, &a // written to the disk with the phase
	}
	// Named before it exists, so that settling a killed attempt removes it.
	if err := j.enter(Build, &v); err != nil {
		return err
	}
	// The source comes before the image: an image without its source could not be compared with the next one.
	if err := j.keepSource(v, w.Source); err != nil {
		return err
	}
	img, err := w.Build(ctx, j.name+":"+v.Name())
	if err != nil {
		return err
	}
	v.Image, v.Program = img.ID, img.Program
	return j.enter(Build, &v)
}

// canary compares the verdicts of the battery with those that are written down, and with those of the current image.
//
// It needs both, because either alone can be led astray: the written ones by a change that weakens the gate and this list with a
// person's consent, those of the current image by a machine on which a case always ends differently.
func canary(ctx context.Context, j *Journal, w Work) error {
	v := *j.state.Attempt.To
	verdicts, err := w.Canary(ctx, v.Image)
	if err != nil {
		return err
	}
	if err := compare(verdicts, expected(), "the expected result"); err != nil {
		return err
	}
	if now := j.state.Current; now != nil {
		// Cases that the current image did not know cannot be compared.
		if err := compare(verdicts, now.Verdicts, "that of the current image"); err != nil {
			return err
		}
	}
	v.Verdicts = verdicts
	// Kept before the phase is recorded: a version that the journal calls proven has its file.
	if err := j.keepVersion(v); err != nil {
		return err
	}
	return j.enter(Canary, &v)
}

// compare reports the first case in which verdicts differ from others. A case that is missing in verdicts counts as different; one that
// is missing in others is not compared.
func compare(verdicts, others map[string]string, whose string) error {
	for _, c := range battery {
		if want, ok := others[c.name]; ok && verdicts[c.name] != want {
			return fmt.Errorf("case %q of the battery ended with %q, but %s is %q", c.name, verdicts[c.name], whose, want)
		}
	}
	return nil
}

// swap moves the tags. The tag of the previous version comes first, so that what was current has a name throughout. The journal still
// names the old versions: a kill anywhere in here is settled by giving the tags back to them.
func swap(ctx context.Context, j *Journal, w Work) error {
	if now := j.state.Current; now != nil {
		if err := j.tag(ctx, now, "previous"); err != nil {
			return err
		}
		j.reached("tagged previous")
	}
	if err := j.tags.TagImage(ctx, j.state.Attempt.To.Image, j.name+":current"); err != nil {
		return err
	}
	j.reached("tagged current")
	if w.HandOver == nil {
		return nil
	}
	return w.HandOver(ctx)
}

// trial checks the image's health until the period is over, but at least once. The first check comes at once, the last when the period
// has ended. A check that hangs holds up the trial: Healthy must bound it by ctx.
func trial(ctx context.Context, _ *Journal, w Work) error {
	end := time.Now().Add(w.Period)
	for {
		if err := w.Healthy(ctx); err != nil {
			return err
		}
		left := time.Until(end)
		if left <= 0 {
			return nil
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(min(left, w.Every)):
		}
	}
}

// settled makes the new version the truth. From the end in the journal on, the only way back is Rollback: later trouble with tags or
// old versions is reported, and does not fail the attempt.
func settled(ctx context.Context, j *Journal, _ Work) error {
	v, previous := j.state.Attempt.To, j.state.Current
	if previous != nil && previous.Source == v.Source {
		previous = j.state.Previous // the same source again is not another version
	}
	if err := j.end(v, previous, ""); err != nil {
		return err
	}
	if err := j.follow(ctx); err != nil {
		return err
	}
	return j.prune(ctx)
}
