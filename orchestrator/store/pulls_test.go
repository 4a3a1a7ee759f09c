package store_test

import (
	"testing"

	"agent/orchestrator/store"
	"agent/orchestrator/store/storetest"
)

func TestAPullRequestIsRecordedOnce(t *testing.T) {
	t.Parallel()
	db, url := storetest.New(t)
	for _, id := range []string{"01a", "01b"} {
		promote(t, db, id, "", changes())
	}
	p := store.Pull{
		Workspace: "/home/ada/shop", Host: "github.com", Repository: "shop/till", Number: 7, URL: "https://github.com/shop/till/pull/7", Title: "one\x00", Base: "main", Head: "agent/01b",
		HeadCommit: "c1", Draft: true, Runs: []store.PullRun{{Run: "01a", Commit: "c0"}, {Run: "01b", Commit: "c1"}, {Run: "elsewhere", Commit: "c2"}},
	}
	must(t, db.SavePull(t.Context(), p))
	p.Title, p.Draft, p.HeadCommit = "two", false, "c3"
	must(t, db.SavePull(t.Context(), p))
	p.Number, p.Runs = 8, nil
	must(t, db.SavePull(t.Context(), p))
	if got := value(t, url, `select string_agg(concat_ws(' ', number, repository, title, draft, head_commit, runs, commits), '; ' order by number) from v_pulls`); got != "7 shop/till two f c3 01a 01b 2; 8 shop/till two f c3 0" {
		t.Errorf("%q", got)
	}
	p.Number = 0
	if err := db.SavePull(t.Context(), p); err == nil {
		t.Error("a pull request without a number is recorded")
	}
}
