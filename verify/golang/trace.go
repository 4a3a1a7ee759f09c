package golang

import (
	"bytes"
	"cmp"
	"context"
	"maps"
	"path"
	"slices"
	"strings"

	"golang.org/x/tools/cover"

	"agent/sandbox/guest"
	"agent/verify/check"
)

// runMeasured runs the tests. It then repeats without measuring the tests that fail, and the tests that are skipped if a
// test can find out that it is measured.
func runMeasured(ctx context.Context, b check.Bench) check.Outcome {
	t := newTracer(b)
	skips := t != nil && findsOut(b.View)
	doubtful := func(r check.TestResult) bool { return (r.Bad() || skips && r.Skipped()) && !t.plain[r.ID] }
	return check.Unmeasured(ctx, b, doubtful, func(ctx context.Context, b check.Bench) check.Outcome {
		if len(b.Lines) == 0 {
			return runGoTests(ctx, b, nil)
		}
		return runGoTests(ctx, b, t)
	})
}

// findsOut reports whether any code of the workspace asks whether it is being measured.
func findsOut(v check.View) bool {
	p, err := v.First(check.Search{
		What: "cover mode", Among: func(p string) bool { return path.Ext(p) == ".go" }, Order: strings.Compare,
		Match: func(data []byte) bool { return bytes.Contains(data, []byte("testing.CoverMode")) },
	})
	return p != "" || err != nil
}

// profile is the file in which go test records which blocks of statements were executed.
const profile = "/tmp/agent-cover.out"

// A tracer measures which of Bench.Lines the Go tests execute. A nil tracer measures nothing.
type tracer struct {
	bench check.Bench
	// dirs maps the import paths of the packages of interest to their directories.
	dirs  map[string]string
	trace *check.Trace
	// plain holds the IDs of the tests that were not measured.
	plain map[string]bool
}

// newTracer returns nil if none of the requested files are part of Go programs.
func newTracer(b check.Bench) *tracer {
	t := &tracer{bench: b, dirs: map[string]string{}, plain: map[string]bool{}}
	roots := check.Rooted(Roots(b.View))
	for p := range b.Lines {
		dir := path.Dir(p)
		root := check.Nearest(roots, dir)
		name := goModuleLine.FindStringSubmatch(b.View.Text(path.Join(root, "go.mod")))
		if path.Ext(p) == ".go" && !IsTest(p) && !Ignored(dir) && name != nil {
			t.dirs[path.Join(name[1], strings.TrimPrefix(strings.TrimPrefix(dir, root), "/"))] = dir
		}
	}
	if len(t.dirs) == 0 {
		return nil
	}
	return t
}

// flags returns the flags of go test for a module, or none if the module has nothing to do with the request.
func (t *tracer) flags(root string) []string {
	if t == nil || t.bench.Reach != nil && !t.bench.Reach[root] {
		return nil
	}
	return []string{"-covermode=set", "-coverprofile=" + profile, "-coverpkg=" + strings.Join(slices.Sorted(maps.Keys(t.dirs)), ",")}
}

// said returns what is known so far, or nil for nothing.
func (t *tracer) said() *check.Trace {
	if t == nil {
		return nil
	}
	return t.trace
}

// test runs the tests of a module, measured as far as requested.
func (t *tracer) test(ctx context.Context, g goTests, selected []string) (goTestRun, check.Outcome, bool) {
	flags := t.flags(g.root)
	run, out, done := g.run(ctx, flags, selected)
	if flags == nil {
		return run, out, done
	}
	t.read(ctx)
	unbuilt := slices.ContainsFunc(run.results, check.TestResult.Bad) && !slices.ContainsFunc(run.results, check.TestResult.Ran)
	if !done || !unbuilt || len(t.bench.Only) > 0 {
		return run, out, done
	}
	// While any package does not compile, no test is measured: such packages run separately.
	sound, others, ok := soundPackages(ctx, g)
	if !ok || len(sound) == 0 || len(others) == 0 {
		return run, out, done
	}
	measured, cost, done := g.run(ctx, flags, sound)
	t.read(ctx)
	if out = check.AddCost(out, cost); !done {
		return measured, out, false
	}
	plain, cost, done := g.run(ctx, others)
	for _, r := range plain.results {
		t.plain[r.ID] = true
	}
	return goTestRun{
		results: slices.Concat(measured.results, plain.results), trouble: cmp.Or(measured.trouble, plain.trouble), said: check.Tail(measured.said+"\n"+plain.said, check.MaxTail),
	}, check.AddCost(out, cost), done
}

// soundPackages divides the packages of a module into those that compile, with everything that they need and with their
// tests, and the others.
func soundPackages(ctx context.Context, g goTests) (sound, others []string, ok bool) {
	packages, _, done := goList(ctx, g.bench, g.root)
	broken := map[string]bool{}
	for _, p := range packages {
		broken[p.owner()] = broken[p.owner()] || p.broken()
	}
	for _, name := range slices.Sorted(maps.Keys(g.dirs)) {
		if broken[name] {
			others = append(others, name)
		} else {
			sound = append(sound, name)
		}
	}
	return sound, others, done
}

// read takes in what a measured run left behind. What it cannot read counts as not measured.
func (t *tracer) read(ctx context.Context) {
	// Something was measured, even if nothing is known of it.
	t.trace = t.trace.With(&check.Trace{})
	// Every test program repeats all blocks.
	cmd := guest.Command{Args: []string{t.bench.Tools.Env, "--", "sort", "-u", profile}, MaxOutput: check.MaxToolOutput}
	res, _, done := t.bench.Command(ctx, cmd)
	if !done || res.Exit != 0 || res.Stdout.Dropped > 0 {
		return
	}
	const mode = "mode: set\n"
	text := mode + strings.ReplaceAll(string(res.Stdout.Head), mode, "")
	profiles, err := cover.ParseProfilesFromReader(strings.NewReader(text))
	if err != nil {
		return
	}
	blocks := map[string][]cover.ProfileBlock{}
	for _, p := range profiles {
		if dir, ok := t.dirs[path.Dir(p.FileName)]; ok {
			blocks[path.Join(dir, path.Base(p.FileName))] = p.Blocks
		}
	}
	found := &check.Trace{Code: check.Lines{}, Ran: check.Lines{}}
	for p, lines := range t.bench.Lines {
		if path.Ext(p) != ".go" || IsTest(p) {
			continue
		}
		data, err := t.bench.View.Read(p)
		if err != nil {
			continue
		}
		if code, ran, ok := execute(data, lines, blocks[p]); ok {
			found.Code[p], found.Ran[p] = code, ran
		}
	}
	t.trace = t.trace.With(found)
}

// unprofiled removes from go test's output what it prints only because it measures.
func unprofiled(output string) string {
	if strings.HasPrefix(output, "coverage: ") {
		return ""
	}
	if said, _, ok := strings.Cut(output, "\tcoverage: "); ok {
		return strings.TrimRight(said, "\t") + "\n"
	}
	return output
}
