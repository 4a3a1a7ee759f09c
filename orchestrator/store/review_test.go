package store_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"agent/orchestrator/crew"
	"agent/orchestrator/crew/builder"
	"agent/orchestrator/llm"
	"agent/orchestrator/run"
	"agent/orchestrator/store"
	"agent/orchestrator/store/history"
	"agent/orchestrator/store/storetest"
	"agent/sandbox/workspace"
	"agent/verify"
)

// listed names the promotions that match a filter, with their reviewers.
func listed(t *testing.T, db *store.DB, filter history.ReviewFilter) string {
	t.Helper()
	found, err := db.Promotions(t.Context(), filter)
	must(t, err)
	var names []string
	for _, p := range found {
		names = append(names, strings.TrimSpace(fmt.Sprintf("%s %s %s", p.Run, p.Verdict, p.Comment)))
	}
	return strings.Join(names, "; ")
}

func TestAPromotionWaitsForItsReview(t *testing.T) {
	t.Parallel()
	db, url := storetest.New(t)
	for _, id := range []string{"01a", "01b", "01c"} {
		promote(t, db, id, "", changes())
	}
	promote(t, db, "01d", "01c", changes())
	must(t, db.Create(t.Context(), record("01e")))
	must(t, db.SavePromotion(t.Context(), "01e", 1, run.Promotion{Status: run.RolledBack, Changeset: changes()}))
	must(t, db.Finish(t.Context(), "01e", 1, run.Ending{State: run.Conflicted, Verdict: verify.Conflict}))

	if got := listed(t, db, history.ReviewFilter{Workspace: "/home/ada/shop"}); got != "01a; 01b" {
		t.Errorf("to be reviewed are %q, want those that stand", got)
	}
	must(t, db.AddReview(t.Context(), store.Review{Run: "01a", Reviewer: "ada", Verdict: history.Commented, Comment: "why\x00?"}))
	must(t, db.AddReview(t.Context(), store.Review{Run: "01a", Reviewer: "bob", Verdict: history.Accepted, Comment: "I see"}))
	if got := listed(t, db, history.ReviewFilter{}); got != "01b" {
		t.Errorf("to be reviewed are %q", got)
	}
	if got := listed(t, db, history.ReviewFilter{All: true}); got != "01a accepted I see; 01b; 01c" {
		t.Errorf("all are %q: the last review counts, and an undo is none", got)
	}
	if got := listed(t, db, history.ReviewFilter{Run: "01c", All: true}); got != "01c" {
		t.Errorf("one run is %q", got)
	}
	if got := listed(t, db, history.ReviewFilter{Workspace: "/elsewhere", All: true}); got != "" {
		t.Errorf("elsewhere there is %q", got)
	}
	for _, id := range []string{"01e", "01z"} {
		if err := db.AddReview(t.Context(), store.Review{Run: id, Verdict: history.Accepted}); err == nil || !strings.Contains(err.Error(), "promoted nothing") {
			t.Errorf("a review of %s: %v", id, err)
		}
	}
	if err := db.AddReview(t.Context(), store.Review{Run: "01a", Verdict: "splendid"}); err == nil {
		t.Error("any verdict is taken")
	}
	if got := value(t, url, `select string_agg(concat_ws(' ', run, reviewer, verdict, comment), '; ' order by review) from v_reviews where reviewer is not null`); got != "01a ada commented why�?; 01a bob accepted I see" {
		t.Errorf("the view has %q", got)
	}
}

// The models of a run are those that wrote code for it; its cost covers all its requests.
func TestAReviewTellsModelAndCost(t *testing.T) {
	t.Parallel()
	db, _ := storetest.New(t)
	asked := record("01a")
	asked.Patch = nil
	must(t, db.Create(t.Context(), asked))
	for i, c := range []struct {
		model, purpose string
		kind           llm.Kind
	}{{"big", "PT", ""}, {"gone", "IF", llm.Network}, {"big", "IF", ""}, {"small", "ALF", ""}} {
		n, err := db.Begin(t.Context(), llm.Record{
			Run: "01a", Step: fmt.Sprint("step/", i), Attempt: 1, Vendor: "v", Model: c.model, Purpose: c.purpose, Request: []byte("{}"), Begun: asked.Started,
		})
		must(t, err)
		must(t, db.End(t.Context(), n, llm.Outcome{Cost: 500_000, Priced: c.kind == "", Kind: c.kind}))
	}
	p := run.Promotion{Status: run.Committed, Changeset: changes()}
	must(t, db.SavePromotion(t.Context(), "01a", 1, p))
	must(t, db.Finish(t.Context(), "01a", 1, run.Ending{State: run.Promoted, Verdict: verify.Pass}))
	promote(t, db, "01b", "", changes())
	found, err := db.Promotions(t.Context(), history.ReviewFilter{})
	must(t, err)
	if len(found) != 2 || found[0].Model != "v/big, v/small" || found[0].Cost == nil || *found[0].Cost != 1.5 {
		t.Errorf("the run of a model is %+v", found)
	}
	if found[1].Model != "patch" || found[1].Cost != nil || found[1].Intent != "patch good.xml" || found[1].Approved != "--yes" {
		t.Errorf("the run of a patch is %+v", found[1])
	}
}

// A delivered plan has the models of its tasks. One carried out again from its record has the models of that plan, and cost nothing.
func TestADeliveredPlanHasTheModelsOfItsTasks(t *testing.T) {
	t.Parallel()
	db, _ := storetest.New(t)
	plan := func(replays int64, task, deliver, id string) int64 {
		n, err := db.Plans().AddPlan(t.Context(), crew.Plan{Workspace: "/w", Goal: "g", State: crew.Drafted, Replays: replays})
		must(t, err)
		for attempt, kind := range map[string]builder.Kind{task: builder.TaskKind, deliver: builder.DeliverKind} {
			must(t, db.Plans().SaveAttempt(t.Context(), builder.Attempt{ID: attempt, Plan: n, Kind: kind, Fence: "f", Outcome: builder.Passed, Started: time.Unix(1, 0)}))
		}
		asked := record(id)
		asked.Patch, asked.Iteration = nil, deliver
		must(t, db.Create(t.Context(), asked))
		must(t, db.SavePromotion(t.Context(), id, 1, run.Promotion{Status: run.Committed, Changeset: changes()}))
		must(t, db.Finish(t.Context(), id, 1, run.Ending{State: run.Promoted, Verdict: verify.Pass}))
		return n
	}
	first := plan(0, "01task", "01deliver", "01a")
	n, err := db.Begin(t.Context(), llm.Record{Run: "01task", Step: "propose/1", Attempt: 1, Vendor: "v", Model: "m", Purpose: "IF", Request: []byte("{}"), Begun: time.Unix(1, 0)})
	must(t, err)
	must(t, db.End(t.Context(), n, llm.Outcome{Cost: 500_000, Priced: true}))
	plan(first, "02task", "02deliver", "01b")
	found, err := db.Promotions(t.Context(), history.ReviewFilter{})
	must(t, err)
	if len(found) != 2 || found[0].Model != "v/m" || found[1].Model != "v/m" || found[0].Cost == nil || found[1].Cost != nil {
		t.Errorf("%+v", found)
	}
}

func TestTheHistoryOfAFileFollowsItsNames(t *testing.T) {
	t.Parallel()
	db, _ := storetest.New(t)
	one := func(op workspace.Op, path, from, before, after string) workspace.Changeset {
		c := workspace.Change{Op: op, Path: path, From: from, Before: []byte(before), After: []byte(after), Mode: 0o644}
		return workspace.Changeset{Changes: []workspace.Change{c}}
	}
	promote(t, db, "01a", "", one(workspace.Modify, "new.py", "", "other", "file")) // is renamed before the name is used again
	promote(t, db, "01b", "", one(workspace.Rename, "gone.py", "new.py", "file", "file"))
	promote(t, db, "01c", "", one(workspace.Create, "old.py", "", "", "1"))
	promote(t, db, "01d", "", one(workspace.Rename, "new.py", "old.py", "1", "2"))
	promote(t, db, "01e", "", one(workspace.Modify, "old.py", "", "not", "this"))
	promote(t, db, "01f", "01d", one(workspace.Rename, "old.py", "new.py", "2", "1"))
	promote(t, db, "01g", "", workspace.Changeset{Changes: []workspace.Change{ // two files are swapped
		{Op: workspace.Rename, Path: "old.py", From: "side.py", Before: []byte("s"), After: []byte("s"), Mode: 0o644},
		{Op: workspace.Rename, Path: "side.py", From: "old.py", Before: []byte("1"), After: []byte("1"), Mode: 0o644},
	}})
	must(t, db.AddReview(t.Context(), store.Review{Run: "01d", Verdict: history.Commented}))
	must(t, db.AddReview(t.Context(), store.Review{Run: "01d", Verdict: history.Accepted}))
	for name, want := range map[string]string{
		"side.py": "01c create ->1 ; 01d rename 1->2 accepted; 01f rename 2->1 ; 01g rename 1->1 ",
		"gone.py": "01a modify other->file ; 01b rename file->file ",
		"new.py":  "01c create ->1 ; 01d rename 1->2 accepted; 01f delete 2-> ",
		"no.py":   "",
	} {
		found, err := db.FileHistory(t.Context(), "/home/ada/shop", name)
		must(t, err)
		var told []string
		for _, c := range found {
			told = append(told, fmt.Sprintf("%s %s %s->%s %s", c.Run, c.Op, c.Before, c.After, c.Verdict))
		}
		if diff := cmp.Diff(want, strings.Join(told, "; ")); diff != "" {
			t.Errorf("history of %s (-want +got):\n%s", name, diff)
		}
	}
	if found, err := db.FileHistory(t.Context(), "/elsewhere", "new.py"); len(found) > 0 || err != nil {
		t.Errorf("another workspace has the history %v, %v", found, err)
	}
}
