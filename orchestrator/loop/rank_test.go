package loop_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"agent/orchestrator/agent"
	"agent/orchestrator/gate"
	"agent/orchestrator/loop"
	"agent/orchestrator/run"
	"agent/orchestrator/run/runtest"
)

// deep is a workspace of n files with long paths.
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

// In a large workspace the model chooses among the files that matter most, in
// every window, and is told how many there are besides.
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
			want := []string{"zz/waits.py", "zz/promoted.py", "zz/hot.py", "zz/PriceTable.py", "zz/other_price.py", "zz/large.py"}
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

// A file that is shown in parts is edited whole; what a model makes of the marks
// is never taken for the code that they stand for.
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

// The sizes that a plan takes: any that may be written, and above that it says so.
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
