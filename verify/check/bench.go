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

// Work is the directory of the workspace in a box.
const Work = "/work"

// A Runner is a box as the gates see it. *sandbox.Box is one. A gate neither starts nor closes its box, so several
// gates can share one in a fixed order.
type Runner interface {
	Apply(ctx context.Context, cs workspace.Changeset) error
	Run(ctx context.Context, cmd guest.Command) (guest.Result, error)
}

// A CacheRow is what a tool left behind in an earlier box.
type CacheRow interface {
	// Load returns it packed, or nil if there is none.
	Load(ctx context.Context) []byte
}

// A Bench is what a gate works with: one box and its contents.
type Bench struct {
	Box   Runner
	Tools Tools
	// View is what the box holds at this moment; the source lines of findings are read from it.
	View View
	// Kept is the directory in the box with the base's files that run inside a tool; "" if the whole workspace in the
	// box is the base.
	Kept string
	// Timeout applies to every command that sets none of its own.
	Timeout time.Duration
	// What the workspace sets for the smoke gate.
	Smoke Smoke
	// Entry is the program that the smoke gate starts.
	Entry Entry
	// Known is the mypy cache to load; nil if a cache is neither used nor kept.
	Known CacheRow
	// Learn, in a proof, receives Outcome.Learned; nil if it is not kept.
	Learn func(packed []byte)
	// Only, for the tests gate, has the IDs of the only tests to run; nil for all.
	Only []string
	// Files, for the tests gate, are the test files to run, all of them in View, with everything that a full run has; nil for all.
	Files []string
	// Reach is what the patch can affect, for a check with a Family. The other packages come last, or not at all if
	// Leave is set.
	Reach Reach
	Leave bool
	// AffectedDone is called before the first of the other packages; it may be nil.
	AffectedDone func()
	// Lines, for tests and the smoke test, are the workspace lines whose execution they report as Outcome.Traced; nil
	// to ask for none.
	Lines Lines
	// Unwitnessed says that the answers of the box are known beforehand, so no witness could end in them as it must. It
	// is never set for a candidate's box.
	Unwitnessed bool
}

// Sweep removes what one run of tests leaves in the box and another run would read: records and byte code.
func (b Bench) Sweep(ctx context.Context) error {
	res, err := b.Box.Run(ctx, guest.Command{
		Args: []string{"/bin/sh", "-c", "rm -rf /tmp/agent-* /tmp/pycache; find /work -name __pycache__ -type d -prune -exec rm -r {} +"}, Dir: "/", Timeout: b.Timeout,
	})
	if err == nil && res.Exit != 0 {
		err = fmt.Errorf("sweep the box: exit status %d", res.Exit)
	}
	return err
}

// Witnessed reports whether witnesses belong among the tests: in runs of all tests.
func (b Bench) Witnessed() bool { return len(b.Only) == 0 && !b.Unwitnessed }

// Picks reports whether the tests in the file at p are among those to run.
func (b Bench) Picks(p string) bool { return len(b.Files) == 0 || slices.Contains(b.Files, p) }

// Asked returns the tests to run, by their IDs or by their files; nil for all.
func (b Bench) Asked() []string {
	if len(b.Only) > 0 {
		return b.Only
	}
	return b.Files
}

// Command runs one tool and handles every ending that is not an answer: done is then false, and out says what the
// ending means. If done is true, the tool ran to its own end.
func (b Bench) Command(ctx context.Context, cmd guest.Command) (res guest.Result, out Outcome, done bool) {
	// The smoke test sets its own timeout, the duration of the watch.
	if cmd.Timeout == 0 {
		cmd.Timeout = b.Timeout
	}
	cmd.Env = withoutCaches(cmd.Env)
	// Scripts call `env node` and must find the one that the workspace asks for.
	if p := b.Tools.Path(); p != "" && cmd.Env["PATH"] == "" {
		cmd.Env["PATH"] = p
	}
	tool := cmd.Args[0]
	start := time.Now()
	res, err := b.Box.Run(ctx, cmd)
	// The order of the cases matters: a box that ran out of memory is often also late, killed or ended by a signal, and
	// the lack of memory is the explanation.
	out = Outcome{Output: Shown(res), Seconds: time.Since(start).Seconds(), Peak: res.PeakBytes, Reached: res.Reached}
	switch {
	case err != nil:
		out.Verdict, out.Detail = Infra, fmt.Sprintf("run %s: %v", tool, err)
	case res.OOM:
		out.Verdict, out.Detail = OOM, fmt.Sprintf("%s ran out of the box's memory", tool)
	case res.TimedOut:
		out.Verdict, out.Detail = Timeout, fmt.Sprintf("%s did not finish within %s", path.Base(tool), cmd.Timeout)
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

// withoutCaches adds to an environment what keeps Python from trusting byte code in the workspace: byte code itself
// names the source that it was made of.
func withoutCaches(env map[string]string) map[string]string {
	env = maps.Clone(env)
	if env == nil {
		env = map[string]string{}
	}
	env["PYTHONPYCACHEPREFIX"] = "/tmp/pycache"
	return env
}

// missing returns the message that a tool is not in the image, with the remedy.
func missing(tool string) string {
	return fmt.Sprintf("%s is missing or does not start in the toolchain image; rebuild it with: agent images build", tool)
}

// InOrder iterates over what a check examines in each package, with the index in list: first the packages that the
// patch may affect, then the others unless b.Leave is set. Each package has its own process, so the order inside a
// package does not change.
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

// Itself returns root: the root of an item that is itself a root.
func Itself(root string) string { return root }
