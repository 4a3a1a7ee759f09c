package store_test

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"agent/orchestrator/gate"
	"agent/orchestrator/run"
	"agent/orchestrator/store"
	"agent/orchestrator/store/database"
	"agent/orchestrator/store/storetest"
	"agent/sandbox/workspace"
	"agent/verify"
	"agent/verify/policy"
)

// changes returns every operation, with empty files, NUL and invalid UTF-8.
func changes() workspace.Changeset {
	return workspace.Changeset{Changes: []workspace.Change{
		{Op: workspace.Create, Path: "a/empty", After: []byte{}, Mode: 0o755},
		{Op: workspace.Modify, Path: "b", Before: []byte{}, After: []byte("\x00\xff\r\n"), Mode: 0o700, OldMode: 0o600},
		{Op: workspace.Delete, Path: "c", Before: []byte("gone"), Mode: 0o644},
		{Op: workspace.Rename, Path: "é", From: "d", Before: []byte("same"), After: []byte("same"), Mode: 0o644},
	}}
}

// promote records a run that promoted cs.
func promote(t *testing.T, db *store.DB, id, undoOf string, cs workspace.Changeset) {
	t.Helper()
	must(t, db.Create(t.Context(), record(id)))
	p := run.Promotion{Status: run.Prepared, UndoOf: undoOf, Approved: "--yes", Changeset: cs}
	must(t, db.SavePromotion(t.Context(), id, 1, p))
	p.Status = run.Committed
	must(t, db.SavePromotion(t.Context(), id, 1, p))
	must(t, db.Finish(t.Context(), id, 1, run.Ending{State: run.Promoted, Verdict: verify.Pass}))
}

func TestAPromotionComesBackByteForByte(t *testing.T) {
	t.Parallel()
	db, _ := storetest.New(t)
	promote(t, db, "01run", "", changes())
	p, err := db.PromotionOf(t.Context(), "01run")
	must(t, err)
	want := run.Promotion{Status: run.Committed, Approved: "--yes", Changeset: changes()}
	if diff := cmp.Diff(want, p); diff != "" {
		t.Errorf("promotion (-want +got):\n%s", diff)
	}
	d, err := db.Run(t.Context(), "01run")
	must(t, err)
	const empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855" // SHA-256 of nothing
	if f := d.Promotion.Files[0]; f != (run.DocumentFile{Path: "a/empty", Op: workspace.Create, Mode: "0755", After: empty}) {
		t.Errorf("created file: %+v", f)
	}
	if f := d.Promotion.Files[3]; f.From != "d" || f.Before != f.After || f.Before == "" {
		t.Errorf("renamed file: %+v", f)
	}
	if !d.Promoted || d.UndoneBy != "" {
		t.Errorf("promoted %v, undone by %q", d.Promoted, d.UndoneBy)
	}
}

func TestAnEmptyFileIsNoAbsentFile(t *testing.T) {
	t.Parallel()
	db, _ := storetest.New(t)
	promote(t, db, "01run", "", workspace.Changeset{Changes: []workspace.Change{ // nil, as a reader of files may return it
		{Op: workspace.Modify, Path: "emptied", Before: []byte("x"), Mode: 0o644},
		{Op: workspace.Modify, Path: "filled", After: []byte("x"), Mode: 0o644},
	}})
	p, err := db.PromotionOf(t.Context(), "01run")
	must(t, err)
	if emptied, filled := p.Changeset.Changes[0], p.Changeset.Changes[1]; emptied.After == nil || filled.Before == nil {
		t.Errorf("empty content came back as none: %+v %+v", emptied, filled)
	}
	if n := len(p.Changeset.Reverse().Changes); n != 2 {
		t.Errorf("%d changes to undo", n)
	}
}

func TestContentIsKeptOnce(t *testing.T) {
	t.Parallel()
	db, url := storetest.New(t)
	promote(t, db, "01run", "", changes())
	promote(t, db, "02run", "01run", changes())
	if got := value(t, url, `select count(*) from blob`); got != "4" {
		t.Errorf("%s blobs, want 4: nothing, the new bytes, gone, same", got)
	}
}

func TestSettlingAPromotionKeepsItsFiles(t *testing.T) {
	t.Parallel()
	db := begin(t, "01run")
	must(t, db.SavePromotion(t.Context(), "01run", 1, run.Promotion{Status: run.Prepared, Approved: "terminal", Changeset: changes()}))
	token, err := db.Claim(t.Context(), "01run", 1, "second")
	must(t, err)
	must(t, db.SavePromotion(t.Context(), "01run", token, run.Promotion{Status: run.Committed}))
	p, err := db.PromotionOf(t.Context(), "01run")
	must(t, err)
	want := run.Promotion{Status: run.Committed, Approved: "terminal", Changeset: changes()}
	if diff := cmp.Diff(want, p); diff != "" {
		t.Errorf("promotion (-want +got):\n%s", diff)
	}
}

func TestAPathThatCannotBeGivenBackIsRefused(t *testing.T) {
	t.Parallel()
	db := begin(t, "01run")
	for _, path := range []string{"a\xff", "a\x00"} {
		for _, c := range []workspace.Change{{Op: workspace.Create, Path: path}, {Op: workspace.Rename, Path: "new", From: path}} {
			err := db.SavePromotion(t.Context(), "01run", 1, run.Promotion{
				Status:    run.Prepared,
				Changeset: workspace.Changeset{Changes: []workspace.Change{c}},
			})
			if err == nil || !strings.Contains(err.Error(), "UTF-8") {
				t.Errorf("%q from %q: got %v", c.Path, c.From, err)
			}
		}
	}
	if _, err := db.PromotionOf(t.Context(), "01run"); !errors.Is(err, database.ErrNotFound) {
		t.Errorf("something was recorded: %v", err)
	}
}

func TestTheLastPromotionIsTheOneToUndo(t *testing.T) {
	t.Parallel()
	db, _ := storetest.New(t)
	last := func() string {
		t.Helper()
		r, p, err := db.LastPromotion(t.Context(), "/home/ada/shop")
		if errors.Is(err, database.ErrNotFound) {
			return ""
		}
		must(t, err)
		if diff := cmp.Diff(changes(), p.Changeset); diff != "" {
			t.Errorf("changeset of %s (-want +got):\n%s", r.ID, diff)
		}
		return r.ID
	}
	expect := func(step, want string) {
		t.Helper()
		if got := last(); got != want {
			t.Errorf("%s: got %q, want %q", step, got, want)
		}
	}
	expect("nothing yet", "")
	promote(t, db, "01a", "", changes())
	promote(t, db, "01b", "", changes())
	expect("two promotions", "01b")

	must(t, db.Create(t.Context(), record("01c")))
	must(t, db.SavePromotion(t.Context(), "01c", 1, run.Promotion{Status: run.RolledBack, UndoOf: "01b", Changeset: changes()}))
	must(t, db.Finish(t.Context(), "01c", 1, run.Ending{State: run.Conflicted, Verdict: verify.Conflict}))
	expect("an undo that met a conflict undoes nothing", "01b")

	must(t, db.Create(t.Context(), record("01d")))
	must(t, db.SavePromotion(t.Context(), "01d", 1, run.Promotion{Status: run.Committed, Changeset: changes()}))
	must(t, db.Finish(t.Context(), "01d", 1, run.Ending{State: run.Failed, Verdict: verify.Infra}))
	expect("a promotion that was taken back when its record failed", "01b")

	promote(t, db, "01e", "01b", changes())
	expect("the newest was undone, and an undo is not undone", "01a")
	promote(t, db, "01f", "01a", changes())
	expect("everything was undone", "")

	d, err := db.Run(t.Context(), "01a")
	must(t, err)
	if d.UndoneBy != "01f" {
		t.Errorf("undone by %q, want 01f", d.UndoneBy)
	}
}

func TestLargeFilesArePromoted(t *testing.T) {
	t.Parallel()
	db := begin(t, "01run")
	var cs workspace.Changeset
	for _, name := range []string{"a", "b", "c", "d", "e", "f", "g", "h"} {
		cs.Changes = append(cs.Changes, workspace.Change{
			Op: workspace.Modify, Path: name, Mode: 0o644,
			Before: bytes.Repeat([]byte(name+"\n"), 1<<20), After: bytes.Repeat([]byte("\x00"+name), 1<<20),
		})
	}
	must(t, db.SavePromotion(t.Context(), "01run", 1, run.Promotion{Status: run.Prepared, Changeset: cs}))
	p, err := db.PromotionOf(t.Context(), "01run")
	must(t, err)
	if len(p.Changeset.Changes) != len(cs.Changes) {
		t.Fatalf("%d files came back, want %d", len(p.Changeset.Changes), len(cs.Changes))
	}
	for i, want := range cs.Changes {
		got := p.Changeset.Changes[i]
		if !bytes.Equal(got.Before, want.Before) || !bytes.Equal(got.After, want.After) {
			t.Errorf("the content of %s came back changed", want.Path)
		}
	}
}

// Some candidates have more gates, findings and files than fit one statement, others have many of only one kind. Rows that refer to other
// rows follow them.
func TestManyRowsOfACandidateComeBack(t *testing.T) {
	t.Parallel()
	db, url := storetest.New(t)
	must(t, db.Create(t.Context(), record("01run")))
	const few, many = 2, 130
	var all []gate.Candidate
	for _, n := range [][3]int{{few, many, few}, {many, few, few}, {few, few, many}, {many, many, many}, {few, 0, 0}, {}} {
		c := gate.Candidate{Verdict: verify.Fail}
		for i := range n[0] {
			g := verify.Gate{Name: fmt.Sprint("g", i), Verdict: verify.Fail}
			for j := range n[1] {
				g.Findings = append(g.Findings, verify.Finding{File: "a", Line: j + 1, Message: fmt.Sprint(i)})
			}
			c.Gates = append(c.Gates, g)
		}
		for i := range n[2] {
			c.Changeset.Changes = append(c.Changeset.Changes, workspace.Change{
				Op: workspace.Create, Path: fmt.Sprintf("f%03d", i), After: bytes.Repeat([]byte{byte(i)}, 5000), Mode: 0o644,
			})
		}
		must(t, db.SaveCandidate(t.Context(), "01run", 1, c))
		all = append(all, c)
	}
	d, err := db.Run(t.Context(), "01run")
	must(t, err)
	for i, want := range all {
		got := d.Candidates[i]
		if diff := cmp.Diff(want.Gates, got.Gates); diff != "" {
			t.Errorf("candidate %d (-want +got):\n%s", i, diff)
		}
		files := value(t, url, fmt.Sprintf("select count(*) from candidate_file join blob on sha256 = after_sha256 where candidate = %d and length(content) = 5000", i+1))
		if n := len(want.Changeset.Changes); files != strconv.Itoa(n) {
			t.Errorf("candidate %d: %s files, want %d", i, files, n)
		}
	}
}

// Earlier contents of a file are returned back through promotions without a needed approval and without a gap, and at most five.
func TestWhatAFileHeldBeforeTheLastPromotions(t *testing.T) {
	t.Parallel()
	db, _ := storetest.New(t)
	step := func(id, name, before, after string, holds ...policy.Hold) {
		t.Helper()
		cs := workspace.Changeset{Changes: []workspace.Change{{Op: workspace.Modify, Path: name, Before: []byte(before), After: []byte(after), Mode: 0o644}}}
		must(t, db.Create(t.Context(), record(id)))
		// Another candidate, which was held and not written, counts as no approval.
		other := workspace.Changeset{Changes: []workspace.Change{{Op: workspace.Modify, Path: name, Before: []byte(before), After: []byte("other"), Mode: 0o644}}}
		must(t, db.SaveCandidate(t.Context(), id, 1, gate.Candidate{Verdict: verify.Pass, Changeset: other, Holds: []policy.Hold{{Path: name, Kind: policy.WeakerTest, Block: true}}}))
		must(t, db.SaveCandidate(t.Context(), id, 1, gate.Candidate{Verdict: verify.Pass, Changeset: cs, Holds: holds}))
		must(t, db.SavePromotion(t.Context(), id, 1, run.Promotion{Status: run.Committed, Approved: "--yes", Changeset: cs}))
		must(t, db.Finish(t.Context(), id, 1, run.Ending{State: run.Promoted, Verdict: verify.Pass}))
	}
	for i, c := range "abcdefgh" {
		step(fmt.Sprint("01many", i), "many.py", string(c), string(c+1))
	}
	step("02a", "few.py", "1", "2")
	step("02b", "few.py", "2", "3", policy.Hold{Path: "few.py", Kind: policy.ChangedTest}, policy.Hold{Path: "else.py", Kind: policy.ChangedTest, Block: true}, policy.Hold{Path: "few.py", Kind: policy.CI, Block: true})
	step("02c", "few.py", "3", "4")
	step("03a", "approved.py", "1", "2")
	step("03b", "approved.py", "2", "3", policy.Hold{Path: "approved.py", Kind: policy.ChangedTest, Block: true})
	step("03c", "approved.py", "3", "4")
	step("04a", "hand.py", "1", "2")
	step("04b", "hand.py", "by hand", "3")
	promote(t, db, "05a", "", workspace.Changeset{Changes: []workspace.Change{{Op: workspace.Create, Path: "made.py", After: []byte("1"), Mode: 0o644}}})
	step("05b", "made.py", "1", "2")
	for name, c := range map[string]struct{ now, want string }{
		"many.py": {"i", "d"}, "few.py": {"4", "1"}, "approved.py": {"4", "3"}, "hand.py": {"3", "by hand"}, "made.py": {"2", "1"}, "new.py": {"x", ""},
	} {
		got, err := db.TextBefore(t.Context(), record("x").Workspace, name, []byte(c.now))
		if must(t, err); string(got) != c.want {
			t.Errorf("%s held %q before, want %q", name, got, c.want)
		}
		if got, err := db.TextBefore(t.Context(), record("x").Workspace, name, []byte("edited since")); got != nil || err != nil {
			t.Errorf("%s, edited since, held %q, %v", name, got, err)
		}
		if got, err := db.TextBefore(t.Context(), "/elsewhere", name, []byte(c.now)); got != nil || err != nil {
			t.Errorf("%s of another workspace held %q, %v", name, got, err)
		}
	}
}
