package plans_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/jackc/pgx/v5"

	"agent/orchestrator/crew"
	"agent/orchestrator/crew/builder"
	"agent/orchestrator/run"
	"agent/orchestrator/store"
	"agent/orchestrator/store/database"
	"agent/orchestrator/store/plans"
	"agent/orchestrator/store/storetest"
)

// draft returns a plan of two tasks; the second waits for the first.
func draft() crew.Plan {
	p := crew.Plan{Workspace: "/w", Goal: "prices have a currency", Summary: "two steps", State: crew.Drafted, Tasks: []crew.Task{
		{N: 1, Title: "first", Goal: "do it", Files: []string{"a.py"}, Accept: crew.Acceptance{Text: "seen"}},
		{N: 2, Title: "second", Goal: "and that", Creates: []string{"b.py"}, DependsOn: []int{1}, Accept: crew.Acceptance{Command: []string{"true"}}},
	}}
	p.Tidy()
	return p
}

// added records a plan and returns it as read back.
func added(t *testing.T, db *store.DB, p crew.Plan) crew.Plan {
	t.Helper()
	id, err := db.Plans().AddPlan(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	return read(t, db, id)
}

// connected returns a connection to the schema of a test, for statements that the package does not offer.
func connected(t *testing.T, url string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close(context.WithoutCancel(t.Context())) })
	return conn
}

// read returns a recorded plan.
func read(t *testing.T, db *store.DB, id int64) crew.Plan {
	t.Helper()
	p, err := db.Plans().Plan(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestAPlanIsReadAsItWasWritten(t *testing.T) {
	t.Parallel()
	db, _ := storetest.New(t)
	want := draft()
	got := added(t, db, want)
	since := cmpopts.IgnoreFields(crew.Plan{}, "ID", "Created")
	if diff := cmp.Diff(want, got, since); diff != "" || got.ID < 1 || got.Created.IsZero() {
		t.Errorf("plan %d of %s (-want +got):\n%s", got.ID, got.Created, diff)
	}
	// These are all fields that can change later.
	want = got
	want.State, want.Why, want.Rounds, want.Replanned, want.Run = crew.Failed, "task 2 was not done", 2, 1, "1k3mzq8a0v2c"
	want.Review = &crew.Review{Findings: []crew.Finding{{Severity: "nit", File: "a.py", Text: "a\x01b"}}}
	want.Tasks[0].State, want.Tasks[0].Tries, want.Tasks[0].Landed, want.Tasks[0].Run = crew.Done, 2, 1, "1k3mzq8a0v2d"
	want.Tasks[1].State, want.Tasks[1].Why = crew.Undone, "no"
	if err := db.Plans().SavePlan(t.Context(), want, ""); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, read(t, db, got.ID)); diff != "" {
		t.Errorf("saved (-want +got):\n%s", diff)
	}
	for _, id := range []int64{0, -1, got.ID + 1, 1 << 62} {
		if _, err := db.Plans().Plan(t.Context(), id); !errors.Is(err, database.ErrNotFound) {
			t.Errorf("plan %d: %v", id, err)
		}
		if _, err := db.Plans().Wanted(t.Context(), id); !errors.Is(err, database.ErrNotFound) {
			t.Errorf("what is wanted of plan %d: %v", id, err)
		}
	}
}

// Any text of a model or a person is kept in a plan, and breaks neither the plan nor the views that all plans share.
func TestOddTextsAreKept(t *testing.T) {
	t.Parallel()
	db, url := storetest.New(t)
	view := connected(t, url)
	for name, odd := range map[string]string{
		"a NUL": "a\x00b", "broken UTF-8": "a\xff\xfeb", "half a pair": "a\xed\xa0\x80b", "controls": "a\x1b[2J\r\n\tb", "an escape": `a\u0000b`, "quotes": `a'";--b`, "huge": strings.Repeat("x", 1<<20),
	} {
		t.Run(name, func(t *testing.T) {
			p := draft()
			p.Goal, p.Summary, p.Why = odd, odd, odd
			p.Tasks[1] = crew.Task{
				N: 2, Title: odd, Goal: odd, Files: []string{odd}, Creates: []string{odd}, DependsOn: []int{1}, Role: odd, Message: odd, State: crew.Undone, Why: odd, Run: odd,
				Accept: crew.Acceptance{Command: []string{odd}, Tests: []string{odd}, Text: odd},
			}
			got := added(t, db, p)
			got.Review = &crew.Review{Findings: []crew.Finding{{File: odd, Text: odd}}}
			if err := db.Plans().SavePlan(t.Context(), got, ""); err != nil {
				t.Fatal(err)
			}
			got = read(t, db, got.ID)
			kept := database.Clean(odd)
			if last := got.Tasks[1]; got.Goal != kept || last.Title != kept || last.Why != kept || !strings.HasPrefix(last.Files[0], "a") && name != "huge" || len(last.Accept.Command) != 1 {
				t.Errorf("kept are %.200q and %.200q", got.Goal, fmt.Sprint(last))
			}
			var files string
			err := view.QueryRow(t.Context(), `select files from v_tasks where plan = @id and task = 2`, pgx.NamedArgs{"id": got.ID}).Scan(&files)
			if err != nil || files != got.Tasks[1].Files[0] {
				t.Errorf("the view has %.200q: %v", files, err)
			}
		})
	}
}

// A task whose lists were never set names nothing, and the views work with it.
func TestATaskWithoutListsBreaksNoView(t *testing.T) {
	t.Parallel()
	db, url := storetest.New(t)
	p := draft()
	p.Tasks = []crew.Task{{N: 1, State: crew.Waiting}}
	added(t, db, p)
	p.Tasks = nil
	empty := added(t, db, p)
	if empty.Tasks == nil || len(empty.Tasks) != 0 {
		t.Errorf("the tasks of none are %v", empty.Tasks)
	}
	var files, after *string
	if err := connected(t, url).QueryRow(t.Context(), `select files, depends_on from v_tasks`).Scan(&files, &after); err != nil || files != nil || after != nil {
		t.Errorf("%v, %v: %v", files, after, err)
	}
}

func TestTasksThatAreGoneAreForgotten(t *testing.T) {
	t.Parallel()
	db, _ := storetest.New(t)
	other := added(t, db, draft())
	p := added(t, db, draft())
	p.Tasks = append(p.Tasks[1:], crew.Task{N: 40, Title: "late", State: crew.Waiting})
	p.Tidy()
	if err := db.Plans().SavePlan(t.Context(), p, ""); err != nil {
		t.Fatal(err)
	}
	if got := read(t, db, p.ID).Tasks; len(got) != 2 || got[0].N != 2 || got[1].N != 40 {
		t.Errorf("left are %+v", got)
	}
	p.Tasks = nil
	if err := db.Plans().SavePlan(t.Context(), p, ""); err != nil {
		t.Fatal(err)
	}
	if mine, others := read(t, db, p.ID).Tasks, read(t, db, other.ID).Tasks; len(mine) != 0 || len(others) != 2 {
		t.Errorf("left are %d, and %d of another plan", len(mine), len(others))
	}
	// If the record refuses one row, nothing changes.
	for name, change := range map[string]func(p *crew.Plan){
		"a number that is none": func(p *crew.Plan) { p.Tasks[1].N = 0 },
		"a place twice":         func(p *crew.Plan) { p.Tasks[0].Landed, p.Tasks[1].Landed = 1, 1 },
		"a state that is none":  func(p *crew.Plan) { p.Tasks[1].State = "nearly" },
		"tries below none":      func(p *crew.Plan) { p.Tasks[1].Tries = -1 },
		"a plan's state":        func(p *crew.Plan) { p.State = "nearly" },
	} {
		bad := read(t, db, other.ID)
		bad.Goal = "overwritten"
		change(&bad)
		if err := db.Plans().SavePlan(t.Context(), bad, ""); err == nil {
			t.Errorf("%s is recorded", name)
		}
		if diff := cmp.Diff(other, read(t, db, other.ID)); diff != "" {
			t.Errorf("%s left half of it (-want +got):\n%s", name, diff)
		}
	}
}

// The record decides which process gets a plan, however many ask at once.
func TestOneOfManyTakesAPlan(t *testing.T) {
	t.Parallel()
	db, _ := storetest.New(t)
	p := added(t, db, draft())
	var all sync.WaitGroup
	won := make(chan string, 8)
	for i := range 8 {
		all.Go(func() {
			name := fmt.Sprintf("process %d", i)
			taken, err := db.Plans().TakePlan(t.Context(), p.ID, "", name)
			switch {
			case err == nil && taken.Owner == name && taken.State == crew.Building:
				won <- name
			case !errors.Is(err, run.ErrFenced):
				t.Errorf("%s: %+v, %v", name, taken, err)
			}
		})
	}
	all.Wait()
	close(won)
	if len(won) != 1 {
		t.Fatalf("%d took it", len(won))
	}
	first := <-won
	// Two processes considered the owner dead: the second one is too late. The new owner may ask again.
	for _, who := range []struct {
		was, name string
		err       error
	}{{first, "the second", nil}, {first, "the third", run.ErrFenced}, {"", "the third", run.ErrFenced}, {first, "the second", nil}} {
		if _, err := db.Plans().TakePlan(t.Context(), p.ID, who.was, who.name); !errors.Is(err, who.err) {
			t.Errorf("%s in place of %q: %v, want %v", who.name, who.was, err, who.err)
		}
	}
	if _, err := db.Plans().TakePlan(t.Context(), p.ID+1, "", "x"); !errors.Is(err, database.ErrNotFound) {
		t.Errorf("one that is not there: %v", err)
	}
}

// A process that was considered dead writes nothing more, neither while another one has the plan nor after that one gave it up.
func TestWhoLostAPlanWritesNothing(t *testing.T) {
	t.Parallel()
	db, _ := storetest.New(t)
	for _, end := range crew.PlanStates() {
		for _, late := range crew.PlanStates() {
			p := added(t, db, draft())
			old, err := db.Plans().TakePlan(t.Context(), p.ID, "", "the dead")
			if err != nil {
				t.Fatal(err)
			}
			now, err := db.Plans().TakePlan(t.Context(), p.ID, "the dead", "the living")
			if err != nil {
				t.Fatal(err)
			}
			now.State = end
			if err := db.Plans().SavePlan(t.Context(), now, "the living"); err != nil {
				t.Fatal(err)
			}
			old.State = late
			err = db.Plans().SavePlan(t.Context(), old, "the dead")
			// The answer to the write that gave the plan up may have been lost, so writing the same state again is accepted.
			if again := end == late && end != crew.Building; again != (err == nil) || !again && !errors.Is(err, run.ErrFenced) {
				t.Errorf("%s then %s: %v", end, late, err)
			}
			if got := read(t, db, p.ID); got.State != end {
				t.Errorf("%s then %s: it is %s", end, late, got.State)
			}
		}
	}
}

// An ended plan stays ended, even for a process with an older copy.
func TestWhatIsOverStaysOver(t *testing.T) {
	t.Parallel()
	db, _ := storetest.New(t)
	for _, end := range []crew.PlanState{crew.Delivered, crew.Dropped} {
		p := added(t, db, draft())
		over := p.Clone()
		over.State = end
		for range 2 { // the answer to the first was lost
			if err := db.Plans().SavePlan(t.Context(), over, ""); err != nil {
				t.Errorf("%s: %v", end, err)
			}
		}
		for _, to := range crew.PlanStates() {
			p.State = to
			if err := db.Plans().SavePlan(t.Context(), p, ""); to != end && !errors.Is(err, run.ErrFenced) {
				t.Errorf("from %s to %s: %v", end, to, err)
			}
		}
		if _, err := db.Plans().TakePlan(t.Context(), p.ID, "", "x"); !errors.Is(err, plans.ErrOver) || !strings.Contains(err.Error(), string(end)) {
			t.Errorf("%s is taken: %v", end, err)
		}
		if err := db.Plans().Want(t.Context(), p.ID, "cancel"); !errors.Is(err, plans.ErrOver) {
			t.Errorf("%s is cancelled: %v", end, err)
		}
		if work, err := db.Plans().Work(t.Context()); err != nil || len(work) != 0 {
			t.Errorf("%s is at work: %v, %v", end, work, err)
		}
	}
}

// A request to a process applies only to that process: the next owner of the plan is not stopped by it.
func TestWhatIsWantedLastsAsLongAsTheWork(t *testing.T) {
	t.Parallel()
	db, _ := storetest.New(t)
	book := db.Plans()
	p := added(t, db, draft())
	wanted := func(want string) {
		t.Helper()
		if got, err := book.Wanted(t.Context(), p.ID); err != nil || got != want {
			t.Errorf("wanted is %q, not %q: %v", got, want, err)
		}
	}
	if err := book.Want(t.Context(), p.ID, "pause"); !errors.Is(err, plans.ErrOver) {
		t.Errorf("of nobody: %v", err)
	}
	wanted("")
	for i, ask := range []string{"pause", "", "cancel", "pause"} {
		taken, err := book.TakePlan(t.Context(), p.ID, "", fmt.Sprint("process ", i))
		if err != nil {
			t.Fatal(err)
		}
		wanted("")
		if err := book.Want(t.Context(), p.ID, ask); err != nil {
			t.Fatal(err)
		}
		if err := book.SavePlan(t.Context(), taken, taken.Owner); err != nil { // although it continues
			t.Fatal(err)
		}
		wanted(ask)
		if err := book.Want(t.Context(), p.ID, "explode"); err == nil || errors.Is(err, plans.ErrOver) {
			t.Errorf("an unknown word: %v", err)
		}
		wanted(ask)
		taken.State = crew.Paused
		if err := book.SavePlan(t.Context(), taken, taken.Owner); err != nil {
			t.Fatal(err)
		}
		wanted("")
	}
}

func TestAnAttemptThatEndedStaysAsItIs(t *testing.T) {
	t.Parallel()
	db, _ := storetest.New(t)
	book := db.Plans()
	p := added(t, db, draft())
	began := time.Date(2026, 11, 25, 4, 26, 0, 123456000, time.UTC)
	first := builder.Attempt{ID: "1k3mzq8a0v2c", Plan: p.ID, Task: 1, Kind: "task", Role: "wor\x00ker", Fence: "f", Started: began}
	later := builder.Attempt{ID: "1k3mzq8a0v2b", Plan: p.ID, Kind: "review", Role: "reviewer", Try: 3, Landed: 2, Started: began.Add(time.Hour)}
	steps := []func(){
		func() { first.Recorded, first.Run = []byte(`{"goal": "a\u0000b"}`), "1k3mzq8a0v2d" },
		func() { first.Outcome, first.Why = builder.Refused, "\xff" },
	}
	save := func(a builder.Attempt) {
		t.Helper()
		if err := book.SaveAttempt(t.Context(), a); err != nil {
			t.Fatal(err)
		}
	}
	save(later)
	save(first)
	for _, step := range steps {
		step()
		save(first)
	}
	// The attempt has ended, and a writer that knows less does not erase what was recorded.
	again := first
	again.Outcome, again.Why, again.Recorded, again.Run = builder.Passed, "after all", nil, ""
	save(again)
	first.Role, first.Why = "wor\uFFFDker", "\uFFFD"
	got, err := book.Attempts(t.Context(), p.ID)
	if diff := cmp.Diff([]builder.Attempt{first, later}, got, cmpopts.EquateApproxTime(time.Microsecond)); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	for name, bad := range map[string]builder.Attempt{
		"of no plan": {ID: "x", Plan: p.ID + 1, Kind: "task", Started: began}, "without a name": {Plan: p.ID, Kind: "task", Started: began}, "of no kind": {ID: "y", Plan: p.ID, Started: began},
	} {
		if err := book.SaveAttempt(t.Context(), bad); err == nil {
			t.Errorf("an attempt %s is recorded", name)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := book.Attempts(ctx, p.ID); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

// A directory lists its own plans, newest first, whatever its name is.
func TestPlansAreListedByWorkspace(t *testing.T) {
	t.Parallel()
	db, url := storetest.New(t)
	ids := map[string][]int64{}
	for i, dir := range []string{"/w", "/w/x", "/w", "/\xff", "/w"} {
		p := draft()
		p.Workspace, p.Tasks = dir, p.Tasks[:i%3]
		ids[dir] = append([]int64{added(t, db, p).ID}, ids[dir]...)
		ids[""] = append([]int64{ids[dir][0]}, ids[""]...)
	}
	for _, c := range []struct {
		dir     string
		n, want int
	}{{"/w", 9, 3}, {"/w", 2, 2}, {"/w/x", 9, 1}, {"/\xff", 9, 1}, {"", 9, 5}, {"/W", 9, 0}, {"/w", 0, 0}} {
		list, err := db.Plans().Plans(t.Context(), c.dir, c.n)
		if err != nil || len(list) != c.want {
			t.Fatalf("%q: %d plans, %v", c.dir, len(list), err)
		}
		for i, p := range list {
			if p.ID != ids[c.dir][i] || len(p.Tasks) != int(p.ID-1)%3 {
				t.Errorf("%q: plan %d with %d tasks is number %d of %v", c.dir, p.ID, len(p.Tasks), i, ids[c.dir])
			}
		}
	}
	if _, err := connected(t, url).Exec(t.Context(), `delete from plan where id = @id`, pgx.NamedArgs{"id": ids["/w"][0]}); err != nil {
		t.Fatal(err)
	}
	var left int
	if err := connected(t, url).QueryRow(t.Context(), `select count(*) from plan_task where plan = @id`, pgx.NamedArgs{"id": ids["/w"][0]}).Scan(&left); err != nil || left != 0 {
		t.Errorf("%d tasks are left of a plan that is gone: %v", left, err)
	}
}
