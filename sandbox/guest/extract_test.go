package guest

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"agent/sandbox/guest/wire"
)

// wide has limits that no test below reaches.
var wide = Rules{Skip: []string{"node_modules", ".git"}, MaxFile: 1 << 20, MaxFiles: 100, MaxBytes: 4 << 20, MaxDepth: 8}

// knownOf returns a known file with this content.
func knownOf(name, content string, exec bool) Known {
	sum := sha256.Sum256([]byte(content))
	return Known{Path: name, Digest: hex.EncodeToString(sum[:]), Size: int64(len(content)), Exec: exec}
}

// knownStream returns the stream that follows Rules.
func knownStream(t *testing.T, list ...Known) *bytes.Buffer {
	t.Helper()
	var b bytes.Buffer
	for _, k := range list {
		must(t, json.NewEncoder(&b).Encode(k))
	}
	return &b
}

// written makes files in a new directory. A name that ends in a slash is a directory.
func written(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range files {
		place := filepath.Join(dir, name)
		must(t, os.MkdirAll(filepath.Dir(place), 0o755))
		if strings.HasSuffix(name, "/") {
			must(t, os.MkdirAll(place, 0o755))
			continue
		}
		must(t, os.WriteFile(place, []byte(content), 0o644))
	}
	return dir
}

// taken reads a stream and lists its files as "name mode content".
func taken(t *testing.T, stream io.Reader) (list []string) {
	t.Helper()
	for archive := tar.NewReader(stream); ; {
		head, err := archive.Next()
		if err == io.EOF {
			return list
		}
		must(t, err)
		content, err := io.ReadAll(archive)
		must(t, err)
		list = append(list, head.Name+" "+os.FileMode(head.Mode).String()+" "+string(content))
	}
}

func TestExtractTakesWhatDiffers(t *testing.T) {
	t.Parallel()
	dir := written(t, map[string]string{
		"same.py": "same\n", "changed.py": "new\n", "mode.sh": "#!\n", "new/deep/file": "x", "was-dir": "now a file", "gone-dir/": "",
		"node_modules/a/index.js": "cache", ".git/config": "hook", "unread": "closed",
	})
	must(t, os.Chmod(filepath.Join(dir, "mode.sh"), 0o755))
	must(t, os.Chmod(filepath.Join(dir, "unread"), 0o200))
	var out bytes.Buffer
	found, err := extract(dir, wide, knownStream(t, knownOf("same.py", "same\n", false), knownOf("changed.py", "old\n", false), knownOf("mode.sh", "#!\n", false),
		knownOf("gone.py", "1", false), knownOf("gone-dir/a", "1", false), knownOf("was-dir/a", "1", false), Known{Path: "link"}, knownOf("node_modules/b", "1", false)), &out)
	must(t, err)
	want := []string{
		"changed.py -rw-r--r-- new\n", "mode.sh -rwxr-xr-x #!\n", "new/deep/file -rw-r--r-- x", "unread -rw-r--r-- closed", "was-dir -rw-r--r-- now a file",
	}
	if got := taken(t, &out); !slices.Equal(got, want) {
		t.Errorf("taken %q, want %q", got, want)
	}
	if want := []string{"gone-dir/a", "gone.py", "link", "was-dir/a"}; !slices.Equal(found.Gone, want) || found.LeftCount != 0 || found.Problem != "" {
		t.Errorf("found %+v, want gone %q", found, want)
	}
}

func TestExtractLeavesWhatNoPatchHolds(t *testing.T) {
	t.Parallel()
	dir := written(t, map[string]string{"big": strings.Repeat("x", 1<<20+1), "a/b/c/d/e/f/g/h/i/deep": "x", "ok": "x"})
	must(t, os.Symlink("/etc/passwd", filepath.Join(dir, "link")))
	must(t, os.Symlink("ok", filepath.Join(dir, "old-link")))
	must(t, os.Symlink("ok", filepath.Join(dir, "was-file")))
	must(t, syscall.Mkfifo(filepath.Join(dir, "fifo"), 0o644))
	must(t, os.WriteFile(filepath.Join(dir, "\xff\xfe"), nil, 0o644))
	l, err := net.Listen("unix", filepath.Join(dir, "socket"))
	must(t, err)
	defer l.Close()
	var out bytes.Buffer
	found, err := extract(dir, wide, knownStream(t, Known{Path: "old-link"}, knownOf("was-file", "1", false), knownOf("a/b/c/d/e/f/g/h/i/old", "1", false)), &out)
	must(t, err)
	if got := taken(t, &out); !slices.Equal(got, []string{"ok -rw-r--r-- x"}) {
		t.Errorf("taken %q", got)
	}
	var left []string
	for _, l := range found.Left {
		left = append(left, l.Path+": "+l.Reason)
	}
	want := []string{
		`"\xff\xfe": its name is not UTF-8`, "a/b/c/d/e/f/g/h/i: too deep", "big: 1048577 bytes, and a file in a patch may have 1048576",
		"fifo: named pipe", "link: symbolic link", "socket: socket", "was-file: symbolic link",
	}
	slices.Sort(left)
	if !slices.Equal(left, want) || found.LeftCount != len(want) || len(found.Gone) > 0 {
		t.Errorf("left %q (%d), want %q; gone %q", left, found.LeftCount, want, found.Gone)
	}
}

func TestExtractKeepsToItsBounds(t *testing.T) {
	t.Parallel()
	few, small := wide, wide
	few.MaxFiles, small.MaxBytes = 2, 3
	dir := written(t, map[string]string{"a": "1", "b": "2", "c": "3", "d": "4"})
	for want, rules := range map[string]Rules{"more than 2 files changed": few, "more than 0 MiB in total": small} {
		var out bytes.Buffer
		if found, err := extract(dir, rules, knownStream(t), &out); err != nil || !strings.Contains(found.Problem, want) {
			t.Errorf("%+v, %v: want %q", found, err, want)
		}
	}
	if found, err := extract(filepath.Join(dir, "absent"), wide, knownStream(t), io.Discard); err != nil || found.Problem == "" {
		t.Errorf("no workspace: %+v, %v", found, err)
	}
	if found, err := extract(dir, wide, strings.NewReader("{no"), io.Discard); err != nil || !strings.Contains(found.Problem, "read the known files") {
		t.Errorf("no list: %+v, %v", found, err)
	}
	if _, err := extract(dir, wide, knownStream(t), brokenWriter{}); !errors.Is(err, os.ErrClosed) {
		t.Errorf("a host that has gone: %v", err)
	}
	// A thousand links are counted; only MaxLeft are named.
	for i := range 1000 {
		must(t, os.Symlink("a", filepath.Join(dir, "link"+string(rune('a'+i%26))+strings.Repeat("x", i/26))))
	}
	if found, err := extract(dir, wide, knownStream(t), io.Discard); err != nil || found.LeftCount != 1000 || len(found.Left) != MaxLeft {
		t.Errorf("%d named of %d, %v", len(found.Left), found.LeftCount, err)
	}
}

// The server answers what follows an extraction as usual, however the extraction ended.
func TestServeAnswersAnExtraction(t *testing.T) {
	work := written(t, map[string]string{"a": "1"})
	var input bytes.Buffer
	for _, known := range []string{`{"p":"a","d":"x","n":1}{"p":"b","d":"y"}`, "no JSON" + strings.Repeat(" ", 3<<20)} {
		must(t, wire.WriteJSON(&input, wire.KindExtract, wide))
		w := wire.NewDataWriter(&input)
		_, err := io.WriteString(w, known)
		must(t, err)
		must(t, w.Close())
	}
	out, err := serveInput(t, work, input.Bytes())
	must(t, err)
	for i, want := range []string{"a -rw-r--r-- 1", ""} {
		data := &wire.DataReader{Next: func() (wire.Kind, []byte, error) { return wire.ReadFrame(out, 1<<20) }}
		if got := strings.Join(taken(t, data), ","); got != want {
			t.Errorf("answer %d: %q, want %q", i, got, want)
		}
		_, err := io.Copy(io.Discard, data) // the padding of the archive
		must(t, err)
		var found Extracted
		must(t, wire.ReadJSON(out, wire.KindExtracted, MaxExtracted, &found))
		if (found.Problem == "") != (i == 0) || i == 0 && !slices.Equal(found.Gone, []string{"b"}) {
			t.Errorf("answer %d: %+v", i, found)
		}
	}
}
