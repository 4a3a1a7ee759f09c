package verify

import (
	"context"
	"strings"
	"sync"
	"testing"

	"agent/sandbox"
	"agent/verify/check"
	"agent/verify/verifytest"
)

// A counter starts boxes and counts those of each purpose.
type counter struct {
	Launcher
	mu      sync.Mutex
	started map[string]int
}

func (c *counter) Start(ctx context.Context, spec sandbox.Spec) (*sandbox.Box, error) {
	c.mu.Lock()
	c.started[spec.Purpose]++
	c.mu.Unlock()
	return c.Launcher.Start(ctx, spec)
}

// A program that is only a guess is looked at briefly, and what can be imported is tried as well. The program is watched to the end if a
// brief look at one side cannot be compared with the end of the other.
func TestAGuessIsWatchedToTheEndWhereALookDoesNotTell(t *testing.T) {
	t.Parallel()
	const work, sleeps = "def work() -> None:\n    pass\n", "import time\n\n\ndef work() -> None:\n    time.sleep(99)\n"
	const fails = "import time\n\n\ndef work() -> None:\n    time.sleep(5)\n    raise LookupError(\"late\")\n"
	for name, c := range map[string]struct {
		before, after string
		verdict       check.Verdict
		rule          string
		again         int
	}{
		"as before":         {sleeps, sleeps + "\n\nMORE = 1\n", check.Pass, "", 0},
		"it ends badly now": {work, fails, check.Fail, "LookupError", 1},
		"it only waits now": {work, sleeps, check.Fail, "smoke-wait", 1},
		"it ended late":     {fails, "def work() -> None:\n    raise LookupError(\"late\")\n", check.Pass, "", 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, map[string]string{
				"shop/__init__.py": "", "shop/work.py": c.before, "shop/cli.py": "from shop.work import work\n\nif __name__ == \"__main__\":\n    work()\n",
			})
			boxes, cache := &counter{Launcher: s.lab.Engine, started: map[string]int{}}, verifytest.NewMemory()
			cache.Rows[proofKey(s.lab)] = allProved()
			s.verifier = &Verifier{Boxes: boxes, Cache: cache}
			g := find(t, s.only(check.GateSmoke).verify(t, map[string]string{"shop/work.py": c.after}), check.GateSmoke)
			if g.Verdict != c.verdict || (c.rule == "") != (len(g.Findings) == 0) || c.rule != "" && g.Findings[0].Rule != c.rule || !strings.Contains(g.Detail, "imported 1 of 1") {
				t.Errorf("%s: %s %+v", g.Verdict, g.Detail, g.Findings)
			}
			if n := boxes.started["rewatch-"+check.GroupSmoke]; n != c.again {
				t.Errorf("%d boxes to watch it to the end, want %d", n, c.again)
			}
		})
	}
}
