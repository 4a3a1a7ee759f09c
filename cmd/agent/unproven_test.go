package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"agent/orchestrator/run"
	"agent/orchestrator/store/storetest"
)

// lastLine returns the last line of an output.
func lastLine(text string) string {
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	return lines[len(lines)-1]
}

// A promotion in which no test ran says so wherever it is reported: the last line, the document, the row, the list, the
// review.
func TestAPromotionWithoutATestSaysSo(t *testing.T) {
	t.Parallel()
	_, url := storetest.Warm(t)
	env := map[string]string{"AGENT_DATABASE_URL": url, "AGENT_GUEST": os.Getenv("AGENT_GUEST"), "XDG_CONFIG_HOME": t.TempDir()}
	dir := t.TempDir()
	write(t, filepath.Join(dir, "package.json"), `{"scripts": {"test": "xo"}}`)
	write(t, filepath.Join(dir, "lib.js"), "module.exports = 1;\n")
	write(t, filepath.Join(dir, "lib.test.js"), "const test = require(\"node:test\");\n\ntest(\"x\", () => void require(\"./lib.js\"));\n")
	ask := func(exit int, args ...string) execution {
		t.Helper()
		got := commandIn(t, env, args...)
		if got.exit != exit {
			t.Fatalf("agent %v: exit code %d\n%s%s", args, got.exit, got.stdout, got.stderr)
		}
		return got
	}
	patch := func(from, to string, args ...string) execution {
		t.Helper()
		text := "<EDIT file=\"lib.js\">\n<SEARCH>\nmodule.exports = " + from + ";\n</SEARCH>\n<REPLACE>\nmodule.exports = " + to + ";\n</REPLACE>\n</EDIT>\n"
		file := write(t, filepath.Join(t.TempDir(), "patch"), text)
		return ask(run.ExitDone, append([]string{"sandbox", "run", "--workspace", dir, "--patch", file, "--yes", "--allow", "unproven"}, args...)...)
	}
	const why = "no test ran: 1 JavaScript test file was found (lib.test.js) and no command that the test script of package.json starts tests anything: xo; " +
		"a [[gate]] in agent.toml can"
	if got := lastLine(patch("1", "2").stdout); got != "promoted, but "+why {
		t.Errorf("the last line is %q", got)
	}
	if got := lastLine(patch("2", "3", "--no-promote").stdout); got != "proved, but "+why {
		t.Errorf("the last line of what was only proved is %q", got)
	}
	var doc struct {
		Run      string
		Error    *run.Problem
		Unproven []struct{ Gate, Kind, Reason string }
	}
	if got := patch("2", "3", "--json"); json.Unmarshal([]byte(got.stdout), &doc) != nil || doc.Error != nil || len(doc.Unproven) != 1 {
		t.Fatalf("the document is\n%s", got.stdout)
	}
	if u := doc.Unproven[0]; u.Gate != "tests" || u.Kind != "script" || u.Reason != why {
		t.Errorf("the document says %+v", u)
	}
	// Every reader of the record reports the same.
	row := "sql --csv \"select unproven from v_runs where run = '" + doc.Run + "'\""
	for question, want := range map[string]string{
		row: why,
		"sql --csv \"select gate, kind, part from v_unproven where run = '" + doc.Run + "'\"": "tests,script,f",
		"runs show --all " + doc.Run: "promoted, but " + why, "runs show --all --json " + doc.Run: `"unproven": [`, "runs list --all": "pass (no tests ran)",
		"runs show --all --sarif - " + doc.Run: "tests: " + why, "runs logs --all " + doc.Run: "every gate passed, but " + why[:20], "review --all " + doc.Run: "not judged: " + why, "review --all --json": why,
	} {
		words := strings.SplitN(question, " \"", 2)
		args := strings.Fields(words[0])
		if len(words) == 2 {
			args = append(args, strings.TrimSuffix(words[1], "\""))
		}
		if got := ask(run.ExitDone, args...); !strings.Contains(got.stdout, want) {
			t.Errorf("agent %s does not say %q:\n%s", question, want, got.stdout)
		}
	}
	// A script that is understood leaves nothing to report.
	write(t, filepath.Join(dir, "package.json"), `{"scripts": {"test": "node --test"}}`)
	got := patch("3", "4", "--json")
	if err := json.Unmarshal([]byte(got.stdout), &doc); err != nil || !strings.Contains(got.stdout, `"unproven": []`) || strings.Contains(got.stdout, `"unproven": null`) {
		t.Errorf("with tests the document is\n%s", got.stdout)
	}
	if got := ask(run.ExitDone, "sql", "--csv", "select unproven = '' from v_runs where run = '"+doc.Run+"'"); got.stdout != "?column?\ntrue\n" {
		t.Errorf("with tests the row says %q", got.stdout)
	}
	if got := lastLine(patch("4", "5").stdout); !strings.HasPrefix(got, "next: `agent undo ") {
		t.Errorf("with tests the last line is %q", got)
	}
}
