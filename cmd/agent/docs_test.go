package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"agent/docs"
	"agent/orchestrator/run"
	"agent/orchestrator/store/storetest"
	"agent/verify/policy"
)

// maxReadme bounds the README, in bytes: people read one of this size to its end.
const maxReadme = 9000

// A step is a command of the README, with the exit code and the output that the README shows.
type step struct {
	command string
	exit    int
	prints  []string
}

var (
	fenced   = regexp.MustCompile("(?ms)^```(console|sh)\n(.*?)^```$")
	exitCode = regexp.MustCompile(`# exit code (\d+)$`)
	changing = regexp.MustCompile(`run [0-9a-z]{12}|~?[/\w.-]*/shop\b| *\d+\.\ds`)
)

// steps extracts the commands from the README, in order.
func steps(readme string) []step {
	var list []step
	for _, block := range fenced.FindAllStringSubmatch(readme, -1) {
		for line := range strings.Lines(block[2]) {
			line = strings.TrimRight(line, "\n")
			command, isCommand := strings.CutPrefix(line, "$ ")
			switch {
			case block[1] == "sh" || isCommand:
				s := step{command: command}
				if m := exitCode.FindStringSubmatch(line); m != nil {
					s.exit, _ = strconv.Atoi(m[1])
				}
				list = append(list, s)
			case line != "":
				last := &list[len(list)-1]
				last.prints = append(last.prints, line)
			}
		}
	}
	return list
}

// The README is true: its commands work as written, in their order.
func TestTheReadmeIsTrue(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join(root, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	if len(text) > maxReadme {
		t.Errorf("it has %d bytes, more than %d", len(text), maxReadme)
	}
	list := steps(string(text))
	if len(list) != 7 {
		t.Fatalf("it has %d commands: %+v", len(list), list)
	}
	_, url := storetest.Warm(t)
	parent := t.TempDir()
	shop := filepath.Join(parent, "shop")
	if err := os.CopyFS(shop, os.DirFS("testdata/example")); err != nil {
		t.Fatal(err)
	}
	for name, patch := range map[string]string{"fix.xml": "good.xml", "shelves.xml": "breaks-caller.xml"} {
		text, err := os.ReadFile(filepath.Join("testdata/patches", patch))
		if err == nil {
			err = os.WriteFile(filepath.Join(parent, name), text, 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	env := append(os.Environ(), "AGENT_DATABASE_URL="+url, "HOME="+parent, "XDG_CONFIG_HOME="+parent, "XDG_STATE_HOME="+filepath.Join(parent, "state"),
		"PATH="+filepath.Dir(agentProgram)+":"+os.Getenv("PATH"))
	for _, s := range list {
		cmd := exec.CommandContext(t.Context(), "bash", "-c", s.command)
		cmd.Dir, cmd.Env = shop, env
		var progress strings.Builder
		cmd.Stderr = &progress
		out, err := cmd.Output()
		if got := cmd.ProcessState.ExitCode(); got != s.exit {
			t.Fatalf("%s: exit code %d, want %d: %v\n%s%s", s.command, got, s.exit, err, out, &progress)
		}
		for _, line := range s.prints {
			if !printed(string(out), line) {
				t.Errorf("%s does not print %q:\n%s", s.command, line, out)
			}
		}
	}
}

// printed reports whether a line is in the output, ignoring the names of runs, places and times; an ellipsis may cut
// the end of the line.
func printed(out, line string) bool {
	begin, cut := strings.CutSuffix(changing.ReplaceAllString(line, "*"), "…")
	begin = strings.TrimRight(begin, " ")
	for got := range strings.Lines(out) {
		got = strings.TrimRight(changing.ReplaceAllString(got, "*"), "\n")
		if got == begin || cut && strings.HasPrefix(got, begin) {
			return true
		}
	}
	return false
}

// The tests run next to any record that this machine keeps, even one with the schema of a newer program: the
// preparations of `make test` open no database but the tests' own.
func TestTheSuiteLeavesTheMachinesRecordAlone(t *testing.T) {
	t.Parallel()
	makefile, err := os.ReadFile(filepath.Join(root, "Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	recipes := map[string]string{}
	for _, m := range regexp.MustCompile(`(?m)^([a-z-]+):(.*)\n((?:\t.*\n)*)`).FindAllStringSubmatch(string(makefile), -1) {
		recipes[m[1]] = m[2] + "\n" + m[3]
	}
	for target := []string{"test"}; len(target) > 0; target = target[1:] {
		needs, does, _ := strings.Cut(recipes[target[0]], "\n")
		if strings.Contains(does, "$(AGENT) db ") {
			t.Errorf("make %s, which make test needs, works on the machine's own database", target[0])
		}
		needs, _, _ = strings.Cut(needs, "#")
		target = append(target, strings.Fields(needs)...)
		for _, m := range regexp.MustCompile(`\$\(MAKE\) (.*)`).FindAllStringSubmatch(does, -1) {
			target = append(target, slices.DeleteFunc(strings.Fields(m[1]), func(word string) bool { return recipes[word] == "" })...)
		}
	}
	if !strings.Contains(recipes["setup"], "$(AGENT) db up") {
		t.Error("make setup brings up no database any more")
	}
}

// The tests that make test leaves to make test-all exist.
func TestTheLongTestsAreThere(t *testing.T) {
	t.Parallel()
	makefile, err := os.ReadFile(filepath.Join(root, "Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	_, list, _ := strings.Cut(string(makefile), "\nLONG ")
	list, _, _ = strings.Cut(list, "\n\n")
	names := regexp.MustCompile(`\bTest\w+`).FindAllString(list, -1)
	if len(names) == 0 {
		t.Error("there are none")
	}
	missing := map[string]bool{}
	for _, name := range names {
		missing[name] = true
	}
	err = filepath.WalkDir(root, func(path string, _ os.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		for name := range missing {
			if strings.Contains(string(text), "\nfunc "+name+"(") {
				delete(missing, name)
			}
		}
		return err
	})
	if err != nil || len(missing) > 0 {
		t.Errorf("%v: no test is called %v", err, missing)
	}
}

// Every command that a text calls with make is a target.
func TestTheReadmeNamesTargetsThatAreThere(t *testing.T) {
	t.Parallel()
	makefile, err := os.ReadFile(filepath.Join(root, "Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	pages := map[string]string{"development": topicText(t, "development"), "quickstart": topicText(t, "quickstart")}
	readme, err := os.ReadFile(filepath.Join(root, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	pages["README.md"] = string(readme)
	for name, text := range pages {
		found := regexp.MustCompile("(?m)(?:^ *|`)make ([a-z][a-z-]*)").FindAllStringSubmatch(text, -1)
		if len(found) == 0 {
			t.Errorf("%s names no target", name)
		}
		for _, m := range found {
			if !regexp.MustCompile(`(?m)^` + m[1] + `:`).Match(makefile) {
				t.Errorf("%s names make %s, which is not there", name, m[1])
			}
		}
	}
}

func topicText(t *testing.T, name string) string {
	t.Helper()
	topic, ok := docs.Find(name)
	if !ok {
		t.Fatalf("there is no topic %s", name)
	}
	return topic.Text
}

// Every topic is listed, is shown by help, links to existing topics, and is not a command.
func TestEveryTopicIsReachable(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(filepath.Join(root, "docs/*.md"))
	if err != nil {
		t.Fatal(err)
	}
	names, app := docs.Names(), newApp(quiet())
	if len(files) != len(names) || len(names) < 30 {
		t.Errorf("there are %d files and %d topics", len(files), len(names))
	}
	listed := commandIn(t, nil, "help", "topics").stdout
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".md")
		if !slices.Contains(names, name) || !strings.Contains(listed, "\n   "+name+" ") {
			t.Errorf("%s is in no list of topics", name)
			continue
		}
		if name == allTopics {
			t.Errorf("%s is the list of topics", name)
		}
		topic, _ := docs.Find(name)
		got := commandIn(t, nil, "help", name)
		text := got.stdout
		if find(app.Commands, name) != nil { // a command's own page takes precedence
			text = text[strings.LastIndex(text, "\n"+strings.SplitN(topic.Title, ":", 2)[0])+1:]
		}
		if first, _, _ := strings.Cut(text, "\n"); got.exit != run.ExitDone || !strings.HasPrefix(topic.Title, first) {
			t.Errorf("help %s: exit code %d\n%s%s", name, got.exit, got.stdout, got.stderr)
		}
		for _, m := range regexp.MustCompile(`\]\(([^)]+)\)`).FindAllStringSubmatch(topic.Text, -1) {
			if _, err := os.Stat(filepath.Join(root, "docs", m[1])); err != nil {
				t.Errorf("%s leads to %s, which is not there", name, m[1])
			}
		}
	}
	readme, err := os.ReadFile(filepath.Join(root, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile(`\]\(([^)]+)\)`).FindAllStringSubmatch(string(readme), -1) {
		if _, err := os.Stat(filepath.Join(root, m[1])); err != nil {
			t.Errorf("the README leads to %s, which is not there", m[1])
		}
	}
}

// The lists in the topics equal those of the code.
func TestTopicsListWhatTheCodeHas(t *testing.T) {
	t.Parallel()
	approvals, codes := topicText(t, "approvals"), topicText(t, "exit-codes")
	var kinds []string
	for _, m := range regexp.MustCompile("(?m)^\\| `([a-z-]+)` \\|").FindAllStringSubmatch(approvals, -1) {
		kinds = append(kinds, m[1])
	}
	if !slices.Equal(kinds, policy.Kinds()) {
		t.Errorf("approvals lists %v, and the kinds are %v", kinds, policy.Kinds())
	}
	for _, code := range []int{run.ExitDone, run.ExitFail, run.ExitUsage, run.ExitInfra, run.ExitApproval, run.ExitBudget, run.ExitConflict, run.ExitCancelled} {
		if !strings.Contains(codes, fmt.Sprintf("\n| %d | ", code)) {
			t.Errorf("exit-codes lacks %d", code)
		}
	}
	commands := topicText(t, "commands")
	for _, cmd := range newApp(quiet()).Commands {
		if !cmd.Hidden && !strings.Contains(commands, "| `agent "+cmd.Name) {
			t.Errorf("commands lacks a row of agent %s", cmd.Name)
		}
	}
}
