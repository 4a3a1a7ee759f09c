package guest

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// BenchmarkFill copies a workspace of 2,000 small files in 40 directories.
func BenchmarkFill(b *testing.B) {
	src := b.TempDir()
	for i := range 2000 {
		dir := filepath.Join(src, fmt.Sprintf("d%d", i%40))
		if err := os.MkdirAll(dir, 0o755); err != nil {
			b.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("f%d", i)), make([]byte, 2000), 0o644); err != nil {
			b.Fatal(err)
		}
	}
	for b.Loop() {
		b.StopTimer()
		dst := b.TempDir()
		b.StartTimer()
		var ready Ready
		if err := fill(src, dst, &ready); err != nil || ready.Files != 2000 {
			b.Fatal(ready, err)
		}
	}
}
