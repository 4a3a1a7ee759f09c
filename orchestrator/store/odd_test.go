package store_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"agent/orchestrator/agent/critic"
	"agent/orchestrator/report"
	"agent/orchestrator/store"
	"agent/orchestrator/store/database"
	"agent/orchestrator/store/storetest"
)

// If many processes begin an integration on one repository, one succeeds. Other hosts and repositories are independent.
func TestOfManyIntegrationsOneBegins(t *testing.T) {
	t.Parallel()
	a, b, url := two(t)
	var all sync.WaitGroup
	var began atomic.Int32
	for i := range 8 {
		db := []*store.DB{a, b}[i%2]
		all.Go(func() {
			switch err := db.SaveIntegration(t.Context(), store.Integration{ID: fmt.Sprintf("01%d", i), Repository: tillRepository, State: store.Cloning}); {
			case err == nil:
				began.Add(1)
			case !errors.Is(err, store.ErrIntegrating):
				t.Error(err)
			}
		})
	}
	all.Wait()
	if n := began.Load(); n != 1 {
		t.Errorf("%d began", n)
	}
	for i, r := range []store.Repository{{Host: "gitlab.com", Slug: tillRepository.Slug}, {Host: tillRepository.Host, Slug: "shop/Till"}} {
		must(t, a.SaveIntegration(t.Context(), store.Integration{ID: fmt.Sprintf("02%d", i), Repository: r, State: store.Building}))
	}
	if n := value(t, url, `select count(*) from v_integrations`); n != "3" {
		t.Errorf("%s are recorded", n)
	}
}

// An ended integration can be reopened only if no other one has replaced it; an invalid one is refused.
func TestAnIntegrationThatEndedIsNotInTheWay(t *testing.T) {
	t.Parallel()
	db, _ := storetest.New(t)
	first := store.Integration{ID: "01a", Repository: tillRepository, Goal: strings.Repeat("é\x00", 1<<16), State: store.Broken, Why: "the clone\xff stopped"}
	must(t, db.SaveIntegration(t.Context(), first))
	if _, err := db.OpenIntegration(t.Context(), tillRepository); !errors.Is(err, database.ErrNotFound) {
		t.Errorf("one that failed is open: %v", err)
	}
	must(t, db.SaveIntegration(t.Context(), store.Integration{ID: "01b", Repository: tillRepository, State: store.CIWatch}))
	first.State = store.Building
	if err := db.SaveIntegration(t.Context(), first); !errors.Is(err, store.ErrIntegrating) {
		t.Errorf("two are open: %v", err)
	}
	if n, err := db.OpenIntegration(t.Context(), tillRepository); err != nil || n.ID != "01b" || n.State != store.CIWatch || n.State.Ended() {
		t.Errorf("%+v %v", n, err)
	}
	if err := db.SaveIntegration(t.Context(), store.Integration{ID: "01c", Repository: store.Repository{Host: "h", Slug: "a/b"}, State: "odd"}); err == nil {
		t.Error("a state that there is not is recorded")
	}
	stopped, cancel := context.WithCancel(t.Context())
	cancel()
	if err := db.SaveIntegration(stopped, store.Integration{ID: "01d", Repository: store.Repository{Host: "h", Slug: "a/b"}, State: store.Cloning}); !errors.Is(err, context.Canceled) {
		t.Errorf("after the end of its context: %v", err)
	}
}

// Callers assign the numbers. A gap, for instance an attempt without a review, neither loses nor mixes up reviews.
func TestReviewsWithGapsAreReadBack(t *testing.T) {
	t.Parallel()
	a, b, _ := two(t)
	late, later := critique(critic.SentBack), critique(critic.Kept)
	later.Subject, later.Findings = "d2", later.Findings[1:]
	must(t, a.AddCritique(t.Context(), "plan 7", 5, later))
	must(t, a.AddCritique(t.Context(), "plan 7", 2, late))
	must(t, a.AddCritique(t.Context(), "plan 70", 1, critique(critic.Clean)))
	list, err := b.Critiques(t.Context(), "plan 7")
	must(t, err)
	if diff := cmp.Diff([]critic.Critique{late, later}, list); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if list, err := b.Critiques(t.Context(), "plan"); err != nil || list != nil {
		t.Errorf("of nothing: %+v %v", list, err)
	}
}

// Concurrent writes of one review leave it once and complete. An invalid one is refused and leaves nothing behind.
func TestAReviewIsWrittenWholeOrNotAtAll(t *testing.T) {
	t.Parallel()
	a, b, url := two(t)
	want := critique(critic.Kept)
	for range 200 {
		want.Findings = append(want.Findings, critic.Finding{Severity: critic.Minor, File: "a.py", Line: math.MaxInt32, Text: strings.Repeat("x", 1000), By: []string{"a/1"}})
	}
	var all sync.WaitGroup
	for _, db := range []*store.DB{a, b, a, b} {
		all.Go(func() {
			if err := db.AddCritique(t.Context(), "plan 7", 1, want); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	list, err := a.Critiques(t.Context(), "plan 7")
	must(t, err)
	if diff := cmp.Diff([]critic.Critique{want}, list); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	bad := critique(critic.Kept)
	bad.Findings[1].Severity = "odd"
	if err := a.AddCritique(t.Context(), "plan 8", 1, bad); err == nil {
		t.Error("a severity that there is not is recorded")
	}
	if n := value(t, url, `select (select count(*) from critique where run = 'plan 8') + (select count(*) from critique_opinion where run = 'plan 8')`); n != "0" {
		t.Errorf("%s rows are left of it", n)
	}
}

// A score is a number from 0 to 1. Reports of concurrent processes are all recorded, and the last one is read completely.
func TestReportsOfManyAndOfOddNumbers(t *testing.T) {
	t.Parallel()
	db, url := storetest.New(t)
	for name, x := range map[string]float64{"nan": math.NaN(), "inf": math.Inf(1), "less": math.Inf(-1), "more": 1.01} {
		r := report.Report{Score: &x, Rows: []report.Row{{Analyzer: "readme", Status: report.Pass, Score: &x}}}
		if err := db.SaveReport(t.Context(), report.Kept{ID: name, Workspace: "/shop", Report: r}); err == nil {
			t.Errorf("%v is recorded as a score", x)
		}
		r.Score = nil
		if err := db.SaveReport(t.Context(), report.Kept{ID: name, Workspace: "/shop", Report: r}); err == nil {
			t.Errorf("%v is recorded as the score of a row", x)
		}
	}
	var all sync.WaitGroup
	for i := range 6 {
		all.Go(func() {
			r := scored(map[string]float64{"readme": 0.5, "tests": 0.25, "build": 1})
			if err := db.SaveReport(t.Context(), report.Kept{ID: fmt.Sprint("r", i%3), Workspace: "/a\xffb\x00", Report: r}); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	last, err := db.Scores(t.Context(), "/a\xffb\x00")
	if err != nil || len(last) != 3 || last["tests"] != 0.25 {
		t.Errorf("%v %v", last, err)
	}
	if n := value(t, url, `select count(*) || ' ' || count(distinct report) from report_row`); n != "9 3" {
		t.Errorf("rows and reports: %s", n)
	}
	must(t, db.SaveReport(t.Context(), report.Kept{ID: "empty", Workspace: "/none"}))
	if last, err := db.Scores(t.Context(), "/none"); err != nil || len(last) != 0 {
		t.Errorf("a report of nothing has %v, %v", last, err)
	}
}
