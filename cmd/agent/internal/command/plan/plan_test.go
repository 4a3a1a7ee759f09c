package plan

import (
	"bytes"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"agent/cmd/agent/internal/cmdline"
	"agent/cmd/agent/internal/cmdline/cmdlinetest"
	"agent/cmd/agent/internal/fault"
	"agent/cmd/agent/internal/term"
	"agent/cmd/agent/internal/term/termtest"
	"agent/orchestrator/crew"
	"agent/orchestrator/run"
	"agent/orchestrator/store"
	"agent/orchestrator/store/storetest"
	"agent/sandbox"
)

// A desk is a workspace with a.py and c.py, and a record.
type desk struct {
	db  *store.DB
	env map[string]string
	dir string
}

func newDesk(t *testing.T) *desk {
	t.Helper()
	db, url := storetest.New(t)
	d := &desk{db, map[string]string{"HOME": t.TempDir(), "AGENT_DATABASE_URL": url}, cmdline.Resolved(t.TempDir())}
	for _, name := range []string{"a.py", "c.py"} {
		if err := os.WriteFile(filepath.Join(d.dir, name), []byte("x = 1\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return d
}

// says runs `agent plan` on a command line, with in as the standard input of commands that have none of their own.
func (d *desk) says(t *testing.T, in string, args ...string) (stdout, stderr string, err error) {
	t.Helper()
	var out, log bytes.Buffer
	line := cmdline.New(func(k string) string { return d.env[k] }, strings.NewReader(in), &out, &log)
	err = cmdlinetest.App(&log, Command(line)).RunContext(t.Context(), append([]string{"agent", "plan"}, args...))
	return out.String(), log.String(), err
}

// add records a plan of the workspace in this state, and returns it.
func (d *desk) add(t *testing.T, state crew.PlanState, owner string) crew.Plan {
	t.Helper()
	p := crew.Plan{Workspace: d.dir, Goal: "prices have a currency", State: crew.Drafted, Tasks: []crew.Task{
		{N: 1, Title: "first", Goal: "do it", Files: []string{"a.py"}, Accept: crew.Acceptance{Text: "seen"}},
		{N: 2, Title: "second", Goal: "and that", Creates: []string{"b.py"}, DependsOn: []int{1}, Accept: crew.Acceptance{Command: []string{"true"}}},
	}}
	p.Tidy()
	var err error
	if p.ID, err = d.db.Plans().AddPlan(t.Context(), p); err == nil && owner != "" {
		p, err = d.db.Plans().TakePlan(t.Context(), p.ID, "", owner)
	}
	if p.State = state; err == nil {
		err = d.db.Plans().SavePlan(t.Context(), p, owner)
	}
	if err != nil {
		t.Fatal(err)
	}
	return d.read(t, p.ID)
}

// read returns a plan from the record.
func (d *desk) read(t *testing.T, id int64) crew.Plan {
	t.Helper()
	p, err := d.db.Plans().Plan(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// refused checks the exit code of an error, and that it or its next step contains these words.
func refused(t *testing.T, what string, err error, exit int, words string) {
	t.Helper()
	if err == nil {
		t.Errorf("%s is no error", what)
		return
	}
	problem, code := fault.Classify(t.Context(), err)
	if told := err.Error() + " " + problem.Next; code != exit || !strings.Contains(told, words) {
		t.Errorf("%s: exit %d, %s; want %d, %q", what, code, told, exit, words)
	}
}

// Without a name, a command takes the newest plan that is not over. An invalid or missing name never drops that plan.
func TestAPlanIsFoundByItsNumber(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	_, _, err := d.says(t, "", "show", "--workspace", d.dir)
	refused(t, "none yet", err, run.ExitUsage, "there is no plan for "+d.dir)
	d.add(t, crew.Paused, "")
	d.add(t, crew.Dropped, "")
	for name, c := range map[string][]string{
		"plan 1": {"show", "--workspace", d.dir}, "plan 2": {"show", "--workspace", d.dir, "2"}, "plan 1  paused": {"show", "--workspace", d.dir, ""},
	} {
		if out, _, err := d.says(t, "", c...); err != nil || !strings.HasPrefix(out, name) {
			t.Errorf("%v shows %q, %v", c, out, err)
		}
	}
	for name, words := range map[string]string{
		"3": "there is no plan 3", "0": `invalid plan number "0"`, "-1": `invalid plan number "-1"`, "x": `"x"`, "1.0": `"1.0"`, "99999999999999999999": "invalid", "9223372036854775807": "there is no plan", "1\x00": "invalid",
	} {
		for _, act := range []string{"show", "edit", "drop"} {
			args := []string{act, "--", name}
			if act == "edit" {
				args = []string{act, "--print", "--", name}
			}
			_, _, err := d.says(t, "", args...)
			refused(t, act+" "+name, err, run.ExitUsage, words)
		}
	}
	d.env["AGENT_WORKSPACE"] = d.dir // a plan exists there
	for _, args := range [][]string{{"drop"}, {"drop", ""}} {
		_, _, err := d.says(t, "", args...)
		refused(t, strings.Join(args, " "), err, run.ExitUsage, "no plan was named")
	}
	if p := d.read(t, 1); p.State != crew.Paused {
		t.Errorf("plan 1 is %s", p.State)
	}
}

func TestWhatMayBeDropped(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	for _, c := range []struct {
		state crew.PlanState
		owner string
		exit  int
		words string
	}{
		{crew.Drafted, "", 0, ""},
		{crew.Paused, "", 0, ""},
		{crew.Awaiting, "", 0, ""},
		{crew.Failed, "", 0, ""},
		{crew.Dropped, "", 0, ""},
		{crew.Building, "nobody", 0, ""}, // its process has died
		{crew.Building, sandbox.Owner(), run.ExitConflict, "works on plan"},
		{crew.Delivered, "", run.ExitUsage, "was delivered by run"},
	} {
		p := d.add(t, c.state, c.owner)
		out, _, err := d.says(t, "", "drop", "--json", name(p))
		if c.words != "" {
			refused(t, string(c.state), err, c.exit, c.words)
			if got := d.read(t, p.ID); got.State != c.state {
				t.Errorf("%s is %s", c.state, got.State)
			}
			continue
		}
		var told crew.Plan
		if json.Unmarshal([]byte(out), &told) != nil || err != nil || told.State != crew.Dropped || d.read(t, p.ID).State != crew.Dropped {
			t.Errorf("%s of %q: %v\n%s", c.state, c.owner, err, out)
		}
	}
}

// name returns the argument that names a plan.
func name(p crew.Plan) string {
	text, _ := json.Marshal(p.ID)
	return string(text)
}

// `agent plan edit --print` writes the plan as a TOML file, --file reads one back, and --new makes a plan without a planner.
func TestAPlanGoesOutAndBack(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	form, _, err := d.says(t, "", "edit", "--new", "--print", "--workspace", d.dir)
	if err != nil || !strings.Contains(form, "[[task]]") {
		t.Fatalf("%v\n%s", err, form)
	}
	_, _, err = d.says(t, form, "edit", "--new", "--file", "-", "--workspace", d.dir)
	refused(t, "a file that is not there", err, run.ExitUsage, "README.md")
	out, _, err := d.says(t, strings.ReplaceAll(form, "README.md", "a.py"), "edit", "--new", "--file", "-", "--json", "--workspace", d.dir)
	var made crew.Plan
	if err != nil || json.Unmarshal([]byte(out), &made) != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if diff := cmp.Diff(d.read(t, made.ID), made); diff != "" || made.Created.IsZero() {
		t.Errorf("told is another plan than kept (-want +got):\n%s", diff)
	}
	was := d.add(t, crew.Failed, "")
	was.Tasks[0].State, was.Tasks[0].Landed, was.Tasks[1].State, was.Tasks[1].Tries = crew.Done, 1, crew.Undone, 2
	if err := d.db.Plans().SavePlan(t.Context(), was, ""); err != nil {
		t.Fatal(err)
	}
	text, _, err := d.says(t, "", "edit", "--print", name(was))
	if err != nil || strings.Contains(text, "first") || !strings.Contains(text, "second") {
		t.Fatalf("%v\n%s", err, text)
	}
	if _, _, err := d.says(t, strings.ReplaceAll(text, "second", "other"), "edit", "--file", "-", name(was)); err != nil {
		t.Fatal(err)
	}
	// A finished task stays; a failed one waits again, with its tries.
	if got := d.read(t, was.ID); got.State != crew.Paused || got.Tasks[0].State != crew.Done || got.Tasks[1].State != crew.Waiting || got.Tasks[1].Title != "other" || got.Tasks[1].Tries != 2 {
		t.Errorf("%+v", got)
	}
}

// An invalid file changes nothing, and the error names the place.
func TestAPlanThatDoesNotHoldIsNotKept(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	p := d.add(t, crew.Drafted, "")
	text, _, err := d.says(t, "", "edit", "--print", "1")
	if err != nil {
		t.Fatal(err)
	}
	for what, c := range map[string][2]string{
		"nothing":           {"", "empty"},
		"no TOML":           {"goal = ", "line 1"},
		"an unknown field":  {text + "\ncolour = 'red'\n", "unknown field"},
		"no goal":           {strings.Replace(text, "prices have a currency", " ", 1), "the goal is empty"},
		"a circle":          {strings.Replace(text, "depends_on = []", "depends_on = [2]", 1), "in a circle"},
		"a file that isn't": {strings.Replace(text, "a.py", "z.py", 1), "changes z.py, which does not exist"},
		"one that is":       {strings.Replace(text, "b.py", "c.py", 1), "creates c.py, which already exists"},
		"out of it":         {strings.Replace(text, "b.py", "../b.py", 1), "../b.py"},
		"no end":            {strings.Replace(text, "seen", "", 1), "nothing says when task 1 is done"},
		"no role":           {strings.Replace(text, "worker", "king", 2), `"king"`},
		"no task":           {"goal = 'x'\n", "the plan has no task"},
		"broken UTF-8":      {strings.Replace(text, "first", "fir\xffst", 1), "cannot be read"},
		"a NUL":             {strings.Replace(text, "first", "fir\x00st", 1), "cannot be read"},
	} {
		_, _, err := d.says(t, c[0], "edit", "--file", "-", "1")
		refused(t, what, err, run.ExitUsage, c[1])
	}
	for what, c := range map[string]struct {
		args  []string
		words string
	}{
		"nowhere": {[]string{"edit", "--file", filepath.Join(d.dir, "none"), "1"}, "no such file"}, "a directory": {[]string{"edit", "--file", d.dir, "1"}, d.dir},
		"two": {[]string{"edit", "--new", "1"}, "mutually exclusive"}, "no editor": {[]string{"edit", "1"}, "there is no terminal"}, "no workspace": {[]string{"edit", "--new", "--workspace", filepath.Join(d.dir, "none")}, "workspace"},
	} {
		_, _, err := d.says(t, text, c.args...)
		refused(t, what, err, run.ExitUsage, c.words)
	}
	if diff := cmp.Diff(p, d.read(t, 1)); diff != "" {
		t.Errorf("it was changed (-want +got):\n%s", diff)
	}
}

func TestWhatIsAtWorkOrOverIsNotEdited(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	for _, c := range []struct {
		state crew.PlanState
		owner string
		exit  int
		words string
	}{{crew.Building, sandbox.Owner(), run.ExitConflict, "agent jobs cancel"}, {crew.Delivered, "", run.ExitUsage, "is delivered"}, {crew.Dropped, "", run.ExitUsage, "is dropped"}} {
		_, _, err := d.says(t, "", "edit", "--print", name(d.add(t, c.state, c.owner)))
		refused(t, string(c.state), err, c.exit, c.words)
	}
}

// The plan is edited in an editor, at a terminal. A change by others in the meantime is not overwritten with older text.
func TestAPlanIsEdited(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	for what, c := range map[string]struct {
		from, to string
		built    bool // by another process, while the editor is open
		exit     int
		words    string
		title    string
	}{
		"changed":      {"first", "earliest", false, 0, "", "earliest"},
		"left":         {"nothing", "of it", false, run.ExitUsage, "the plan is unchanged", "first"},
		"done by then": {"first", "earliest", true, run.ExitConflict, "was changed meanwhile", "first"},
	} {
		p := d.add(t, crew.Drafted, "")
		env := maps.Clone(d.env)
		env["EDITOR"] = termtest.Editor(t, c.from, c.to)
		if c.built {
			env["EDITOR"] = d.slow(t, env["EDITOR"], func() {
				p.State, p.Tasks[0].State, p.Tasks[0].Landed = crew.Paused, crew.Done, 1
				if err := d.db.Plans().SavePlan(t.Context(), p, ""); err != nil {
					t.Error(err)
				}
			})
		}
		sits := cmdlinetest.NewPerson(t, env)
		err := cmdlinetest.App(&bytes.Buffer{}, Command(sits.Line)).RunContext(t.Context(), []string{"agent", "plan", "edit", name(p)})
		if c.exit == 0 && err != nil {
			t.Errorf("%s: %v", what, err)
		} else if c.exit != 0 {
			refused(t, what, err, c.exit, c.words)
		}
		if got := d.read(t, p.ID); got.Tasks[0].Title != c.title || c.built && got.Tasks[0].State != crew.Done {
			t.Errorf("%s: kept is %+v", what, got)
		}
	}
}

// slow returns an editor that edits after do has run.
func (d *desk) slow(t *testing.T, editor string, do func()) string {
	t.Helper()
	top := t.TempDir()
	open, done, path := filepath.Join(top, "open"), filepath.Join(top, "done"), filepath.Join(top, "editor")
	for _, pipe := range []string{open, done} {
		if err := syscall.Mkfifo(pipe, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(path, []byte("#!/bin/sh\n: >"+open+"\nread -r go <"+done+"\nexec "+editor+" \"$@\"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	go func() {
		if _, err := os.ReadFile(open); err != nil { // ends when the editor has opened it
			t.Error(err)
		}
		do()
		if err := os.WriteFile(done, []byte("go\n"), 0o600); err != nil {
			t.Error(err)
		}
	}()
	return path
}

func TestPlansAreListed(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	if out, log, err := d.says(t, "", "list", "--workspace", d.dir); out != "" || !strings.Contains(log, "agent plan GOAL") || err != nil {
		t.Errorf("%q, %q, %v", out, log, err)
	}
	if out, _, err := d.says(t, "", "list", "--json", "--workspace", d.dir); strings.TrimSpace(out) != "[]" || err != nil {
		t.Errorf("%q, %v", out, err)
	}
	p := d.add(t, crew.Drafted, "")
	p.Goal = "two\nlines\x1b[2J"
	p.Tasks[0].State, p.Tasks[1].State = crew.Done, crew.Replaced
	if err := d.db.Plans().SavePlan(t.Context(), p, ""); err != nil {
		t.Fatal(err)
	}
	out, _, err := d.says(t, "", "list", "--workspace", d.dir)
	if lines := strings.Split(out, "\n"); err != nil || len(lines) != 3 || !strings.Contains(lines[1], "1 of 1") || strings.Contains(out, "\x1b") {
		t.Errorf("%v\n%q", err, out)
	}
	if out, _, err := d.says(t, "", "list", "--json", "--workspace", t.TempDir()); strings.TrimSpace(out) != "[]" || err != nil {
		t.Errorf("of another directory: %q, %v", out, err)
	}
	if out, _, err := d.says(t, "", "list", "--all", "--workspace", t.TempDir()); !strings.Contains(out, "two") || err != nil {
		t.Errorf("of all: %q, %v", out, err)
	}
}

// A goal is one argument, or a file that contains it.
func TestAGoalIsRead(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	file := filepath.Join(d.dir, "goal.md")
	if err := os.WriteFile(file, []byte(" \n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for what, c := range map[string]struct {
		args  []string
		words string
	}{
		"none": {nil, "no goal was given"}, "blank": {[]string{" \t\n"}, "no goal was given"}, "two words": {[]string{"add", "it"}, "quotation marks"}, "no file": {[]string{"@"}, "no patch was given"},
		"nowhere": {[]string{"@" + file + ".none"}, "no such file"}, "an empty file": {[]string{"@" + file}, "goal"}, "a long one": {[]string{strings.Repeat("x", 16<<10+1)}, "16385 bytes, more than 16384"},
	} {
		_, _, err := d.says(t, "", append([]string{"--workspace", d.dir}, c.args...)...)
		refused(t, what, err, run.ExitUsage, c.words)
	}
}

// The tree shows each task once, below its dependencies, whatever the shape of the graph and the text of the titles.
func TestTheTreeOfAPlan(t *testing.T) {
	t.Parallel()
	p := crew.Plan{ID: 7, Workspace: "/w\x1b[1m", Goal: "a\nb\x1b[2J", State: crew.Failed, Why: "task 3", Run: "1k3", Tasks: []crew.Task{
		{N: 1, Title: "one\nmore", State: crew.Done, Role: crew.Worker},
		{N: 2, Title: "two", State: crew.Running, Role: "libr\x1b[1marian", DependsOn: []int{1}, Tries: 2},
		{N: 3, Title: "three", State: crew.Undone, Role: crew.Worker, DependsOn: []int{1, 2}, Why: "its gate\x1b[2J says no\nat all"},
		{N: 4, Title: "four", State: crew.Blocked, Role: crew.Worker, DependsOn: []int{3}},
		{N: 5, Title: "lost", State: crew.Held, Role: crew.Worker, DependsOn: []int{99}},
		{N: 6, Title: "was", State: crew.Replaced, Role: crew.Worker, Why: "not told", DependsOn: []int{7}},
		{N: 7, Title: "round", State: crew.Waiting, Role: crew.Worker, DependsOn: []int{6}},
	}, Review: &crew.Review{Findings: []crew.Finding{{Severity: "major", File: "a.py", Text: "wrong\x1b[2J"}}}}
	want := `✓ done     1. one␊more
▸ running    2. two  after 1, libr␛[1marian, try 2
✗ failed       3. three  after 1 and 2
- blocked        4. four  after 3
! held     5. lost  after 99
- replaced 6. was  after 7
  waiting    7. round  after 6
`
	if got := strings.Join(Lines(term.Palette{}, p), "\n") + "\n"; got != want {
		t.Errorf("%s", cmp.Diff(want, got))
	}
	var out bytes.Buffer
	if err := Print(&out, term.Palette{}, p); err != nil {
		t.Fatal(err)
	}
	for _, words := range []string{"plan 7  failed, 1 of 6 done", "why: task 3\n", "task 3: its gate␛[2J says no\nat all", "review: not accepted\n  major: a.py: wrong␛[2J"} {
		if !strings.Contains(out.String(), words) {
			t.Errorf("%q is missing:\n%s", words, &out)
		}
	}
	if strings.Contains(out.String(), "\x1b") || strings.Contains(out.String(), "not told") {
		t.Errorf("%q", &out)
	}
	if err := Print(&out, term.Palette{}, crew.Plan{}); err != nil || Lines(term.Palette{}, crew.Plan{}) != nil {
		t.Errorf("a plan of nothing: %v", err)
	}
}
