package selfbuild

import (
	"context"
	"errors"
	"fmt"
	"time"

	"agent/images"
)

// A Phase is a step of an attempt.
// The journal keeps it: the texts must stay what they are.
type Phase string

// The phases, in their order.
const (
	Gate    Phase = "gate"
	Build   Phase = "build"
	Canary  Phase = "canary"
	Swap    Phase = "swap"
	Trial   Phase = "trial"
	Settled Phase = "settled"
)

// Work is what the steps do, beyond the journal and the tags.
// Functions are called one after the other, by the goroutine that called Prove or Take. An error of any of them ends the
// attempt.
type Work struct {
	// Build makes the image of a source and gives it the tag.
	// Its result is trusted for the image's ID: nothing afterwards goes by the tag.
	Build func(ctx context.Context, ref string) (images.Build, error)
	// Source is what Build builds from.
	Source images.Tree
	// Canary has an image prove itself, and returns the verdicts of the battery.
	Canary func(ctx context.Context, image string) (map[string]string, error)
	// HandOver has the containers of the agent go on with the current image.
	// It is called when the tag has moved, either way; nil where no containers are.
	HandOver func(ctx context.Context) error
	// Healthy asks the current image how it is.
	Healthy func(ctx context.Context) error
	// Period is how long the image is on trial, and Every the pause between two questions.
	Period, Every time.Duration
	// Tell is given the phases as they begin; nil for nobody.
	Tell func(Phase)
}

// quitTime bounds the end of an attempt that made no image: whoever cancels waits no longer than that.
const quitTime = 30 * time.Second

// backTime bounds the way back.
// A container that is handed back has two minutes to end what it is at, and there may be several.
const backTime = 10 * time.Minute

// A step is one row of the table of steps.
// act may enter its phase again to record what it found. It does not undo: fail does, from any phase.
type step struct {
	phase Phase
	act   func(ctx context.Context, j *Journal, w Work) error
}

// The steps before anything is written or moved, and those after.
var (
	// They are two lists because the change is written to the workspace between them, by the run.
	proving = []step{{Build, build}, {Canary, canary}}
	taking  = []step{{Swap, swap}, {Trial, trial}, {Settled, settled}}
)

// Attempt begins an attempt and has act take it through its steps: the change, Prove, what writes the change, Take.
// Where act returns before Prove or Take ended it, the attempt ends here, and cause makes of act's error what is
// recorded; it is never nil, as an attempt without a cause reads as settled. A kill leaves the attempt in the journal,
// and the next process ends it. The error joins act's with that of going back.
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

// Prove builds the image and has it prove itself. An error is recorded as the attempt's end.
func (j *Journal) Prove(ctx context.Context, w Work) error { return j.through(ctx, w, proving) }

// Take makes the proven image the current one. When its trial ends badly all is as before; the error, which is recorded,
// says why.
func (j *Journal) Take(ctx context.Context, w Work) error { return j.through(ctx, w, taking) }

// through goes through steps, and ends the attempt at the first that breaks.
//
// A step that is told to an observer has not begun on the disk yet. The version that the attempt goes to is carried
// from phase to phase. The error returned is that of the step; where also going back goes wrong it wraps both, and the
// attempt then either is in the journal still or its end is, and the next one who opens it makes the tags follow.
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
		if j.state.Attempt == nil { // settled: what is left to do, the next one who opens the journal does
			return err
		}
		// Before those no container can have seen the new image.
		moved := s.phase != Build && s.phase != Canary
		// Whoever cancels wants the old image, and that takes the engine a moment.
		steady, cancel := context.WithTimeout(context.WithoutCancel(ctx), backTime)
		defer cancel()
		if failed := j.fail(steady, err); failed != nil {
			err = fmt.Errorf("%w; and going back: %w: run `agent self status`, which tries again", err, failed)
		}
		// Also then: the tags go back before the end is recorded.
		if moved && w.HandOver != nil {
			if back := w.HandOver(steady); back != nil {
				err = fmt.Errorf("%w; and handing back: %w", err, back)
			}
		}
		return err
	}
	return nil
}

// build makes the image, and keeps what it was made from.
// The journal knows of it what there is: a source before, an image and a program after.
func build(ctx context.Context, j *Journal, w Work) error {
	v := Version{Source: w.Source.Digest(), Built: time.Now().UTC().Truncate(time.Second)}
	// What is kept of the same source, so that whoever ends the attempt puts it back.
	if was, err := readVersion(j.pod(v.Name())); err == nil {
		a := *j.state.Attempt
		a.Was, j.state.Attempt = &was, &a // on the disk with the phase
	}
	// Named before it is there, so that whoever settles a killed attempt removes it.
	if err := j.enter(Build, &v); err != nil {
		return err
	}
	// Before the image: one that is there without its source could not be compared with the next.
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
// Both, because either alone can be led astray: what is written here by a change that weakens the gate and this list
// with a person's consent, the current image's by a machine on which a case always ends otherwise.
func canary(ctx context.Context, j *Journal, w Work) error {
	v := *j.state.Attempt.To
	verdicts, err := w.Canary(ctx, v.Image)
	if err != nil {
		return err
	}
	if err := compare(verdicts, expected(), "what is expected"); err != nil {
		return err
	}
	if now := j.state.Current; now != nil {
		// Of cases that the current image did not know there is nothing to compare.
		if err := compare(verdicts, now.Verdicts, "the current image's"); err != nil {
			return err
		}
	}
	v.Verdicts = verdicts
	// Before the phase is recorded: a version that the journal calls proven has its file.
	if err := j.keepVersion(v); err != nil {
		return err
	}
	return j.enter(Canary, &v)
}

// compare reports the first case in which verdicts are not the others.
// A case that is missing in verdicts is another verdict; one that is missing in others is not compared.
func compare(verdicts, others map[string]string, whose string) error {
	for _, c := range battery {
		if want, ok := others[c.name]; ok && verdicts[c.name] != want {
			return fmt.Errorf("case %q of the battery ends with %q, and %s is %q", c.name, verdicts[c.name], whose, want)
		}
	}
	return nil
}

// swap moves the tags. That of the previous version comes first, so that what was current has a name throughout.
// The journal still names the old versions: a kill anywhere in here is settled by giving the tags back to those.
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

// trial asks the image how it is, until the period is over; once at least.
// The first question comes at once, the last when the period has ended. An answer that does not come holds the trial
// up: it is for Healthy to bound it by ctx.
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

// settled makes the new version the truth.
// From the end in the journal on there is no way back but Rollback: trouble with tags or old versions afterwards is
// reported, and does not fail the attempt.
func settled(ctx context.Context, j *Journal, _ Work) error {
	v, previous := j.state.Attempt.To, j.state.Current
	if previous != nil && previous.Source == v.Source {
		previous = j.state.Previous // the same source once more is no other version
	}
	if err := j.end(v, previous, ""); err != nil {
		return err
	}
	if err := j.follow(ctx); err != nil {
		return err
	}
	return j.prune(ctx)
}
