package edit_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"agent/orchestrator/edit"
)

// A file with one line of ten megabytes is edited exactly or refused with a reason, within 256 MiB and well within a second, or three on
// a busy machine. It does not run in parallel, because it measures allocations.
func TestOneVeryLongLine(t *testing.T) {
	for name, long := range map[string]string{"tokens": strings.Repeat("x=f(a,b);", 10<<20/9), "a word": strings.Repeat("y", 10<<20)} {
		file := "if a:\n  " + long + "\n"
		for _, c := range []struct{ name, search, want string }{
			{"another line", "if a:", ""},
			{"the line", "  " + long, ""},
			{"the line, dedented", long, "only equal lines are found"},
			{"a part of it", long[90:180], "only equal lines are found"},
			{"a line that is like it", long[:len(long)-4] + "q", "only equal lines are found"},
			{"nothing like it", "z = 1", "only equal lines are found"},
		} {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			began := time.Now()
			_, _, err := edit.ApplyBlocks("a.py", []byte(file), []edit.Block{{Search: c.search, Replace: "if b:"}})
			took := time.Since(began)
			runtime.ReadMemStats(&after)
			if (err == nil) != (c.want == "") || !strings.Contains(fmt.Sprint(err), c.want) {
				t.Errorf("%s, %s: %.200v", name, c.name, err)
			}
			if size := (after.TotalAlloc - before.TotalAlloc) >> 20; took > 3*time.Second || size > 256 {
				t.Errorf("%s, %s: %v and %d MiB", name, c.name, took, size)
			}
		}
	}
}
