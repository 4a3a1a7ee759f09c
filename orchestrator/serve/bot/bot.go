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

// What a bot waits for, and how often it says that it is there.
const (
	lookEvery = 5 * time.Second
	beatEvery = 30 * time.Second
	silent    = 90 * time.Second // after which a worker of another machine is gone
	maxTries  = 3
	maxTime   = 2 * time.Hour // of one try at a job
	busyPause = 30 * time.Second
	overlap   = 10 * time.Minute // what a poll reads again: clocks differ
)

// An Outcome is how a try at a job went.
type Outcome struct {
	State State // an end, or Queued: it is to be tried again
	Why   string
	// Busy says that another process works on the repository: the try does not count.
	Busy bool
}

// A Bot has jobs done that people ask for.
type Bot struct {
	Queue Queue
	// Forges are the repositories that are served, by their names.
	Forges map[string]forge.Forge
	Host   string
	// Allow are names that may ask whatever the forge says of them.
	Allow  []string
	Limits Limits
	// Do does a job. When ctx ends it ends what it does, in such a way that it can be done again.
	Do func(ctx context.Context, j Job) Outcome
	// GiveUp ends what is left of the way from an issue to its pull request, when somebody wants it stopped.
	GiveUp func(ctx context.Context, j Job) error
	// Owner names this process, and Dead says of another one's name and its last sign that it is gone.
	Owner string
	Dead  func(owner string, beat time.Time) bool
	// Poll is how often the forge is asked for comments, 0 for never.
	Poll time.Duration
	// Tell is told what happens, on one line.
	Tell func(text string)

	wake chan struct{}
	once sync.Once
}

// errStopped ends a job that somebody wants stopped.
var errStopped = errors.New("somebody asked for it to stop")

// repositories are the names of those that are served.
func (b *Bot) repositories() (list []string) {
	for name := range b.Forges {
		list = append(list, name)
	}
	slices.Sort(list)
	return list
}

// Wake has the bot look at once for what was asked.
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

// Serve decides on what is asked and has it done until ctx ends; then it waits until the job that is at work has ended.
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

// Look asks the forge for comments, and records what they ask for.
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

// Decide looks at what was asked: whether it is known what that is, whether who asked may, and whether a limit is reached.
func (b *Bot) Decide(ctx context.Context) error {
	list, err := b.Queue.Asked(ctx, b.Host, b.repositories())
	if err != nil {
		return err
	}
	var errs []error
	for _, j := range list {
		if err := b.decide(ctx, j); err != nil {
			errs = append(errs, fmt.Errorf("decide on what %s asked: %w", j.By, err))
		}
	}
	return errors.Join(errs...)
}

// decide decides on one job. Strangers get no answer: who may not ask could have the agent write as often as they do.
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

// stop ends what is done for an issue or a pull request. It counts for no limit.
func (b *Bot) stop(ctx context.Context, j Job) error {
	n, err := b.Queue.Stop(ctx, j)
	if err != nil {
		return err
	}
	if err := b.GiveUp(ctx, j); err != nil {
		return err
	}
	b.Tell(fmt.Sprintf("job %d: %s stops %s on %s %d", j.ID, j.By, run.Count(n, "job"), j.Repository, j.Number))
	why := "nothing was at work or waited"
	if n > 0 {
		why = fmt.Sprintf("%d stopped", n)
	}
	return b.Queue.Put(ctx, j, Put{State: Done, Why: why})
}

// Work does jobs until none waits.
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

// work does a job, records how it ended, and answers. After a kill in between, the rest is done.
func (b *Bot) work(ctx context.Context, j Job) error {
	if !j.State.Ended() {
		put := b.try(ctx, j)
		// The end of this process is none of the job.
		whole := context.WithoutCancel(ctx)
		if err := b.Queue.Put(whole, j, put); errors.Is(err, run.ErrFenced) {
			b.Tell(fmt.Sprintf("job %d is another's by now", j.ID))
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

// try does a job under a lease, within a time, and until somebody wants it stopped.
func (b *Bot) try(ctx context.Context, j Job) Put {
	if j.Tries > maxTries {
		return Put{State: Failed, Why: fmt.Sprintf("it was begun %d times, and the process ended each time", maxTries)}
	}
	within, cancel := context.WithTimeoutCause(ctx, maxTime, fmt.Errorf("it took longer than %v", maxTime))
	defer cancel()
	under, end := context.WithCancelCause(within)
	beats := make(chan struct{})
	go func() {
		defer close(beats)
		tick := time.NewTicker(beatEvery / 15) // a stop is heard sooner than a death
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

// maxAnswer bounds what of an outcome is answered, in bytes.
const maxAnswer = 4 << 10

// answer says on the forge how a job ended, unless that was said before its row was written.
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

// firstLine is the beginning of a text.
func firstLine(text string) string {
	first, _, _ := strings.Cut(text, "\n")
	return first
}

// Silent says of a worker whether it is gone, by what is known of its process on this machine, else by its last sign.
func Silent(alive func(owner string) (alive, known bool)) func(owner string, beat time.Time) bool {
	return func(owner string, beat time.Time) bool {
		if alive, known := alive(owner); known {
			return !alive
		}
		return time.Since(beat) > silent
	}
}
