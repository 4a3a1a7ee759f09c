package ledger_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"agent/orchestrator/ledger"
)

// BenchmarkLedger reports the seconds of a first scan of 5,000 files, box and ledger included, and the cost of one later edit as a share
// of that: a scan of one file in a fresh box, and the update of the ledger with its ripples.
func BenchmarkLedger(b *testing.B) {
	files := map[string]string{}
	for i := range 5000 {
		var t strings.Builder
		fmt.Fprintf(&t, "\"\"\"Module %d.\"\"\"\nfrom pkg%d.mod%d import run_%d, Thing%d\nLIMIT_%d = %d\n", i, (i+1)%50, (i+1)%5000, (i+1)%5000, (i+1)%5000, i, i)
		fmt.Fprintf(&t, "\n\ndef run_%d(value):\n    return run_%d(value) + LIMIT_%d\n\n\nclass Thing%d(Thing%d):\n", i, (i+1)%5000, i, i, (i+1)%5000)
		for m := range 30 {
			fmt.Fprintf(&t, "    def method_%d(self, a, b=%d):\n        \"\"\"Does it.\"\"\"\n        if a > b:\n            return self.method_%d(a, b) + len(str(a))\n        return [x.name for x in (a, b)]\n\n", m, m, (m+1)%30)
		}
		files[fmt.Sprintf("pkg%d/mod%d.py", i%50, i)] = t.String()
	}
	paths := slices.Sorted(maps.Keys(files))
	for b.Loop() {
		box := startBox(b, files)
		start := time.Now()
		l := ledger.New(scanIn(b, box, paths))
		cold := time.Since(start)
		one := "pkg7/mod7.py"
		edited := map[string]string{one: strings.ReplaceAll(files[one], "def run_7(value)", "def run_7(value, more)")}
		start = time.Now()
		fresh := startBox(b, edited)
		ready := time.Since(start)
		again := scanIn(b, fresh, []string{one})
		scanned := time.Since(start)
		found := l.Update(again, nil)
		warm := time.Since(start)
		if len(found) != 1 {
			b.Fatalf("%d ripples", len(found))
		}
		b.ReportMetric(cold.Seconds(), "s/cold")
		b.ReportMetric(1000*ready.Seconds(), "ms/box")
		b.ReportMetric(1000*(scanned-ready).Seconds(), "ms/scan")
		b.ReportMetric(1000*(warm-scanned).Seconds(), "ms/update")
		b.ReportMetric(100*warm.Seconds()/cold.Seconds(), "%/edit")
	}
}
