package check

import (
	"context"
	"fmt"
	"iter"
	"maps"
	"path"
	"slices"
	"time"

	"agent/sandbox/guest"
	"agent/sandbox/workspace"
)

// Work is the workspace's place in a box.
const Work = "/work"

// A Runner is a box as the gates see it. *sandbox.Box is one. A gate neither
// starts nor closes its box, so that several can share one in a fixed order.
type Runner interface {
	Apply(ctx context.Context, cs workspace.Changeset) error
	Run(ctx context.Context, cmd guest.Command) (guest.Result, error)
}

// A CacheRow is what a tool left behind in an earlier box.
type CacheRow interface {
	// Load returns it packed, nil when there is none.
	Load(ctx context.Context) []byte
}

// A Bench is what a gate works with: one box and what stands in it.
type Bench struct {
	Box   Runner
	Tools Tools
	// What the box holds at this moment; lines of findings are read from it.
	View View
	// Where in the box the files of the base are that run inside a tool; "" where all of the
	// workspace is that of the base.
	Kept string
	// Of every command that brings none of its own.
	Timeout time.Duration
	// What the workspace sets for the smoke gate.
	Smoke Smoke
	// Of the smoke gate.
	Entry Entry
	// What mypy knows; nil where its cache is neither used nor kept.
	Known CacheRow
	// Of a proof: called with Outcome.Learned; nil where nobody keeps that.
	Learn func(packed []byte)
	// Of the tests gate: the IDs of the only tests to run; nil for all.
	Only []string
	// Of the tests gate: the files of tests to run, which are in View, with all that a run of the whole has; nil for all.
	Files []string
	// What the patch can affect, for a check of a family. The other packages come
	// last, or are left out.
	Reach Reach
	Leave bool
	// Called before the first of the others; nil for no one to tell.
	AffectedDone func()
	// Of tests and the smoke test: the lines of the workspace of which they are to tell
	// whether they executed them, as Outcome.Traced; nil where nobody asks.
	Lines Lines
	// Unwitnessed says that the answers of the box are known beforehand, so that no witness could end in
	// them as it must. No box of a candidate is such.
	Unwitnessed bool
}

// Sweep takes away what a run of tests leaves in the box and another one reads: records and byte code.
func (b Bench) Sweep(ctx context.Context) error {
	res, err := b.Box.Run(ctx, guest.Command{
		Args: []string{"/bin/sh", "-c", "rm -rf /tmp/agent-* /tmp/pycache; find /work -name __pycache__ -type d -prune -exec rm -r {} +"}, Dir: "/", Timeout: b.Timeout,
	})
	if err == nil && res.Exit != 0 {
		err = fmt.Errorf("sweep the box: exit status %d", res.Exit)
	}
	return err
}

// Witnessed reports whether witnesses are to stand among the tests: in runs of all of them.
func (b Bench) Witnessed() bool { return len(b.Only) == 0 && !b.Unwitnessed }

// Picks reports whether the tests in the file at p are among those to run.
func (b Bench) Picks(p string) bool { return len(b.Files) == 0 || slices.Contains(b.Files, p) }

// Asked are the tests to run, by their IDs or by their files; nil for all.
func (b Bench) Asked() []string {
	if len(b.Only) > 0 {
		return b.Only
	}
	return b.Files
}

// Command runs one tool and sorts out every end that is no answer: done is
// false and out says what it means. Otherwise the tool ran to its own end.
func (b Bench) Command(ctx context.Context, cmd guest.Command) (res guest.Result, out Outcome, done bool) {
	// The smoke test brings its own, which is the time of the watch.
	if cmd.Timeout == 0 {
		cmd.Timeout = b.Timeout
	}
	cmd.Env = withoutCaches(cmd.Env)
	// Scripts say `env node`, and find the one that the workspace asks for.
	if p := b.Tools.Path(); p != "" && cmd.Env["PATH"] == "" {
		cmd.Env["PATH"] = p
	}
	tool := cmd.Args[0]
	start := time.Now()
	res, err := b.Box.Run(ctx, cmd)
	// The order of the cases matters: a box that ran out of memory is often also
	// late, killed or ended by a signal, and memory is what explains it.
	out = Outcome{Output: Shown(res), Seconds: time.Since(start).Seconds(), Peak: res.PeakBytes, Reached: res.Reached}
	switch {
	case err != nil:
		out.Verdict, out.Detail = Infra, fmt.Sprintf("run %s: %v", tool, err)
	case res.OOM:
		out.Verdict, out.Detail = OOM, fmt.Sprintf("%s ran out of the box's memory", tool)
	case res.TimedOut:
		out.Verdict, out.Detail = Timeout, fmt.Sprintf("%s did not end within %s", path.Base(tool), cmd.Timeout)
	case res.Killed:
		out.Verdict, out.Detail = Infra, fmt.Sprintf("the box died while %s ran", tool)
	// Found but not executable, and not found: POSIX, "Exit Status for
	// Commands". No tool here uses these two for anything else.
	case res.Exit == 126 || res.Exit == 127:
		out.Verdict, out.Detail = Infra, missing(tool)
	case res.Signal != "":
		out.Verdict, out.Detail = Infra, fmt.Sprintf("%s was ended by %s", tool, res.Signal)
	default:
		return res, out, true
	}
	return res, out, false
}

// withoutCaches adds to an environment what keeps Python from believing byte
// code that lies in the workspace: it says itself which source it was made of.
func withoutCaches(env map[string]string) map[string]string {
	env = maps.Clone(env)
	if env == nil {
		env = map[string]string{}
	}
	env["PYTHONPYCACHEPREFIX"] = "/tmp/pycache"
	return env
}

// missing says that a tool is not in the image, and the cure.
func missing(tool string) string {
	return fmt.Sprintf("%s is missing or does not start in the toolchain image; rebuild it with: agent images build", tool)
}

// InOrder goes through what a check looks at in each package, with its place in
// list: first where the patch may be felt, then, if at all, the others. Each
// package has a process of its own, so nothing inside one is run in another order.
func InOrder[T any](b Bench, list []T, root func(T) string) iter.Seq2[int, T] {
	return func(yield func(int, T) bool) {
		for _, spared := range []bool{false, true} {
			if spared && b.Leave {
				return
			}
			if spared && len(b.Reach) > 0 && b.AffectedDone != nil {
				b.AffectedDone()
			}
			for i, item := range list {
				if b.Reach.spares(root(item)) == spared && !yield(i, item) {
					return
				}
			}
		}
	}
}

// Itself is the root of what is one.
func Itself(root string) string { return root }
