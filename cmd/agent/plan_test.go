package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"agent/orchestrator/llm/llmtest"
	"agent/orchestrator/store/storetest"
)

// ledgerProject is a project of a few modules, each with its tests.
var ledgerProject = map[string]string{
	"README.md":            "# Ledger\n\nAmounts, entries and reports.\n",
	"ledger/__init__.py":   "",
	"ledger/money.py":      "def show(amount):\n    return f\"{amount:.2f}\"\n",
	"ledger/entry.py":      "from ledger.money import show\n\n\ndef line(name, amount):\n    return f\"{name}: {show(amount)}\"\n",
	"ledger/total.py":      "def total(amounts):\n    return sum(amounts)\n",
	"ledger/report.py":     "from ledger.entry import line\nfrom ledger.total import total\n\n\ndef report(entries):\n    lines = [line(name, amount) for name, amount in entries]\n    return \"\\n\".join([*lines, line(\"total\", total(a for _, a in entries))])\n",
	"tests/test_report.py": "from ledger.report import report\n\n\ndef test_a_report_ends_with_the_total():\n    assert report([(\"tea\", 2), (\"bread\", 3.5)]).splitlines()[-1].startswith(\"total: 5.50\")\n",
}

// ledgerScripts is the same project as scripts, which a box judges in a fraction of the time, for tests that kill or stop again and again.
var ledgerScripts = map[string]string{
	"README.md":       ledgerProject["README.md"],
	"ledger/money.sh": "#!/bin/sh\n# Shows an amount.\nprintf '%.2f\\n' \"$1\"\n",
	"ledger/entry.sh": "#!/bin/sh\n# Shows an entry.\necho \"$1: $(sh ledger/money.sh \"$2\")\"\n",
}

// scriptChores returns some of ledgerChores for ledgerScripts: two in a row, one that fails and is planned again, and one for documents.
func scriptChores() []ledgerChore {
	all := ledgerChores()
	money, entry, names, readme := all[0], all[1], all[6], all[7]
	money.files, money.answers = "ledger/money.sh", []string{mend("ledger/money.sh", `printf '%.2f\n' "$1"`, `printf '%.2f %s\n' "$1" "${2:-EUR}"`)}
	entry.files, entry.answers = "ledger/entry.sh", []string{mend("ledger/entry.sh", `echo "$1: $(sh ledger/money.sh "$2")"`, `echo "$1: $(sh ledger/money.sh "$2" "${3:-EUR}")"`)}
	names.files, names.answers = "ledger/entry.sh", []string{mend("ledger/entry.sh", "nothing()", "nothing(x)")}
	return []ledgerChore{money, entry, names, readme}
}

// otherwise is the task with which the planner replaces the failed one, in ledgerProject and in ledgerScripts.
var otherwise = ledgerChore{"names are checked otherwise", "INDIA names are checked otherwise.", "ledger/entry.py", "", []int{2}, "worker", []string{
	mend("ledger/entry.py", "    return f\"{name}: {show(amount, currency)}\"", "    return f\"{name.strip()}: {show(amount, currency)}\""),
}}

var otherwiseInScripts = ledgerChore{otherwise.title, otherwise.goal, "ledger/entry.sh", "", []int{2}, "worker", []string{
	mend("ledger/entry.sh", `echo "$1: $(sh ledger/money.sh "$2" "${3:-EUR}")"`, `echo "${1:-?}: $(sh ledger/money.sh "$2" "${3:-EUR}")"`),
}}

// ledgerChore is a task of a plan for the project: its instructions, and the worker's answers, one for each try.
type ledgerChore struct {
	title, goal, files, creates string
	after                       []int
	role                        string
	answers                     []string
}

// mend returns an edit of a file.
func mend(file, from, to string) string {
	return fmt.Sprintf("<THOUGHT>\nas it was asked\n</THOUGHT>\n<EDIT file=%q>\n<SEARCH>\n%s\n</SEARCH>\n<REPLACE>\n%s\n</REPLACE>\n</EDIT>\n", file, from, to)
}

// anew returns a new file.
func anew(file, text string) string {
	return fmt.Sprintf("<THOUGHT>\nas it was asked\n</THOUGHT>\n<FILE file=%q>\n%s</FILE>\n", file, text)
}

// ledgerChores returns a diamond (1, then 2 and 3, then 4), two in a row (5, 6), one that fails and is replanned (7), and a document.
func ledgerChores() []ledgerChore {
	return []ledgerChore{
		{"money has a currency", "ALPHA show() takes a currency and puts it behind the amount.", "ledger/money.py", "", nil, "worker", []string{
			mend("ledger/money.py", "def show(amount):\n    return f\"{amount:.2f}\"", "def show(amount, currency=\"EUR\"):\n    return f\"{amount:.2f} {currency}\""),
		}},
		{"entries have a currency", "BRAVO line() hands a currency on.", "ledger/entry.py", "", []int{1}, "worker", []string{
			mend("ledger/entry.py", "def line(name, amount):\n    return f\"{name}: {show(amount)}\"", "def line(name, amount, currency=\"EUR\"):\n    return f\"{name}: {show(amount, currency)}\""),
		}},
		{"totals are exact", "CHARLIE total() rounds to cents.", "ledger/total.py", "", []int{1}, "worker", []string{
			mend("ledger/total.py", "    return sum(amounts)", "    return round(sum(amounts), 2)"),
		}},
		{"reports have a currency", "DELTA report() hands a currency on.", "ledger/report.py", "", []int{2, 3}, "worker", []string{
			mend("ledger/report.py", "def report(entries):\n    lines = [line(name, amount) for name, amount in entries]", "def report(entries, currency=\"EUR\"):\n    lines = [line(name, amount, currency) for name, amount in entries]") +
				mend("ledger/report.py", "    return \"\\n\".join([*lines, line(\"total\", total(a for _, a in entries))])", "    return \"\\n\".join([*lines, line(\"total\", total(a for _, a in entries), currency)])"),
		}},
		{"rates", "ECHO a table of rates.", "", "ledger/rates.py", nil, "worker", []string{anew("ledger/rates.py", "RATES = {\"EUR\": 1.0}\n")}},
		{"rates convert", "FOXTROT convert() uses the table.", "ledger/rates.py", "tests/test_rates.py", []int{5}, "worker", []string{
			mend("ledger/rates.py", "RATES = {\"EUR\": 1.0}", "RATES = {\"EUR\": 1.0, \"USD\": 1.1}\n\n\ndef convert(amount, currency):\n    return round(amount * RATES[currency], 2)") +
				anew("tests/test_rates.py", "from ledger.rates import convert\n\n\ndef test_dollars():\n    assert convert(10, \"USD\") == 11.0\n"),
		}},
		{"a check of names", "GOLF names are checked.", "ledger/entry.py", "", []int{2}, "worker", []string{mend("ledger/entry.py", "def nothing():", "def nothing(x):")}},
		{"the README says so", "HOTEL the README tells of currencies.", "README.md", "", nil, "librarian", []string{
			mend("README.md", "Amounts, entries and reports.", "Amounts with their currency, entries and reports."),
		}},
	}
}

// planText returns the planner's answer with these tasks, numbered from first.
func planText(t *testing.T, first int, tasks ...ledgerChore) string {
	t.Helper()
	var list []map[string]any
	for i, task := range tasks {
		accept := map[string]any{"text": task.title}
		if strings.Contains(task.creates, "test") {
			accept = map[string]any{"command": []string{"python3", "-m", "pytest", "-q", task.creates}, "tests": []string{task.creates}}
		}
		list = append(list, map[string]any{
			"id": first + i, "title": task.title, "goal": task.goal, "files": strings.Fields(task.files), "creates": strings.Fields(task.creates),
			"depends_on": task.after, "role": task.role, "message": task.title, "accept": accept,
		})
	}
	text, err := json.Marshal(map[string]any{"summary": "currencies", "tasks": list})
	if err != nil {
		t.Fatal(err)
	}
	return "```json\n" + string(text) + "\n```\n"
}

// A plannedHouse is a workspace in a repository, a database and a model that plays every role.
type plannedHouse struct {
	work  string
	env   []string
	model *llmtest.Server
}

// newPlannedHouse returns a house of ledgerProject, whose planner makes the plan of ledgerChores.
func newPlannedHouse(t *testing.T) *plannedHouse {
	t.Helper()
	h := newHouseOf(t, ledgerProject)
	h.model.Choose(h.answers(t, ledgerChores(), otherwise))
	return h
}

// newHouseOf returns a house with these files, whose model has no answers yet.
func newHouseOf(t *testing.T, project map[string]string) *plannedHouse {
	t.Helper()
	_, url := storetest.Warm(t)
	top := t.TempDir()
	h := &plannedHouse{work: filepath.Join(top, "ledger"), model: llmtest.Gemini()}
	t.Cleanup(h.model.Close)
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "GEMINI_") && !strings.HasPrefix(v, "OLLAMA_") {
			h.env = append(h.env, v)
		}
	}
	h.env = append(h.env, "AGENT_DATABASE_URL="+url, "XDG_CONFIG_HOME="+top, "AGENT_MODE=question",
		"GIT_AUTHOR_NAME=n", "GIT_AUTHOR_EMAIL=e@x", "GIT_COMMITTER_NAME=n", "GIT_COMMITTER_EMAIL=e@x", "GEMINI_API_KEY=a-secret-of-the-test-0123456789", "GEMINI_BASE_URL="+h.model.URL())
	for name, text := range project {
		full := filepath.Join(h.work, name)
		if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(full, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	commitAll(t, h.work)
	return h
}

// answers depends on the question alone, so that a repeated question gets the same answer. otherwise replaces the task that failed.
func (h *plannedHouse) answers(t *testing.T, tasks []ledgerChore, otherwise ledgerChore) func(llmtest.Request) llmtest.Step {
	plan, again := planText(t, 1, tasks...), planText(t, 20, otherwise)
	tasks = append(slices.Clone(tasks), otherwise)
	return func(q llmtest.Request) llmtest.Step {
		text := q.Messages[len(q.Messages)-1].Text
		switch {
		case strings.HasPrefix(text, "Make a plan"):
			return llmtest.Step{Text: plan}
		case strings.HasPrefix(text, "A part of this plan"):
			return llmtest.Step{Text: again}
		case strings.HasPrefix(text, "Review this change"):
			return llmtest.Step{Text: "```json\n{\"accepted\": true, \"findings\": [{\"severity\": \"nit\", \"file\": \"README.md\", \"text\": \"short\"}], \"next\": []}\n```"}
		}
		for _, task := range tasks {
			if strings.Contains(text, strings.Fields(task.goal)[0]+" ") {
				return llmtest.Step{Text: task.answers[0]}
			}
		}
		return llmtest.Step{Status: 400, Message: "no answer to " + text[:min(len(text), 60)]}
	}
}

// command returns a call of the program.
func (h *plannedHouse) command(args ...string) *exec.Cmd {
	cmd := exec.Command(agentProgram, args...)
	cmd.Env, cmd.Dir = h.env, h.work
	return cmd
}

// says runs a command that must succeed, and returns its output.
func (h *plannedHouse) says(t *testing.T, args ...string) string {
	t.Helper()
	var stderr strings.Builder
	cmd := h.command(args...)
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("agent %v: %v\n%s%s", args, err, out, &stderr)
	}
	return string(out)
}

// value asks the record for one value.
func (h *plannedHouse) value(t *testing.T, query string) string {
	t.Helper()
	_, value, _ := strings.Cut(h.says(t, "sql", "--csv", query), "\n")
	return strings.TrimSpace(value)
}

// asPlanned maps each file to a text that it contains once all of ledgerChores are done.
var asPlanned = map[string]string{
	"ledger/money.py": "currency=\"EUR\"", "ledger/entry.py": "{name.strip()}: {show(amount, currency)}", "ledger/total.py": "round(sum(amounts), 2)",
	"ledger/report.py": "total(a for _, a in entries), currency)", "ledger/rates.py": "\"USD\": 1.1", "tests/test_rates.py": "== 11.0", "README.md": "Amounts with their currency",
	"ledger/money.sh": "${2:-EUR}", "ledger/entry.sh": `"${1:-?}: $(sh ledger/money.sh "$2" "${3:-EUR}")"`,
}

// plannedFiles are the files of ledgerProject that the plan changes.
var plannedFiles = slices.DeleteFunc(slices.Collect(maps.Keys(asPlanned)), func(name string) bool { return strings.HasSuffix(name, ".sh") })

// finished checks the result of the plan with that number: these files are as planned, and its tasks have these states.
func (h *plannedHouse) finished(t *testing.T, plan, tasks string, files ...string) {
	t.Helper()
	for _, name := range files {
		want := asPlanned[name]
		if text, err := os.ReadFile(filepath.Join(h.work, name)); err != nil || !strings.Contains(string(text), want) {
			t.Errorf("%s holds %q, %v; want %q", name, text, err, want)
		}
	}
	for query, want := range map[string]string{
		"select state from v_plans where plan = " + plan:                                                "delivered",
		"select string_agg(task || ' ' || state, '; ' order by task) from v_tasks where plan = " + plan: tasks,
		"select count(*) from v_promotions where status = 'committed'":                                  plan,
		"select count(*) from v_roles where role in ('planner', 'worker', 'librarian', 'reviewer')":     "4",
		// No answered question was paid for twice.
		"select count(*) from (select from v_model_calls where ended is not null and error_kind is null group by run, iteration, step having count(*) > 1 and run is not null) x": "0",
	} {
		if got := h.value(t, query); got != want {
			t.Errorf("%s gives %s, want %s", query, got, want)
		}
	}
}

// A goal of eight tasks is planned, carried out in real boxes, reviewed and delivered, with one commit for each task
// and the expected tree in the repository.
func TestAGoalOfEightTasksIsBuilt(t *testing.T) {
	t.Parallel()
	h := newPlannedHouse(t)
	cmd := h.command("build", "prices and reports have a currency", "--yes", "--commit")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	const tasks = "1 done; 2 done; 3 done; 4 done; 5 done; 6 done; 7 replaced; 8 done; 9 done"
	h.finished(t, "1", tasks, plannedFiles...)
	for _, want := range []string{"planned anew", "plan 1: review: accepted, with 1 finding", "plan 1: delivered", "✓ done"} {
		if !strings.Contains(string(out), want) {
			t.Errorf("%q is not told:\n%s", want, out)
		}
	}
	log := gitSays(t, h.work, "log", "--format=%s|%(trailers:key=Agent-Plan,valueonly,separator=%x2C)", "-20")
	if n := strings.Count(log, "\n"); n != 9 || !strings.Contains(log, "money has a currency|1, task 1") || !strings.Contains(log, "names are checked otherwise") {
		t.Errorf("the log has %d lines:\n%s", n, log)
	}
	if status := gitSays(t, h.work, "status", "--porcelain"); status != "" {
		t.Errorf("status: %s", status)
	}
	gitSays(t, h.work, "fsck", "--strict")
	if shown := h.says(t, "plan", "show", "1"); !strings.Contains(shown, "after 2 and 3") || !strings.Contains(shown, "nit: README.md: short") {
		t.Errorf("shown is\n%s", shown)
	}
	if blamed := h.says(t, "blame", "ledger/money.py"); !strings.Contains(blamed, "gemini") {
		t.Errorf("blame names no model:\n%s", blamed)
	}
	// Repeated from the record, with no model to ask, the states and bytes are the same.
	built := gitSays(t, h.work, "rev-parse", "HEAD^{tree}")
	gitSays(t, h.work, "reset", "--hard", "-q", "HEAD~8")
	h.model.Close()
	told := h.says(t, "build", "--replay", "1", "--yes")
	if !strings.Contains(told, "plan 1 carried out again: identical") {
		t.Errorf("told is\n%s", told)
	}
	// The author is the model that wrote the original.
	if blamed := h.says(t, "blame", "ledger/money.py"); !strings.Contains(blamed, "gemini") {
		t.Errorf("blame names no model:\n%s", blamed)
	}
	gitSays(t, h.work, "add", "-A")
	if tree := gitSays(t, h.work, "write-tree"); tree != built {
		t.Errorf("the tree is %s, and was %s", tree, built)
	}
	h.finished(t, "2", tasks, plannedFiles...)
}

// gitSays returns the output of git.
func gitSays(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "git", args...)
	cmd.Dir = dir
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return string(out)
}

// planKills is how often the work on a plan is killed, unless the test's variable says otherwise.
const planKills = 6

// killsOf returns how often a test kills: the value of the variable, or else n.
func killsOf(variable string, n int) int {
	if given, err := strconv.Atoi(os.Getenv(variable)); err == nil {
		return given
	}
	return n
}

// killed runs commands that are killed at random instants, one after the other, then one that is not killed, until one succeeds.
// command returns the next one, or none if the work is done. The workspace stays as before until whole reports that it is as expected.
func (h *plannedHouse) killed(t *testing.T, kills int, before string, whole func() bool, command func() []string) {
	t.Helper()
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	chance := rand.New(rand.NewPCG(seed, 0))
	for i := 0; ; i++ {
		args := command()
		if args == nil {
			t.Logf("done after %d kills", i)
			return
		}
		cmd := h.command(args...)
		var out strings.Builder
		cmd.Stdout, cmd.Stderr = &out, &out
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		ended := make(chan error, 1)
		go func() { ended <- cmd.Wait() }()
		patience := 10 * time.Minute
		if i < kills {
			patience = 300*time.Millisecond + time.Duration(chance.Int64N(int64(3*time.Second)))
		}
		select {
		case err := <-ended:
			if err != nil {
				t.Fatalf("%v\n%s", err, &out)
			}
			t.Logf("done after %d kills", i)
			return
		case <-time.After(patience):
			if i >= kills {
				t.Fatalf("it comes to no end:\n%s", &out)
			}
			if err := cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			<-ended
		}
		// A command killed in its last moments may have written everything, but never a part.
		if got := snapshotOf(t, h.work); got != before {
			h.says(t, "runs", "list") // settles a journal
			if whole() {
				continue
			}
			if snapshotOf(t, h.work) != before {
				t.Fatalf("half of it is written:\n%s", got)
			}
		}
	}
}

// The work on a plan is killed at random instants, again and again. The workspace stays as it was until it is as
// planned, and no answered question is paid for twice.
func TestAPlanThatIsKilledIsCarriedOn(t *testing.T) {
	t.Parallel()
	h := newHouseOf(t, ledgerScripts)
	h.model.Choose(h.answers(t, scriptChores(), otherwiseInScripts))
	h.says(t, "plan", "prices and reports have a currency")
	whole := func() bool {
		text, err := os.ReadFile(filepath.Join(h.work, "ledger/money.sh"))
		return err == nil && strings.Contains(string(text), "EUR")
	}
	h.killed(t, killsOf("AGENT_PLAN_KILLS", planKills), snapshotOf(t, h.work), whole, func() []string {
		return []string{"build", "--plan", "1", "--yes", "--parallel", "2"}
	})
	h.finished(t, "1", "1 done; 2 done; 3 replaced; 4 done; 5 done", "ledger/money.sh", "ledger/entry.sh", "README.md")
}
