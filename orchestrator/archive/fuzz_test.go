package archive_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"agent/orchestrator/archive"
)

// FuzzOpen opens arbitrary bytes as an archive. Bytes that are not an archive give an error that says so; an archive has only contents
// that can be read whole.
func FuzzOpen(f *testing.F) {
	whole := newRecord(f).write(f)
	f.Add(whole)
	f.Add(whole[:len(whole)/2])
	f.Add(whole[:512])
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, data []byte) {
		a, err := archive.Open(t.Context(), bytes.NewReader(data), int64(len(data)))
		if err != nil {
			var damaged *archive.DamagedError
			if !errors.As(err, &damaged) || damaged.Reason == "" {
				t.Fatalf("%v is no reason", err)
			}
			return
		}
		if a.Parts < 5 || a.Fingerprint == "" || a.Size != int64(len(data)) {
			t.Errorf("%+v", a)
		}
		if _, err := a.Content(strings.Repeat("0", 64)); err == nil {
			t.Error("a content that is not there is read")
		}
	})
}
