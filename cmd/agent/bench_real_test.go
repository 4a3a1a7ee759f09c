//go:build bench

package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"agent/orchestrator/run"
	"agent/orchestrator/store/storetest"
	"agent/sandbox/workspace/lang"
	"agent/verify"
	"agent/verify/policy"
)

// These are the results of a commit.
const (
	realPassed   = "pass"
	realHeld     = "held"
	realRefused  = "refused"
	realUnproven = "unproven" // held only because nothing executed it
	realTrouble  = "infra"
	realNone     = "none" // it has no program to reverse
)

// A realTrial is one judged commit. It is kept as JSON, with its repository and commit as the key.
type realTrial struct {
	realCommit
	Repository, Commit    string
	Result, Cause         string
	Backward, BackCause   string
	Warm, Tests           time.Duration
	ForwardTook, BackTook time.Duration
	// The seconds of each gate at the first judgement of the commit.
	Gates map[string]float64
}

// TestBenchReal judges commits of public repositories, each as a patch on its parent, and then with its program
// reversed and its tests kept. It prints a table by language, and every row that differs from the expectation, with its
// cause. A missed target prints MISS and fails nothing; a repository that is unavailable fails the test.
//
//	AGENT_REAL_REPOS     a directory of git directories, OWNER+NAME/repo; a missing one is cloned there by git
//	AGENT_BENCH_REAL_N   commits of each repository, ten by default
//	AGENT_BENCH_REAL     a regular expression for the names of repositories
//	AGENT_BENCH_REAL_TABLE another table than testdata/real.tsv, of the same form: for repositories that nobody has tried
//	AGENT_BENCH_REAL_LOG a file that keeps each result as it comes: a commit in it is not judged again
func TestBenchReal(t *testing.T) {
	n, err := strconv.Atoi(cmp.Or(os.Getenv("AGENT_BENCH_REAL_N"), "10"))
	if err != nil {
		t.Fatal(err)
	}
	names, err := regexp.Compile(os.Getenv("AGENT_BENCH_REAL"))
	if err != nil {
		t.Fatal(err)
	}
	mirrors := os.Getenv("AGENT_REAL_REPOS")
	if mirrors == "" {
		mirrors = t.TempDir()
	}
	_, dsn := storetest.New(t)
	lab := realLab{mirrors: mirrors, dir: t.TempDir(), dsn: dsn}
	list, packages := realCommits(t, cmp.Or(os.Getenv("AGENT_BENCH_REAL_TABLE"), recordedCommits))
	used := map[string]int{}
	var all []realTrial
	known, keep := realLog(t)
	for _, c := range list {
		if used[c.repository]++; used[c.repository] > n || !names.MatchString(c.repository) {
			continue
		}
		trial, judged := known[c.repository+c.commit]
		if !judged {
			lab.packages = packages[c.repository]
			trial = lab.try(t, c, used[c.repository] == 1)
			keep(trial)
		}
		trial.realCommit = c
		all = append(all, trial)
		fmt.Printf("%s %.10s: %s (%.0f s) %s; reversed %s (%.0f s) %s\n", c.repository, c.commit, trial.Result, trial.ForwardTook.Seconds(), trial.Cause,
			trial.Backward, trial.BackTook.Seconds(), trial.BackCause)
	}
	printReal(all)
}

// realLog returns the results in AGENT_BENCH_REAL_LOG, by repository and commit, and a function that adds one.
func realLog(t *testing.T) (known map[string]realTrial, keep func(realTrial)) {
	t.Helper()
	name := os.Getenv("AGENT_BENCH_REAL_LOG")
	if name == "" {
		return nil, func(realTrial) {}
	}
	f, err := os.OpenFile(name, os.O_RDWR|os.O_APPEND|os.O_CREATE, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	known = map[string]realTrial{}
	for from := json.NewDecoder(f); ; {
		var x realTrial
		if err := from.Decode(&x); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		known[x.Repository+x.Commit] = x
	}
	return known, func(x realTrial) {
		if err := json.NewEncoder(f).Encode(x); err != nil {
			t.Fatal(err)
		}
	}
}

// A realLab holds the repositories, a directory for workspaces, and a record.
type realLab struct {
	mirrors, dir, dsn string
	packages          []string // Debian packages that the repository needs
}

// repository returns the git directory of a repository, which it clones from its public address if it is missing.
func (l realLab) repository(t *testing.T, name string) string {
	t.Helper()
	dir := filepath.Join(l.mirrors, strings.ReplaceAll(name, "/", "+"), "repo")
	if _, err := os.Stat(dir); err == nil {
		return dir
	}
	if out, err := exec.Command("git", "clone", "--quiet", "--bare", "https://github.com/"+name, dir).CombinedOutput(); err != nil {
		t.Fatalf("clone %s: %v\n%s\nput its git directory at %s", name, err, out, dir)
	}
	return dir
}

// git runs git and returns its output.
func (l realLab) git(t *testing.T, args ...string) []byte {
	t.Helper()
	cmd := exec.Command("git", args...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, stderr.Bytes())
	}
	return out
}

// try judges one commit both ways, and with warm once more with everything known.
func (l realLab) try(t *testing.T, c realCommit, warm bool) realTrial {
	t.Helper()
	repo := l.repository(t, c.repository)
	diff := []string{"--git-dir", repo, "diff", "--no-color", "--no-ext-diff", "--binary"}
	changed := strings.Split(strings.TrimSpace(string(l.git(t, append(diff[:3:3], "--name-only", "-z", c.commit+"^", c.commit)...))), "\x00")
	program := slices.DeleteFunc(changed, func(p string) bool {
		row := lang.Of(p)
		return p == "" || row == nil || row.Tests == nil || row.Values != lang.Code || row.MayTest(p) || lang.InTests(p)
	})
	trial := realTrial{realCommit: c, Repository: c.repository, Commit: c.commit, Backward: realNone}
	workspace := l.checkout(t, repo, c.commit+"^")
	patch := l.git(t, append(diff, c.commit+"^", c.commit)...)
	doc, code, took := l.judge(t, workspace, patch)
	trial.Result, trial.Cause = realResult(doc, code)
	trial.ForwardTook, trial.Gates = took, map[string]float64{}
	for _, g := range lastGates(doc) {
		trial.Gates[g.Name] = g.Seconds
	}
	if warm {
		_, _, trial.Warm = l.judge(t, workspace, patch)
		for _, g := range lastGates(doc) {
			if g.Name == "tests" {
				trial.Tests = time.Duration(g.Seconds * float64(time.Second))
			}
		}
	}
	if len(program) == 0 {
		return trial
	}
	workspace = l.checkout(t, repo, c.commit)
	patch = l.git(t, append(append(diff, "-R", c.commit+"^", c.commit, "--"), program...)...)
	doc, code, trial.BackTook = l.judge(t, workspace, patch)
	trial.Backward, trial.BackCause = realResult(doc, code)
	return trial
}

// checkout makes a workspace of a revision, always at the same place for a repository.
func (l realLab) checkout(t *testing.T, repo, revision string) string {
	t.Helper()
	dir := filepath.Join(l.dir, filepath.Base(filepath.Dir(repo)))
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	l.git(t, "clone", "--quiet", "--shared", "--no-checkout", repo, dir)
	l.git(t, "-C", dir, "-c", "advice.detachedHead=false", "checkout", "--quiet", revision)
	return dir
}

// judge has a patch judged but never promoted.
func (l realLab) judge(t *testing.T, workspace string, patch []byte) (doc run.Document, code int, took time.Duration) {
	t.Helper()
	cmd := exec.Command(agentProgram, "sandbox", "run", "-w", workspace, "--patch", "-", "--no-promote", "--yes", "--json")
	cmd.Env = append(os.Environ(), "AGENT_DATABASE_URL="+l.dsn, "AGENT_PACKAGES="+strings.Join(l.packages, ","))
	cmd.Stdin = bytes.NewReader(patch)
	began := time.Now()
	out, err := cmd.Output()
	took = time.Since(began)
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	if err := json.Unmarshal(out, &doc); err != nil {
		t.Fatalf("%s: no document: %v\n%s", workspace, err, out)
	}
	return doc, cmd.ProcessState.ExitCode(), took
}

// lastGates returns the gates of the candidate that decides.
func lastGates(doc run.Document) []verify.Gate {
	if len(doc.Candidates) == 0 {
		return nil
	}
	return doc.Candidates[len(doc.Candidates)-1].Gates
}

// realResult returns the result of a run and its cause.
func realResult(doc run.Document, code int) (result, cause string) {
	var kinds []string
	if len(doc.Candidates) > 0 {
		for _, h := range doc.Candidates[len(doc.Candidates)-1].Holds {
			if h.Block && !slices.Contains(kinds, h.Kind) {
				kinds = append(kinds, h.Kind)
			}
		}
	}
	slices.Sort(kinds)
	var against []string
	for _, g := range lastGates(doc) {
		if g.Verdict != verify.Pass {
			text := g.Detail
			if len(g.Findings) > 0 {
				f := g.Findings[0]
				text = fmt.Sprintf("%s:%d %s %s", f.File, f.Line, f.Rule, f.Message)
			}
			against = append(against, fmt.Sprintf("[%s %s: %.160s]", g.Name, g.Verdict, strings.ReplaceAll(text, "\n", " ")))
		}
	}
	switch {
	case doc.Verdict == verify.Infra || code == 3:
		return realTrouble, fmt.Sprintf("%.200v %s", doc.Error, strings.Join(against, " "))
	case doc.Verdict == verify.Policy && len(verify.Approvals(lastGates(doc))) > 0: // --allow would let it pass
		return realHeld, strings.Join(against, " ")
	case doc.Verdict != verify.Pass:
		return realRefused, strings.Join(against, " ")
	case slices.Equal(kinds, []string{policy.Unproven}):
		return realUnproven, "[" + doc.Unproven[0].Reason + "]"
	case len(kinds) > 0:
		return realHeld, "[" + strings.Join(kinds, " ") + "]"
	}
	return realPassed, ""
}

// printReal prints a line for each language, and each commit that differs from the expectation.
func printReal(all []realTrial) {
	fmt.Println("\n| language | commits | passed | held | unproven | refused | infra | reversed | refused | unproven or held | passed | infra |")
	fmt.Println("|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|")
	languages := []string{""}
	for _, x := range all {
		if !slices.Contains(languages, x.language) {
			languages = append(languages, x.language)
		}
	}
	for _, language := range append(languages[1:], "") {
		f, b, n, m := map[string]int{}, map[string]int{}, 0, 0
		for _, x := range all {
			if language != "" && x.language != language {
				continue
			}
			n++
			f[x.Result]++
			if x.Backward != realNone {
				m++
				b[x.Backward]++
			}
		}
		fmt.Printf("| %s | %d | %d | %d | %d | %d | %d | %d | %d | %d | %d | %d |\n", cmp.Or(language, "all"), n, f[realPassed], f[realHeld], f[realUnproven], f[realRefused],
			f[realTrouble], m, b[realRefused], b[realUnproven]+b[realHeld], b[realPassed], b[realTrouble])
	}
	fmt.Println()
	for _, x := range all {
		if x.Result != x.forward {
			fmt.Printf("MISS %s %.10s: %s instead of %s %s\n", x.repository, x.commit, x.Result, x.forward, x.Cause)
		}
		if x.Backward != x.reversed && x.Backward != realNone {
			fmt.Printf("MISS %s %.10s reversed: %s instead of %s %s\n", x.repository, x.commit, x.Backward, x.reversed, x.BackCause)
		}
	}
	printWarm(all)
}

// printWarm prints the time of a verdict on a known workspace against that of its tests alone.
func printWarm(all []realTrial) {
	var ratios []float64
	fmt.Println("\n| repository | once more | its tests | ratio |\n|---|--:|--:|--:|")
	for _, x := range all {
		if x.Warm > 0 && x.Tests > 0 {
			ratio := x.Warm.Seconds() / x.Tests.Seconds()
			ratios = append(ratios, ratio)
			fmt.Printf("| %s | %.1f s | %.1f s | %.2f |\n", x.repository, x.Warm.Seconds(), x.Tests.Seconds(), ratio)
		}
	}
	if len(ratios) > 0 {
		slices.Sort(ratios)
		fmt.Printf("p50 %.2f (target 1.3), p95 %.2f (target 2)\n", ratios[len(ratios)/2], ratios[(len(ratios)*95)/100])
	}
}
