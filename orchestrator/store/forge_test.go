package store_test

import (
	"errors"
	"reflect"
	"sync"
	"testing"
	"time"

	"agent/orchestrator/run"
	"agent/orchestrator/store"
	"agent/orchestrator/store/database"
	"agent/orchestrator/store/storetest"
)

var tillRepository = store.Repository{Host: "github.com", Slug: "shop/till"}

func TestOneProcessWorksOnARepository(t *testing.T) {
	t.Parallel()
	db, _ := storetest.New(t)
	ctx := t.Context()
	never := func(string, time.Time) bool { return false }
	first, err := db.TakeLease(ctx, tillRepository, "one", never)
	must(t, err)
	var held *store.LeaseError
	if _, err := db.TakeLease(ctx, tillRepository, "two", never); !errors.As(err, &held) || held.Owner != "one" || held.Beat.IsZero() {
		t.Errorf("%v", err)
	}
	if _, err := db.TakeLease(ctx, store.Repository{Host: "github.com", Slug: "shop/other"}, "two", never); err != nil {
		t.Errorf("another repository: %v", err)
	}
	must(t, db.BeatLease(ctx, tillRepository, first))
	// The first owner is dead: whoever takes over the lease may go on.
	second, err := db.TakeLease(ctx, tillRepository, "two", func(owner string, _ time.Time) bool { return owner == "one" })
	must(t, err)
	if err := db.BeatLease(ctx, tillRepository, first); !errors.Is(err, run.ErrFenced) {
		t.Errorf("the dead one goes on: %v", err)
	}
	must(t, db.EndLease(ctx, tillRepository, first)) // ends nothing
	must(t, db.BeatLease(ctx, tillRepository, second))
	must(t, db.EndLease(ctx, tillRepository, second))
	if _, err := db.TakeLease(ctx, tillRepository, "three", never); err != nil {
		t.Errorf("after its end: %v", err)
	}
}

func TestOfManyOneGetsTheLease(t *testing.T) {
	t.Parallel()
	db, _ := storetest.New(t)
	var mu sync.Mutex
	var all sync.WaitGroup
	got := 0
	for _, owner := range []string{"a", "b", "c", "d"} {
		all.Go(func() {
			_, err := db.TakeLease(t.Context(), tillRepository, owner, func(string, time.Time) bool { return false })
			mu.Lock()
			defer mu.Unlock()
			var held *store.LeaseError
			if err == nil {
				got++
			} else if !errors.As(err, &held) {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if got != 1 {
		t.Errorf("%d got it", got)
	}
}

func TestRoundsOfABuildAreRecorded(t *testing.T) {
	t.Parallel()
	db, url := storetest.New(t)
	ctx := t.Context()
	c := store.CIRound{HeadCommit: "c0", Failed: []string{"test\x00", "lint"}, Flaky: []string{"slow"}}
	var err error
	c.ID, err = db.SaveCIRound(ctx, tillRepository, 7, c)
	must(t, err)
	c.Reproduced, c.Run, c.FixCommit = "tests: 1 failed", "01a", "c1"
	_, err = db.SaveCIRound(ctx, tillRepository, 7, c)
	must(t, err)
	_, err = db.SaveCIRound(ctx, tillRepository, 7, store.CIRound{HeadCommit: "c1", Failed: []string{"test"}, Why: "nothing was found"})
	must(t, err)
	list, err := db.CIRounds(ctx, tillRepository, 7)
	if err != nil || len(list) != 2 || list[0].FixCommit != "c1" || list[0].Run != "01a" || list[1].Why != "nothing was found" || len(list[1].Flaky) != 0 {
		t.Errorf("%+v %v", list, err)
	}
	if got := value(t, url, `select string_agg(concat_ws('|', round, head_commit, failed, flaky, reproduced, run, fix_commit, pushed, why), '; ' order by round) from v_ci`); got != "1|c0|test\ufffd, lint|slow|tests: 1 failed|01a|c1|f|; 2|c1|test|||f|nothing was found" {
		t.Errorf("%q", got)
	}
	if list, err := db.CIRounds(ctx, tillRepository, 8); err != nil || len(list) != 0 {
		t.Errorf("%+v %v", list, err)
	}
	if _, err := db.SaveCIRound(ctx, tillRepository, 0, store.CIRound{HeadCommit: "c1"}); err == nil {
		t.Error("a pull request without a number is recorded")
	}
}

func TestCommentsAreTakenUpOnce(t *testing.T) {
	t.Parallel()
	db, url := storetest.New(t)
	ctx := t.Context()
	c := store.ReviewComment{Thread: "5", Comment: "9", Author: "ada", Path: "till.py", Line: 3, State: store.CommentOpen}
	for _, state := range []store.CommentState{store.CommentOpen, store.CommentCommitted, store.CommentPushed, store.CommentAnswered} {
		c.State, c.Run, c.FixCommit, c.Answer = state, "01a", "c1", "done"
		must(t, db.SaveReviewComment(ctx, tillRepository, 7, c))
	}
	other := c
	other.Comment = "11" // with another comment
	other.State = store.CommentOpen
	must(t, db.SaveReviewComment(ctx, tillRepository, 7, other))
	list, err := db.ReviewComments(ctx, tillRepository, 7)
	if err != nil || len(list) != 2 || !reflect.DeepEqual(list[0], c) {
		t.Errorf("%+v %v", list, err)
	}
	c.State = "odd"
	if err := db.SaveReviewComment(ctx, tillRepository, 7, c); err == nil {
		t.Error("an unknown state is recorded")
	}
	if got := value(t, url, `select string_agg(concat_ws(' ', thread, comment, state, run, fix_commit), '; ' order by comment) from v_review_comments`); got != "5 11 open 01a c1; 5 9 answered 01a c1" {
		t.Errorf("%q", got)
	}
}

func TestARepositoryHasOneIntegrationAtATime(t *testing.T) {
	t.Parallel()
	db, url := storetest.New(t)
	ctx := t.Context()
	if _, err := db.OpenIntegration(ctx, tillRepository); !errors.Is(err, database.ErrNotFound) {
		t.Errorf("%v", err)
	}
	n := store.Integration{ID: "01a", Repository: tillRepository, Goal: "round\x00 up", Issue: 4, State: store.Cloning}
	for _, state := range []store.IntegrationState{store.Cloning, store.Building, store.PROpen, store.SelfReview, store.CIWatch, store.Reviewing} {
		n.State, n.Runs, n.Number = state, "01r 01s", 7
		must(t, db.SaveIntegration(ctx, n))
		if got, err := db.OpenIntegration(ctx, tillRepository); err != nil || got.State != state || got.Goal != "round\ufffd up" || got.Issue != 4 || got.Number != 7 || got.Runs != "01r 01s" || got.Repository != tillRepository {
			t.Errorf("%+v %v", got, err)
		}
	}
	if err := db.SaveIntegration(ctx, store.Integration{ID: "01b", Repository: tillRepository, State: store.Cloning}); !errors.Is(err, store.ErrIntegrating) {
		t.Errorf("%v", err)
	}
	n.State = store.Integrated
	must(t, db.SaveIntegration(ctx, n))
	must(t, db.SaveIntegration(ctx, store.Integration{ID: "01b", Repository: tillRepository, State: store.Cloning}))
	must(t, db.SaveIntegration(ctx, store.Integration{ID: "01b", Repository: tillRepository, State: store.GivenUp, Why: "--reset"}))
	if got := value(t, url, `select string_agg(concat_ws(' ', integration, state, ended is not null, why), '; ' order by integration) from v_integrations`); got != "01a done t ; 01b given_up t --reset" {
		t.Errorf("%q", got)
	}
}
