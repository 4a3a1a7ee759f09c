//go:build soak

package main

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/docker/docker/api/types/events"
	"github.com/docker/docker/api/types/filters"
	"github.com/jackc/pgx/v5"

	imagescmd "agent/cmd/agent/internal/command/images"
	"agent/orchestrator/run"
)

// A violation is a promise that was not kept.
type violation struct{ oracle, text string }

// oracles are the promises of the battery's section 0, O1 to O7, each with the check of whether it was kept.
var oracles = []struct {
	name  string
	check func(*round) []string
}{
	{"O1", (*round).tree},
	{"O2", (*round).beside},
	{"O3", (*round).left},
	{"O4", (*round).recorded},
	{"O5", (*round).secrets},
	{"O6", (*round).told},
	{"O7", (*round).small},
}

// judge asks every oracle.
func (r *round) judge() (found []violation) {
	found = slices.Clone(r.wrong)
	for _, o := range oracles {
		for _, text := range o.check(r) {
			found = append(found, violation{o.name, text})
		}
	}
	return found
}

// A node is one entry of a directory.
type node struct {
	mode  fs.FileMode
	sum   string // of the content, or the target of a link
	links uint64
	at    int64 // the modification time; 0 for any
}

// A tree is everything below a directory, by path.
type tree map[string]node

// look reads a tree. A directory has neither time nor links; its entries have them.
func look(t *testing.T, dir string) tree {
	t.Helper()
	all := tree{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		n := node{mode: info.Mode(), at: info.ModTime().UnixNano(), links: uint64(info.Sys().(*syscall.Stat_t).Nlink)}
		switch {
		case d.IsDir():
			n.at, n.links = 0, 0
		case info.Mode().IsRegular():
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			n.sum = sum(string(text))
		case info.Mode()&fs.ModeSymlink != 0:
			if n.sum, err = os.Readlink(path); err != nil {
				return err
			}
		}
		rel, _ := filepath.Rel(dir, path)
		all[rel] = n
		return nil
	})
	if err != nil {
		t.Fatalf("look at %s: %v", dir, err)
	}
	return all
}

func sum(text string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(text)))[:16] }

// differences lists the differences between two trees; a time of 0 equals any other.
func differences(want, got tree) (list []string) {
	names := maps.Clone(want)
	maps.Copy(names, got)
	for _, name := range slices.Sorted(maps.Keys(names)) {
		w, inWant := want[name]
		g, inGot := got[name]
		if w.at == 0 || g.at == 0 {
			w.at, g.at = 0, 0
		}
		if inWant != inGot || w != g {
			list = append(list, fmt.Sprintf("%s is %+v (there: %v), want %+v (there: %v)", name, g, inGot, w, inWant))
		}
	}
	return list
}

// tree is O1: the workspace is unchanged, except for promotions and for what a person wrote meanwhile.
func (r *round) tree() []string {
	want, got := maps.Clone(r.before), look(r.t, r.work)
	files := map[string]string{}
	for name, text := range kinds()[r.plan.kind].files {
		files[name] = text
	}
	for _, q := range []patch{r.plan.patch, side()} {
		if n := r.promoted(q); n == 1 {
			q.change(want, files)
		} else if n > 1 {
			return []string{fmt.Sprintf("%s was promoted %d times", q.name, n)}
		}
	}
	if r.gitTree != nil {
		maps.DeleteFunc(want, func(name string, _ node) bool { return strings.HasPrefix(name+"/", ".git/") })
		for name, n := range r.gitTree {
			want[filepath.Join(".git", name)] = n
		}
	}
	delete(got, ballast)
	r.exports(got)
	// If nothing could be removed, the next run in the workspace removes it; see workspace.Recover.
	if r.plan.struck("no writing") && strings.Contains(r.processes()[0].told.String(), "remove directory .agent") {
		delete(got, ".agent")
	}
	for path, added := range r.edits {
		r.byHand(path, added, files, want, got)
	}
	return differences(want, got)
}

// change turns want into the tree after the promotion of q.
func (q patch) change(want tree, files map[string]string) {
	for name, text := range q.files {
		n, there := want[name]
		if !there {
			n.mode = 0o644
		}
		n.sum, n.links, n.at = sum(text), 1, 0
		want[name], files[name] = n, text
		for dir := filepath.Dir(name); dir != "."; dir = filepath.Dir(dir) {
			want[dir] = node{mode: fs.ModeDir | 0o755}
		}
	}
	for _, name := range q.gone {
		delete(want, name)
	}
}

// exports removes from got what a run with a model leaves for people to read.
func (r *round) exports(got tree) {
	if !r.plan.goal() {
		return
	}
	maps.DeleteFunc(got, func(name string, _ node) bool {
		base := filepath.Base(name)
		export := strings.HasPrefix(base, "MEMORY.md") || strings.HasPrefix(base, "HISTORY.md") ||
			strings.HasPrefix(base, ".MEMORY.md.") || strings.HasPrefix(base, ".HISTORY.md.") // left by a killed process
		return name == ".agent" || filepath.Dir(name) == ".agent" && export
	})
}

// byHand settles a file that a person wrote: the person's text is there, on top of the old text or the new one, or in a
// file next to it.
func (r *round) byHand(path, added string, files map[string]string, want, got tree) {
	n := want[path]
	n.links, n.at = 1, 0
	if is, there := got[path]; there {
		n.links = is.links // a person's new file in its place has no other name
	}
	if n.mode == 0 {
		n.mode = 0o644
	}
	old := kinds()[r.plan.kind].files[path]
	possible := []string{old + added, files[path] + added, r.plan.patch.files[path] + added}
	if path == "branch.txt" {
		possible = []string{added}
	}
	for _, text := range possible {
		if got[path].sum == sum(text) {
			n.sum = sum(text)
			want[path] = n
			return
		}
	}
	for name, is := range got {
		if strings.HasPrefix(name, path+".kept-") && is.sum == sum(old+added) {
			want[name] = is
			n.sum = sum(files[path])
			want[path] = n
			return
		}
	}
	n.sum = "what a person added: " + added
	want[path] = n
}

// beside is O2: nothing outside the workspace changed, although links lead there.
func (r *round) beside() []string {
	want := maps.Clone(r.away)
	for _, q := range []patch{r.plan.patch} {
		if q.unlinks && r.promoted(q) > 0 || r.edits["shared.txt"] != "" {
			n := want["linked.txt"]
			n.links = look(r.t, r.victim)["linked.txt"].links
			if r.edits["shared.txt"] != "" { // an edit in place changes the same file
				n = look(r.t, r.victim)["linked.txt"]
			}
			want["linked.txt"] = n
		}
	}
	return differences(want, look(r.t, r.victim))
}

// left is O3: the engine keeps nothing of any run, and one snapshot of each workspace.
func (r *round) left() (list []string) {
	// A box that another process is removing may be there for a moment.
	var ids []string
	for patience := time.Now().Add(20 * time.Second); time.Now().Before(patience); time.Sleep(100 * time.Millisecond) {
		if ids = r.boxesLeft(); len(ids) == 0 {
			break
		}
	}
	for _, id := range ids {
		list = append(list, "a box is left: "+id)
	}
	// A snapshot stays until the next clean-up if a box that another process was removing still used it, or another
	// lane had one of the same files.
	for patience := time.Now().Add(20 * time.Second); len(r.snapshots(r.t, r.work)) > imagescmd.KeptSnapshots && time.Now().Before(patience); {
		r.command("sandbox", "gc")
	}
	if n := len(r.snapshots(r.t, r.work)); n > imagescmd.KeptSnapshots {
		list = append(list, fmt.Sprintf("%d snapshots of the workspace are left", n))
	}
	for _, kind := range []string{"volume", "network"} {
		if left := keptOfRuns(r.t, kind); left != "" {
			list = append(list, "a "+kind+" is left: "+left)
		}
	}
	return list
}

// never lists queries of the record that must return no row.
var never = map[string]string{
	"a run has not ended":                       `select id || ' is ' || state from run where ended is null`,
	"a run ended twice, or went on":             `select run || ' ' || string_agg(state, ' ' order by n) from run_state group by run having count(distinct state) filter (where state in (select name from state where final)) <> 1`,
	"a run's last state is not its own":         `select r.id || ' is ' || r.state || ', last ' || s.state from run r join lateral (select state from run_state where run = r.id order by n desc limit 1) s on true where s.state <> r.state`,
	"the same step was entered twice":           `select run || ' ' || state from run_state group by run, state, token having count(*) > 1 and state not in ('proposing', 'verifying', 'awaiting_approval')`,
	"a promotion is half-way":                   `select run || ' ' || status from promotion where status = 'prepared'`,
	"promoted without its rows, or against":     `select r.id || ' is ' || r.state || ', promotion ' || coalesce(p.status, 'none') from run r left join promotion p on p.run = r.id where (r.state = 'promoted') <> coalesce(p.status = 'committed', false)`,
	"promoted by no candidate that passed":      `select r.id from run r where r.state = 'promoted' and not exists (select from candidate c where c.run = r.id and c.verdict = 'pass')`,
	"files of the promotion are not those seen": `select f.run || ' ' || f.path from promotion_file f join promotion p on p.run = f.run where p.status = 'committed' and not exists (select from candidate_file c where c.run = f.run and c.path = f.path and c.after_sha256 is not distinct from f.after_sha256)`,
	"an answer was paid for twice":              `select run || ' ' || step from model_call where ended is not null and kind is null group by run, step, digest having count(*) > 1`,
	"sums differ from what they add":            `select i.iteration from v_iterations i where i.calls <> (select count(*) from v_model_calls c where c.iteration = i.iteration) or i.cost <> (select coalesce(sum(c.cost), 0) from v_model_calls c where c.iteration = i.iteration)`,
}

// recorded is O4: every run has ended exactly once, and the sums are right.
func (r *round) recorded() (list []string) {
	for what, sql := range never {
		for _, line := range r.ask(sql) {
			list = append(list, what+": "+line)
		}
	}
	if r.plan.goal() {
		for _, line := range r.ask(`select iteration || ' ' || phase from v_iterations where workspace = $1 and phase <> 'settled'`, r.work) {
			list = append(list, "an iteration is not settled after its loop was resumed: "+line)
		}
		if sent, kept := len(r.model.Requests())-r.asked, r.calls()-r.called; sent > kept {
			list = append(list, fmt.Sprintf("%d requests were sent, and %d are on record", sent, kept))
		}
		// A loop struck at its very start says so and ends before there is anything to resume.
		unheard := r.plan.struck("database away", "engine away", "signal", "two signals", "kill agent") && r.iterations() == r.begun
		if len(r.edits) == 0 && !unheard && !r.plan.struck("second run", "index lock", "switch branch", "full disk") && r.promoted(r.plan.patch) != 1 {
			list = append(list, fmt.Sprintf("the goal was promoted %d times after its loop was resumed", r.promoted(r.plan.patch)))
		}
	}
	return list
}

// calls counts the requests on record.
func (r *round) calls() int {
	n, _ := strconv.Atoi(strings.Join(r.ask(`select count(*)::text from model_call`), ""))
	return n
}

// iterations counts the iterations that loops have begun on the workspace.
func (r *round) iterations() int {
	n, _ := strconv.Atoi(strings.Join(r.ask(`select count(*)::text from v_iterations where workspace = $1`, r.work), ""))
	return n
}

// ask returns the rows of a query for one text; an error is a row too.
func (r *round) ask(sql string, args ...any) []string {
	ctx := context.WithoutCancel(r.t.Context())
	conn, err := pgx.Connect(ctx, r.record.direct)
	if err != nil {
		return []string{err.Error()}
	}
	defer conn.Close(ctx)
	rows, err := conn.Query(ctx, sql, args...)
	if err != nil {
		return []string{err.Error()}
	}
	lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return []string{err.Error()}
	}
	return lines
}

// told is O6: exit codes and documents are as documented, agree with the record, and fit what happened.
func (r *round) told() (list []string) {
	for _, x := range r.processes() {
		if !x.isRun {
			if x.exit != run.ExitDone && !(r.plan.goal() && slices.Contains([]int{run.ExitFail, run.ExitConflict}, x.exit)) {
				list = append(list, fmt.Sprintf("the next command, %v, ends with %d", x.args, x.exit))
			}
			continue
		}
		if allowed := r.plan.exits(x.patch); x.exit == -1 && r.plan.struck("kill agent") {
			continue
		} else if x.exit == -1 && r.plan.struck("signal", "two signals") && x.told.String() == "" {
			continue // before it could handle signals
		} else if !slices.Contains(allowed, x.exit) {
			list = append(list, fmt.Sprintf("agent %v ends with %d, may with %v", x.args, x.exit, allowed))
		}
		if x.exit == run.ExitCancelled && r.plan.struck("two signals") && x.out.String() == "" {
			continue // it left at once, as instructed
		}
		var doc run.Document
		if err := json.Unmarshal([]byte(x.out.String()), &doc); err != nil {
			list = append(list, fmt.Sprintf("stdout is no document: %v", err))
			continue
		}
		for _, row := range r.rows {
			if row.ID == doc.Run && (row.Promoted != (doc.State == run.Promoted) || row.Exit != x.exit && doc.Error != nil && doc.Error.Kind != "infra") {
				list = append(list, fmt.Sprintf("the document says %s and %d, the record %s and %d", doc.State, x.exit, row.State, row.Exit))
			}
		}
		if (doc.State == run.Promoted) != (doc.Promotion != nil) || doc.Error != nil && doc.Error.Next == "" {
			list = append(list, fmt.Sprintf("the document says %s with the promotion %v and the error %+v", doc.State, doc.Promotion != nil, doc.Error))
		}
	}
	return list
}

// small is O7: no process takes more than its memory limit, and no box keeps a log.
func (r *round) small() (list []string) {
	for _, x := range r.processes() {
		r.soak.mu.Lock()
		r.peak = max(r.peak, x.rss)
		r.soak.mu.Unlock()
		if x.rss > mostMemory {
			list = append(list, fmt.Sprintf("agent %v took %d MiB", x.args, x.rss>>20))
		}
	}
	return append(list, r.watch.found("O7")...)
}

// newCanary returns a secret that nothing else looks like, with characters that URLs and JSON write differently.
func newCanary(place string) string {
	if place == "" {
		return rand.Text()
	}
	return "Can+" + rand.Text() + "/" + rand.Text()[:8] + "="
}

// A search finds secrets in every form.
type search struct{ forms []string }

// newSearch returns a search for all forms of secrets.
func newSearch(secrets []string) search {
	var s search
	add := func(form string) { s.forms = append(s.forms, form, hex.EncodeToString([]byte(form))) } // a dump shows bytes in hexadecimal
	for _, secret := range secrets {
		reversed := []byte(secret)
		slices.Reverse(reversed)
		quoted, _ := json.Marshal(secret)
		for _, form := range []string{secret, string(reversed), url.QueryEscape(secret), url.PathEscape(secret), strings.Trim(string(quoted), `"`), strings.ToUpper(hex.EncodeToString([]byte(secret)))} {
			add(form)
		}
		// Base64 may begin at any of three offsets; the characters that neighbours affect are left out.
		for shift := range 3 {
			for _, encoding := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
				text := encoding.EncodeToString(append(make([]byte, shift), secret...))
				add(text[4 : len(text)-3])
			}
		}
	}
	slices.Sort(s.forms)
	s.forms = slices.Compact(s.forms)
	return s
}

// in reports whether text contains a secret.
func (s search) in(text string) bool {
	return slices.ContainsFunc(s.forms, func(form string) bool { return strings.Contains(text, form) })
}

// secrets is O5: no secret is in anything that was printed, recorded, built, started or sent.
func (r *round) secrets() (list []string) {
	look := func(where, text string) {
		if r.search.in(text) {
			list = append(list, "a secret is in "+where)
		}
	}
	for _, x := range r.processes() {
		look("stdout", x.out.String())
		look("stderr", x.told.String())
	}
	for _, q := range r.model.Requests()[r.asked:] {
		body, _ := json.Marshal(q.Body)
		look("a question to the model", string(body)+q.System+fmt.Sprint(q.Header))
	}
	ctx := context.WithoutCancel(r.t.Context())
	conn, err := pgx.Connect(ctx, r.record.direct)
	if err != nil {
		return append(list, err.Error())
	}
	defer conn.Close(ctx)
	tables, err := dump(ctx, conn)
	if err != nil || len(tables) < 12 {
		list = append(list, fmt.Sprintf("%d tables were read: %v", len(tables), err))
	}
	for name, text := range tables {
		look("the table "+name, text)
	}
	for _, id := range r.snapshots(r.t, r.work) {
		r.soak.mu.Lock()
		known := r.searched[id]
		r.searched[id] = true
		r.soak.mu.Unlock()
		if known {
			continue
		}
		seen, err := r.api.ImageInspect(ctx, id)
		history, err2 := r.api.ImageHistory(ctx, id)
		if err == nil && err2 == nil { // otherwise it is gone
			text, _ := json.Marshal([]any{seen, history})
			look("the image "+id, string(text))
		}
	}
	// This covers the cache of scans, and everything else that the agent leaves in the home.
	_ = filepath.WalkDir(filepath.Join(r.lane.dir, "home", ".cache"), func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			text, _ := os.ReadFile(path)
			look(path, string(text))
		}
		return nil
	})
	return append(list, r.watch.found("O5")...)
}

// dump reads every table as text.
func dump(ctx context.Context, conn *pgx.Conn) (map[string]string, error) {
	rows, err := conn.Query(ctx, `select table_name from information_schema.tables where table_schema = current_schema() and table_type = 'BASE TABLE'`)
	if err != nil {
		return nil, err
	}
	names, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return nil, err
	}
	tables := map[string]string{}
	for _, name := range names {
		rows, err := conn.Query(ctx, "select t::text from "+pgx.Identifier{name}.Sanitize()+" t")
		if err != nil {
			return tables, err
		}
		lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
		if err != nil {
			return tables, err
		}
		tables[name] = strings.Join(lines, "\n")
	}
	return tables, nil
}

// A watcher inspects every box when it is created.
type watcher struct {
	seen, missed atomic.Int64
	mu           sync.Mutex
	wrong        []violation
}

// newWatcher watches until the test ends.
func (s *soak) newWatcher(t *testing.T) *watcher {
	t.Helper()
	w := &watcher{}
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	messages, errs := s.api.Events(ctx, events.ListOptions{Filters: filters.NewArgs(
		filters.Arg("type", "container"), filters.Arg("event", "create"), filters.Arg("label", "agent.run"))})
	var watching sync.WaitGroup
	watching.Go(func() {
		for {
			select {
			case m := <-messages:
				w.inspect(ctx, s, m.Actor.ID)
			case err := <-errs:
				if ctx.Err() == nil {
					w.add("O5", fmt.Sprintf("the engine's events ended: %v", err))
				}
				return
			}
		}
	})
	t.Cleanup(func() { cancel(); watching.Wait() })
	return w
}

// inspect looks at one box.
func (w *watcher) inspect(ctx context.Context, s *soak, id string) {
	box, raw, err := s.api.ContainerInspectWithRaw(ctx, id, false)
	if err != nil {
		w.missed.Add(1)
		return
	}
	// A box has the labels of its image too; the boxes of others are not judged here.
	if !strings.HasPrefix(box.Config.Labels["agent.workspace"], s.dir+"/") {
		return
	}
	w.seen.Add(1)
	if s.search.in(string(raw)) {
		w.add("O5", "a secret is in the box "+id)
	}
	if box.HostConfig.LogConfig.Type != "none" {
		w.add("O7", fmt.Sprintf("the box %s keeps a log: %+v", id, box.HostConfig.LogConfig))
	}
}

func (w *watcher) add(oracle, text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.wrong = append(w.wrong, violation{oracle, text})
}

// found returns and clears the violations of an oracle.
func (w *watcher) found(oracle string) (list []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.wrong = slices.DeleteFunc(w.wrong, func(v violation) bool {
		if v.oracle == oracle {
			list = append(list, v.text)
		}
		return v.oracle == oracle
	})
	return list
}
