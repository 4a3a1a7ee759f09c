package smoke

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"agent/verify/verifytest"
)

func TestVolatilePartsOfACrashDoNotMakeItNew(t *testing.T) {
	t.Parallel()
	a := readEnding(verifytest.Ended(1, nil, []byte("Traceback (most recent call last):\nValueError: <X at 0x7f00aa> port 4711\n")))
	b := readEnding(verifytest.Ended(1, nil, []byte("Traceback (most recent call last):\nValueError: <X at 0x7fffbb> port 815\n")))
	if d := cmp.Diff(a.Crashes, b.Crashes); d != "" || len(a.Crashes) != 1 {
		t.Error(d, a.Crashes)
	}
}
