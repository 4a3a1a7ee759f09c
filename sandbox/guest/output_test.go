package guest

import (
	"bytes"
	"testing"

	"pgregory.net/rapid"
)

func TestCaptureKeepsHeadAndTail(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limit := rapid.IntRange(0, 40).Draw(t, "limit")
		c := newCapture(limit)
		var all []byte
		for _, piece := range rapid.SliceOfN(rapid.SliceOfN(rapid.Byte(), 0, 30), 0, 12).Draw(t, "pieces") {
			if n, err := c.Write(piece); n != len(piece) || err != nil {
				t.Fatalf("wrote %d of %d: %v", n, len(piece), err)
			}
			all = append(all, piece...)
		}
		out := c.output()
		if len(all) <= limit {
			if !bytes.Equal(out.Head, all) || out.Tail != nil || out.Dropped != 0 {
				t.Fatalf("%q within the limit became %+v", all, out)
			}
			return
		}
		if len(out.Head)+len(out.Tail) != limit || len(out.Head)-len(out.Tail) > 1 {
			t.Fatalf("limit %d: kept %d and %d", limit, len(out.Head), len(out.Tail))
		}
		if !bytes.HasPrefix(all, out.Head) || !bytes.HasSuffix(all, out.Tail) || out.Dropped != int64(len(all)-limit) {
			t.Fatalf("%q became %+v", all, out)
		}
	})
}

func TestOutputBytesSayWhatIsMissing(t *testing.T) {
	tests := []struct {
		out  Output
		want string
	}{
		{Output{}, ""},
		{Output{Head: []byte("whole")}, "whole"},
		{Output{Head: []byte("a"), Tail: []byte("z"), Dropped: 24}, "a\n… 24 bytes dropped …\nz"},
	}
	for _, test := range tests {
		if got := string(test.out.Bytes()); got != test.want {
			t.Errorf("%+v: %q, want %q", test.out, got, test.want)
		}
	}
	// The caller owns the result.
	out := Output{Head: append(make([]byte, 0, 10), "head"...)}
	out.Bytes()[0] = 'H'
	if string(out.Head) != "head" {
		t.Error("Bytes shares memory with Head")
	}
}
