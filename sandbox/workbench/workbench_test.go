package workbench

import (
	"archive/tar"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net"
	"strings"
	"testing"

	"agent/sandbox/guest"
	"agent/sandbox/guest/wire"
)

// A said file is one entry of a hostile tar stream.
type said struct {
	name, content string
	kind          byte
	mode          int64
}

// archived returns a tar stream of these entries.
func archived(t *testing.T, list ...said) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, s := range list {
		if err := w.WriteHeader(&tar.Header{Typeflag: s.kind, Name: s.name, Linkname: "/etc/passwd", Size: int64(len(s.content)), Mode: s.mode}); err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(w, s.content); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// told returns the stream to a guest that reads the known files, then sends this data and this end and nothing else.
func told(t *testing.T, data []byte, end string) net.Conn {
	t.Helper()
	var frames bytes.Buffer
	w := wire.NewDataWriter(&frames)
	_, err := w.Write(data)
	err = errors.Join(err, w.Close(), wire.WriteFrame(&frames, wire.KindExtracted, []byte(end)))
	if err != nil {
		t.Fatal(err)
	}
	ours, theirs := net.Pipe()
	t.Cleanup(func() { ours.Close(); theirs.Close() })
	go func() {
		for { // the rules, and then the known files to their end
			kind, payload, err := wire.ReadFrame(theirs, 1<<20)
			if err != nil || kind == wire.KindData && len(payload) == 0 {
				break
			}
		}
		_, _ = theirs.Write(frames.Bytes())
	}()
	return ours
}

func TestAnExtractIsWhatTheBoxSays(t *testing.T) {
	t.Parallel()
	rules := guest.Rules{MaxFile: 10, MaxFiles: 2, MaxBytes: 15, MaxDepth: 4}
	known := []guest.Known{{Path: "gone"}}
	stream := told(t, archived(t, said{"a", "1234567890", tar.TypeReg, 0o644}, said{"../b", "x", tar.TypeReg, 0o6711}), `{"gone":["gone"],"left":[{"path":"l","reason":"device"}],"left_count":7}`)
	got, err := Take(stream, rules, known)
	if err != nil {
		t.Fatal(err)
	}
	text, _ := json.Marshal(got)
	const want = `{"Files":{"../b":{"Content":"eA==","Exec":true},"a":{"Content":"MTIzNDU2Nzg5MA==","Exec":false}},"Gone":["gone"],"Left":[{"path":"l","reason":"device"}],"LeftCount":7}`
	if string(text) != want {
		t.Errorf("got  %s\nwant %s", text, want)
	}
	_, err = Take(told(t, archived(t)[:512], `{"problem":"more than 2 files changed"}`), rules, known)
	var over *ExtractError
	if !errors.As(err, &over) || over.Problem != "more than 2 files changed" {
		t.Errorf("over its bounds: %v", err)
	}
}

// A guest that programs have taken over may send anything: no part of such an extract is taken.
func TestAnExtractThatNoGuestWouldSendIsRefused(t *testing.T) {
	t.Parallel()
	rules := guest.Rules{MaxFile: 10, MaxFiles: 2, MaxBytes: 15, MaxDepth: 4}
	a := said{"a", "1", tar.TypeReg, 0o644}
	b := said{"b", "1", tar.TypeReg, 0o644}
	for name, test := range map[string]struct {
		data []byte
		end  string
		want string
	}{
		"a link":             {archived(t, said{"a", "", tar.TypeSymlink, 0o777}), `{}`, "not a regular file"},
		"a hard link":        {archived(t, said{"a", "", tar.TypeLink, 0o777}), `{}`, "not a regular file"},
		"a device":           {archived(t, said{"a", "", tar.TypeChar, 0o777}), `{}`, "not a regular file"},
		"a directory":        {archived(t, said{"a/", "", tar.TypeDir, 0o777}), `{}`, "not a regular file"},
		"one file twice":     {archived(t, a, a), `{}`, "occurs twice"},
		"a large file":       {archived(t, said{"a", strings.Repeat("x", 11), tar.TypeReg, 0o644}), `{}`, "exceeds what may be taken"},
		"many files":         {archived(t, a, b, said{"c", "1", tar.TypeReg, 0o644}), `{}`, "exceeds what may be taken"},
		"many bytes":         {archived(t, said{"a", "123456789", tar.TypeReg, 0o644}, said{"b", "123456789", tar.TypeReg, 0o644}), `{}`, "exceeds what may be taken"},
		"half a stream":      {archived(t, a, b)[:1100], `{}`, "unexpected EOF"},
		"no stream":          {bytes.Repeat([]byte("x"), 2048), `{}`, "invalid tar header"},
		"more after its end": {append(archived(t, a), make([]byte, 1<<20)...), `{}`, "the tar stream is larger"},
		"more gone":          {archived(t, a), `{"gone":["x","y"]}`, "more files are gone"},
		"fewer left":         {archived(t, a), `{"left":[{"path":"l"}]}`, "more files are gone or left"},
		"a long story":       {archived(t, a), `{"left_count":1,"left":[{"path":"l","reason":"` + strings.Repeat("x", 201) + `"}]}`, "more files are gone or left"},
		"no answer":          {archived(t, a), `{`, "decode frame"},
	} {
		if got, err := Take(told(t, test.data, test.end), rules, []guest.Known{{Path: "gone"}}); err == nil || !strings.Contains(err.Error(), test.want) || got.Files != nil {
			t.Errorf("%s: %+v, %v; want %q", name, got, err, test.want)
		}
	}
}

// Output is shown as it arrives, and typed input is sent.
func TestAConsoleShowsAndTypes(t *testing.T) {
	t.Parallel()
	var out, trouble bytes.Buffer
	c := Console{Stdout: &out, Stderr: &trouble}
	for _, p := range []string{"\x01to out", "\x02to err"} {
		if err := c.Show(wire.KindOutput, []byte(p)); err != nil {
			t.Error(err)
		}
	}
	if out.String()+"|"+trouble.String() != "to out|to err" {
		t.Errorf("%q, %q", &out, &trouble)
	}
	for name, err := range map[string]error{
		"another stream": c.Show(wire.KindOutput, []byte("\x03x")), "no stream": c.Show(wire.KindOutput, nil),
		"another frame": c.Show(wire.KindRun, []byte("\x01x")), "nobody asked": Console{}.Show(wire.KindOutput, []byte("\x01x")),
	} {
		if err == nil {
			t.Errorf("%s is shown", name)
		}
	}
	typed, sizes := make(chan []byte), make(chan guest.Size)
	from, to := net.Pipe()
	end := Console{Typed: typed, Sizes: sizes}.Typing(t.Context(), to)
	typed <- []byte("ls\r")
	if kind, p, err := wire.ReadFrame(from, 100); kind != wire.KindInput || string(p) != "ls\r" || err != nil {
		t.Errorf("%c %q %v", kind, p, err)
	}
	sizes <- guest.Size{Rows: 24, Columns: 80}
	if kind, p, err := wire.ReadFrame(from, 100); kind != wire.KindResize || string(p) != `{"rows":24,"columns":80}` || err != nil {
		t.Errorf("%c %q %v", kind, p, err)
	}
	end()
}
