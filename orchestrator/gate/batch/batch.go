// Package batch has the gates judge several candidates together if they arrive at about the same time.
//
// The gates of one candidate keep two processors busy, so four at the same time take as long as four in sequence. If candidates touch
// different files of the same base, as the parallel tasks of a plan do, their combination is judged once instead of each of them. This
// is the batch of a merge queue (bors, Zuul, GitHub's): candidates that pass together pass. If they do not, each is judged alone, as if
// there were no queue.
//
// Candidates that were judged together are proved together and not alone: a caller that promotes or merges one of them does so with its
// whole [Batch], or has it judged again.
package batch

import (
	"context"
	"reflect"
	"runtime"
	"slices"
	"sync"
	"time"

	"agent/orchestrator/gate"
	"agent/sandbox/workspace"
	"agent/verify"
	"agent/verify/policy"
)

// How long a candidate waits for others that are on their way: a share of the time that the last judgement took.
const (
	firstWait = 300 * time.Millisecond // before anything was judged
	mostWait  = 5 * time.Second
	waitShare = 4 // the last judgement's time is divided by it
)

// A Queue has candidates judged, as many together as possible. It is safe for concurrent use.
type Queue struct {
	// Slots is how many judgements run at the same time; 0 means one for every two processors.
	Slots int
	// Patience is how long a candidate waits for others on their way; 0 means a quarter of what the last judgement took.
	Patience time.Duration

	mu      sync.Mutex
	members map[*Member]bool // true for those that may still ask
	waiting []*question      // oldest first
	busy    int
	took    time.Duration // by the last judgement
	timer   *time.Timer
}

// A Batch is a set of candidates that were judged together and passed.
type Batch struct {
	// Members are the names of those that asked, in the order of the questions.
	Members []string
}

// A Member asks a Queue on behalf of one run. It implements gate.Verifier.
type Member struct {
	queue *Queue
	name  string
	judge gate.Verifier
	hide  func(string) string
	alone bool
	with  map[string]*Batch // by the digest of the changeset that passed
	all   []*Batch
}

// A question is a candidate that waits for its judgement.
type question struct {
	member *Member
	req    verify.Request
	emit   func(verify.Event)
	at     time.Time
	// alone judges it by itself. ended says why nobody waits any more, whenDone then calls act. values is the context without its end.
	alone    func() (verify.Report, error)
	ended    func() error
	whenDone func(act func()) (stop func() bool)
	values   func() context.Context

	over   chan struct{} // closed when there is an answer
	report verify.Report
	err    error
}

// Join returns a Member that asks v for a run. name distinguishes it from others in messages to people. hide takes the configured
// secrets out of a text, nil for none. Close it when the run has ended.
func (q *Queue) Join(name string, v gate.Verifier, hide func(string) string) *Member {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.members == nil {
		q.members = map[*Member]bool{}
	}
	m := &Member{queue: q, name: name, judge: v, hide: hide, with: map[string]*Batch{}}
	q.members[m] = true
	return m
}

// Alone returns a Member whose candidates v judges by themselves, once there is a slot. Close it when the run has ended.
func (q *Queue) Alone(v gate.Verifier) *Member {
	m := q.Join("", v, nil)
	m.alone = true
	return m
}

// Close says that the member asks nothing more.
func (m *Member) Close() {
	m.queue.mu.Lock()
	defer m.queue.mu.Unlock()
	delete(m.queue.members, m)
	m.queue.dispatch()
}

// Batch returns the batch in which a changeset, named by its digest, was judged and passed; nil if it was judged alone.
func (m *Member) Batch(digest string) *Batch {
	m.queue.mu.Lock()
	defer m.queue.mu.Unlock()
	return m.with[digest]
}

// Batches returns all batches that the member was part of, in their order.
func (m *Member) Batches() []*Batch {
	m.queue.mu.Lock()
	defer m.queue.mu.Unlock()
	return slices.Clone(m.all)
}

// Verify implements gate.Verifier. The report of a candidate that was judged with others covers its own files.
func (m *Member) Verify(ctx context.Context, req verify.Request, emit func(verify.Event)) (verify.Report, error) {
	q := m.queue
	if emit == nil {
		emit = func(verify.Event) {}
	}
	ask := &question{
		member: m, req: req, emit: emit, at: time.Now(), over: make(chan struct{}),
		alone:    func() (verify.Report, error) { return m.judge.Verify(ctx, req, emit) },
		ended:    ctx.Err,
		whenDone: func(act func()) func() bool { return context.AfterFunc(ctx, act) },
		values:   func() context.Context { return context.WithoutCancel(ctx) },
	}
	q.mu.Lock()
	q.members[m] = false
	q.waiting = append(q.waiting, ask)
	q.dispatch()
	q.mu.Unlock()
	// Waited for even if ctx has ended: boxes may exist until the judgement ends.
	<-ask.over
	q.mu.Lock()
	defer q.mu.Unlock()
	if _, open := q.members[m]; open && ask.report.Verdict != verify.Pass { // it may be repaired and ask again
		q.members[m] = true
	}
	return ask.report, ask.err
}

// dispatch starts as many judgements as there are slots for; mu is held.
func (q *Queue) dispatch() {
	slots := q.Slots
	if slots == 0 {
		slots = max(1, runtime.NumCPU()/2)
	}
	for q.busy < slots && len(q.waiting) > 0 {
		if rest := q.patience(slots) - time.Since(q.waiting[0].at); rest > 0 {
			if q.timer != nil {
				q.timer.Stop()
			}
			q.timer = time.AfterFunc(rest, func() {
				q.mu.Lock()
				defer q.mu.Unlock()
				q.dispatch()
			})
			return
		}
		group := q.take()
		q.busy++
		go q.judge(group)
	}
}

// patience returns how long the oldest question waits for company: not at all if nobody else is on the way, or if there is a slot for
// everybody. mu is held.
func (q *Queue) patience(slots int) time.Duration {
	coming := false
	for _, asks := range q.members {
		coming = coming || asks
	}
	switch {
	case !coming || len(q.members) <= slots:
		return 0
	case q.Patience != 0:
		return q.Patience
	case q.took == 0:
		return firstWait
	}
	return min(q.took/waitShare, mostWait)
}

// take removes the oldest question from those that wait, with all that can be judged together with it; mu is held.
func (q *Queue) take() (group []*question) {
	q.waiting = slices.DeleteFunc(q.waiting, func(ask *question) bool {
		if len(group) > 0 {
			if group[0].member.alone {
				return false
			}
			if _, ok := merge(append(slices.Clone(group), ask)); !ok {
				return false
			}
		}
		group = append(group, ask)
		return true
	})
	return group
}

// judge answers the questions of a group, for which one slot was taken.
func (q *Queue) judge(group []*question) {
	began := time.Now()
	if len(group) == 1 || !q.together(group) {
		for _, ask := range group {
			began = time.Now()
			ask.report, ask.err = ask.alone()
			close(ask.over)
		}
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.busy--
	q.took = time.Since(began)
	q.dispatch()
}

// together judges questions as one, and answers them if that passes for each. It returns false if it answered none.
func (q *Queue) together(group []*question) bool {
	req, _ := merge(group)
	ctx, cancel := whileAny(group)
	defer cancel()
	tell := teller{group: group}
	// Callers that want the final bytes get them with the verdict, when the bytes are final.
	req.Settled = nil
	report, err := group[0].member.judge.Verify(ctx, req, tell.event)
	asks := func(h policy.Hold) bool { return h.Kind != policy.Unproven } // each part has its own of that
	if err != nil || report.Verdict != verify.Pass || slices.ContainsFunc(report.Holds, asks) {
		return false
	}
	batch := &Batch{}
	for _, ask := range group {
		batch.Members = append(batch.Members, ask.member.name)
	}
	var parts []verify.Report
	left := len(report.Changeset.Changes)
	for i := range group {
		part, err := part(group, i, report)
		if err != nil {
			return false
		}
		left -= len(part.Changeset.Changes)
		parts = append(parts, part)
	}
	if left != 0 {
		return false
	}
	// The baseline it found is that of the tree with all the changes, which is one tree.
	parts[0].Baseline = report.Baseline
	tell.ended()
	q.mu.Lock()
	for i, ask := range group {
		m := ask.member
		m.with[parts[i].Changeset.Digest()], m.all = batch, append(m.all, batch)
	}
	q.mu.Unlock()
	for i, ask := range group {
		if ask.req.Settled != nil {
			ask.req.Settled(parts[i].Changeset)
		}
		// A question whose context ended meanwhile gets no answer, as when it is judged alone.
		if ask.err = ask.ended(); ask.err == nil {
			ask.report = parts[i]
		}
		close(ask.over)
	}
	return true
}

// merge combines questions into one request. ok is false if they cannot be judged together.
func merge(group []*question) (one verify.Request, ok bool) {
	one = group[0].req
	one.Changeset, one.Config.Gates = workspace.Changeset{}, nil
	taken := map[string]bool{}
	for _, ask := range group {
		r := ask.req
		if ask.member.alone || !alike(one, r) {
			return one, false
		}
		flat, err := r.Changeset.Flatten()
		if err != nil || len(flat) == 0 {
			return one, false
		}
		for _, c := range flat {
			if taken[c.Path] {
				return one, false
			}
			taken[c.Path] = true
		}
		one.Changeset.Changes = append(one.Changeset.Changes, r.Changeset.Changes...)
		for _, g := range r.Config.Gates {
			i := slices.IndexFunc(one.Config.Gates, func(o verify.CustomGate) bool { return o.Name == g.Name })
			switch {
			case i < 0:
				one.Config.Gates = append(one.Config.Gates, g)
			case !reflect.DeepEqual(one.Config.Gates[i], g):
				return one, false
			}
		}
	}
	one.Changeset.Changes = one.Changeset.Sorted()
	return one, len(one.Config.Gates) <= verify.MaxCustom && one.Changeset.Check() == nil && one.Changeset.CheckBounds() == nil
}

// alike reports whether two requests differ only in their changes and their own gates.
func alike(a, b verify.Request) bool {
	a.Config.Gates, b.Config.Gates = nil, nil
	return a.Patched == verify.Layer{} && b.Patched == verify.Layer{} && a.Base.Digest() == b.Base.Digest() && a.Toolchain == b.Toolchain && a.Installed == b.Installed &&
		a.Model == b.Model && slices.Equal(a.Allow, b.Allow) && reflect.DeepEqual(a.Config, b.Config)
}

// part returns what a common report says about one of the questions.
func part(group []*question, i int, r verify.Report) (p verify.Report, err error) {
	ask := group[i]
	flat, err := ask.req.Changeset.Flatten()
	if err != nil {
		return p, err
	}
	own := map[string]bool{}
	for _, c := range flat {
		own[c.Path] = true
	}
	p = verify.Report{Verdict: r.Verdict, Skipped: r.Skipped, Unproven: r.Unproven, Executed: []verify.Execution{}}
	for _, c := range r.Changeset.Changes {
		if own[c.Path] {
			p.Changeset.Changes = append(p.Changeset.Changes, c)
		}
	}
	others := theirs(group, i)
	for _, g := range r.Gates {
		if !others[g.Name] {
			p.Gates = append(p.Gates, g)
		}
	}
	if len(p.Gates) > 0 {
		first := &p.Gates[0]
		first.Detail = join(first.Detail, "all gates judged it together with "+names(group, i))
	}
	for _, e := range r.Executed {
		if own[e.Path] {
			p.Executed = append(p.Executed, e)
		}
	}
	if r.Evidence == nil {
		return p, nil
	}
	mine := r.Evidence.Part(p.Changeset, others)
	p.Unproven = mine.Unproven()
	p.Holds = mine.Hold(p.Unproven)
	if hide := ask.member.hide; hide != nil {
		p.Unproven, p.Holds = verify.HiddenUnproven(p.Unproven, hide), verify.HiddenHolds(p.Holds, hide)
	}
	return p, nil
}

// theirs returns the names of the gates that others of a group have and question i has not.
func theirs(group []*question, i int) map[string]bool {
	list := map[string]bool{}
	for _, ask := range group {
		for _, g := range ask.req.Config.Gates {
			list[g.Name] = true
		}
	}
	for _, g := range group[i].req.Config.Gates {
		delete(list, g.Name)
	}
	return list
}
