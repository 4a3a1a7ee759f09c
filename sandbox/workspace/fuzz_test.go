package workspace

import (
	"path"
	"path/filepath"
	"strings"
	"testing"
)

// FuzzInventory reads arbitrary text as the list of a workspace's files. Accepted paths lie inside, occur once, and
// have only directories above them.
func FuzzInventory(f *testing.F) {
	digest := strings.Repeat("0", 64)
	f.Add([]byte(`{"entries":[{"path":"a","kind":"dir","mode":493},{"path":"a/f","kind":"file","mode":420,"size":1,"sha256":"` + digest + `"}]}`))
	f.Add([]byte(`{"entries":[{"path":"l","kind":"symlink","mode":511,"target":"x","sha256":"` + Digest([]byte("x")) + `"},{"path":"l/x","kind":"dir","mode":493}]}`))
	f.Add([]byte(`{"entries":[{"path":"../a","kind":"dir","mode":493}]}`))
	f.Add([]byte(`{"entries":[{"path":"a","kind":"file","size":9223372036854775807,"sha256":"` + digest + `"},{"path":"b","kind":"file","size":9223372036854775807,"sha256":"` + digest + `"}]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		inv, err := readInventory(text)
		if err != nil {
			return
		}
		kinds, size := map[string]Kind{".": Dir}, uint64(0)
		for _, e := range inv.Entries {
			if !filepath.IsLocal(e.Path) || kinds[e.Path] != "" || kinds[path.Dir(e.Path)] != Dir || e.Size < 0 {
				t.Fatalf("%+v after %v", e, kinds)
			}
			kinds[e.Path] = e.Kind
			size += uint64(e.Size)
		}
		if size > maxBytes {
			t.Errorf("%d bytes", size)
		}
	})
}
