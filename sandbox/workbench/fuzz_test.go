package workbench

import (
	"archive/tar"
	"bytes"
	"io"
	"testing"

	"agent/sandbox/guest"
	"agent/sandbox/guest/wire"
)

// A duplex is a stream whose other end has nothing more to say.
type duplex struct {
	io.Reader
	io.Writer
}

// Whatever comes over the stream, an accepted extract is within the rules and names no file twice.
func FuzzTake(f *testing.F) {
	frames := func(pieces ...[]byte) []byte {
		var b bytes.Buffer
		for _, p := range pieces[:len(pieces)-1] {
			if err := wire.WriteFrame(&b, wire.KindData, p); err != nil {
				f.Fatal(err)
			}
		}
		if err := wire.WriteFrame(&b, wire.KindExtracted, pieces[len(pieces)-1]); err != nil {
			f.Fatal(err)
		}
		return b.Bytes()
	}
	var archive bytes.Buffer
	w := tar.NewWriter(&archive)
	for _, name := range []string{"a", "dir/b", "../up", "ä"} {
		if err := w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: name, Size: 3, Mode: 0o755}); err != nil {
			f.Fatal(err)
		}
		if _, err := w.Write([]byte("abc")); err != nil {
			f.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		f.Fatal(err)
	}
	f.Add(frames(archive.Bytes(), nil, []byte(`{"gone":["x"],"left":[{"path":"l","reason":"device"}],"left_count":1}`)))
	f.Add(frames(archive.Bytes()[:700], nil, []byte(`{"problem":"too much"}`)))
	f.Add(frames(nil, []byte(`{}`)))
	f.Add([]byte("\x00\x00\x00\x05D"))
	f.Add([]byte("\xff\xff\xff\xffe{}"))
	rules := guest.Rules{MaxFile: 8, MaxFiles: 3, MaxBytes: 20, MaxDepth: 4}
	known := []guest.Known{{Path: "x"}, {Path: "y"}}
	f.Fuzz(func(t *testing.T, said []byte) {
		got, err := Take(duplex{bytes.NewReader(said), io.Discard}, rules, known)
		if err != nil {
			if got.Files != nil || got.Gone != nil || got.Left != nil {
				t.Errorf("with %v there is %+v", err, got)
			}
			return
		}
		var total int
		for name, f := range got.Files {
			if total += len(f.Content); len(f.Content) > int(rules.MaxFile) {
				t.Errorf("%q has %d bytes", name, len(f.Content))
			}
		}
		if len(got.Files) > rules.MaxFiles || total > int(rules.MaxBytes) || len(got.Gone) > len(known) || len(got.Left) > guest.MaxLeft || got.LeftCount < len(got.Left) {
			t.Errorf("%d files of %d bytes, %d gone, %d left of %d", len(got.Files), total, len(got.Gone), len(got.Left), got.LeftCount)
		}
	})
}

// A console shows output in whole pieces, and treats no other frame as output.
func FuzzShow(f *testing.F) {
	f.Add(byte('O'), []byte("\x01text"))
	f.Add(byte('O'), []byte("\x02"))
	f.Add(byte('E'), []byte("{}"))
	f.Add(byte('o'), []byte("\x00\x00\x00\x01"))
	f.Fuzz(func(t *testing.T, kind byte, payload []byte) {
		var out, trouble bytes.Buffer
		err := Console{Stdout: &out, Stderr: &trouble}.Show(wire.Kind(kind), payload)
		shown := out.Len() + trouble.Len()
		if err == nil && (wire.Kind(kind) != wire.KindOutput || shown != len(payload)-1) || err != nil && shown > 0 {
			t.Errorf("frame %q of %d bytes shows %d, %v", kind, len(payload), shown, err)
		}
	})
}
