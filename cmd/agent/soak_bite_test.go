//go:build soak

package main

import (
	"encoding/base64"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"agent/orchestrator/run"
)

// A seed always gives the same plan, and the plans together contain every mishap.
func TestASeedGivesTheSamePlan(t *testing.T) {
	t.Parallel()
	var all strings.Builder
	for seed := range uint64(4000) {
		one, two := newPlan(seed), newPlan(seed)
		if one.String() != two.String() {
			t.Fatalf("seed %d gives %v and %v", seed, one, two)
		}
		fmt.Fprintln(&all, one)
	}
	for _, m := range mishaps() {
		if n := strings.Count(all.String(), m.name+" at"); n < 50 {
			t.Errorf("%q is in %d of 4000 plans", m.name, n)
		}
	}
}

// After a run that kept every promise, each promise is broken by hand: its oracle reports that, and no other does.
func TestEveryOracleIsSeenToFail(t *testing.T) {
	s := newSoak(t)
	l := s.newLane(t, 0)
	p := newPlan(1)
	p.way, p.kind, p.patch, p.flags, p.faults, p.git, p.tmpfs = "goal", 0, kinds()[0].find("many"), []string{"--yes"}, nil, "clean", false
	l.examine(t, p, func(r *round) {
		if found := r.judge(); len(found) > 0 {
			t.Fatalf("broken before anything was: %v", found)
		}
		for _, b := range breaches(t) {
			undo := b.commit(r)
			found := r.judge()
			undo()
			if !slices.ContainsFunc(found, func(v violation) bool { return v.oracle == b.oracle }) {
				t.Errorf("%s: %s did not see it: %v", b.name, b.oracle, found)
			}
			if others := slices.DeleteFunc(found, func(v violation) bool { return v.oracle == b.oracle }); len(others) > 0 {
				t.Errorf("%s: also %v", b.name, others)
			}
			if found = r.judge(); len(found) > 0 {
				t.Fatalf("%s is not undone: %v", b.name, found)
			}
		}
	})
}

// A breach is one broken promise; commit breaks it and returns the repair.
type breach struct {
	name, oracle string
	commit       func(r *round) (undo func())
}

// breaches returns at least one breach for each oracle.
func breaches(t *testing.T) []breach {
	exec1 := func(r *round, sql string, args ...any) {
		if rows := r.ask(sql, args...); len(rows) > 0 {
			t.Fatalf("%s: %v", sql, rows)
		}
	}
	file := func(path func(r *round) string, text string) func(*round) func() {
		return func(r *round) func() {
			old, err := os.ReadFile(path(r))
			info, _ := os.Stat(path(r))
			writeFile(t, path(r), string(old)+text)
			return func() {
				if err != nil {
					os.Remove(path(r))
					return
				}
				writeFile(t, path(r), string(old))
				if err := os.Chtimes(path(r), time.Time{}, info.ModTime()); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	in := func(name string) func(*round) string {
		return func(r *round) string { return filepath.Join(r.place, name) }
	}
	box := func(more ...string) func(*round) func() {
		return func(r *round) func() {
			args := append([]string{"create", "--label", "agent.run=" + r.rows[0].ID, "--label", "agent.lease=9999999999", "--log-driver", "none"}, more...)
			out, err := exec.Command("docker", append(args, r.snapshots(t, r.work)[0], "/bin/true")...).CombinedOutput()
			if err != nil {
				t.Fatalf("create a box: %v\n%s", err, out)
			}
			time.Sleep(time.Second) // the watcher inspects it
			return func() { r.docker(t, "rm", "-f", strings.TrimSpace(string(out))) }
		}
	}
	unseen := func(f func(*round) func()) func(*round) func() { // for O5 and O7 only: the box is gone when O3 looks
		return func(r *round) func() {
			f(r)()
			return func() {}
		}
	}
	first := func(change func(x *process)) func(*round) func() {
		return func(r *round) func() {
			x := r.processes()[0]
			old := *x
			change(x)
			return func() { *x = old }
		}
	}
	said := func(text func(r *round) string) func(*round) func() {
		return func(r *round) func() {
			x := r.processes()[0]
			old := x.told
			x.told = newTape()
			fmt.Fprint(x.told, old.String(), text(r))
			return func() { x.told = old }
		}
	}
	return []breach{
		{"a byte in a file", "O1", file(in("work/other.txt"), "!")},
		{"a byte in a promoted file", "O1", file(in("work/notes.txt"), "!")},
		{"a new file", "O1", file(in("work/stray"), "!")},
		{"a byte in the repository", "O1", file(in("work/.git/config"), "\n")},
		{"another mode", "O1", func(r *round) func() {
			os.Chmod(filepath.Join(r.work, "other.txt"), 0o600)
			return func() { os.Chmod(filepath.Join(r.work, "other.txt"), 0o644) }
		}},
		{"a time", "O1", func(r *round) func() {
			name := filepath.Join(r.work, "other.txt")
			info, _ := os.Stat(name)
			os.Chtimes(name, time.Time{}, time.Now())
			return func() { os.Chtimes(name, time.Time{}, info.ModTime()) }
		}},
		{"a byte beside", "O2", file(in("victim/treasure.txt"), "!")},
		{"a file beside", "O2", file(in("victim/deeper/stray"), "!")},
		{"a name beside", "O2", func(r *round) func() {
			os.Link(filepath.Join(r.victim, "treasure.txt"), filepath.Join(s1(r), "another name"))
			return func() { os.Remove(filepath.Join(s1(r), "another name")) }
		}},
		{"a file in the directory that took the place", "O2", func(r *round) func() {
			r.swap(planned{long: 0.5})
			writeFile(t, filepath.Join(r.work, "stray"), "x")
			r.swapBack()
			return func() { r.wrong = nil }
		}},
		{"a planted journal that was carried out", "O1", func(r *round) func() {
			r.plant(planned{})
			os.Remove(filepath.Join(r.work, ".agent/journal/edit-1/files/1"))
			r.unplant()
			return func() { r.wrong = nil }
		}},
		{"a box", "O3", box()},
		{"a volume", "O3", func(r *round) func() {
			name := "agent-soak-bite"
			r.docker(t, "volume", "create", "--label", "agent.run="+r.rows[0].ID, name)
			return func() { r.docker(t, "volume", "rm", name) }
		}},
		{"a run without an end", "O4", func(r *round) func() {
			if err := r.record.db.Create(t.Context(), run.Record{ID: "zzz", Workspace: "/nowhere", Intent: "x", Owner: "x", Token: 1, State: run.Queued, Started: time.Now()}); err != nil {
				t.Fatal(err)
			}
			return func() { exec1(r, `delete from run where id = 'zzz'`) }
		}},
		{"two ends", "O4", func(r *round) func() {
			exec1(r, `insert into run_state (run, n, state, token) values ($1, 99, 'failed', 9)`, r.rows[0].ID)
			return func() { exec1(r, `delete from run_state where n = 99`) }
		}},
		{"a promotion half-way", "O4", func(r *round) func() {
			exec1(r, `update promotion set status = 'prepared' where run = $1`, r.rows[0].ID)
			return func() { exec1(r, `update promotion set status = 'committed' where run = $1`, r.rows[0].ID) }
		}},
		{"an answer paid for twice", "O4", func(r *round) func() {
			columns := strings.Join(r.ask(`select column_name from information_schema.columns where table_schema = current_schema() and table_name = 'model_call' and is_identity = 'NO' and is_generated = 'NEVER' and column_name not in ('op', 'attempt')`), ", ")
			exec1(r, `insert into model_call (op, attempt, `+columns+`) select gen_random_uuid(), 77, `+columns+` from model_call where kind is null order by id limit 1`)
			return func() { exec1(r, `delete from model_call where attempt = 77`) }
		}},
		{"the key on stderr", "O5", said(func(r *round) string { return r.canaries["key"] })},
		{"a secret backwards on stderr", "O5", said(func(r *round) string {
			text := []byte(r.canaries["netrc"])
			slices.Reverse(text)
			return string(text)
		})},
		{"a secret in base64 in the record", "O5", func(r *round) func() {
			exec1(r, `update candidate set thought = $1`, "x"+base64.StdEncoding.EncodeToString([]byte("ab"+r.canaries["dotenv"]+"c")))
			return func() { exec1(r, `update candidate set thought = ''`) }
		}},
		{"a secret in bytes in the record", "O5", func(r *round) func() {
			exec1(r, `update run set patch = $1`, []byte("..."+r.canaries["environment"]))
			return func() { exec1(r, `update run set patch = null`) }
		}},
		{"a secret in a box", "O5", unseen(func(r *round) func() { return box("--env", "X="+r.canaries["dsn"])(r) })},
		{"a log of a box", "O7", unseen(box("--log-driver", "json-file"))},
		{"an exit code of no meaning", "O6", first(func(x *process) { x.exit = 7 })},
		{"another exit code than the record's", "O6", first(func(x *process) { x.exit = run.ExitFail })},
		{"no document", "O6", first(func(x *process) { x.out = newTape() })},
		{"a next command that does not do well", "O6", func(r *round) func() {
			x := r.processes()[len(r.processes())-1]
			x.exit = run.ExitInfra
			return func() { x.exit = run.ExitDone }
		}},
		{"too much memory", "O7", first(func(x *process) { x.rss = mostMemory + 1 })},
	}
}

// s1 is a directory that no oracle checks.
func s1(r *round) string { return r.soak.dir }
