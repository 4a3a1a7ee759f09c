package wire

import (
	"bytes"
	"errors"
	"io"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"

	"pgregory.net/rapid"
)

func TestFramesComeBackAsTheyWereWritten(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		kinds := rapid.SliceOf(rapid.Byte()).Draw(t, "kinds")
		var stream bytes.Buffer
		payloads := make([][]byte, len(kinds))
		for i, kind := range kinds {
			payloads[i] = rapid.SliceOfN(rapid.Byte(), 0, 300).Draw(t, "payload")
			if err := WriteFrame(&stream, Kind(kind), payloads[i]); err != nil {
				t.Fatal(err)
			}
		}
		r := iotest.OneByteReader(&stream)
		for i, want := range kinds {
			kind, payload, err := ReadFrame(r, 300)
			if err != nil || kind != Kind(want) || !bytes.Equal(payload, payloads[i]) {
				t.Fatalf("frame %d: %q %q, error %v", i, byte(kind), payload, err)
			}
		}
		if _, _, err := ReadFrame(r, 300); err != io.EOF {
			t.Fatalf("at the end: %v, want io.EOF", err)
		}
	})
}

// C19.
func TestReadFrameDistrustsTheSender(t *testing.T) {
	tests := []struct {
		name, stream string
		want         error
	}{
		{"no length", "\x00\x00", io.ErrUnexpectedEOF},
		{"no payload", "\x00\x00\x00\x04E", io.ErrUnexpectedEOF},
		{"half a payload", "\x00\x00\x00\x04Eab", io.ErrUnexpectedEOF},
		{"nothing", "", io.EOF},
	}
	for _, test := range tests {
		if _, _, err := ReadFrame(strings.NewReader(test.stream), 10); !errors.Is(err, test.want) {
			t.Errorf("%s: %v, want %v", test.name, err, test.want)
		}
	}
	if _, _, err := ReadFrame(strings.NewReader("\x00\x00\x00\x0bE0123456789a"), 10); err == nil {
		t.Error("a frame over the limit was read")
	}
}

// C19.
func TestReadFrameAllocatesWhatArrives(t *testing.T) {
	// The sender claims a gigabyte and sends three bytes.
	stream := "\x40\x00\x00\x00Eabc"
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if _, _, err := ReadFrame(strings.NewReader(stream), 1<<30); err == nil {
		t.Fatal("a frame was read that never came")
	}
	runtime.ReadMemStats(&after)
	if n := after.TotalAlloc - before.TotalAlloc; n > 16<<20 {
		t.Errorf("%d bytes allocated for three", n)
	}
}

func TestReadJSONWantsTheRightKind(t *testing.T) {
	var v struct{ Files int }
	for _, test := range []struct{ stream, want string }{
		{"\x00\x00\x00\x02E{}", "instead of"},
		{"\x00\x00\x00\x02R[]", "decode"},
		{"\x00\x00\x00\x02R{,", "decode"},
	} {
		err := ReadJSON(strings.NewReader(test.stream), KindReady, 100, &v)
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%q: %v, want an error with %q", test.stream, err, test.want)
		}
	}
}

func TestDataArrivesWhole(t *testing.T) {
	for _, size := range []int{0, 1, maxData - 1, maxData, maxData + 1, 3*maxData + 7} {
		content := bytes.Repeat([]byte("abcdefg"), size/7+1)[:size]
		var stream bytes.Buffer
		w := NewDataWriter(&stream)
		if _, err := io.Copy(w, bytes.NewReader(content)); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		stream.WriteString("rest")
		got, err := io.ReadAll(readerOf(&stream))
		if err != nil || !bytes.Equal(got, content) {
			t.Errorf("%d bytes: %d came back, error %v", size, len(got), err)
		}
		if stream.String() != "rest" {
			t.Errorf("%d bytes: %q left behind the data", size, stream.String())
		}
	}
}

func TestDataMustNotBeCutOrMixed(t *testing.T) {
	for _, stream := range []string{"", "\x00\x00\x00\x01Dx", "\x00\x00\x00\x01Dx\x00\x00\x00\x02C{}"} {
		r := readerOf(strings.NewReader(stream))
		if got, err := io.ReadAll(r); err == nil {
			t.Errorf("%q read as %q", stream, got)
		}
		if _, err := r.Read(make([]byte, 1)); err == nil || err == io.EOF {
			t.Errorf("%q: after an error: %v", stream, err)
		}
	}
}

// readerOf reads the Data frames of a stream.
func readerOf(r io.Reader) *DataReader {
	return &DataReader{Next: func() (Kind, []byte, error) { return ReadFrame(r, maxData) }}
}

func FuzzReadFrame(f *testing.F) {
	f.Add([]byte("\x00\x00\x00\x02E{}"))
	f.Add([]byte("\xff\xff\xff\xffE"))
	f.Add([]byte("\x00\x00"))
	f.Fuzz(func(t *testing.T, stream []byte) {
		r := bytes.NewReader(stream)
		kind, payload, err := ReadFrame(r, 1000)
		if err != nil {
			return
		}
		if len(payload) > 1000 || len(payload) > len(stream) {
			t.Fatalf("%d bytes out of %d", len(payload), len(stream))
		}
		var again bytes.Buffer
		must(t, WriteFrame(&again, kind, payload))
		if !bytes.HasPrefix(stream, again.Bytes()) {
			t.Fatalf("%q was read as %q", stream, again.Bytes())
		}
	})
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
