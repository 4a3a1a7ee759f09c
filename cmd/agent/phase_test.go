package main

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"agent/orchestrator/run"
	"agent/orchestrator/store/storetest"
)

// A failpoint holds a run at one of its writes: a trigger in the test's own schema waits for a lock that the test
// holds. So the run stands between two phases for as long as the test wants, without a hook in the program.
type failpoint struct {
	conn *pgx.Conn
	key  int64
}

// newFailpoint creates the triggers, which do nothing at first; more are tables in addition to those of a run. A row
// whose column answered is true has a place of its own.
func newFailpoint(t *testing.T, url string, more ...string) *failpoint {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close(t.Context()) })
	f := &failpoint{conn, rand.Int64N(1 << 31)}
	f.do(t, `create table failpoint (place text, full_disk boolean)`)
	f.do(t, fmt.Sprintf(`create function stop_at_failpoint() returns trigger language plpgsql as $$ declare
		here text := tg_table_name || ' ' || coalesce(to_jsonb(new) ->> 'state', to_jsonb(new) ->> 'status', '')
			|| case when (to_jsonb(new) ->> 'answered')::boolean then ' answered' else '' end;
	begin
		if exists (select from failpoint where place = here and full_disk) then
			raise exception 'could not extend file: No space left on device' using errcode = 'disk_full';
		elsif exists (select from failpoint where place = here) then
			perform pg_advisory_xact_lock_shared(%d);
		end if;
		return new;
	end $$`, f.key))
	for _, table := range append([]string{"run_state", "candidate", "promotion"}, more...) {
		f.do(t, fmt.Sprintf("create trigger failpoint before insert or update on %s for each row execute function stop_at_failpoint()", table))
	}
	return f
}

func (f *failpoint) do(t *testing.T, sql string, args ...any) {
	t.Helper()
	if _, err := f.conn.Exec(t.Context(), sql, args...); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
}

// set makes the next run wait before a write, "table state", until lift.
func (f *failpoint) set(t *testing.T, place string) {
	t.Helper()
	f.do(t, "select pg_advisory_lock($1)", f.key)
	f.do(t, "insert into failpoint values ($1, false)", place)
}

// reached waits until the run is held, and returns the server's process in which it waits.
func (f *failpoint) reached(t *testing.T) (pid int) {
	t.Helper()
	const waiting = "select coalesce(max(pid), 0) from pg_locks where locktype = 'advisory' and not granted and objid = $1"
	for range 30_000 { // far longer than any run
		if err := f.conn.QueryRow(t.Context(), waiting, f.key).Scan(&pid); err != nil {
			t.Fatal(err)
		}
		if pid != 0 {
			return pid
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatal("the run does not come to where it should wait")
	return 0
}

// lift lets a waiting run continue, and holds no further one.
func (f *failpoint) lift(t *testing.T) {
	t.Helper()
	f.do(t, "delete from failpoint")
	f.do(t, "select pg_advisory_unlock($1)", f.key)
}

// Between any two phases the agent is killed, or the database drops its connection. A killed run leaves the tree as it
// was until the renames, and as the patch makes it from then on. A run that lost its connection ends as if nothing had
// happened.
func TestEveryPhaseMayEndBadly(t *testing.T) {
	t.Parallel()
	db, url := storetest.Warm(t)
	k := newKilling(t, url)
	f := newFailpoint(t, url)
	args := k.run()
	k.restore(t)
	before := snapshotOf(t, k.work)
	if out, err := k.command(args...).CombinedOutput(); err != nil {
		t.Fatalf("an undisturbed run: %v\n%s", err, out)
	}
	after := snapshotOf(t, k.work)
	for i, phase := range []struct{ place, left string }{
		{"run_state queued", before},
		{"run_state analyzing", before},
		{"run_state verifying", before},
		{"candidate ", before},
		{"run_state awaiting_approval", before},
		{"run_state promoting", before},
		{"promotion prepared", before},
		{"promotion committed", after},
		{"run_state promoted", after},
	} {
		k.restore(t)
		f.set(t, phase.place)
		cmd := k.command(args...)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		f.reached(t)
		cmd.Process.Kill()
		if err := cmd.Wait(); err == nil {
			t.Errorf("%s: the run was over", phase.place)
		}
		f.lift(t)
		k.next(t, i)
		if got := snapshotOf(t, k.work); got != phase.left {
			t.Errorf("killed at %s: the tree is\n%s", phase.place, got)
		}
		k.nothingLeft(t, db)
		if state := k.latest(t, db); (state == run.Promoted) != (phase.left == after) && i > 0 {
			t.Errorf("killed at %s: the record says %s", phase.place, state)
		}

		k.restore(t)
		f.set(t, phase.place)
		var told bytes.Buffer
		cmd = k.command(args...)
		cmd.Stdout, cmd.Stderr = &told, &told
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		f.do(t, "select pg_terminate_backend($1)", f.reached(t))
		f.lift(t)
		if err := cmd.Wait(); err != nil || snapshotOf(t, k.work) != after || k.latest(t, db) != run.Promoted {
			t.Errorf("without its connection at %s: %v, the record says %s\n%s", phase.place, err, k.latest(t, db), &told)
		}
	}
}

// If the database has no room for the evidence, nothing is promoted. Once there is room again, the next command settles
// everything.
func TestWithoutRoomForTheRecordNothingIsPromoted(t *testing.T) {
	t.Parallel()
	db, url := storetest.Warm(t)
	k := newKilling(t, url)
	f := newFailpoint(t, url)
	k.restore(t)
	before := snapshotOf(t, k.work)
	for i, place := range []string{"run_state queued", "candidate ", "promotion prepared", "promotion committed", "run_state promoted"} {
		f.do(t, "insert into failpoint values ($1, true)", place)
		out, err := k.command(k.run()...).CombinedOutput()
		var ended *exec.ExitError
		if !errors.As(err, &ended) || ended.ExitCode() != run.ExitInfra || !strings.Contains(string(out), "No space left on device") {
			t.Errorf("%s: %v\n%s", place, err, out)
		}
		f.do(t, "delete from failpoint")
		k.next(t, i)
		if got := snapshotOf(t, k.work); got != before {
			t.Errorf("%s: the tree is\n%s", place, got)
		}
		k.nothingLeft(t, db)
		if i > 0 && k.latest(t, db) == run.Promoted {
			t.Errorf("%s: the record says that it is", place)
		}
	}
}

// replacements put something else in the place of a workspace that was moved away.
var replacements = []func(dir, aside string) error{
	func(dir, _ string) error { return os.CopyFS(dir, os.DirFS(scripts)) },
	func(dir, aside string) error { return os.Symlink(aside, dir) },
	func(dir, _ string) error {
		return errors.Join(os.CopyFS(dir+"-elsewhere", os.DirFS(scripts)), os.Symlink(dir+"-elsewhere", dir))
	},
}

// Between any two phases another directory, or a link, replaces the workspace. Nothing is written to the replacement or
// to the target of a link, and the moved workspace gets either the whole change or nothing.
func TestAWorkspaceIsReplacedBetweenAnyTwoPhases(t *testing.T) {
	t.Parallel()
	_, url := storetest.Warm(t)
	k := newKilling(t, url)
	f := newFailpoint(t, url)
	k.restore(t)
	before := snapshotOf(t, k.work)
	aside, elsewhere := k.work+"-aside", k.work+"-elsewhere"
	for i, place := range []string{
		"run_state queued", "run_state queued", "run_state queued", // before the lock is taken
		"promotion prepared", "run_state promoting", "run_state awaiting_approval", "run_state verifying", "run_state analyzing",
	} {
		for _, dir := range []string{k.work, aside, elsewhere} {
			if err := os.RemoveAll(dir); err != nil {
				t.Fatal(err)
			}
		}
		k.restore(t)
		f.set(t, place)
		var told bytes.Buffer
		cmd := k.command(k.run()...)
		cmd.Stdout, cmd.Stderr = &told, &told
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		f.reached(t)
		if err := errors.Join(os.Rename(k.work, aside), replacements[i%len(replacements)](k.work, aside)); err != nil {
			t.Error(err)
		}
		f.lift(t)
		var ended *exec.ExitError
		if err := cmd.Wait(); !errors.As(err, &ended) || ended.ExitCode() != run.ExitConflict || !strings.Contains(told.String(), "replaced by another directory") {
			t.Errorf("%s, replacement %d: %v\n%s", place, i%len(replacements), err, &told)
		}
		for _, dir := range []string{k.work, aside, elsewhere} {
			if info, err := os.Lstat(dir); err == nil && info.IsDir() && snapshotOf(t, dir) != before {
				t.Errorf("%s, replacement %d: %s is\n%s", place, i%len(replacements), dir, snapshotOf(t, dir))
			}
		}
	}
}
