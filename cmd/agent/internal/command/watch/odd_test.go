package watch

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"agent/orchestrator/run"
)

// Once the workspace can be read again, the last result applies: it is not proved again, and the error leaves the
// screen. The same error is reported again if it recurs.
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

// A machine that cannot judge is tried again as long as nothing changes, and each failure is reported.
func TestWhatCouldNotBeJudgedIsTriedAgain(t *testing.T) {
	t.Parallel()
	f, ctx := newFilm(strings.Fields("a a a a b"), run.Document{Exit: run.ExitInfra, Error: &run.Problem{Message: "no engine answers"}}, passed())
	if err := f.watch(ctx); err != nil || f.proofs != 2 || !strings.Contains(f.out.String(), "passes") {
		t.Errorf("%d proofs, %v\n%s", f.proofs, err, f.out.String())
	}
}

// shut is a writer that accepts nothing.
type shut struct{ bytes.Buffer }

func (*shut) Write([]byte) (int, error) { return 0, errors.New("nobody reads") }

// If the reader of the states has gone, the watch ends instead of proving forever.
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
