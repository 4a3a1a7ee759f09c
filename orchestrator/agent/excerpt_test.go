package agent_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"agent/orchestrator/agent"
)

// long returns a file of n lines that defines a function every hundred lines.
func long(n int) string {
	var b strings.Builder
	b.WriteString("import os\n")
	for i := 2; i <= n; i++ {
		if i%100 == 0 {
			fmt.Fprintf(&b, "def step_%d(value):\n", i)
			continue
		}
		fmt.Fprintf(&b, "    value = value + %d  # line %d of a long file\n", i, i)
	}
	return b.String()
}

// asked renders the question of a brief for a window, which must fit it.
func asked(t *testing.T, b agent.Brief, window int) (string, []agent.Cut) {
	t.Helper()
	e := &agent.Engineer{Prompts: load(t, nil), Window: agent.Window{Tokens: window, Setting: "ollama.context"}}
	q, cuts, err := e.Question(agent.Implement, "propose/1", b, agent.NewFence(word))
	if err != nil {
		t.Fatal(err)
	}
	if n := len(q.System) + len(q.Text); n > 3*window {
		t.Errorf("%d bytes for %d tokens", n, window)
	}
	return q.Text, cuts
}

var omitted = regexp.MustCompile(`^# \.\.\. omitted lines (\d+)-(\d+) of (\d+) \.\.\.$`)

// rebuilt checks that the shown lines and marks add up to the file: each line is in its place, and each mark stands for exactly the
// omitted lines.
func rebuilt(t *testing.T, shown, whole string) (lines int) {
	t.Helper()
	want := strings.Split(strings.TrimSuffix(whole, "\n"), "\n")
	at := 0
	for _, l := range strings.Split(strings.TrimSuffix(shown, "\n"), "\n") {
		if m := omitted.FindStringSubmatch(l); m != nil {
			from, _ := strconv.Atoi(m[1])
			to, _ := strconv.Atoi(m[2])
			if from != at+1 || to < from || m[3] != fmt.Sprint(len(want)) {
				t.Fatalf("after line %d comes %q", at, l)
			}
			at = to
			continue
		}
		if at >= len(want) || want[at] != l {
			t.Fatalf("line %d is shown as %q", at+1, l)
		}
		at++
		lines++
	}
	if at != len(want) {
		t.Fatalf("it ends at line %d of %d", at, len(want))
	}
	return lines
}

// quoted returns the text that a question quotes under a label.
func quoted(t *testing.T, text, label string) string {
	t.Helper()
	_, rest, ok := strings.Cut(text, "<<"+word+" "+label+"\n")
	rest, _, ends := strings.Cut(rest, word+">>")
	if !ok || !ends {
		t.Fatalf("%s is not quoted in %d bytes", label, len(text))
	}
	return rest
}

// A file that is too large for a window is shown in parts, and the lines that the task names are among them.
func TestALargeFileIsShownInParts(t *testing.T) {
	t.Parallel()
	code := long(40_000)
	for _, window := range []int{4096, 8192, 32_000, 1 << 20} {
		for name, c := range map[string]struct {
			change func(*agent.Brief)
			want   string
		}{
			"a name of the goal":      {func(b *agent.Brief) { b.Goal = "let step_31700 refuse None" }, "def step_31700(value):\n"},
			"a name of the ripple":    {func(b *agent.Brief) { b.Cascade = "x.py: step_22200 is now called step_22201" }, "def step_22200(value):\n"},
			"a line of a finding":     {func(b *agent.Brief) { b.Findings = "line 12345: lint F821: undefined name\n" }, "# line 12345 of"},
			"a line of a failure":     {func(b *agent.Brief) { b.Failure.Text = "big.py:23456: F821 undefined\n" }, "# line 23456 of"},
			"a frame of a traceback":  {func(b *agent.Brief) { b.Failure.Text = "  File \"/work/big.py\", line 34567, in f\n" }, "# line 34567 of"},
			"nothing: the beginning":  {func(*agent.Brief) {}, "import os\n"},
			"nothing: the outline":    {func(*agent.Brief) {}, "def step_400(value):\n"},
			"a word that is all over": {func(b *agent.Brief) { b.Goal = "value of a long line" }, "def step_100(value):\n"},
		} {
			b := agent.Brief{Goal: "g", Target: "big.py", Language: "python", Code: code, Memory: lines("memory", 20)}
			c.change(&b)
			text, cuts := asked(t, b, window)
			shown := quoted(t, text, "big.py")
			if rebuilt(t, shown, code) < 20 || !strings.Contains(shown, c.want) {
				t.Errorf("%s, %d tokens: %q is not shown in\n%.400s", name, window, c.want, shown)
			}
			if !strings.Contains(text, "Not all of this fits here: big.py.") || len(cuts) == 0 || cuts[0].From != len(code) && cuts[len(cuts)-1].From != len(code) {
				t.Errorf("%s, %d tokens: nobody is told; cut %+v", name, window, cuts)
			}
		}
	}
}

// If everything fits, the question does not change by a single byte.
func TestWhatFitsIsShownWhole(t *testing.T) {
	t.Parallel()
	b := agent.Brief{Goal: "g", Target: "a.py", Language: "python", Code: long(900), Memory: "m\n", Others: []agent.File{{Path: "b.py", Text: long(100)}}}
	text, cuts := asked(t, b, 32_000)
	plain, _, err := (&agent.Engineer{Prompts: load(t, nil)}).Question(agent.Implement, "s", b, agent.NewFence(word))
	if err != nil || text != plain.Text || len(cuts) > 0 || quoted(t, text, "a.py") != b.Code || strings.Contains(text, "Not all") {
		t.Errorf("cut %+v, %v", cuts, err)
	}
}

// All parts of a question may be large at once: no size is an error in itself, and the brief that was passed in does not change.
func TestNoSizeIsAnError(t *testing.T) {
	t.Parallel()
	chance := rand.New(rand.NewPCG(7, 7))
	text := func() string { return long(1 + chance.IntN(2_000)) }
	for range 12 {
		b := agent.Brief{
			Goal: "let step_700 refuse None", Target: "big.py", Language: "python", Code: text(), Thought: text(), Feature: text(),
			Rules: text(), Project: text(), Memory: text(), History: text(), Around: text(), Findings: text(), Lazy: text(), Cascade: text(),
			Failure: agent.Failure{Gate: "lint", Text: text()}, Attempts: []agent.Attempt{{1, "lint", text(), text()}, {2, "lint", text(), text()}},
		}
		for i := range chance.IntN(30) {
			b.Others = append(b.Others, agent.File{Path: fmt.Sprintf("lib/%d.py", i), Text: text()})
		}
		first := append([]agent.File(nil), b.Others...)
		code := b.Code
		for _, window := range []int{4096, 32_000} {
			shown, _ := asked(t, b, window)
			rebuilt(t, quoted(t, shown, "big.py"), code)
		}
		for i := range first {
			if b.Others[i] != first[i] {
				t.Fatal("the brief that was handed in has changed")
			}
		}
	}
}

// Lines of any shape are shown whole or not at all.
func TestFilesOfOddShapesAreCut(t *testing.T) {
	t.Parallel()
	for _, code := range map[string]string{
		"one line":           "x = '" + strings.Repeat("y", 2<<20) + "'\n",
		"no end of line":     strings.Repeat("x = 1\n", 1<<18) + "y = 2",
		"empty lines":        strings.Repeat("\n", 2<<20),
		"DOS line ends":      strings.Repeat("x = 1\r\n", 1<<18),
		"some long lines":    strings.Repeat("x = '"+strings.Repeat("y", 50_000)+"'\ndef f():\n", 40),
		"marks of its own":   strings.Repeat("# ... omitted lines 1-2 of 3 ...!\n", 60_000),
		"wide characters":    strings.Repeat("# größer als alles, 日本語\n", 60_000),
		"a name on each one": strings.Repeat("goal(goal, goal)\n", 100_000),
	} {
		b := agent.Brief{Goal: "the goal", Target: "big.py", Language: "python", Code: code}
		text, _ := asked(t, b, 4096)
		rebuilt(t, quoted(t, text, "big.py"), code)
	}
}

// Half of a key would not be recognized as a secret before a question is sent.
func TestNoPartOfAKeyIsShown(t *testing.T) {
	t.Parallel()
	key := "-----BEGIN RSA PRIVATE KEY-----\n" + strings.Repeat("MIIEpAIBAAKCAQEAsecretsecretsecret\n", 400) + "-----END RSA PRIVATE KEY-----\n"
	b := agent.Brief{Goal: "look at secretsecret", Target: "big.py", Language: "python", Code: long(3000) + key + long(3000), Findings: "line 3100: x\n"}
	text, _ := asked(t, b, 8192)
	if strings.Contains(text, "MIIEpA") {
		t.Error("a part of the key is shown")
	}
}

// A list that does not fit loses its end, and the model is told how many entries are missing.
func TestALongListOfFilesIsCut(t *testing.T) {
	t.Parallel()
	var files []string
	for i := range 5000 {
		files = append(files, fmt.Sprintf("packages/of-a-rather-long-name/internal/and-a-deeper-one/module_%04d/implementation.py", i))
	}
	for _, window := range []int{2048, 4096, 32_000} {
		e := &agent.Engineer{Prompts: load(t, nil), Window: agent.Window{Tokens: window}}
		b := agent.Brief{Files: files, Project: lines("project", 300), History: lines("history", 300)}
		q, cuts, err := e.Question(agent.PickTarget, "target", b, agent.NewFence(word))
		if err != nil || len(cuts) == 0 || len(q.System)+len(q.Text) > 3*window {
			t.Fatalf("%d tokens: %d bytes, cut %+v, %v", window, len(q.System)+len(q.Text), cuts, err)
		}
		n := strings.Count(q.Text, "implementation.py\n")
		if n < 5 || !strings.Contains(q.Text, files[0]) || !strings.Contains(q.Text, fmt.Sprintf("%d more files of the project are left out", 5000-n)) {
			t.Errorf("%d tokens: %d of 5000 files are listed:\n%s", window, n, q.Text[len(q.Text)-300:])
		}
		if window == 32_000 && !strings.Contains(q.Text, "project 0\n") {
			t.Error("the list leaves no room for what is known of the project")
		}
	}
}

// A window too small for any question is a budget error that names the setting.
func TestAWindowThatIsTooSmallIsNamed(t *testing.T) {
	t.Parallel()
	e := &agent.Engineer{Prompts: load(t, nil), Window: agent.Window{Tokens: 1024, Setting: "ollama.context"}}
	goal := strings.Repeat("and then that ", 200)
	for name, b := range map[string]agent.Brief{
		"a file":     {Goal: goal, Target: "a.py", Language: "python", Code: "x = 1\n"},
		"a big file": {Goal: goal, Target: "a.py", Language: "python", Code: long(1000)},
		"no file":    {Goal: goal},
	} {
		_, _, err := e.Question(agent.Implement, "s", b, agent.NewFence(word))
		var stop *agent.StopError
		if !errors.As(err, &stop) || !stop.Budget || !strings.Contains(stop.Message, "1024 tokens of ollama.context") || !strings.Contains(stop.Next, "raise ollama.context") {
			t.Errorf("%s: %v (%+v)", name, err, stop)
		}
	}
	e.Window = agent.Window{}
	_, _, err := e.Question(agent.Implement, "s", agent.Brief{Goal: strings.Repeat("so be it ", 20_000), Target: "a.py", Code: "x\n"}, agent.NewFence(word))
	var stop *agent.StopError
	if !errors.As(err, &stop) || !stop.Budget || !strings.Contains(stop.Next, "--goal") {
		t.Errorf("a goal that is too long: %v (%+v)", err, stop)
	}
}
