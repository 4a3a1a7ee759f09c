package termtest

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// Editor returns the path of a program that replaces one text by another in every file that it is given.
func Editor(t *testing.T, from, to string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "editor")
	if err := os.WriteFile(path, fmt.Appendf(nil, "#!/bin/sh\nexec sed -i 's/%s/%s/' \"$@\"\n", from, to), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}
