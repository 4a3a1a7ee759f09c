package run

import (
	"context"
	"errors"
	"strings"
	"sync"
	"time"

	"agent/sandbox"
)

// An EntryKind says what an entry of a log is about.
type EntryKind string

// The kinds of entries.
const (
	// The table of events has a check of the same words: another kind needs a migration.
	StateEntry    EntryKind = "state"    // a state was entered; the last one is the end
	ModelEntry    EntryKind = "model"    // a question to a model was answered, or was not
	ToolEntry     EntryKind = "tool"     // a command was run in a box
	GateEntry     EntryKind = "gate"     // a gate has judged
	PolicyEntry   EntryKind = "policy"   // something needs an approval of its own, or no approval allows it
	ApprovalEntry EntryKind = "approval" // a checkpoint was answered
	EgressEntry   EntryKind = "egress"   // a request left a box, or was stopped from leaving it
	EngineEntry   EntryKind = "engine"   // the container engine was called
)

// An Entry is one thing that a run did, or that was decided about it. The log owns it from Enter on: the caller no longer changes the
// entry or its map.
type Entry struct {
	Kind EntryKind
	// Actor is who did it; Subject is what it was done to. "agent" is this program. "box of" a gate and "box" with its ID are code that
	// is not trusted. Approvals name who or what answered.
	Actor, Subject string
	// Detail holds strings, numbers and booleans. Secrets are hidden only in values of type string: one of a named string type, or
	// within a list, would be kept as it is.
	Detail map[string]any

	// The log sets Run and At. Of At, only its age counts, by this process's clock, which never goes back: the store knows what time it
	// is.
	Run string
	At  time.Time
}

// A LogStore keeps entries permanently. It retries by itself as long as that makes sense: an error means that entries are lost.
type LogStore interface {
	// AppendEntries adds entries in their order, all of them or none.
	AppendEntries(ctx context.Context, entries []Entry) error
}

const (
	// logRoom is how many entries may wait to be written. A caller that enters more waits: a record with holes is not a record.
	logRoom = 256
	// logEvery is how long an entry waits for others, and therefore how much a kill may lose.
	logEvery = 100 * time.Millisecond
)

// errLogClosed is the error of a log that was closed.
var errLogClosed = errors.New("the log of the run is already closed")

// A Log takes what runs do, in the order in which it happened, and writes it to a store in the background. An entry that the store does
// not take is lost to its run, and Flush reports that. A Log is safe for concurrent use; a nil Log keeps nothing. Close it.
//
// One goroutine writes, so that the store has the order of entering, and no run waits for the store unless logRoom entries do. Flush is
// only for callers that need to know: before a change is written, and at the end.
type Log struct {
	store LogStore
	// hide returns a text in the form in which it may be kept.
	hide func(string) string

	entering sync.Mutex // so that no entry overtakes another on its way in
	last     time.Time  // of the previous entry; guarded by entering
	entries  chan Entry
	flushes  chan flush
	closing  chan struct{} // closed by Close: the writer takes what is there and returns
	ended    chan struct{} // closed when nothing more is written
	cancel   context.CancelFunc

	// Used by the writer alone.
	batch []Entry
	lost  map[string]error // by run
}

// A flush asks what became of the entries of a run. answer has room for one, so that the writer never waits for an asker that has gone.
type flush struct {
	run    string
	answer chan error
}

// NewLog returns a log that keeps its entries in store, with hide applied to every text in them. The log uses the values of ctx and
// does not end with it: it outlives the interrupt that ends a run, since how the run ended is what is most wanted then.
func NewLog(ctx context.Context, store LogStore, hide func(string) string) *Log {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	l := &Log{
		store: store, hide: hide, cancel: cancel, lost: map[string]error{},
		entries: make(chan Entry, logRoom), flushes: make(chan flush), closing: make(chan struct{}), ended: make(chan struct{}),
	}
	go l.write(ctx) // ends with Close, which waits for it
	return l
}

// enter adds an entry for a run. It waits if too many are on their way. It takes no context: an entry is about something that was done,
// and is not dropped because the run is cancelled.
func (l *Log) enter(run string, e Entry) {
	l.entering.Lock()
	defer l.entering.Unlock()
	// Later entries get no earlier time if the machine's clock is set back meanwhile.
	if now := time.Now().Round(0); now.After(l.last) {
		l.last = now
	}
	e.Run, e.At = run, l.last
	select {
	case l.entries <- e:
	case <-l.ended: // what comes after the end is dropped
	}
}

// Flush returns when everything entered for a run so far is kept. The error is the store's, for the first entry that is not. If ctx
// ends first, the error is its cause, and the entries are still on their way. A lost entry stays lost: once Flush has reported a loss
// for a run, it always does.
func (l *Log) Flush(ctx context.Context, run string) error {
	if l == nil {
		return nil
	}
	f := flush{run, make(chan error, 1)}
	select {
	case l.flushes <- f:
	case <-l.ended:
		return errLogClosed
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	select {
	case err := <-f.answer:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Close writes what is left, for a few seconds at most. The error names the runs whose logs are not whole. Call Close once, after
// everything that enters has ended: it drops later entries without an error.
func (l *Log) Close() error {
	if l == nil {
		return nil
	}
	// A store that hangs must not keep the process from ending.
	close(l.closing)
	defer time.AfterFunc(SettleFor, l.cancel).Stop()
	<-l.ended
	l.cancel()
	var errs []error
	for run, err := range l.lost {
		errs = append(errs, errors.New("the log of run "+run+" is incomplete: "+err.Error()))
	}
	return errors.Join(errs...)
}

// write takes entries until the log is closed, and keeps them in batches. Only closing ends it, never ctx alone: when ctx has ended,
// keep fails at once and the loss is reported.
func (l *Log) write(ctx context.Context) {
	defer close(l.ended)
	var due <-chan time.Time
	for {
		select {
		case e := <-l.entries:
			if l.batch = append(l.batch, e); len(l.batch) == 1 {
				due = time.After(logEvery)
			}
			if len(l.batch) >= logRoom {
				l.keep(ctx)
			}
		case <-due:
			l.keep(ctx)
		case f := <-l.flushes:
			l.drain(ctx)
			f.answer <- l.lost[f.run]
		case <-l.closing:
			l.drain(ctx)
			return
		}
	}
}

// drain keeps everything entered so far, which is as many entries as are in the channel now. It does not wait for more that come
// meanwhile: a busy run could otherwise hold up a Flush.
func (l *Log) drain(ctx context.Context) {
	for range len(l.entries) {
		l.batch = append(l.batch, <-l.entries)
	}
	l.keep(ctx)
}

// keep writes the batch. It notes a loss for each run that has an entry in it, but only the first: that one causes the others.
func (l *Log) keep(ctx context.Context) {
	if len(l.batch) == 0 {
		return
	}
	for i := range l.batch {
		l.batch[i] = l.hidden(l.batch[i])
	}
	if err := l.store.AppendEntries(ctx, l.batch); err != nil {
		for _, e := range l.batch {
			if l.lost[e.Run] == nil {
				l.lost[e.Run] = err
			}
		}
	}
	l.batch = nil
}

// hidden returns an entry in the form in which it may be kept. The names in its detail are the agent's own and need no hiding. The
// detail is copied, since others may hold the map.
func (l *Log) hidden(e Entry) Entry {
	e.Actor, e.Subject = l.hide(e.Actor), l.hide(e.Subject)
	detail := make(map[string]any, len(e.Detail))
	for name, v := range e.Detail {
		if text, ok := v.(string); ok {
			v = l.hide(text)
		}
		detail[name] = v
	}
	e.Detail = detail
	return e
}

// logged is a run and its log. As the value of logKey in a context, it says to which run everything done with that context belongs.
type logged struct {
	log *Log
	run string
}

// logKey is the context key of a logged value.
type logKey struct{}

// Of returns a context in which everything is done for a run. It also watches the engine's calls and the commands in boxes.
func (l *Log) Of(ctx context.Context, run string) context.Context {
	if l == nil || run == "" {
		return ctx
	}
	in := logged{l, run}
	return sandbox.Watched(context.WithValue(ctx, logKey{}, in), in)
}

// Enter adds an entry to the log of the run that ctx belongs to. Work outside a run has no log.
func Enter(ctx context.Context, e Entry) {
	if in, ok := ctx.Value(logKey{}).(logged); ok {
		in.log.enter(in.run, e)
	}
}

// Called implements [sandbox.Watcher].
func (in logged) Called(c sandbox.Call) {
	detail := map[string]any{"ms": c.Took.Milliseconds()}
	if c.Status != 0 {
		detail["status"] = c.Status
	}
	in.log.enter(in.run, Entry{Kind: EngineEntry, Actor: "agent", Subject: c.Method + " " + c.Path, Detail: detail})
}

// Ran implements [sandbox.Watcher].
func (in logged) Ran(r sandbox.Ran) {
	detail := map[string]any{"ms": r.Took.Milliseconds()}
	switch {
	case r.Err != nil:
		detail["error"] = r.Err.Error()
	case r.Result.Signal != "":
		detail["signal"] = r.Result.Signal
	default:
		detail["exit"] = r.Result.Exit
	}
	// Other ways of ending are entered only if they occurred.
	for name, is := range map[string]bool{"timed_out": r.Result.TimedOut, "oom": r.Result.OOM, "killed": r.Result.Killed} {
		if is {
			detail[name] = true
		}
	}
	in.log.enter(in.run, Entry{Kind: ToolEntry, Actor: "box " + r.Box[:min(len(r.Box), 12)], Subject: strings.Join(r.Args, " "), Detail: detail})
}
