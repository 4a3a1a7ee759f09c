package guest

import (
	"fmt"
	"testing"
)

// BenchmarkFill copies a workspace of 2,000 small files in 40 directories.
func BenchmarkFill(b *testing.B) {
	files := map[string]sealedFile{}
	for i := range 2000 {
		files[fmt.Sprintf("d%d/f%d", i%40, i)] = sealedFile{string(make([]byte, 2000)), 0o644}
	}
	src, key := sealedDir(b, files)
	for b.Loop() {
		b.StopTimer()
		dst := b.TempDir()
		b.StartTimer()
		var ready Ready
		if err := fill(src, dst, key, &ready); err != nil || ready.Files != 2000 {
			b.Fatal(ready, err)
		}
	}
}
