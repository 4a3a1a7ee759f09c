package store_test

import (
	"maps"
	"testing"

	"agent/orchestrator/report"
	"agent/orchestrator/store/storetest"
)

// scored returns a report with these rows; a score below 0 means none.
func scored(scores map[string]float64) report.Report {
	r := report.Report{Rows: []report.Row{}}
	for _, name := range []string{"readme", "tests", "build"} {
		row := report.Row{Analyzer: name, Status: report.Unknown, Summary: "seen\x00"}
		if x := scores[name]; x >= 0 {
			row.Score, row.Status = &x, report.Warn
			row.Details = []report.Detail{{Status: report.Warn, Message: "m", Next: "n"}, {Status: report.Note, Message: "m", Next: "n"}}
			row.More = 2
		}
		r.Rows = append(r.Rows, row)
	}
	return r
}

func TestReportsShowWhereAWorkspaceGoes(t *testing.T) {
	t.Parallel()
	db, url := storetest.New(t)
	if last, err := db.Scores(t.Context(), "/shop"); err != nil || len(last) != 0 {
		t.Fatalf("before the first report: %v, %v", last, err)
	}
	first := report.Kept{ID: "r1", Workspace: "/shop", Snapshot: "d1", Report: scored(map[string]float64{"readme": 0.5, "tests": 0.33, "build": 1})}
	for range 2 { // the answer to the first try was lost
		must(t, db.SaveReport(t.Context(), first))
	}
	must(t, db.SaveReport(t.Context(), report.Kept{ID: "r2", Workspace: "/shop", Snapshot: "d2", Fast: true, Report: scored(map[string]float64{"readme": 0.75, "tests": -1, "build": -1})}))
	must(t, db.SaveReport(t.Context(), report.Kept{ID: "r3", Workspace: "/elsewhere", Snapshot: "d1", Report: scored(map[string]float64{"readme": 0, "tests": -1, "build": -1})}))
	must(t, db.SaveReport(t.Context(), report.Kept{ID: "r4", Workspace: "/shop", Snapshot: "d2", Report: scored(map[string]float64{"readme": 0.75, "tests": 0.66, "build": -1})}))
	last, err := db.Scores(t.Context(), "/shop")
	if want := map[string]float64{"readme": 0.75, "tests": 0.66, "build": 1}; err != nil || !maps.Equal(last, want) {
		t.Errorf("%v, %v", last, err)
	}
	got := value(t, url, `select string_agg(concat_ws(' ', report, analyzer, status, coalesce(score::text, '-'), coalesce(before::text, '-'), warns, notes), '; ' order by at, analyzer)
		from v_reports where workspace = '/shop' and analyzer <> 'build'`)
	if want := "r1 readme warn 0.50 - 1 3; r1 tests warn 0.33 - 1 3; r2 readme warn 0.75 0.50 1 3; r2 tests unknown - 0.33 0 0; r4 readme warn 0.75 0.75 1 3; r4 tests warn 0.66 0.33 1 3"; got != want {
		t.Errorf("the view says\n%s\nwant\n%s", got, want)
	}
}

func TestAReportThatIsNoneIsNotRecorded(t *testing.T) {
	t.Parallel()
	db, url := storetest.New(t)
	for name, r := range map[string]report.Report{"score": scored(map[string]float64{"readme": 7}), "status": {Rows: []report.Row{{Analyzer: "readme", Status: "fine"}}}} {
		if err := db.SaveReport(t.Context(), report.Kept{ID: name, Workspace: "/shop", Report: r}); err == nil {
			t.Errorf("a %s that there is not is recorded", name)
		}
	}
	if n := value(t, url, `select count(*) from report`); n != "0" {
		t.Errorf("%s reports are left", n)
	}
}
