package crew_test

import (
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"agent/orchestrator/agent/tools"
	"agent/orchestrator/crew"
	"agent/orchestrator/run/runtest"
	"agent/sandbox/workspace"
)

// loaded returns the built-in roles.
func loaded(t *testing.T) crew.Roles {
	t.Helper()
	roles, err := crew.LoadRoles(tools.Names())
	if err != nil {
		t.Fatal(err)
	}
	return roles
}

// OlliBot's table says who may give work to whom and who may call what; everything else is refused.
func TestTheTableOfRolesIsKeptByCode(t *testing.T) {
	t.Parallel()
	roles := loaded(t)
	may := map[string][]string{"lead": {"planner", "worker", "fixer", "librarian", "reviewer", "critic", "auditor"}}
	for _, from := range append(roles.Names(), "nobody") {
		for _, to := range append(roles.Names(), "nobody") {
			err := roles.Delegate(from, to)
			if allowed := slices.Contains(may[from], to); (err == nil) != allowed {
				t.Errorf("%s to %s: %v", from, to, err)
			}
			if err != nil && !strings.Contains(err.Error(), "may not give work to") {
				t.Errorf("%s to %s: %v", from, to, err)
			}
		}
	}
	changing := []string{"edit", "create", "delete", "rename", "run", "check"}
	for name, lacks := range map[string][]string{
		"planner": changing, "lead": changing, "reviewer": changing, "critic": changing, "librarian": {"run", "check", "delete"}, "worker": nil, "fixer": nil, "auditor": nil,
	} {
		for _, tool := range tools.Names() {
			none := len(roles[name].Tools) == 0
			if got := roles[name].May(tool); got == (none || tool == "fetch" || slices.Contains(lacks, tool)) {
				t.Errorf("%s may call %s: %v", name, tool, got)
			}
		}
	}
}

func TestALaterTryAsksAStrongerModel(t *testing.T) {
	t.Parallel()
	r := crew.Role{Models: []string{"a/small", "a/large"}}
	for try, want := range map[int]string{-1: "a/small", 0: "a/small", 1: "a/large", 7: "a/large"} {
		if got := r.Model(try); got != want {
			t.Errorf("try %d asks %s", try, got)
		}
	}
	if got := (crew.Role{}).Model(3); got != "" {
		t.Errorf("a role without models asks %q", got)
	}
}

func TestARoleThatSaysWhatNothingKeepsIsRefused(t *testing.T) {
	t.Parallel()
	const good = "tier = 3\nabout = \"x\"\nprompt = \"You work.\"\nreturns = \"change\"\ntools = [\"read\", \"edit\"]\nmodels = [\"a/b\"]\n"
	for name, c := range map[string]struct{ text, wrong string }{
		"whole":                {good, ""},
		"no TOML":              {"tier = ", "read the role worker.toml"},
		"an unknown field":     {good + "king = true\n", "read the role worker.toml"},
		"an unknown tool":      {strings.Replace(good, "edit", "fly", 1), `unknown tool "fly"`},
		"an unknown role":      {good + "calls = [\"king\"]\n", `it calls "king"`},
		"a tier too many":      {strings.Replace(good, "3", "9", 1), "tier is 9"},
		"a form of no answer":  {strings.Replace(good, "change", "poem", 1), `returns is "poem"`},
		"a reviewer who edits": {strings.Replace(good, "change", "review", 1), "may not have the tools that make one"},
		"tries without end":    {good + "[limits]\ntries = 99\n", "limits.tries is 99"},
		"fewer than no tries":  {good + "[limits]\ntries = -1\n", "limits.tries is -1"},
		"rounds without end":   {good + "[limits]\nrounds = 99\n", "limits.rounds is 99"},
		"a cap raised":         {good + "[talk]\ncalls = 999\n", "talk.calls is 999"},
		"a prompt too long":    {strings.Replace(good, "You work.", strings.Repeat("x", 17<<10), 1), "the prompt has"},
		"a file too long":      {good + "#" + strings.Repeat("x", 40<<10), "more than"},
	} {
		roles, err := crew.LoadRoles(tools.Names(), nil, fstest.MapFS{"worker.toml": {Data: []byte(c.text)}})
		if (err == nil) != (c.wrong == "") || err != nil && !strings.Contains(err.Error(), c.wrong) {
			t.Errorf("%s: %v", name, err)
		}
		if err == nil && (roles["worker"].Layer != 1 || roles["fixer"].Layer != -1 || roles["worker"].Prompt != "You work.") {
			t.Errorf("%s: %+v", name, roles["worker"])
		}
	}
}

// A file that is not named after a role changes nothing, and is listed.
func TestAFileOfNoRoleIsListed(t *testing.T) {
	t.Parallel()
	layers := []fs.FS{fstest.MapFS{"notes.md": {}, "worker.toml": {Data: []byte(roleFile)}}, nil, fstest.MapFS{"workr.toml": {Data: []byte("tier = ")}}}
	roles, err := crew.LoadRoles(tools.Names(), layers...)
	if err != nil || roles[crew.Worker].Layer != 0 {
		t.Fatalf("%+v, %v", roles[crew.Worker], err)
	}
	if list, err := crew.Strangers(roles, layers...); err != nil || !slices.Equal(list, []crew.Stranger{{Layer: 2, File: "workr.toml"}}) {
		t.Errorf("%+v, %v", list, err)
	}
}

// roleFile is a valid one.
const roleFile = "tier = 3\nabout = \"x\"\nreturns = \"change\"\n"

// twin returns a plan of two tasks, the second after the first.
func twin() crew.Plan {
	return crew.Plan{Goal: "g", State: crew.Drafted, Tasks: []crew.Task{
		{N: 1, Title: "one", Goal: "do one", Files: []string{"a.py"}, Accept: crew.Acceptance{Text: "x"}},
		{N: 2, Title: "two", Goal: "do two", Creates: []string{"b.py"}, DependsOn: []int{1}, Accept: crew.Acceptance{Command: []string{"true"}}},
	}}
}

func TestAPlanIsChecked(t *testing.T) {
	t.Parallel()
	roles := loaded(t)
	exists := func(p string) bool { return p == "a.py" || p == "c.py" }
	for name, c := range map[string]struct {
		change func(p *crew.Plan)
		wrong  string
	}{
		"whole":                  {func(*crew.Plan) {}, ""},
		"no task":                {func(p *crew.Plan) { p.Tasks = nil }, "the plan has no task"},
		"too many":               {func(p *crew.Plan) { p.Tasks = make([]crew.Task, 41) }, "41 tasks, more than 40"},
		"a number twice":         {func(p *crew.Plan) { p.Tasks[1].N = 1 }, "task number 1 is below 1 or used twice"},
		"number 0":               {func(p *crew.Plan) { p.Tasks[0].N = 0 }, "task number 0"},
		"after nothing":          {func(p *crew.Plan) { p.Tasks[1].DependsOn = []int{9} }, "depends on 9"},
		"after itself":           {func(p *crew.Plan) { p.Tasks[1].DependsOn = []int{2} }, "depends on 2"},
		"in a circle":            {func(p *crew.Plan) { p.Tasks[0].DependsOn = []int{2} }, "1 and 2 depend on each other in a circle"},
		"a file that is not":     {func(p *crew.Plan) { p.Tasks[0].Files = []string{"z.py"} }, "changes z.py, which does not exist"},
		"a file of a later task": {func(p *crew.Plan) { p.Tasks[0].Files = []string{"b.py"} }, "changes b.py, which does not exist"},
		"a file of an earlier":   {func(p *crew.Plan) { p.Tasks[0].Creates = []string{"d.py"}; p.Tasks[1].Files = []string{"d.py"} }, ""},
		"a file that is":         {func(p *crew.Plan) { p.Tasks[1].Creates = []string{"c.py"} }, "creates c.py, which already exists"},
		"created twice":          {func(p *crew.Plan) { p.Tasks[0].Creates = []string{"b.py"} }, "tasks 1 and 2 both create b.py"},
		"no file":                {func(p *crew.Plan) { p.Tasks[0].Files = nil }, "names no file"},
		"a path outside":         {func(p *crew.Plan) { p.Tasks[0].Files = []string{"../up"} }, "../up"},
		"a path of git":          {func(p *crew.Plan) { p.Tasks[1].Creates = []string{".git/hooks/x"} }, ".git"},
		"too many files": {func(p *crew.Plan) {
			for i := range 30 {
				p.Tasks[1].Creates = append(p.Tasks[1].Creates, fmt.Sprint("f", i))
			}
		}, "more than 24: split it"},
		"no title":                {func(p *crew.Plan) { p.Tasks[0].Title = " " }, "task 1 has no title"},
		"a long goal":             {func(p *crew.Plan) { p.Tasks[0].Goal = strings.Repeat("x", 5000) }, "the goal of task 1 has 5000 bytes"},
		"no end in sight":         {func(p *crew.Plan) { p.Tasks[0].Accept = crew.Acceptance{} }, "nothing says when task 1 is done"},
		"no program":              {func(p *crew.Plan) { p.Tasks[1].Accept.Command = []string{" "} }, "names no program"},
		"a long command":          {func(p *crew.Plan) { p.Tasks[1].Accept.Command = make([]string, 40) }, "too long"},
		"a NUL in it":             {func(p *crew.Plan) { p.Tasks[1].Accept.Command = []string{"a\x00b"} }, "too long"},
		"a role of nobody":        {func(p *crew.Plan) { p.Tasks[0].Role = "king" }, `"king"`},
		"the lead's own role":     {func(p *crew.Plan) { p.Tasks[0].Role = "lead" }, `"lead"`},
		"what is over may be odd": {func(p *crew.Plan) { p.Tasks[0].State, p.Tasks[0].Files = crew.Done, []string{"gone"} }, ""},
	} {
		p := twin()
		c.change(&p)
		p.Tidy()
		wrong := strings.Join(p.Check(exists, roles), "\n")
		if (wrong == "") != (c.wrong == "") || !strings.Contains(wrong, c.wrong) {
			t.Errorf("%s: %q", name, wrong)
		}
	}
}

func TestAnAnswerIsReadLeniently(t *testing.T) {
	t.Parallel()
	const task = `{"id": %s, "title": "t", "goal": "g", "files": ["./a.py", "a.py", " "], "depends_on": %s, "accept": %s}`
	one := fmt.Sprintf(task, "1", "[]", `"it is there"`)
	for name, c := range map[string]struct {
		answer string
		want   string // task numbers with their dependencies
		wrong  string
	}{
		"bare":                 {`{"tasks": [` + one + `]}`, "1[]", ""},
		"in a fence":           {"Sure!\n```json\n{\"tasks\": [" + one + "]}\n```\nDone.", "1[]", ""},
		"behind another":       {`{"note": {"x": 1}} {"tasks": [` + one + `]}`, "1[]", ""},
		"ids as text":          {`{"tasks": [` + fmt.Sprintf(task, `"T1"`, "[]", `{"text": "x"}`) + "," + fmt.Sprintf(task, `"T2"`, `["T1"]`, `{"command": ["true"]}`) + `]}`, "1[] 2[1]", ""},
		"numbers as they like": {`{"tasks": [` + fmt.Sprintf(task, "10", "[]", `"x"`) + "," + fmt.Sprintf(task, "20", "[10]", `"x"`) + `]}`, "1[] 2[1]", ""},
		"prose":                {"First a.py, then b.py.", "", "holds no plan"},
		"cut off":              {`{"tasks": [` + one, "", "holds no plan"},
		"another object":       {`{"steps": []}`, "", "holds no plan"},
		"a list of texts":      {`{"tasks": ["a", "b"]}`, "", "does not fit"},
		"the same id twice":    {`{"tasks": [` + one + "," + one + `]}`, "", "two tasks have the id"},
		"after nothing":        {`{"tasks": [` + fmt.Sprintf(task, "1", "[7]", `"x"`) + `]}`, "", `depends on "7"`},
		"an id of no kind":     {`{"tasks": [` + fmt.Sprintf(task, "true", "[]", `"x"`) + `]}`, "", "does not fit"},
		"braces":               {strings.Repeat("{", 10000), "", "holds no plan"},
	} {
		p, err := crew.ReadPlan(c.answer, 0, nil)
		var got []string
		for _, task := range p.Tasks {
			got = append(got, fmt.Sprint(task.N)+fmt.Sprint(task.DependsOn))
			if !slices.Equal(task.Files, []string{"a.py"}) || task.Role != crew.Worker || task.Message != "t" {
				t.Errorf("%s: %+v", name, task)
			}
		}
		if strings.Join(got, " ") != c.want || (err == nil) != (c.wrong == "") || err != nil && !strings.Contains(err.Error(), c.wrong) {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	// A part that is planned again may depend on finished tasks.
	p, err := crew.ReadPlan(`{"tasks": [`+fmt.Sprintf(task, "20", "[2]", `"x"`)+`]}`, 7, []int{2})
	if err != nil || p.Tasks[0].N != 8 || !slices.Equal(p.Tasks[0].DependsOn, []int{2}) {
		t.Errorf("%+v, %v", p.Tasks, err)
	}
}

// A hostile or broken answer is not a plan, and is rejected quickly.
func FuzzReadPlan(f *testing.F) {
	f.Add("```json\n{\"tasks\": [{\"id\": 1}]}\n```")
	f.Add(`{"accepted": true, "findings": [{"severity": "nit"}], "next": [{"title": "x"}]}`)
	f.Add(strings.Repeat(`{"a":`, 2000))
	f.Fuzz(func(t *testing.T, answer string) {
		if p, err := crew.ReadPlan(answer, 3, []int{1}); err == nil {
			for _, task := range p.Tasks {
				if task.N <= 3 {
					t.Errorf("task %d", task.N)
				}
			}
			p.Check(func(string) bool { return true }, crew.Roles{})
			p.Text()
		}
		if r, err := crew.ReadReview(answer); err == nil && (len(r.Findings) > 50 || len(r.Next) > 5 || r.Accepted && len(r.Next) > 0) {
			t.Errorf("%+v", r)
		}
	})
}

func TestAReviewIsReadLeniently(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		answer   string
		accepted bool
		findings string
		next     int
		wrong    bool
	}{
		"accepted":               {`{"accepted": true}`, true, "", 0, false},
		"in prose":               {"Well:\n{\"accepted\": true, \"findings\": [{\"severity\": \"Nit\", \"file\": \"a.py\", \"line\": 3, \"text\": \"x\"}]}\nBye", true, "nit: a.py:3: x", 0, false},
		"a contradiction":        {`{"accepted": true, "findings": [{"severity": "blocker", "text": "no"}]}`, false, "blocker: no", 0, false},
		"an odd severity":        {`{"accepted": false, "findings": [{"severity": "?", "text": "b"}, {"severity": "blocker", "file": "f", "text": "a"}, {"text": " "}]}`, false, "blocker: f: a, major: b", 0, false},
		"steps":                  {`{"accepted": false, "next": [{}, {}, {}, {}, {}, {}, {}]}`, false, "", 5, false},
		"steps of an acceptance": {`{"accepted": true, "next": [{}]}`, true, "", 0, false},
		"prose":                  {"It is fine.", false, "", 0, true},
		"a line below nothing":   {`{"accepted": true, "findings": [{"severity": "nit", "line": -4, "file": "a", "text": "x"}]}`, true, "nit: a: x", 0, false},
	} {
		r, err := crew.ReadReview(c.answer)
		var found []string
		for _, f := range r.Findings {
			found = append(found, f.String())
		}
		if (err != nil) != c.wrong || r.Accepted != c.accepted || strings.Join(found, ", ") != c.findings || len(r.Next) != c.next {
			t.Errorf("%s: %+v, %v", name, r, err)
		}
	}
}

func TestWhatMayBegin(t *testing.T) {
	t.Parallel()
	p := crew.Plan{Tasks: []crew.Task{
		{N: 1, State: crew.Done},
		{N: 2, State: crew.Waiting, DependsOn: []int{1}, Files: []string{"a"}},
		{N: 3, State: crew.Waiting, Files: []string{"a"}},
		{N: 4, State: crew.Waiting, Creates: []string{"b"}},
		{N: 5, State: crew.Waiting, DependsOn: []int{4}},
		{N: 6, State: crew.Waiting, Accept: crew.Acceptance{Tests: []string{"b"}}},
	}}
	if got := p.Ready(); !slices.Equal(got, []int{2, 4}) {
		t.Errorf("ready are %v", got)
	}
	p.Task(2).State = crew.Running
	p.Task(4).State = crew.Running
	if got := p.Ready(); len(got) != 0 {
		t.Errorf("ready are %v", got)
	}
	p.Task(2).State, p.Task(4).State = crew.Done, crew.Undone
	if got := p.Block(4); !slices.Equal(got, []int{5}) || p.Task(5).Why != "task 4 was not done" {
		t.Errorf("blocked are %v", got)
	}
	if got := p.Ready(); !slices.Equal(got, []int{3, 6}) {
		t.Errorf("ready are %v", got)
	}
	p.Reopen(4)
	p.Reopen(1) // task 1 is done
	if p.Task(4).State != crew.Waiting || p.Task(5).State != crew.Waiting || p.Task(1).State != crew.Done || p.Left() != 4 {
		t.Errorf("%+v", p.Tasks)
	}
}

func TestAPartIsPlannedAnew(t *testing.T) {
	t.Parallel()
	p := crew.Plan{Tasks: []crew.Task{
		{N: 1, State: crew.Done}, {N: 2, State: crew.Running}, {N: 3, State: crew.Waiting, DependsOn: []int{2}}, {N: 4, State: crew.Waiting},
	}}
	p.Replace(2, []crew.Task{{N: 5, DependsOn: []int{1}}, {N: 6, DependsOn: []int{5, 4}}})
	var got []string
	for _, task := range p.Tasks {
		got = append(got, fmt.Sprint(task.N, " ", task.State, task.DependsOn))
	}
	want := []string{"1 done[]", "2 replaced[]", "3 replaced[2]", "4 waiting[]", "5 waiting[1]", "6 waiting[5 4]"}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

// The plan becomes what a person leaves in the file, but finished tasks stay.
func TestAPlanGoesThroughAFile(t *testing.T) {
	t.Parallel()
	p := twin()
	p.Tasks = append(p.Tasks, crew.Task{N: 3, Title: "three", State: crew.Done, Landed: 1, Run: "r"}, crew.Task{N: 4, Title: "four", Goal: "do \"four\"\nand ''' more", Files: []string{"a.py"}, State: crew.Undone, Why: "no", Tries: 2, Accept: crew.Acceptance{Text: "x"}})
	p.Tidy()
	text, err := p.File()
	if err != nil {
		t.Fatal(err)
	}
	same, err := p.Edited(text)
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	want := p.Clone()
	want.Tasks[3].State, want.Tasks[3].Why = crew.Waiting, ""
	if d := cmp.Diff(want, same); d != "" {
		t.Errorf("%s\n%s", d, text)
	}
	without, _, _ := strings.Cut(string(text), "[[task]]")
	if got, err := p.Edited([]byte(without)); err != nil || len(got.Tasks) != 1 || got.Tasks[0].N != 3 {
		t.Errorf("%+v, %v", got.Tasks, err)
	}
	for name, c := range map[string]struct{ text, wrong string }{
		"no TOML": {"goal = ", "line 1"}, "a field of nobody": {"goal = \"x\"\nking = 1\n", "unknown field"}, "no goal": {"summary = \"x\"\n", "the goal is empty"},
		"a number for a title": {"goal = \"x\"\n[[task]]\ntitle = 3\n", "line 3"},
	} {
		if _, err := p.Edited([]byte(c.text)); err == nil || !strings.Contains(err.Error(), c.wrong) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// change returns a modification.
func change(path, before, after string) workspace.Changeset {
	return workspace.Changeset{Changes: []workspace.Change{{Op: workspace.Modify, Path: path, Before: []byte(before), After: []byte(after), Mode: 0o644}}}
}

func TestAChangeIsRebased(t *testing.T) {
	t.Parallel()
	const abc = "a\nb\nc\nd\ne\n"
	for name, c := range map[string]struct {
		cs    workspace.Changeset
		now   map[string]string
		want  string // the files afterwards
		moved bool
		clash string
	}{
		"as it was":              {change("f", abc, "A\nb\nc\nd\ne\n"), map[string]string{"f": abc}, "f=A\nb\nc\nd\ne\n", false, ""},
		"other lines":            {change("f", abc, "A\nb\nc\nd\ne\n"), map[string]string{"f": "a\nb\nc\nd\nE\n"}, "f=A\nb\nc\nd\nE\n", true, ""},
		"the same lines":         {change("f", abc, "A\nb\nc\nd\ne\n"), map[string]string{"f": "X\nb\nc\nd\ne\n"}, "", true, "f"},
		"it is so already":       {change("f", abc, "A\nb\nc\nd\ne\n"), map[string]string{"f": "A\nb\nc\nd\ne\n"}, "f=A\nb\nc\nd\ne\n", true, ""},
		"the file is gone":       {change("f", abc, "A\n"), map[string]string{}, "", true, "f"},
		"no text":                {change("f", "\x00a", "\x00b"), map[string]string{"f": "\x00c"}, "", true, "f"},
		"a new file":             {workspace.Changeset{Changes: []workspace.Change{{Op: workspace.Create, Path: "n", After: []byte("n\n"), Mode: 0o755}}}, map[string]string{}, "n=n\n", false, ""},
		"one that is there":      {workspace.Changeset{Changes: []workspace.Change{{Op: workspace.Create, Path: "n", After: []byte("n\n"), Mode: 0o644}}}, map[string]string{"n": "other\n"}, "", true, "n"},
		"deleted":                {workspace.Changeset{Changes: []workspace.Change{{Op: workspace.Delete, Path: "f", Before: []byte(abc), Mode: 0o644}}}, map[string]string{"f": abc}, "", false, ""},
		"deleted and edited":     {workspace.Changeset{Changes: []workspace.Change{{Op: workspace.Delete, Path: "f", Before: []byte(abc), Mode: 0o644}}}, map[string]string{"f": "x\n"}, "", true, "f"},
		"deleted by both":        {workspace.Changeset{Changes: []workspace.Change{{Op: workspace.Delete, Path: "f", Before: []byte(abc), Mode: 0o644}}}, map[string]string{}, "", true, ""},
		"renamed":                {workspace.Changeset{Changes: []workspace.Change{{Op: workspace.Rename, From: "f", Path: "g", Before: []byte(abc), After: []byte(abc), Mode: 0o644}}}, map[string]string{"f": abc}, "g=" + abc, false, ""},
		"renamed, edited before": {workspace.Changeset{Changes: []workspace.Change{{Op: workspace.Rename, From: "f", Path: "g", Before: []byte(abc), After: []byte(abc), Mode: 0o644}}}, map[string]string{"f": "x\n"}, "", true, "f"},
	} {
		c.now["always"] = "y\n"
		base := runtest.Scan(t, c.now)
		got, moved, err := crew.Rebase(c.cs, base)
		if moved != c.moved || (err == nil) != (c.clash == "") || err != nil && !strings.HasSuffix(err.Error(), "of "+c.clash) {
			t.Errorf("%s: moved %v, %v", name, moved, err)
		}
		if err != nil {
			continue
		}
		var files []string
		for _, e := range base.With(got).Entries {
			if e.Path != "always" {
				text, err := base.With(got).ReadFile(e.Path)
				if err != nil {
					t.Fatal(err)
				}
				files = append(files, e.Path+"="+string(text))
			}
		}
		if strings.Join(files, " ") != c.want {
			t.Errorf("%s: %q", name, files)
		}
		if err := got.Check(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Changes that landed one after the other become one changeset on the current files.
func TestChangesThatLandedAreIntegrated(t *testing.T) {
	t.Parallel()
	landed := []workspace.Changeset{
		change("f", "a\nb\nc\nd\ne\n", "A\nb\nc\nd\ne\n"),
		{Changes: []workspace.Change{{Op: workspace.Create, Path: "n", After: []byte("1\n"), Mode: 0o644}}},
		change("n", "1\n", "2\n"),
		change("f", "A\nb\nc\nd\ne\n", "AA\nb\nc\nd\ne\n"),
	}
	base := runtest.Scan(t, map[string]string{"f": "a\nb\nc\nd\nE\n"})
	whole, tree, err := crew.Integrate(base, landed)
	if err != nil || len(whole.Changes) != 2 {
		t.Fatalf("%+v, %v", whole, err)
	}
	for name, want := range map[string]string{"f": "AA\nb\nc\nd\nE\n", "n": "2\n"} {
		if got, err := tree.ReadFile(name); err != nil || string(got) != want {
			t.Errorf("%s holds %q, %v", name, got, err)
		}
	}
	if tree.Digest() != base.With(whole).Digest() {
		t.Error("the tree is not the workspace with the whole")
	}
	_, _, err = crew.Integrate(runtest.Scan(t, map[string]string{"f": "X\n"}), landed)
	if err == nil || !strings.Contains(err.Error(), "change 1: both changed the same lines of f") {
		t.Errorf("%v", err)
	}
	// A change that may never be written gives an error, not a tree that silently lacks it.
	if _, _, err := crew.Integrate(base, []workspace.Changeset{{Changes: []workspace.Change{{Op: workspace.Create, Path: ".git/x", After: []byte("1"), Mode: 0o644}}}}); err == nil {
		t.Error("a repository's file was integrated")
	}
}

func TestAChangeIsMergedOntoWhatABranchHolds(t *testing.T) {
	t.Parallel()
	change := func(before, after string) workspace.PathChange {
		c := workspace.PathChange{Existed: before != "", Exists: after != "", Before: []byte(before), After: []byte(after)}
		return c
	}
	for _, c := range []struct {
		name, before, after, now, want string
		ok                             bool
	}{
		{"untouched", "a\n", "b\n", "a\n", "b\n", true},
		{"there already", "a\n", "b\n", "b\n", "b\n", true},
		{"elsewhere in the file", "a\nb\nc\n", "A\nb\nc\n", "a\nb\nC\n", "A\nb\nC\n", true},
		{"the same line", "a\n", "b\n", "c\n", "", false},
		{"new, and there with other content", "", "b\n", "c\n", "", false},
		{"new", "", "b\n", "", "b\n", true},
		{"gone there, changed here", "a\n", "b\n", "", "", false},
		{"deleted here, gone there", "a\n", "", "", "", true},
		{"deleted here, changed there", "a\n", "", "c\n", "", false},
		{"binary", "a\x00\nb\nc\n", "A\x00\nb\nc\n", "a\x00\nb\nC\n", "", false},
	} {
		got, ok := crew.Merged(change(c.before, c.after), []byte(c.now), c.now != "")
		if ok != c.ok || ok && string(got) != c.want {
			t.Errorf("%s: %q %v", c.name, got, ok)
		}
	}
}
