package loop

import (
	"context"
	"errors"
	"sync"
	"time"

	"agent/orchestrator/run"
)

// A Steering tells the process that works on a loop what somebody elsewhere asked for: "" for nothing, "pause" to start no further
// iteration, "cancel" to end now. *store.DB implements it.
type Steering interface {
	// LoopWanted returns what is wanted of a loop.
	LoopWanted(ctx context.Context, loop string) (string, error)
	// WantLoop asks for something; "" withdraws what was asked.
	WantLoop(ctx context.Context, loop, wanted string) error
}

// The causes of contexts that were ended from elsewhere.
var (
	errPaused    = errors.New("paused from elsewhere")
	errCancelled = errors.New("cancelled from elsewhere")
)

// wantedEvery is how often a loop checks what it is asked for.
const wantedEvery = time.Second

// steered returns a context that ends if the loop is cancelled from elsewhere, and idle, which a pause ends too. idle is for waiting
// between two iterations. Earlier requests are forgotten. end stops the checking and must be called.
func (l *Loop) steered(ctx context.Context, id string) (_, idle context.Context, end func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	idle, pause := context.WithCancelCause(ctx)
	if l.Steering == nil {
		return ctx, idle, func() { pause(nil); cancel(nil) }
	}
	l.forget(ctx, id)
	looking, stop := context.WithCancel(ctx)
	var all sync.WaitGroup
	all.Go(func() {
		tick := time.NewTicker(wantedEvery)
		defer tick.Stop()
		for {
			// A database that is briefly unavailable is not a request.
			switch wanted, _ := l.Steering.LoopWanted(looking, id); wanted {
			case "cancel":
				cancel(errCancelled)
				return
			case "pause":
				pause(errPaused)
			}
			select {
			case <-looking.Done():
				return
			case <-tick.C:
			}
		}
	})
	return ctx, idle, func() {
		stop()
		all.Wait()
		if asked(idle) != nil {
			l.forget(ctx, id)
		}
		pause(nil)
		cancel(nil)
	}
}

// forget withdraws what was asked of a loop. If that fails, the request will be heard again, and forget says so.
func (l *Loop) forget(ctx context.Context, id string) {
	settled, cancel := context.WithTimeout(context.WithoutCancel(ctx), run.SettleFor)
	defer cancel()
	if err := l.Steering.WantLoop(settled, id, ""); err != nil {
		l.note("the request to the loop could not be withdrawn: " + err.Error())
	}
}

// asked returns the problem of a loop that somebody elsewhere has ended, nil for any other.
func asked(ctx context.Context) *run.Problem {
	cause := context.Cause(ctx)
	if !errors.Is(cause, errPaused) && !errors.Is(cause, errCancelled) {
		return nil
	}
	return &run.Problem{Kind: run.ProblemCancelled, Message: cause.Error() + "; what was promoted stays", Next: "continue with `agent sandbox loop --resume`"}
}
