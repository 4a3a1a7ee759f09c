package main

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"agent/docs"
	"agent/orchestrator/store/storetest"
	"agent/sandbox/enginetest"
)

// A recipe is a script in the form of the documentation, and the way in which a build server runs it.
type recipe struct {
	name, script, report string
	shell, env           []string
}

// recipes extracts the scripts from the fenced blocks of the page.
func recipes(t *testing.T) (list []recipe) {
	t.Helper()
	page, _ := docs.Find("ci")
	for _, block := range regexp.MustCompile("(?ms)^```(sh|yaml)\n(.*?)^```$").FindAllStringSubmatch(page.Text, -1) {
		if block[1] == "sh" {
			list = append(list, recipe{"any shell", block[2], "agent.sarif", []string{"sh", "-c"}, nil})
			continue
		}
		var read struct {
			Runs struct {
				Steps []struct {
					Run string
					Env map[string]string
				}
			}
			Agent struct{ Script []string }
		}
		if err := yaml.Unmarshal([]byte(block[2]), &read); err != nil {
			t.Fatalf("%v in\n%s", err, block[2])
		}
		for _, step := range read.Runs.Steps {
			env := []string{"GITHUB_ACTIONS=true", "GITHUB_BASE_REF=main"}
			for name := range step.Env { // the inputs are empty
				env = append(env, name+"=")
			}
			list = append(list, recipe{"GitHub", step.Run, "agent.sarif", []string{"bash", "--noprofile", "--norc", "-eo", "pipefail", "-c"}, env})
		}
		if script := strings.Join(read.Agent.Script, "\n"); script != "" {
			list = append(list, recipe{"GitLab", script, "gl-code-quality-report.json", []string{"bash", "-eo", "pipefail", "-c"}, []string{"CI_MERGE_REQUEST_TARGET_BRANCH_NAME=main"}})
		}
	}
	return list
}

// The scripts on the page about build servers work as described: a good branch passes, and a bad one ends with exit
// code 1 and a report that names the place. That holds in a shallow clone too, where the script fetches the rest.
func TestTheScriptsOfThePageAboutBuildServersRun(t *testing.T) {
	t.Parallel()
	enginetest.Need(t)
	_, url := storetest.Warm(t)
	dir := t.TempDir()
	git := func(in string, args ...string) {
		t.Helper()
		cmd := exec.Command("git", append([]string{"-c", "user.name=Ann", "-c", "user.email=ann@example.org", "-c", "init.defaultBranch=main"}, args...)...)
		cmd.Dir = in
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %q: %v\n%s", args, err, out)
		}
	}
	origin := filepath.Join(dir, "origin")
	commit := func(branch, file, text string) {
		t.Helper()
		git(origin, "checkout", "-q", "-B", branch)
		if err := os.WriteFile(filepath.Join(origin, file), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		git(origin, "add", "-A")
		git(origin, "commit", "-q", "-m", "change "+file)
	}
	git(dir, "init", "-q", origin)
	commit("main", "greet.sh", "#!/bin/sh\necho \"hello\"\n")
	commit("good", "greet.sh", "#!/bin/sh\necho \"hello you\"\n")
	commit("good", "README", "Greets.\n")
	commit("bad", "greet.sh", "#!/bin/sh\nfor name in \"$@\"; do\n\techo \"hello ${name}\"\n")
	list := recipes(t)
	if len(list) != 3 {
		t.Fatalf("%d scripts: %+v", len(list), list)
	}
	for i, r := range list {
		for branch, want := range map[string]int{"good": 0, "bad": 1} {
			if branch == "good" && i > 0 {
				continue // the command is the same
			}
			work := filepath.Join(dir, strings.ReplaceAll(r.name, " ", "")+branch)
			clone := []string{"clone", "-q", "--branch", branch}
			if i == 0 { // only this script claims to fetch what is missing
				clone = append(clone, "--depth", "1", "--no-single-branch")
			}
			git(dir, append(clone, "file://"+origin, work)...)
			cmd := exec.Command(r.shell[0], append(r.shell[1:], r.script)...)
			cmd.Dir = work
			cmd.Env = append(os.Environ(), "AGENT_DATABASE_URL="+url, "PATH="+filepath.Dir(agentProgram)+":"+os.Getenv("PATH"))
			cmd.Env = append(cmd.Env, r.env...)
			out, err := cmd.CombinedOutput()
			var ended *exec.ExitError
			if code := cmd.ProcessState.ExitCode(); code != want || err != nil && !errors.As(err, &ended) {
				t.Errorf("%s, %s branch: %v\n%s", r.name, branch, err, out)
				continue
			}
			report := readFile(t, filepath.Join(work, r.report))
			if !json.Valid([]byte(report)) || strings.Contains(report, "greet.sh") != (branch == "bad") {
				t.Errorf("%s, %s branch: the report is %s", r.name, branch, report)
			}
			if annotated := strings.Contains(string(out), "::error file=greet.sh"); annotated != (r.name == "GitHub" && branch == "bad") {
				t.Errorf("%s, %s branch: annotations: %t\n%s", r.name, branch, annotated, out)
			}
		}
	}
}
