package store_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"agent/orchestrator/run"
	"agent/orchestrator/store"
	"agent/orchestrator/store/database"
	"agent/orchestrator/store/storetest"
	"agent/sandbox/workspace"
	"agent/verify"
)

// named returns the URL with an application_name, by which a test finds its own connections on the server.
func named(t *testing.T, dsn, name string) string {
	t.Helper()
	u, err := url.Parse(dsn)
	must(t, err)
	q := u.Query()
	q.Set("application_name", name)
	u.RawQuery = q.Encode()
	return u.String()
}

// mostEnded bounds the number of ended connections: on a busy machine, none would live long enough to do anything.
const mostEnded = 60

// harass keeps ending every connection called name, until the test is over or the bound is reached. The result counts the ended ones so
// far.
func harass(t *testing.T, dsn, name string) (ended *atomic.Int64) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), dsn)
	must(t, err)
	ended = new(atomic.Int64)
	var all sync.WaitGroup
	all.Go(func() { // ends with t.Context(), which is before the clean-ups
		defer conn.Close(context.WithoutCancel(t.Context()))
		tick := time.NewTicker(100 * time.Millisecond) // a rate, not a wait: a connection must live long enough to try
		defer tick.Stop()
		for t.Context().Err() == nil && ended.Load() < mostEnded {
			var n int64
			err := conn.QueryRow(t.Context(), `select count(pg_terminate_backend(pid)) from pg_stat_activity where application_name = $1`, name).Scan(&n)
			if err != nil {
				if t.Context().Err() == nil {
					t.Errorf("end connections: %v", err)
				}
				return
			}
			ended.Add(n)
			select {
			case <-t.Context().Done():
			case <-tick.C:
			}
		}
	})
	t.Cleanup(all.Wait)
	return ended
}

func TestWritesSurviveLostConnectionsAndAreDoneOnce(t *testing.T) {
	t.Parallel()
	_, dsn := storetest.New(t)
	db, err := store.Open(t.Context(), named(t, dsn, t.Name()))
	must(t, err)
	defer db.Close()
	ended := harass(t, dsn, t.Name())

	const runs, enough = 4, 8
	var rounds [runs]int
	var all sync.WaitGroup
	for i := range runs {
		all.Go(func() {
			id := fmt.Sprintf("0%drun", i)
			var err error
			rounds[i], err = write(t.Context(), db, id, func() bool { return ended.Load() < enough })
			if err != nil {
				t.Errorf("run %s: %v", id, err)
			}
		})
	}
	all.Wait()
	t.Logf("%d connections were ended in %v rounds", ended.Load(), rounds)
	for i, rounds := range rounds {
		d, err := db.Run(t.Context(), fmt.Sprintf("0%drun", i))
		must(t, err)
		// queued, the rounds, the takeover and the end: each occurs once.
		if len(d.States) != rounds+3 || len(d.Candidates) != rounds || d.Token != 2 || d.State != run.Promoted {
			t.Errorf("run %s has %d states, %d candidates, token %d, state %s after %d rounds",
				d.ID, len(d.States), len(d.Candidates), d.Token, d.State, rounds)
		}
		if p, err := db.PromotionOf(t.Context(), d.ID); err != nil || p.Status != run.Committed || len(p.Changeset.Changes) != len(changes().Changes) {
			t.Errorf("promotion of %s: %v, %v", d.ID, p.Status, err)
		}
	}
}

// write takes a run through everything that a process records, with candidates for as long as more reports true.
func write(ctx context.Context, db *store.DB, id string, more func() bool) (rounds int, err error) {
	if err := db.Create(ctx, record(id)); err != nil {
		return 0, err
	}
	for ; more(); rounds++ {
		state := []run.State{run.Proposing, run.Verifying}[rounds%2]
		if err := db.Advance(ctx, id, 1, state, fmt.Sprint(rounds), ""); err != nil {
			return rounds, err
		}
		c := candidate()
		c.Changeset = workspace.Changeset{Changes: []workspace.Change{
			{Op: workspace.Create, Path: "f", After: fmt.Append(nil, id, rounds), Mode: 0o644},
		}}
		if err := db.SaveCandidate(ctx, id, 1, c); err != nil {
			return rounds, err
		}
		if err := db.Beat(ctx, id, 1); err != nil {
			return rounds, err
		}
	}
	token, err := db.Claim(ctx, id, 1, "second")
	if err != nil {
		return rounds, err
	}
	if err := db.SavePromotion(ctx, id, token, run.Promotion{Status: run.Committed, Changeset: changes()}); err != nil {
		return rounds, err
	}
	return rounds, db.Finish(ctx, id, token, run.Ending{State: run.Promoted, Verdict: verify.Pass})
}

// The connection is cut at the one moment when the writer cannot know the outcome: after the commit, before the answer arrives.
func TestAnAnswerLostAfterTheCommitIsNotWrittenTwice(t *testing.T) {
	t.Parallel()
	_, dsn := storetest.New(t)
	cut := newCutter(t, dsn)
	db, err := store.Open(t.Context(), cut.url)
	must(t, err)
	defer db.Close()

	cut.next()
	must(t, db.Create(t.Context(), record("01run")))
	cut.next()
	must(t, db.Advance(t.Context(), "01run", 1, run.Verifying, "once", ""))
	cut.next()
	must(t, db.SaveCandidate(t.Context(), "01run", 1, candidate()))
	cut.next()
	token, err := db.Claim(t.Context(), "01run", 1, "second")
	must(t, err)
	cut.next()
	must(t, db.Finish(t.Context(), "01run", token, run.Ending{State: run.Failed, Verdict: verify.Infra}))

	d, err := db.Run(t.Context(), "01run")
	must(t, err)
	want := []run.State{run.Queued, run.Verifying, run.Verifying, run.Failed} // the second verifying is the takeover
	if got := states(t, db, "01run"); !slices.Equal(got, want) || len(d.Candidates) != 1 || token != 2 || d.Token != 2 {
		t.Errorf("states %v, %d candidates, token %d", got, len(d.Candidates), d.Token)
	}
	if cut.cuts() != 5 {
		t.Errorf("%d answers were lost, want 5", cut.cuts())
	}
}

func TestAnOutageIsWaitedOut(t *testing.T) {
	t.Parallel()
	_, dsn := storetest.New(t)
	cut := newCutter(t, dsn)
	db, err := store.Open(t.Context(), cut.url)
	must(t, err)
	defer db.Close()
	must(t, db.Create(t.Context(), record("01run")))
	cut.outage(5)
	must(t, db.Advance(t.Context(), "01run", 1, run.Verifying, "", ""))
	if got := states(t, db, "01run"); !slices.Equal(got, []run.State{run.Queued, run.Verifying}) || cut.refuse != 0 {
		t.Errorf("states %v; %d connections were still to be refused", got, cut.refuse)
	}
	cut.outage(3)
	if got, err := table(t.Context(), db.Runner, `select run from v_runs`); err != nil || got[1] != "01run" {
		t.Errorf("a query: %q, %v", got, err)
	}
}

func TestTwoWritersOfTheSameContentDoNotDeadlock(t *testing.T) {
	t.Parallel()
	db, _ := storetest.New(t)
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			id := fmt.Sprintf("0%d", i)
			cs := changes()
			if i%2 == 1 {
				slices.Reverse(cs.Changes)
			}
			err := errors.Join(db.Create(t.Context(), record(id)),
				db.SavePromotion(t.Context(), id, 1, run.Promotion{Status: run.Committed, Changeset: cs}))
			if err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
}

// silent returns a server that accepts connections and never answers.
func silent(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	t.Cleanup(func() { l.Close() })
	return l.Addr().String()
}

func TestADatabaseThatCannotBeUsedSaysWhatToDo(t *testing.T) {
	t.Parallel()
	_, dsn := storetest.New(t)
	good, err := url.Parse(dsn)
	must(t, err)
	with := func(change func(u *url.URL)) string {
		u := *good
		change(&u)
		return u.String()
	}
	const secret = "sesame-7f3a"
	for name, c := range map[string]struct{ url, hint string }{
		"nobody listens":    {with(func(u *url.URL) { u.Host = "127.0.0.1:1" }), "start it"},
		"wrong password":    {with(func(u *url.URL) { u.User = url.UserPassword(u.User.Username(), secret) }), "password"},
		"no such database":  {with(func(u *url.URL) { u.Path = "/no_such_database" }), "create the database"},
		"no such schema":    {with(func(u *url.URL) { u.RawQuery = "search_path=no_such_schema" }), "create the schema"},
		"no such host":      {"postgres://agent:" + secret + "@no-such-host.invalid/agent", "AGENT_DATABASE_URL"},
		"a broken port":     {"postgres://agent:" + secret + "@localhost:x/agent", "write it as"},
		"no URL at all":     {"postgres//agent:" + secret + "@localhost", "write it as"},
		"a broken keyword":  {"host=localhost password=" + secret + " port=x", "write it as"},
		"a secret with a @": {"postgres://agent:" + secret + "@%zz@localhost/agent", "write it as"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := store.Open(t.Context(), c.url)
			gone, ok := errors.AsType[*database.UnavailableError](err)
			if !ok || !strings.Contains(gone.Hint, c.hint) {
				t.Errorf("got %v, want an *UnavailableError with %q", err, c.hint)
			}
			_, unparsed := errors.AsType[*pgconn.ParseConfigError](err)
			_, unconnected := errors.AsType[*pgconn.ConnectError](err)
			if unparsed || unconnected {
				t.Error("the error carries the configuration of the connection")
			}
			password, _ := good.User.Password()
			for deep := err; deep != nil; deep = errors.Unwrap(deep) {
				if text := fmt.Sprintf("%v %+v", deep, deep); strings.Contains(text, secret) || password != "" && strings.Contains(text, password) {
					t.Errorf("the error shows the password: %s", text)
				}
			}
		})
	}
}

func TestASilentServerIsGivenUpWithTheCaller(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	_, err := store.Open(ctx, "postgres://agent@"+silent(t)+"/agent?sslmode=disable")
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v, want the caller's deadline", err)
	}
}

// A server that accepts a connection but never answers is reported too, at every attempt.
func TestASilentServerIsTold(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var told []database.Notice
	_, err := store.Open(ctx, "postgres://agent:sesame@"+silent(t)+"/agent?sslmode=disable", func(n database.Notice) {
		if told = append(told, n); len(told) == 2 {
			cancel()
		}
	})
	if !errors.Is(err, context.Canceled) || len(told) < 2 {
		t.Fatalf("%v, told %v", err, told)
	}
	if text := told[0].String(); !strings.Contains(text, "/agent not reachable, trying again (attempt 1, for 2s at most)") || strings.Contains(text, "sesame") {
		t.Error(text)
	}
}
