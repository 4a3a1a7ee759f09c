package loop_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"agent/orchestrator/agent"
	"agent/orchestrator/gate"
	"agent/orchestrator/ledger"
	"agent/orchestrator/loop"
	"agent/orchestrator/run"
	"agent/orchestrator/run/runtest"
	"agent/orchestrator/survey"
	"agent/sandbox/workspace"
)

// deep returns a workspace of n files with long paths.
func deep(n int) map[string]string {
	files := map[string]string{}
	for i := range n {
		name := fmt.Sprintf("packages/of-a-rather-long-name-%03d/internal/and-a-deeper-directory/module_%04d.py", i%50, i)
		files[name] = strings.Repeat("x = 1\n", 1+i%40)
	}
	return files
}

// listed returns the files of the question for a target, in their order.
func listed(t *testing.T, m *runtest.Script) []string {
	t.Helper()
	_, list, ok := strings.Cut(m.Asked[0].Text, " files\n")
	if !ok {
		t.Fatalf("no files are listed in\n%.400s", m.Asked[0].Text)
	}
	list, _, _ = strings.Cut(list, ">>")
	names := strings.Split(strings.TrimSpace(list), "\n")
	return names[:len(names)-1] // the last one is the fence
}

// In a large workspace, the model chooses among the most relevant files, in every window, and learns how many others there are.
func TestALargeWorkspaceIsRanked(t *testing.T) {
	t.Parallel()
	files := deep(5000)
	for _, name := range []string{"zz/waits.py", "zz/promoted.py", "zz/hot.py", "zz/PriceTable.py", "zz/other_price.py", "zz/plain.py"} {
		files[name] = "x = 1\n"
	}
	files["zz/large.py"] = strings.Repeat("x = 1\n", 20_000)
	files["zz/generated.py"] = strings.Repeat("x = 1\n", 200_000)
	base := runtest.Scan(t, files)
	for _, window := range []int{4096, 32_000} {
		var before []string
		for range 2 { // the order is the same each time
			s, m := scout(t, "zz/PriceTable.py")
			s.Engineer.Window = agent.Window{Tokens: window, Setting: "ollama.context"}
			s.Hotspots = changed("zz/hot.py")
			s.Knowledge = notes{queue: []loop.Waiting{{Path: "zz/waits.py"}}, history: []agent.Entry{{Path: "zz/promoted.py", Diff: "+x"}}}
			plan, err := s.Plan(t.Context(), base, run.Request{Goal: "round the price table up"})
			if err != nil || plan.Task.Brief.Target != "zz/PriceTable.py" {
				t.Fatalf("%d tokens: %v, chose %q", window, err, plan.Task.Brief.Target)
			}
			got := listed(t, m)
			want := []string{"zz/PriceTable.py", "zz/other_price.py", "zz/waits.py", "zz/promoted.py", "zz/hot.py", "zz/large.py"}
			if len(got) < 20 || !slices.Equal(got[:6], want) || slices.Contains(got, "zz/generated.py") {
				t.Errorf("%d tokens: %d files, beginning with %q", window, len(got), got[:min(8, len(got))])
			}
			if more := fmt.Sprintf("%d more files of the project", len(files)-len(got)); !strings.Contains(m.Asked[0].Text, more) {
				t.Errorf("%d tokens: the model is not told of %s", window, more)
			}
			if before != nil && !slices.Equal(before, got) {
				t.Errorf("%d tokens: another order", window)
			}
			before = got
		}
	}
}

// A first is a weak model: it always names the first file that it is shown, each time in another form.
type first struct{ asked []agent.Question }

// Ask implements agent.Model.
func (m *first) Ask(_ context.Context, q agent.Question) (agent.Reply, error) {
	m.asked = append(m.asked, q)
	_, list, _ := strings.Cut(q.Text, " files\n")
	name, _, _ := strings.Cut(list, "\n")
	forms := []string{"%s", "`%s`", "- %s", "The file to change is `%s`.", "1. **%s**: it holds the rates", "```\n%s\n```"}
	return agent.Reply{Text: fmt.Sprintf(forms[len(m.asked)%len(forms)], name)}, nil
}

// In a repository of 20,000 files, even a weak model picks the right file for a goal, because files are ordered by their names and
// definitions. The question also fits a small prompt.
func TestTheRightTargetInALargeRepository(t *testing.T) {
	t.Parallel()
	var known []ledger.File
	add := func(p, summary string, names ...string) {
		f := ledger.File{Path: p, Language: "python", Lines: 1, Summary: summary}
		for i, n := range names {
			f.Definitions = append(f.Definitions, ledger.Definition{Name: n, Kind: ledger.Function, Line: i + 1, End: i + 1})
		}
		known = append(known, f)
	}
	entities, layers := strings.Fields("invoice parcel customer order refund ticket account policy message session"), strings.Fields("model view store client rates rules checks admin")
	for i := range 250 {
		for _, e := range entities {
			for _, l := range layers {
				add(fmt.Sprintf("services/unit%03d/%s/%s.py", i, e, l), "The "+l+" of a "+e+".", "load_"+e, "save_"+e+"_"+l, "list_"+l)
			}
		}
	}
	const target = "services/unit199/shipping/islands.py"
	add(target, "Surcharges for parcels to islands.", "island_surcharge", "IslandTable", "is_island")
	// Only the target is on disk; for the other files, only names are read.
	base := runtest.Scan(t, map[string]string{target: "x = 1\n"})
	for _, f := range known[:len(known)-1] {
		base.Entries = append(base.Entries, workspace.Entry{Path: f.Path, Kind: workspace.File, Size: 6})
	}
	slices.SortFunc(base.Entries, func(a, b workspace.Entry) int { return strings.Compare(a.Path, b.Path) })
	book := ledger.New(known)
	if len(known) != 20_001 {
		t.Fatalf("%d files", len(known))
	}
	right := 0
	for _, goal := range []string{
		"`island_surcharge` ignores postcodes in lower case", "Surcharge for islands is charged twice", "fix " + target + ": unknown postcodes raise KeyError",
		"islands.py should treat Helgoland as an island", "Parcels to an island cost too little", "IslandTable must be sorted",
		"When a customer ships a parcel to an island the surcharge is missing", "is_island() returns None instead of False",
		"please make the shipping rules know that Sylt is no island any more", "deliveries across water are too cheap",
	} {
		m := &first{}
		s, _ := scout(t, "")
		s.Engineer.Model, s.Engineer.Window = m, agent.Window{Tokens: 32_000, Setting: "ollama.context"}
		s.Survey = func(context.Context, *workspace.Manifest) (survey.Survey, error) {
			return survey.Survey{Ledger: book}, nil
		}
		plan, err := s.Plan(t.Context(), base, run.Request{Goal: goal})
		if n := len(m.asked[0].Text); n > 48<<10 {
			t.Errorf("the question has %d bytes", n)
		}
		if err == nil && plan.Task.Brief.Target == target {
			right++
		}
	}
	if right < 9 {
		t.Errorf("the right target in %d of 10 wordings", right)
	}
}

// Several files are edited together if the goal requires it; a file that is not text is left out.
func TestSeveralTargets(t *testing.T) {
	t.Parallel()
	s, m := scout(t, "- `b.py`\n- a.py\n- c.py\n")
	plan, err := s.Plan(t.Context(), runtest.Scan(t, map[string]string{"a.py": "x = 1\n", "b.py": "y = 1\n", "c.py": "\xff"}), run.Request{Goal: "rename x to y"})
	b := plan.Task.Brief
	if err != nil || b.Target != "b.py" || fmt.Sprint(b.Others) != "[{a.py x = 1\n}]" || plan.Why != "the model's choice, with a.py" {
		t.Fatalf("%v: %+v %s", err, b, plan.Why)
	}
	m.Answers["propose/1"] = "NOTHING"
	if _, _, err := s.Engineer.Propose(t.Context(), plan.Task, agent.Variant{}, 0); err != nil || !strings.Contains(m.Asked[1].Text, " a.py\nx = 1\n") {
		t.Errorf("%v:\n%s", err, m.Asked[1].Text)
	}
}

// A file that is shown in parts can be edited as a whole, and a mark in the model's answer is never taken for the code that it stands
// for.
func TestMarksAreNoCode(t *testing.T) {
	t.Parallel()
	code := "x = 0\n" + strings.Repeat("y = 1\n", 300_000) + "z = 2\n"
	base := runtest.Scan(t, map[string]string{"a.py": code, "a.go": code, "a.sql": code})
	const mark = "# ... omitted lines 2-300001 of 300002 ...\n"
	for _, name := range []string{"a.py", "a.go", "a.sql"} {
		cs, _, err := gate.Edit(base, []byte("<EDIT file=\""+name+"\">\n<SEARCH>\nx = 0\n</SEARCH>\n<REPLACE>\nx = 3\n</REPLACE>\n</EDIT>\n"), "")
		if err != nil || string(cs.Changes[0].After) != strings.Replace(code, "x = 0", "x = 3", 1) {
			t.Errorf("%s: the edit of a shown line: %v", name, err)
		}
		for form, response := range map[string]string{
			"the whole file": "<CREATE_FILE path=\"" + name + "\">\nx = 3\n" + mark + "z = 2\n</CREATE_FILE>\n",
			"a replacement":  "<EDIT file=\"" + name + "\">\n<SEARCH>\nx = 0\n</SEARCH>\n<REPLACE>\nx = 3\n" + mark + "</REPLACE>\n</EDIT>\n",
		} {
			if _, _, err := gate.Edit(base, []byte(response), ""); err == nil {
				t.Errorf("%s: %s with a mark in it was taken", name, form)
			}
		}
	}
}

// A plan accepts every file size that can be written, and refuses larger files with a reason.
func TestWhichSizesMayBeWorkedOn(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		files  map[string]string
		target string
	}{
		"large code alone":                {map[string]string{"a.py": strings.Repeat("x = 1\n", 340_000)}, "a.py"},
		"large data beside a small file":  {map[string]string{"a.json": "{\"a\":\"" + strings.Repeat("x", 300_000) + "\"}\n", "b.py": "x = 1\n"}, "b.py"},
		"large data alone":                {map[string]string{"a.json": "{\"a\":\"" + strings.Repeat("x", 300_000) + "\"}\n"}, "a.json"},
		"a queued file that is too large": {map[string]string{"a.py": strings.Repeat("x = 1\n", 400_000), "b.py": "x = 1\n"}, "b.py"},
	} {
		s, _ := scout(t, "")
		s.Knowledge = notes{queue: []loop.Waiting{{Path: "a.py", Because: "old"}}}
		if name != "a queued file that is too large" {
			s.Knowledge = notes{}
		}
		plan, err := s.Plan(t.Context(), runtest.Scan(t, c.files), run.Request{})
		if err != nil || plan.Task.Brief.Target != c.target || plan.Task.Brief.Code != c.files[c.target] {
			t.Errorf("%s: %v, chose %q", name, err, plan.Task.Brief.Target)
		}
	}
}
