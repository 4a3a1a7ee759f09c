package workspace_test

import (
	"errors"
	"sync"
	"testing"

	"agent/sandbox/workspace"
)

type question string

// Each answer is found only once, even by concurrent callers, and is remembered only for the manifest that it was found
// for.
func TestWhatIsFoundOutIsFoundOnce(t *testing.T) {
	t.Parallel()
	var m, other workspace.Manifest
	asked := 0
	count := func() (int, error) { asked++; return asked, nil }
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			if n, err := workspace.Recall(m.Memo(), question("n"), count); n != 1 || err != nil {
				t.Error(n, err)
			}
		})
	}
	all.Wait()
	for n, memo := range []*workspace.Memo{m.Memo(), other.Memo(), nil, nil} {
		if got, err := workspace.Recall(memo, question("n"), count); got != n+1 || err != nil {
			t.Errorf("%d of %d: %v", got, n, err)
		}
	}
	if got, err := workspace.Recall(m.Memo(), question("another"), count); got != 5 || err != nil {
		t.Errorf("another question got %d: %v", got, err)
	}
}

// TestTroubleIsNotRemembered: a file that could not be read may be readable the next time.
func TestTroubleIsNotRemembered(t *testing.T) {
	t.Parallel()
	var m workspace.Manifest
	trouble := errors.New("no more descriptors")
	if _, err := workspace.Recall(m.Memo(), question("q"), func() (string, error) { return "", trouble }); !errors.Is(err, trouble) {
		t.Error(err)
	}
	if got, err := workspace.Recall(m.Memo(), question("q"), func() (string, error) { return "well", nil }); got != "well" || err != nil {
		t.Error(got, err)
	}
}
