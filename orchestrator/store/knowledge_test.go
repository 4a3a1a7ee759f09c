package store_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"agent/orchestrator/agent"
	"agent/orchestrator/gate"
	"agent/orchestrator/loop"
	"agent/orchestrator/run"
	"agent/orchestrator/store"
	"agent/orchestrator/store/storetest"
	"agent/sandbox/workspace"
	"agent/verify"
)

// shop is the workspace of the tests.
const shop = "/home/ada/shop"

// wantError checks that err is the wanted error.
func wantError(t *testing.T, what string, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("%s: got %v, want %v", what, err, want)
	}
}

// one checks that exactly one of eight concurrent writers succeeds, and that the others get ErrFenced.
func one(t *testing.T, act func(i int) error) {
	t.Helper()
	var mu sync.Mutex
	var all sync.WaitGroup
	won := 0
	for i := range 8 {
		all.Go(func() {
			err := act(i)
			mu.Lock()
			defer mu.Unlock()
			if err == nil {
				won++
			} else if !errors.Is(err, run.ErrFenced) {
				t.Errorf("writer %d: %v", i, err)
			}
		})
	}
	all.Wait()
	if won != 1 {
		t.Errorf("%d of the writers succeeded, want 1", won)
	}
}

func TestAMemoryCountsOnce(t *testing.T) {
	t.Parallel()
	a, b, _ := two(t)
	expect := func(want agent.Memory) {
		t.Helper()
		if got, err := b.Memory(t.Context(), shop); err != nil || got != want {
			t.Errorf("got %+v, %v, want %+v", got, err, want)
		}
	}
	expect(agent.Memory{})
	must(t, a.SaveMemory(t.Context(), shop, "r1", agent.Memory{Text: "one\x00\xff", Iteration: 1}))
	expect(agent.Memory{Text: "one\uFFFD\uFFFD", Iteration: 1, Run: "r1"})
	for _, n := range []int{-1, 0, 1, 3} {
		wantError(t, fmt.Sprint("iteration ", n), a.SaveMemory(t.Context(), shop, "r2", agent.Memory{Text: "no", Iteration: n}), run.ErrFenced)
	}
	one(t, func(i int) error {
		m := agent.Memory{Text: fmt.Sprint("two by ", i), Iteration: 2}
		return []*store.DB{a, b}[i%2].SaveMemory(t.Context(), shop, "r2", m)
	})
	must(t, a.SaveMemory(t.Context(), shop, "r3", agent.Memory{Text: "three", Iteration: 3}))
	must(t, a.SaveMemory(t.Context(), "/other", "r4", agent.Memory{Text: "other", Iteration: 1}))
	expect(agent.Memory{Text: "three", Iteration: 3, Run: "r3"})
	want(t, a, `select workspace, iteration, run, split_part(text, ' ', 1), current from v_memory order by 1, 2`,
		shop+"|1|r1|one\uFFFD\uFFFD|false", shop+"|2|r2|two|false", shop+"|3|r3|three|true", "/other|1|r4|other|true")
}

// change records a run that promoted one candidate, after another candidate that did not pass.
func change(t *testing.T, db *store.DB, id, undoOf string, paths ...string) {
	t.Helper()
	must(t, db.Create(t.Context(), record(id)))
	lost := gate.Candidate{Verdict: verify.Fail, Diff: "lost " + id}
	lost.Changeset.Changes = []workspace.Change{{Op: workspace.Create, Path: "lost", Mode: 0o644, After: []byte(id)}}
	won := gate.Candidate{Verdict: verify.Pass, Diff: "diff " + id}
	for _, path := range paths {
		won.Changeset.Changes = append(won.Changeset.Changes, workspace.Change{Op: workspace.Create, Path: path, Mode: 0o644, After: []byte(id)})
	}
	same := lost // the same files as the promoted ones, with other content
	same.Changeset.Changes = append([]workspace.Change{}, won.Changeset.Changes...)
	same.Changeset.Changes[0].After = []byte("other")
	for _, c := range []gate.Candidate{lost, won, same, lost} {
		must(t, db.SaveCandidate(t.Context(), id, 1, c))
	}
	p := run.Promotion{Status: run.Committed, UndoOf: undoOf, Approved: "--yes", Changeset: won.Changeset}
	must(t, db.SavePromotion(t.Context(), id, 1, p))
	must(t, db.Finish(t.Context(), id, 1, run.Ending{State: run.Promoted, Verdict: verify.Pass}))
}

func TestHistoryIsWhatStands(t *testing.T) {
	t.Parallel()
	a, b, _ := two(t)
	expect := func(n int, want ...agent.Entry) {
		t.Helper()
		got, err := b.History(t.Context(), shop, n)
		must(t, err)
		if d := cmp.Diff(want, got, cmpopts.IgnoreFields(agent.Entry{}, "At"), cmpopts.EquateEmpty()); d != "" {
			t.Errorf("the last %d (-want +got):\n%s", n, d)
		}
		for i, e := range got {
			if e.At.IsZero() || i > 0 && e.At.Before(got[i-1].At) {
				t.Errorf("entry %d is of %v", i, e.At)
			}
		}
	}
	expect(3)
	change(t, a, "01a", "", "shop/tax.py")
	change(t, a, "01b", "", "b", "a", "é", "c", "Z")
	change(t, a, "01c", "", "gone")
	change(t, a, "01d", "01c", "gone")
	first := agent.Entry{Path: "shop/tax.py", Diff: "diff 01a"}
	second := agent.Entry{Path: "Z, a, b and 2 more", Diff: "diff 01b"}
	expect(9, first, second)
	expect(1, second)
	expect(0)

	// Promotions in progress or rolled back, and one that was never a candidate.
	must(t, a.Create(t.Context(), record("01d1")))
	must(t, a.SavePromotion(t.Context(), "01d1", 1, run.Promotion{Status: run.Prepared, Changeset: changes()}))
	must(t, a.Create(t.Context(), record("01d2")))
	must(t, a.SavePromotion(t.Context(), "01d2", 1, run.Promotion{Status: run.Committed, Changeset: changes()}))
	must(t, a.Finish(t.Context(), "01d2", 1, run.Ending{State: run.Failed, Verdict: verify.Infra}))
	must(t, a.Create(t.Context(), record("01e")))
	must(t, a.SavePromotion(t.Context(), "01e", 1, run.Promotion{Status: run.RolledBack, Changeset: changes()}))
	must(t, a.Finish(t.Context(), "01e", 1, run.Ending{State: run.Failed, Verdict: verify.Infra}))
	expect(9, first, second)
	promote(t, a, "01f", "", workspace.Changeset{Changes: []workspace.Change{{Op: workspace.Delete, Path: "x", Before: []byte("x"), Mode: 0o644}}})
	expect(9, first, second, agent.Entry{Path: "x"})
	want(t, a, `select run, path, files, diff from v_history where files > 1`, "01b|Z, a, b and 2 more|5|diff 01b")
}

// queue checks the waiting files, in order: path, causes, diffs and runs.
func queue(t *testing.T, db *store.DB, want ...loop.Waiting) {
	t.Helper()
	got, err := db.Queue(t.Context(), shop)
	must(t, err)
	if d := cmp.Diff(want, got, cmpopts.IgnoreFields(loop.Waiting{}, "Queued"), cmpopts.EquateEmpty()); d != "" {
		t.Errorf("the queue (-want +got):\n%s", d)
	}
}

// waiting returns a file that waits for one cause.
func waiting(path, because string, runs ...string) loop.Waiting {
	return loop.Waiting{Path: path, Because: because, Diff: "-" + because, From: runs}
}

func TestTheQueueIsServedInOrder(t *testing.T) {
	t.Parallel()
	a, b, _ := two(t)
	queue(t, a)
	must(t, a.Enqueue(t.Context(), shop, "r1", nil))
	must(t, a.Enqueue(t.Context(), shop, "r1", []loop.Waiting{waiting("z", "one"), waiting("a", "two"), waiting("z", "three")}))
	z := loop.Waiting{Path: "z", Because: "one\nthree", Diff: "-one\n-three", From: []string{"r1"}}
	queue(t, b, z, waiting("a", "two", "r1"))

	// Each run queues a file only once, from any process.
	must(t, b.Enqueue(t.Context(), shop, "r1", []loop.Waiting{waiting("a", "again"), waiting("m", "late")}))
	must(t, b.Enqueue(t.Context(), shop, "r2", []loop.Waiting{waiting("z", "four\x00")}))
	z = loop.Waiting{Path: "z", Because: "one\nthree\nfour\uFFFD", Diff: "-one\n-three\n-four\uFFFD", From: []string{"r1", "r2"}}
	queue(t, a, z, waiting("a", "two", "r1"), waiting("m", "late", "r1"))

	must(t, a.Served(t.Context(), shop, "r3", "z"))
	must(t, a.Served(t.Context(), shop, "r3", "no such file"))
	must(t, a.Served(t.Context(), "/other", "r3", "a"))
	must(t, a.Enqueue(t.Context(), shop, "r1", []loop.Waiting{waiting("z", "served meanwhile")}))
	queue(t, b, waiting("a", "two", "r1"), waiting("m", "late", "r1"))

	// A file that waits again goes to the end, and an earlier service does not count for it.
	must(t, b.Enqueue(t.Context(), shop, "r4", []loop.Waiting{waiting("z", "five")}))
	must(t, a.Served(t.Context(), shop, "r3", "z"))
	queue(t, a, waiting("a", "two", "r1"), waiting("m", "late", "r1"), waiting("z", "five", "r4"))
	list, err := a.Queue(t.Context(), shop)
	must(t, err)
	if list[2].Queued.Before(list[1].Queued) || list[1].Queued.Before(list[0].Queued) || list[0].Queued.IsZero() {
		t.Errorf("queued at %v, %v and %v", list[0].Queued, list[1].Queued, list[2].Queued)
	}
	want(t, a, `select path, place, because, runs, served_by from v_cascade order by served, place`,
		"z|∅|one\nthree\nfour\uFFFD|{r1,r2}|r3", "a|1|two|{r1}|∅", "m|2|late|{r1}|∅", "z|3|five|{r4}|∅")
}

func TestManyRunsQueueAtOnce(t *testing.T) {
	t.Parallel()
	a, b, _ := two(t)
	var all sync.WaitGroup
	for i := range 8 {
		list := []loop.Waiting{waiting("a", fmt.Sprint(i)), waiting("b", fmt.Sprint(i)), waiting("c", fmt.Sprint(i))}
		if i%2 == 1 { // so that they block each other
			list[0], list[2] = list[2], list[0]
		}
		for _, db := range []*store.DB{a, b} {
			all.Go(func() {
				if err := db.Enqueue(t.Context(), shop, fmt.Sprint("r", i), list); err != nil {
					t.Error(err)
				}
			})
		}
	}
	all.Wait()
	got, err := a.Queue(t.Context(), shop)
	must(t, err)
	for _, w := range got {
		if len(w.From) != 8 || len(strings.Split(w.Because, "\n")) != 8 || len(strings.Split(w.Diff, "\n")) != 8 {
			t.Errorf("%s has the causes %q of runs %v", w.Path, w.Because, w.From)
		}
	}
	if len(got) != 3 {
		t.Errorf("%d files wait, want 3", len(got))
	}
}

func TestAQueueRefusesAPathThatItCouldNotGiveBack(t *testing.T) {
	t.Parallel()
	db, _ := storetest.New(t)
	for _, path := range []string{"a\x00", "a\xff"} {
		err := db.Enqueue(t.Context(), shop, "r1", []loop.Waiting{waiting("good", "one"), waiting(path, "two")})
		if err == nil || !strings.Contains(err.Error(), "UTF-8") {
			t.Errorf("%q: got %v", path, err)
		}
	}
	queue(t, db)
}
