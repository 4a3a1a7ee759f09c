package crash

import (
	"testing"

	"agent/verify/check"
	"agent/verify/checktest"
)

// FuzzFind looks for crashes in any text: their places are inside the workspace, and their messages have a bounded length.
func FuzzFind(f *testing.F) {
	f.Add("Traceback (most recent call last):\n  File \"/work/a.py\", line 3, in f\nValueError: x\n")
	f.Add("/work/a.js:2\nx\n^\n\nError: x\n    at f (/work/a.js:2:1)\n\nNode.js v20.1.0\n")
	f.Add("panic: x\n\ngoroutine 1 [running]:\nmain.main()\n\t/work/a.go:1 +0x1\n")
	f.Add("Exception in thread T:\nTraceback (most recent call last):\n  File \"/work/../etc/passwd\", line 99999999999999999999, in f\nE\n")
	f.Fuzz(func(t *testing.T, text string) {
		var found []check.Finding
		reports := Find(text)
		for _, r := range reports {
			found = append(found, r.Finding)
		}
		checktest.Inside(t, found)
		if n := LastOwn(reports); n >= len(reports) || n < -1 {
			t.Errorf("report %d of %d", n, len(reports))
		}
	})
}
