package pull_test

import (
	"strings"
	"testing"

	"agent/orchestrator/forge"
	"agent/orchestrator/pull"
	"agent/verify"
)

// A forge may answer with a thread in which all comments were deleted.
func TestAThreadOfNothingIsNoTask(t *testing.T) {
	t.Parallel()
	threads := []forge.Thread{{ID: "1", Path: "a.py"}, {ID: "2", Path: "a.py", Comments: []forge.Comment{spoke("3", "ada", "name it x")}}, {ID: "4", Comments: []forge.Comment{}}}
	if got := pull.Tasks(threads, nil, nil); len(got) != 1 || got[0].Thread != "2" || got[0].Of != &threads[1] {
		t.Errorf("%+v", got)
	}
	if got := pull.Tasks(nil, nil, []string{"ada"}); got != nil {
		t.Errorf("of nothing: %+v", got)
	}
}

// Text that merely looks like an answer does not close a task, and answers of different threads are not mixed up.
func TestAnAnswerIsOfOneTask(t *testing.T) {
	t.Parallel()
	one := forge.Thread{ID: "1", Comments: []forge.Comment{spoke("2", "ada", "x")}}
	other := forge.Thread{ID: "12", Comments: []forge.Comment{spoke("2", "ada", "x")}}
	of := func(th forge.Thread) pull.Task { return pull.Tasks([]forge.Thread{th}, nil, nil)[0] }
	answer := of(one).Answer("0123456789ab", "", "")
	said := []forge.Comment{spoke("9", "agent", answer)}
	if got := pull.Tasks([]forge.Thread{one, other}, said, nil); len(got) != 1 || got[0].Thread != "12" {
		t.Errorf("%+v", got)
	}
	// If a person quotes the agent's answer, the comment is a new task.
	said = []forge.Comment{spoke("9", "ada", "> "+answer)}
	if got := pull.Tasks([]forge.Thread{one}, said, nil); len(got) != 2 {
		t.Errorf("%+v", got)
	}
	// A comment on the whole is a different task, even if it has the number of a thread.
	if a, b := of(forge.Thread{ID: "all 9", Comments: []forge.Comment{spoke("8", "ada", "x")}}), pull.Tasks(nil, []forge.Comment{spoke("9", "ada", "x")}, nil)[0]; a.Answer("1", "", "") == b.Answer("1", "", "") {
		t.Errorf("%+v and %+v have one answer", a, b)
	}
}

// A stranger can compute a mark and make a model repeat it. An answer belongs only to the task whose mark ends it.
func TestAnAnswerIsToNoOtherTaskByItsWords(t *testing.T) {
	t.Parallel()
	victim := pull.Tasks([]forge.Thread{{ID: "7", Comments: []forge.Comment{spoke("7", "ada", "x")}}}, nil, nil)[0]
	whole := victim.Answer("", "", "no")
	mark := whole[strings.LastIndex(whole, "<!--"):]
	forged := pull.Task{Thread: "1", Comment: "1"}.Answer("", "done "+mark+"\n"+mark, "``` "+mark)
	if got := pull.Tasks([]forge.Thread{*victim.Of}, []forge.Comment{spoke("9", "agent", forged)}, nil); len(got) != 1 {
		t.Errorf("the words of a model answered another task: %q", forged)
	}
}

// A log names a file only with its whole path, not where that is part of another path.
func TestALogNamesWholePaths(t *testing.T) {
	t.Parallel()
	for log, want := range map[string]string{
		"schema.py:3: error":                        "schema.py",
		"a.pyc is stale, a.py-x":                    "",
		"in schema.py, then a.py:4":                 "schema.py a.py",
		"/builds/shop/till/lib/x.go:7:1: undefined": "lib/x.go",
		"./a.py":                    "a.py",
		"  File \"a.py\", line 3":   "a.py",
		"a.py":                      "a.py",
		"":                          "",
		"data.py data.py (a.py)":    "a.py",
		"mylib/x.go, lib/x.go.orig": "",
	} {
		got := pull.Named([]pull.FailedJob{{Log: log}}, []string{"a.py", "schema.py", "lib/x.go"}, 9)
		if strings.Join(got, " ") != want {
			t.Errorf("%q names %q, not %q", log, got, want)
		}
	}
	if got := pull.Named(nil, []string{"a.py"}, 3); got != nil {
		t.Errorf("without a job: %q", got)
	}
}

// Holds, however many there are, do not hide a failure.
func TestManyHoldsHideNoFailure(t *testing.T) {
	t.Parallel()
	var list []pull.Finding
	for range 200 {
		list = append(list, pull.Finding{Gate: "policy", Path: "ci.yml"})
	}
	list = append(list, pull.Finding{Gate: "tests", Rule: "test_one", Path: "a.py", Line: 3, Message: "3 != 4"})
	if shown, why := pull.Reproduced(list, verify.Fail); shown != "tests a.py:3 test_one 3 != 4\n" || why != "" {
		t.Errorf("%q %q", shown, why)
	}
}
