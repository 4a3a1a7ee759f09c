//go:build bench

package verify

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"agent/sandbox"
	"agent/sandbox/guest"
	"agent/sandbox/workspace"
	"agent/verify/check"
	"agent/verify/verifytest"
)

const (
	// perKind is the number of mutations of each kind in a project.
	perKind = 4
	// atOnce is the number of candidates that are judged at the same time.
	atOnce = 2
	// patience is the timeout of each gate, and so the cost of an endless loop.
	patience = 30 * time.Second
	// defaultSeed is the seed if AGENT_BENCH_VERIFY_SEED is not set.
	defaultSeed = 20
)

// TestBenchVerify plants faults and harmless edits in real projects and prints what the gates made of them. A missed target
// prints MISS and fails nothing. The test fails if a project cannot be fetched, or does not pass unchanged.
//
//	AGENT_BENCH_VERIFY_N         mutations of a kind in a project, for a quick look
//	AGENT_BENCH_VERIFY_SEED      chooses other places
//	AGENT_BENCH_VERIFY_PROJECTS  a regular expression for their names
func TestBenchVerify(t *testing.T) {
	n, err := strconv.Atoi(cmp.Or(os.Getenv("AGENT_BENCH_VERIFY_N"), strconv.Itoa(perKind)))
	if err != nil {
		t.Fatal(err)
	}
	seed, err := strconv.ParseUint(cmp.Or(os.Getenv("AGENT_BENCH_VERIFY_SEED"), strconv.Itoa(defaultSeed)), 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	names, err := regexp.Compile(os.Getenv("AGENT_BENCH_VERIFY_PROJECTS"))
	if err != nil {
		t.Fatal(err)
	}
	fmt.Printf("seed %d, %d of a kind in each project\n\n", seed, n)
	var all []tryout
	for _, p := range projects {
		if names.MatchString(p.name) {
			t.Run(p.name, func(t *testing.T) { all = append(all, benchProject(t, p, n, seed)...) })
		}
	}
	printTryouts(all)
}

// A tryout is one mutation and its result.
type tryout struct {
	project  project
	mutation mutation
	report   Report
	seconds  float64
	result   string
}

// The results of a tryout. A fault is caught, missed, or impossible to notice; a harmless edit is passed or refused.
const (
	caught    = "caught"
	missed    = "missed"
	noGate    = "no gate" // no gate that should see it knows the language
	unseeable = "unseeable"
	passed    = "passed"
	refused   = "refused"
	// Infra is not a judgement: it means a defect of the bench or of a gate.
	troubled = "trouble"
)

// benchProject judges the chosen mutations of one project, on one snapshot and against one baseline.
func benchProject(t *testing.T, p project, n int, seed uint64) []tryout {
	files := p.files(t)
	s := newSite(t, files)
	s.config = Config{Smoke: check.Smoke{Command: p.smoke, Seconds: 5}, Timeout: patience}
	// The first judgement makes the baseline for all that follow.
	if !s.sound(t) {
		return nil
	}
	name := fnv.New64a()
	name.Write([]byte(p.name))
	chosen := choose(p.places(t, files), n, rand.New(rand.NewPCG(seed, name.Sum64())))
	// Run outside the tryouts: the tests that fail before a mutation show which ones fail because of it.
	failing := sync.OnceValue(func() []string { return s.failures(t, p.tongue, workspace.Changeset{}) })

	trials := make([]tryout, len(chosen))
	slots := make(chan struct{}, atOnce)
	var wg sync.WaitGroup
	for i, c := range chosen {
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			trials[i] = s.try(t, p, c, c.apply(files[c.File]), failing)
		})
	}
	wg.Wait()
	return trials
}

// sound reports whether the project passes with a patch that adds a text file, and logs the results of its gates.
func (s *site) sound(t *testing.T) bool {
	started := time.Now()
	report, err := s.verifier.Verify(t.Context(), s.request(verifytest.Change(t, s.base, map[string]string{"planted.txt": "nothing\n"})), nil)
	if err != nil {
		t.Error(err)
		return false
	}
	t.Logf("baseline in %.1f s:%s", time.Since(started).Seconds(), outline(report))
	if report.Verdict != check.Pass {
		t.Errorf("the project as it is: verdict %s", report.Verdict)
	}
	return report.Verdict == check.Pass
}

// try judges one mutation. failing returns the tests that fail in the base.
func (s *site) try(t *testing.T, p project, c mutation, after string, failing func() []string) tryout {
	cs := verifytest.Change(t, s.base, map[string]string{c.File: after})
	started := time.Now()
	report, err := s.verifier.Verify(t.Context(), s.request(cs), nil)
	if err != nil {
		t.Error(err)
		return tryout{project: p, mutation: c, result: troubled}
	}
	r := tryout{project: p, mutation: c, report: report, seconds: time.Since(started).Seconds()}
	r.result = resultOf(c, report)
	// Running the tests without the gate distinguishes a fault that no test covers from one that the gate overlooked.
	if r.result == missed && c.Kind == "failing test" && p.tongue.tests != nil && slices.Equal(failing(), s.failures(t, p.tongue, cs)) {
		r.result = unseeable
	}
	return r
}

// resultOf returns the result that the report of a mutation stands for.
func resultOf(c mutation, report Report) string {
	harmless := slices.Contains(harmlessKinds, c.Kind)
	switch {
	case report.Verdict == check.Infra:
		return troubled
	case harmless && report.Verdict == check.Pass:
		return passed
	case harmless:
		return refused
	case report.Verdict != check.Pass:
		return caught
	case !slices.ContainsFunc(c.Gates, func(gate string) bool { return looked(report, gate) }):
		return noGate
	}
	return missed
}

// looked reports whether a gate exists for what the mutation is about. A gate that the workspace kept from judging exists too: its
// silence is a miss. A runner that the project names and that is not installed does not exist; what npm publishes of a project also comes
// without tests for it.
func looked(report Report, gate string) bool {
	for _, skip := range report.Skipped {
		if skip.Name == gate && strings.Contains(skip.Reason, " is not installed: ") {
			return false
		}
		if skip.Name == gate {
			return strings.HasPrefix(skip.Reason, "not judged") || strings.HasSuffix(skip.Reason, "as before the patch")
		}
	}
	return true
}

// failures runs the project's tests in their own box and lists those that fail.
func (s *site) failures(t *testing.T, language tongue, cs workspace.Changeset) []string {
	box, err := s.lab.Engine.Start(t.Context(), sandbox.Spec{
		Image: s.snapshot.ID, Run: "verify-test", Purpose: "bench", Lease: time.Now().Add(10 * time.Minute),
	})
	if err != nil {
		t.Error(err)
		return nil
	}
	defer box.Close()
	if err := box.Apply(t.Context(), cs); err != nil {
		t.Error(err)
		return nil
	}
	res, err := box.Run(t.Context(), guest.Command{
		Args: append([]string{"/usr/bin/env", "--"}, language.tests...), Dir: check.Work, Timeout: patience, MaxOutput: check.MaxToolOutput,
		Env: map[string]string{"PYTHONPATH": check.Work + "/src"},
	})
	if err != nil {
		t.Error(err)
		return nil
	}
	var failing []string
	for line := range strings.Lines(check.Clean(check.Bytes(res.Stdout))) {
		if strings.HasPrefix(line, language.failure) {
			// The reason, after the dash, may contain an address or a time.
			test, _, _ := strings.Cut(strings.TrimSpace(line), " - ")
			failing = append(failing, test)
		}
	}
	slices.Sort(failing)
	return append(failing, fmt.Sprintf("exit status %d", res.Exit))
}
