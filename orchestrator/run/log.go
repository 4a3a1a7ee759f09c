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
	StateEntry    EntryKind = "state"    // a state was entered; the last one tells the end
	ModelEntry    EntryKind = "model"    // a question to a model was answered, or was not
	ToolEntry     EntryKind = "tool"     // a command was run in a box
	GateEntry     EntryKind = "gate"     // a gate has judged
	PolicyEntry   EntryKind = "policy"   // something needs an approval of its own, or gets none
	ApprovalEntry EntryKind = "approval" // a checkpoint was answered
	EgressEntry   EntryKind = "egress"   // a request left a box, or was kept from it
	EngineEntry   EntryKind = "engine"   // the container engine was asked for something
)

// An Entry is one thing that a run did, or that was decided about it.
// It is the log's from Enter on: a caller changes neither the entry nor the map in it any more.
type Entry struct {
	Kind EntryKind
	// Actor is who did it, Subject what it was done to.
	// "agent" is this program; "box of" a gate and "box" with its ID are code that is not trusted;
	// approvals name who or what answered.
	Actor, Subject string
	// Detail holds strings, numbers and truth values.
	// Only texts of the type string have secrets hidden in them: one of a type of its own, or within a list, would be
	// kept as it is.
	Detail map[string]any

	// Run and At are set by the log. Of At only how long it is ago counts, by the
	// clock of this process that never goes back: the store knows what time it is.
	Run string
	At  time.Time
}

// A LogStore keeps entries permanently.
// It tries again by itself as long as that makes sense: what it gives back is an entry lost.
type LogStore interface {
	// AppendEntries adds entries in their order, all of them or none.
	AppendEntries(ctx context.Context, entries []Entry) error
}

const (
	// logRoom is how many entries wait to be written. Who enters more waits: a
	// record with holes is none.
	logRoom = 256
	// logEvery is how long an entry waits for others, and so what a kill may lose.
	logEvery = 100 * time.Millisecond
)

// errLogClosed is what a log answers that was closed.
var errLogClosed = errors.New("the log of the run was closed before")

// A Log takes what runs do, in the order in which it happened, and writes it to a
// store behind their backs. An entry that the store does not take is lost to its run,
// which Flush then tells. It is safe for concurrent use; nil is a log that keeps
// nothing. Close it.
//
// One goroutine writes, so that the order in the store is that of entering and no run waits for the store unless logRoom
// entries do. Only who needs to know calls Flush: before a change is written, and at the end.
type Log struct {
	store LogStore
	// hide returns a text as it may be kept.
	hide func(string) string

	entering sync.Mutex // so that no entry overtakes another on its way in
	last     time.Time  // of the entry before, under entering
	entries  chan Entry
	flushes  chan flush
	closing  chan struct{} // closed by Close: the writer takes what is there and goes
	ended    chan struct{} // closed when nothing is written any more
	cancel   context.CancelFunc

	// Of the writer alone.
	batch []Entry
	lost  map[string]error // by run
}

// A flush asks what became of the entries of a run.
// answer has room for one, so that the writer never waits for an asker who has gone.
type flush struct {
	run    string
	answer chan error
}

// NewLog returns a log that keeps its entries in store, with every text in them as hide
// returns it. ctx lends its values, not its end.
// The log outlives the interrupt that ends a run: how it ended is what is most wanted then.
func NewLog(ctx context.Context, store LogStore, hide func(string) string) *Log {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	l := &Log{
		store: store, hide: hide, cancel: cancel, lost: map[string]error{},
		entries: make(chan Entry, logRoom), flushes: make(chan flush), closing: make(chan struct{}), ended: make(chan struct{}),
	}
	go l.write(ctx) // ends with Close, which waits for it
	return l
}

// enter takes an entry of a run. It waits where too many are on their way.
// It does not look at a context: an entry is of something that was done, and is not given up because the run is.
func (l *Log) enter(run string, e Entry) {
	l.entering.Lock()
	defer l.entering.Unlock()
	// Where the machine's clock is set back meanwhile, what comes later is no earlier.
	if now := time.Now().Round(0); now.After(l.last) {
		l.last = now
	}
	e.Run, e.At = run, l.last
	select {
	case l.entries <- e:
	case <-l.ended: // what comes after the end is nobody's any more
	}
}

// Flush returns when all that was entered for a run before is kept. The error is that of
// the store for the first of it that is not.
// When ctx ends first its cause is the error, and what was entered is on its way still. An entry that was lost stays
// lost: once it has told of one, Flush does so for that run always.
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

// Close writes what is left, for a few seconds at most. The error tells of runs whose
// last entries are lost.
// It is called once, after everything that enters has ended: what comes later is dropped without a word.
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
		errs = append(errs, errors.New("the log of run "+run+" is not whole: "+err.Error()))
	}
	return errors.Join(errs...)
}

// write takes what is entered until the log is closed, and keeps it in batches.
// It ends only by closing, never by ctx alone: then keep fails at once, and the loss is told.
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

// drain keeps everything that was entered so far.
// Those are as many as are in the channel now; more that come meanwhile are not waited for, or a busy run could hold a
// Flush up.
func (l *Log) drain(ctx context.Context) {
	for range len(l.entries) {
		l.batch = append(l.batch, <-l.entries)
	}
	l.keep(ctx)
}

// keep writes the batch.
// A loss is noted for each run that has an entry in it, the first one only: it is what the others come of.
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

// hidden returns an entry as it may be kept. The names in its detail are ours and
// need no hiding.
// The detail is copied, as others may hold the map.
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

// logged is a run and the log of it. In a context, as the value of logKey, it says whose
// everything is that is done with it.
type logged struct {
	log *Log
	run string
}

// logKey is the key of a context's logged.
type logKey struct{}

// Of returns a context in which everything is done for a run.
// The engine's calls and the commands in boxes are watched through the same context.
func (l *Log) Of(ctx context.Context, run string) context.Context {
	if l == nil || run == "" {
		return ctx
	}
	in := logged{l, run}
	return sandbox.Watched(context.WithValue(ctx, logKey{}, in), in)
}

// Enter puts an entry into the log of the run that ctx belongs to. What is done outside
// of a run has no log.
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
	// How it ended otherwise is told only where it did.
	for name, is := range map[string]bool{"timed_out": r.Result.TimedOut, "oom": r.Result.OOM, "killed": r.Result.Killed} {
		if is {
			detail[name] = true
		}
	}
	in.log.enter(in.run, Entry{Kind: ToolEntry, Actor: "box " + r.Box[:min(len(r.Box), 12)], Subject: strings.Join(r.Args, " "), Detail: detail})
}
