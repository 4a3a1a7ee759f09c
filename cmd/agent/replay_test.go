package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"agent/cmd/agent/internal/cmdline"
	replaycmd "agent/cmd/agent/internal/command/replay"
	"agent/orchestrator/archive"
	"agent/orchestrator/llm/llmtest"
	"agent/orchestrator/replay"
	"agent/orchestrator/run"
	"agent/orchestrator/store"
	"agent/orchestrator/store/storetest"
	"agent/sandbox/egress"
	"agent/verify"
)

// A taken is a run to be recorded: a workspace, a request, and its result.
type taken struct {
	files   map[string]string
	patch   string
	answers []string // of a model, if there is no patch
	args    []string
	exit    int
	// The verdicts of the candidates, and one gate with its verdict.
	verdicts []verify.Verdict
	gate     string
}

// replacing returns an edit of one file.
func replacing(file, search, replace string) string {
	return "<EDIT file=\"" + file + "\">\n<SEARCH>\n" + search + "\n</SEARCH>\n<REPLACE>\n" + replace + "\n</REPLACE>\n</EDIT>\n"
}

// takes returns ten runs of as many kinds.
func takes() map[string]taken {
	const shop = "def price(n):\n    return n * 2\n"
	pass, fail := []verify.Verdict{verify.Pass}, []verify.Verdict{verify.Fail}
	// Each slow gate has a workspace of its own, so that no candidate goes through both, and the quick ones share one:
	// each workspace is judged once.
	typed := map[string]string{"shop.py": "def price(n: int) -> int:\n    return n * 2\n"}
	tested := map[string]string{"shop.py": shop, "test_shop.py": "from shop import price\n\n\ndef test_price():\n    assert price(2) == 4\n"}
	shell := map[string]string{"run.sh": "#!/bin/sh\nname=you\necho \"$name\" \"$old\"\n"}
	return map[string]taken{
		"passes":       {files: map[string]string{"a.json": "{\"n\": 1}\n"}, patch: replacing("a.json", `{"n": 1}`, `{"n": 2}`), verdicts: pass, gate: "syntax pass"},
		"fails lint":   {files: shell, patch: replacing("run.sh", `echo "$name" "$old"`, `echo "$name" "$nmae" "$old"`), exit: run.ExitFail, verdicts: fail, gate: "lint fail"},
		"fails types":  {files: typed, patch: replacing("shop.py", "    return n * 2", "    return str(n)"), exit: run.ExitFail, verdicts: fail, gate: "types fail"},
		"fails a test": {files: tested, patch: replacing("shop.py", "    return n * 2", "    return n * 3"), exit: run.ExitFail, verdicts: fail, gate: "tests fail"},
		"is formatted": {files: tested, patch: replacing("shop.py", "    return n * 2", "    return   n+n"), verdicts: pass, gate: "tests pass"},
		"deletes and renames": {
			files:    map[string]string{"old.json": "[1, 2, 3]\n", "gone.json": "{}\n"},
			patch:    "diff --git a/old.json b/new.json\nsimilarity index 100%\nrename from old.json\nrename to new.json\ndiff --git a/gone.json b/gone.json\ndeleted file mode 100644\n--- a/gone.json\n+++ /dev/null\n@@ -1 +0,0 @@\n-{}\n",
			verdicts: pass,
		},
		"is repaired by a model": {
			files: shell, args: []string{"--goal", "greet", "--file", "run.sh"},
			answers:  []string{replacing("run.sh", `echo "$name" "$old"`, `echo "hi $nmae" "$old"`), replacing("run.sh", `echo "hi $nmae" "$old"`, `echo "hi $name" "$old"`), "- it greets"},
			verdicts: []verify.Verdict{verify.Fail, verify.Pass}, gate: "lint fail",
		},
		"changes several files": {
			files: map[string]string{"a.json": "{\"n\": 1}\n", "sub/b.json": "[1]\n"},
			patch: replacing("a.json", `{"n": 1}`, `{"n": 2}`) + replacing("sub/b.json", "[1]", "[2]") + replacing("sub/c.json", "", "{}"), verdicts: pass, gate: "syntax pass",
		},
		"leaves old findings": {files: shell, patch: replacing("run.sh", "name=you", "name=me"), verdicts: pass, gate: "lint pass"},
		"is held by policy": {
			files: map[string]string{".github/workflows/ci.yml": "on: push\n"}, patch: replacing(".github/workflows/ci.yml", "on: push", "on: pull_request"),
			exit: run.ExitApproval, verdicts: pass, gate: "syntax pass",
		},
	}
}

// An exported is what a run leaves: an archive that contains the workspace.
type exported struct {
	env         map[string]string
	id, archive string
	judged      verify.Cache
}

// command runs a command in the process that replays, which proves the gates once.
func (e exported) command(t *testing.T, exit int, args ...string) execution {
	t.Helper()
	var stdout, stderr bytes.Buffer
	c := cmdline.New(func(k string) string { return e.env[k] }, strings.NewReader(""), &stdout, &stderr)
	c.Judged = e.judged
	app := newApp(c)
	ordered, err := reorder(app, args)
	if err == nil {
		err = app.RunContext(t.Context(), append([]string{app.Name}, ordered...))
	}
	got := execution{c.Exit(t.Context(), err, false), stdout.String(), stderr.String()}
	if got.exit != exit {
		t.Fatalf("agent %v: exit code %d, want %d\n%s%s", args, got.exit, exit, got.stdout, got.stderr)
	}
	return got
}

// replay replays a run or an archive.
func (e exported) replay(t *testing.T, exit int, args ...string) replay.Report {
	t.Helper()
	var rep replay.Report
	if err := json.Unmarshal([]byte(e.command(t, exit, append([]string{"runs", "replay", "--json"}, args...)...).stdout), &rep); err != nil {
		t.Fatal(err)
	}
	return rep
}

// write makes a file and its directory.
func write(t *testing.T, name, text string) string {
	t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o755), os.WriteFile(name, []byte(text), 0o644)); err != nil {
		t.Fatal(err)
	}
	return name
}

// take makes the run, exports it and removes the files of the workspace. top is a directory that outlives all runs: any
// test may collect the snapshots of a missing workspace, and an equal workspace has the same snapshot.
func (x taken) take(t *testing.T, top, url string, judged verify.Cache) exported {
	t.Helper()
	e := exported{archive: filepath.Join(top, "run.tar"), judged: judged, env: map[string]string{
		"AGENT_DATABASE_URL": url, "AGENT_GUEST": os.Getenv("AGENT_GUEST"), "XDG_CONFIG_HOME": filepath.Join(top, "config"),
	}}
	dir := filepath.Join(top, "workspace")
	for name, text := range x.files {
		write(t, filepath.Join(dir, name), text)
	}
	args := append([]string{"sandbox", "run", "--workspace", dir, "--yes", "--json"}, x.args...)
	if x.patch != "" {
		args = append(args, "--patch", write(t, filepath.Join(top, "patch"), x.patch))
	}
	var steps []llmtest.Step
	for _, text := range x.answers {
		steps = append(steps, llmtest.Step{Text: text})
	}
	model := llmtest.Ollama(steps...)
	t.Cleanup(model.Close)
	e.env["OLLAMA_HOST"] = model.URL()
	var doc run.Document
	if err := json.Unmarshal([]byte(e.command(t, x.exit, args...).stdout), &doc); err != nil {
		t.Fatal(err)
	}
	// The directory itself stays.
	left, err := os.ReadDir(dir)
	for _, entry := range left {
		err = errors.Join(err, os.RemoveAll(filepath.Join(dir, entry.Name())))
	}
	if err != nil {
		t.Fatal(err)
	}
	e.id = doc.Run
	if got := e.command(t, run.ExitDone, "runs", "export", e.id, "-o", e.archive); !strings.Contains(got.stderr, "signed with the key SHA256:") {
		t.Fatalf("export: %+v", got)
	}
	return e
}

// Ten runs of different kinds give the same verdicts, findings and bytes from their archives alone: the workspace is
// gone, and no database answers.
func TestTenRunsAreReplayedElsewhere(t *testing.T) {
	t.Parallel()
	_, url := storetest.Warm(t)
	judged := replaycmd.NewMemory()
	all := takes()
	// This run proves the gates once for those that follow.
	first := all["passes"].take(t, t.TempDir(), url, judged)
	t.Run("passes", func(t *testing.T) { all["passes"].isReplayed(t, first) })
	delete(all, "passes")
	// The runs of one workspace follow each other, so that it is judged unpatched only once.
	groups := map[string][]string{}
	for name, x := range all {
		of := fmt.Sprint(x.files)
		groups[of] = append(groups[of], name)
	}
	for _, names := range groups {
		t.Run(fmt.Sprintf("and %d of one workspace", len(names)), func(t *testing.T) {
			t.Parallel()
			for _, name := range names {
				top := t.TempDir() // not the subtest's directory, since the next subtest has the same snapshot
				t.Run(name, func(t *testing.T) { all[name].isReplayed(t, all[name].take(t, top, url, judged)) })
			}
		})
	}
}

// isReplayed replays the archive on what amounts to another machine.
func (x taken) isReplayed(t *testing.T, e exported) {
	e.env["AGENT_DATABASE_URL"], e.env["XDG_CONFIG_HOME"], e.env["OLLAMA_HOST"] = "postgres://nobody@127.0.0.1:1/none", t.TempDir(), "http://127.0.0.1:1"
	rep := e.replay(t, run.ExitDone, e.archive)
	if !rep.Identical || len(rep.Differs) != 0 || rep.Toolchain != rep.Recorded || len(rep.Verdicts) != len(x.verdicts) {
		t.Fatalf("the replay is %+v", rep)
	}
	for i, want := range x.verdicts {
		v := rep.Verdicts[i]
		if v.Recorded != want || v.Replayed != want || v.Tree == rep.Snapshot {
			t.Errorf("candidate %d is %+v, want %s", i+1, v, want)
		}
		if (v.Step != "") != (x.patch == "") {
			t.Errorf("candidate %d was made of the answer %q", i+1, v.Step)
		}
	}
	data, err := os.ReadFile(e.archive)
	if err != nil {
		t.Fatal(err)
	}
	gate, verdict, _ := strings.Cut(x.gate, " ")
	if x.gate != "" && !bytes.Contains(data, []byte(`{"name":"`+gate+`","verdict":"`+verdict+`"`)) {
		t.Errorf("the record has no %q", x.gate)
	}
}

// A name that is not a file makes no one wait.
func TestAnArchiveIsAFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	fifo := filepath.Join(dir, "fifo.tar")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	e := exported{env: map[string]string{"XDG_CONFIG_HOME": dir}}
	if got := e.command(t, run.ExitUsage, "runs", "verify", fifo); !strings.Contains(got.stderr, "is not a regular file") {
		t.Errorf("a FIFO: %+v", got)
	}
}

// An archive whose gate has become a different tool gives another verdict, which is reported. An archive that was
// changed, or that asks for more than the user allows, is not replayed.
func TestAnArchiveIsCheckedAndItsDifferencesAreTold(t *testing.T) {
	t.Parallel()
	_, url := storetest.Warm(t)
	x := taken{
		files: map[string]string{"a.json": "{}\n", "agent.toml": "[[gate]]\nname = \"even\"\ncommand = [\"/usr/bin/true\"]\nwhen = \"always\"\n"},
		patch: replacing("a.json", "{}", "[]"),
	}
	e := x.take(t, t.TempDir(), url, replaycmd.NewMemory())
	key, _, _ := strings.Cut(e.command(t, run.ExitDone, "runs", "key").stdout, "\n")
	pub := write(t, filepath.Join(t.TempDir(), "pub"), strings.TrimPrefix(e.command(t, run.ExitDone, "runs", "key").stdout, key+"\n"))
	for _, args := range [][]string{{"--key", key}, {"--key", pub}, {}} {
		got := e.command(t, run.ExitDone, append([]string{"runs", "verify", e.archive}, args...)...)
		if !strings.Contains(got.stdout, e.id+", promoted, verdict pass:") || strings.Contains(got.stderr, "not checked") != (len(args) == 0) {
			t.Errorf("%v: %+v", args, got)
		}
	}
	for exit, args := range map[int][]string{run.ExitFail: {"--key", "SHA256:other"}, run.ExitUsage: {"--key", "/no/such/file"}} {
		e.command(t, exit, append([]string{"runs", "verify", e.archive}, args...)...)
		e.command(t, exit, append([]string{"runs", "replay", e.archive}, args...)...)
	}
	data, err := os.ReadFile(e.archive)
	if err != nil {
		t.Fatal(err)
	}
	bad := write(t, filepath.Join(t.TempDir(), "bad.tar"), strings.Replace(string(data), `"verdict":"pass"`, `"verdict":"fail"`, 1))
	for _, command := range []string{"verify", "replay"} {
		if got := e.command(t, run.ExitFail, "runs", command, bad); !strings.Contains(got.stderr, "the archive is damaged") {
			t.Errorf("%s of a changed archive: %+v", command, got)
		}
	}
	// Without a required key any key is accepted. The gate now fails, and the limits are wider than those here.
	db, err := store.Open(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	signing, err := archive.LoadKey(filepath.Join(e.env["XDG_CONFIG_HOME"], "agent", "attest.key"))
	if err != nil {
		t.Fatal(err)
	}
	forge := func(change func(*run.Settings)) string {
		ev, err := db.Evidence(t.Context(), e.id)
		if err != nil {
			t.Fatal(err)
		}
		change(&ev.Settings)
		var out bytes.Buffer
		if err := archive.Write(t.Context(), &out, ev, func(d string) ([]byte, error) { return db.Content(t.Context(), d) }, signing); err != nil {
			t.Fatal(err)
		}
		return write(t, filepath.Join(t.TempDir(), "forged.tar"), out.String())
	}
	for want, change := range map[string]func(*run.Settings){
		"limits.memory":        func(s *run.Settings) { s.Config.Limits.Memory = 1 << 40 },
		"dependencies.scripts": func(s *run.Settings) { s.InstallScripts = true },
		"egress.allow":         func(s *run.Settings) { s.Config.Egress = egress.List{{Host: "*.example.org", Port: 443}} },
	} {
		if got := e.command(t, run.ExitApproval, "runs", "replay", forge(change)); !strings.Contains(got.stderr, "with more "+want) {
			t.Errorf("%s: %+v", want, got)
		}
	}
	kept := filepath.Join(t.TempDir(), "kept")
	got := e.command(t, run.ExitFail, "runs", "replay", "--keep", kept, forge(func(s *run.Settings) {
		s.Config.Gates[0].Command, s.Toolchain, s.Versions = []string{"/usr/bin/false"}, "sha256:other", nil
	}))
	if !strings.HasPrefix(got.stdout, "the toolchain image differs from the recorded one: ") || !strings.Contains(got.stdout, "candidate 1: even: recorded pass, now ") {
		t.Errorf("another gate: %+v", got)
	}
	if text, err := os.ReadFile(filepath.Join(kept, "a.json")); err != nil || string(text) != "{}\n" {
		t.Errorf("kept is %q, %v", text, err)
	}
	e.command(t, run.ExitUsage, "runs", "replay", e.id, "--keep", kept)
	e.command(t, run.ExitUsage, "runs", "replay", e.id, "--key", key)
	e.command(t, run.ExitUsage, "runs", "verify")
	if rep := e.replay(t, run.ExitDone, e.id); !rep.Identical {
		t.Errorf("from the record: %+v", rep)
	}
}
