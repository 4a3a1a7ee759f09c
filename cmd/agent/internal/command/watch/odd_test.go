package watch

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"agent/orchestrator/run"
)

// What was judged stands again once it can be looked at again: neither is it proved anew, nor does the trouble stay on the screen;
// and the same trouble later is told again.
func TestTroubleThatIsOverIsNotShown(t *testing.T) {
	t.Parallel()
	f, ctx := newFilm(strings.Fields("a a !gone !gone a a !gone a b b"), failed(), passed())
	if err := f.watch(ctx); err != nil || f.proofs != 2 {
		t.Errorf("%d proofs, %v", f.proofs, err)
	}
	var said []string
	for line := range strings.Lines(f.out.String()) {
		said = append(said, strings.Fields(line)[1])
	}
	if got := strings.Join(said, " "); got != "proving fails not fails not fails proving passes" {
		t.Errorf("%s:\n%s", got, f.out.String())
	}
}

// A machine that cannot judge is asked again as long as nothing changes, and each time it is told.
func TestWhatCouldNotBeJudgedIsTriedAgain(t *testing.T) {
	t.Parallel()
	f, ctx := newFilm(strings.Fields("a a a a b"), run.Document{Exit: run.ExitInfra, Error: &run.Problem{Message: "no engine answers"}}, passed())
	if err := f.watch(ctx); err != nil || f.proofs != 2 || !strings.Contains(f.out.String(), "passes") {
		t.Errorf("%d proofs, %v\n%s", f.proofs, err, f.out.String())
	}
}

// shut takes nothing.
type shut struct{ bytes.Buffer }

func (*shut) Write([]byte) (int, error) { return 0, errors.New("nobody reads") }

// Where nobody reads the states any more, nothing is proved for ever.
func TestAReaderThatIsGoneEndsIt(t *testing.T) {
	t.Parallel()
	for _, json := range []bool{true, false} {
		for looks, proofs := range map[string]int{"a a b b": 0, "!gone a a": 0} {
			f, ctx := newFilm(strings.Fields(looks), passed())
			f.Stdout, f.json = &shut{}, json
			if err := f.watch(ctx); err == nil || f.proofs != proofs {
				t.Errorf("%s: %d proofs, %v", looks, f.proofs, err)
			}
		}
	}
}
