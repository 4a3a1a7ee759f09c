package bot

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"agent/orchestrator/forge"
	"agent/orchestrator/pull"
	"agent/orchestrator/run"
)

// How often a bot looks for work and gives a sign of life, and the bounds of its work.
const (
	lookEvery = 5 * time.Second
	beatEvery = 30 * time.Second
	silent    = 90 * time.Second // after which a silent worker of another machine counts as gone
	maxTries  = 3
	maxTime   = 2 * time.Hour // of one try at a job
	busyPause = 30 * time.Second
	overlap   = 10 * time.Minute // a poll reads this span again, since clocks differ
)

// An Outcome is the result of a try at a job.
type Outcome struct {
	State State // an end, or Queued: try it again
	Why   string
	// Busy says that another process is working on the repository: the try does not count.
	Busy bool
}

// A Bot carries out jobs that people ask for.
type Bot struct {
	Queue Queue
	// Forges are the served repositories, by their names.
	Forges map[string]forge.Forge
	Host   string
	// Allow lists names that may ask, whatever the forge says about them.
	Allow  []string
	Limits Limits
	// Do carries out a job. When ctx ends, Do stops in such a way that the job can be done again.
	Do func(ctx context.Context, j Job) Outcome
	// GiveUp ends what remains of the work from an issue to its pull request when somebody wants it stopped.
	GiveUp func(ctx context.Context, j Job) error
	// Owner names this process. Dead reports, from another process's name and last sign of life, whether it is gone.
	Owner string
	Dead  func(owner string, beat time.Time) bool
	// Poll is how often to ask the forge for comments, 0 for never.
	Poll time.Duration
	// Tell reports what happens, on one line.
	Tell func(text string)

	wake chan struct{}
	once sync.Once
}

// errStopped ends a job that somebody wants to stop.
var errStopped = errors.New("somebody asked for it to stop")

// repositories returns the names of the served repositories.
func (b *Bot) repositories() (list []string) {
	for name := range b.Forges {
		list = append(list, name)
	}
	slices.Sort(list)
	return list
}

// Wake makes the bot look for new requests at once.
func (b *Bot) Wake() {
	select {
	case b.waker() <- struct{}{}:
	default:
	}
}

func (b *Bot) waker() chan struct{} {
	b.once.Do(func() { b.wake = make(chan struct{}, 1) })
	return b.wake
}

// Serve decides on requests and has them carried out until ctx ends; then it waits until the running job has ended.
func (b *Bot) Serve(ctx context.Context) {
	var all sync.WaitGroup
	next := make(chan struct{}, 1)
	every := func(pause time.Duration, wake <-chan struct{}, act func(context.Context) error) {
		all.Go(func() {
			for ctx.Err() == nil {
				if err := act(ctx); err != nil && ctx.Err() == nil {
					b.Tell(err.Error())
				}
				timer := time.NewTimer(pause)
				select {
				case <-ctx.Done():
				case <-wake:
				case <-timer.C:
				}
				timer.Stop()
			}
		})
	}
	every(lookEvery, b.waker(), func(ctx context.Context) error {
		err := b.Decide(ctx)
		select {
		case next <- struct{}{}:
		default:
		}
		return err
	})
	every(lookEvery, next, b.Work)
	if b.Poll > 0 {
		since := time.Now().Add(-24 * time.Hour)
		every(b.Poll, nil, func(ctx context.Context) error {
			began := time.Now()
			err := b.Look(ctx, since)
			if err == nil {
				since = began.Add(-overlap)
			}
			return err
		})
	}
	all.Wait()
}

// Look reads the comments on the forge and records what they ask for.
func (b *Bot) Look(ctx context.Context, since time.Time) error {
	var errs []error
	for _, name := range b.repositories() {
		said, err := b.Forges[name].Said(ctx, since)
		errs = append(errs, err)
		for _, s := range said {
			word, ok := pull.Command(s.Text)
			if !ok || s.Mine || s.Number < 1 {
				continue
			}
			fresh, err := b.Queue.Ask(ctx, Ask{Host: b.Host, Repository: name, Event: "comment " + s.ID, By: s.Author, Word: word, Number: s.Number, Pull: s.Pull})
			if errs = append(errs, err); fresh {
				b.Wake()
			}
		}
	}
	return errors.Join(errs...)
}

// Decide examines each request: whether it is known, whether its author may make it, and whether a limit is reached.
func (b *Bot) Decide(ctx context.Context) error {
	list, err := b.Queue.Asked(ctx, b.Host, b.repositories())
	if err != nil {
		return err
	}
	var errs []error
	for _, j := range list {
		if err := b.decide(ctx, j); err != nil {
			errs = append(errs, fmt.Errorf("decide on the request of %s: %w", j.By, err))
		}
	}
	return errors.Join(errs...)
}

// decide decides on one job. Strangers get no answer: otherwise somebody who may not ask could make the agent write at will.
func (b *Bot) decide(ctx context.Context, j Job) error {
	may := slices.Contains(b.Allow, j.By)
	if !may {
		var err error
		if may, err = b.Forges[j.Repository].MayWrite(ctx, j.By); err != nil {
			return err
		}
	}
	act, why := j.act()
	if !may {
		act, why = "", j.By+" may not write to the repository"
	}
	if act == Stop && why == "" {
		return b.stop(ctx, j)
	}
	state, err := b.Queue.Decide(ctx, j.ID, act, why, may, b.Limits)
	if err == nil {
		b.Tell(fmt.Sprintf("job %d: /agent %s on %s %d, asked by %s: %s", j.ID, j.Word, j.Repository, j.Number, j.By, state))
	}
	return err
}

// stop ends the work on an issue or a pull request. It counts towards no limit.
func (b *Bot) stop(ctx context.Context, j Job) error {
	n, err := b.Queue.Stop(ctx, j)
	if err != nil {
		return err
	}
	if err := b.GiveUp(ctx, j); err != nil {
		return err
	}
	b.Tell(fmt.Sprintf("job %d: %s stops %s on %s %d", j.ID, j.By, run.Count(n, "job"), j.Repository, j.Number))
	why := "nothing was running or waiting"
	if n > 0 {
		why = fmt.Sprintf("%d stopped", n)
	}
	return b.Queue.Put(ctx, j, Put{State: Done, Why: why})
}

// Work carries out jobs until none is waiting.
func (b *Bot) Work(ctx context.Context) error {
	for ctx.Err() == nil {
		j, err := b.Queue.Take(ctx, b.Host, b.repositories(), b.Owner, b.Dead)
		if errors.Is(err, ErrNone) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := b.work(ctx, j); err != nil {
			return fmt.Errorf("job %d: %w", j.ID, err)
		}
	}
	return nil
}

// work carries out a job, records how it ended, and answers. After a kill in between, it does the rest.
func (b *Bot) work(ctx context.Context, j Job) error {
	if !j.State.Ended() {
		put := b.try(ctx, j)
		// The end of this process does not affect the job's record.
		whole := context.WithoutCancel(ctx)
		if err := b.Queue.Put(whole, j, put); errors.Is(err, run.ErrFenced) {
			b.Tell(fmt.Sprintf("job %d was taken over by another process", j.ID))
			return nil
		} else if err != nil {
			return err
		}
		b.Tell(fmt.Sprintf("job %d: %s: %s", j.ID, put.State, firstLine(put.Why)))
		if j.State, j.Why = put.State, put.Why; !j.State.Ended() {
			return nil
		}
	}
	if err := b.answer(ctx, j); err != nil { // others are not kept waiting
		return errors.Join(err, b.Queue.Put(context.WithoutCancel(ctx), j, Put{State: j.State, Why: j.Why, After: busyPause}))
	}
	return b.Queue.Put(ctx, j, Put{State: j.State, Why: j.Why, Answered: true})
}

// try carries out a job under a lease, within a time limit, and until somebody wants it stopped.
func (b *Bot) try(ctx context.Context, j Job) Put {
	if j.Tries > maxTries {
		return Put{State: Failed, Why: fmt.Sprintf("it was started %d times, and the process ended each time", maxTries)}
	}
	within, cancel := context.WithTimeoutCause(ctx, maxTime, fmt.Errorf("it took longer than %v", maxTime))
	defer cancel()
	under, end := context.WithCancelCause(within)
	beats := make(chan struct{})
	go func() {
		defer close(beats)
		tick := time.NewTicker(beatEvery / 15) // a stop is noticed sooner than a death
		defer tick.Stop()
		for {
			select {
			case <-under.Done():
				return
			case <-tick.C:
			}
			stop, err := b.Queue.Beat(under, j)
			if stop {
				end(errStopped)
			}
			if errors.Is(err, run.ErrFenced) {
				end(err)
			}
		}
	}()
	o := b.Do(under, j)
	cause := context.Cause(under)
	end(nil)
	<-beats
	switch {
	case errors.Is(cause, errStopped):
		why := cause.Error()
		if err := b.GiveUp(context.WithoutCancel(ctx), j); err != nil {
			why += "; " + err.Error()
		}
		return Put{State: Stopped, Why: why}
	case ctx.Err() != nil && o.State != Done:
		return Put{State: Queued, Why: "its process ended", Free: true}
	case cause != nil && o.State != Done:
		return Put{State: Failed, Why: cause.Error()}
	case o.Busy:
		return Put{State: Queued, Why: o.Why, After: busyPause, Free: true}
	case o.State == Queued && j.Tries >= maxTries:
		return Put{State: Failed, Why: o.Why}
	case o.State == Queued:
		return Put{State: Queued, Why: o.Why, After: time.Duration(j.Tries) * time.Minute}
	}
	return Put{State: o.State, Why: o.Why}
}

// maxAnswer bounds how much of an outcome is answered, in bytes.
const maxAnswer = 4 << 10

// answer says on the forge how a job ended, unless the answer was posted before its row was written.
func (b *Bot) answer(ctx context.Context, j Job) error {
	f := b.Forges[j.Repository]
	list, say := f.IssueComments, f.CommentIssue
	if j.Pull {
		list, say = f.Comments, func(ctx context.Context, number int, text string) error { return f.SetComment(ctx, number, "", text) }
	}
	said, err := list(ctx, j.Number)
	if errors.Is(err, forge.ErrNotFound) { // it was deleted
		return nil
	}
	if err != nil {
		return err
	}
	mark := j.Mark()
	if slices.ContainsFunc(said, func(c forge.Comment) bool { return c.Mine && strings.HasSuffix(strings.TrimSpace(c.Text), mark) }) {
		return nil
	}
	return say(ctx, j.Number, fmt.Sprintf("%s, asked by %s: **%s**\n\n%s\n\n%s", pull.Span("/agent "+j.Word), pull.Span(j.By), j.State, pull.Fence(strings.TrimSpace(j.Why), maxAnswer), mark))
}

// firstLine returns the first line of a text.
func firstLine(text string) string {
	first, _, _ := strings.Cut(text, "\n")
	return first
}

// Silent returns a function that reports whether a worker is gone: by its process if this machine knows it, else by its last sign.
func Silent(alive func(owner string) (alive, known bool)) func(owner string, beat time.Time) bool {
	return func(owner string, beat time.Time) bool {
		if alive, known := alive(owner); known {
			return !alive
		}
		return time.Since(beat) > silent
	}
}
