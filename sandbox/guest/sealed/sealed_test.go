package sealed

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// opener opens the contents of a tree by path.
func opener(contents map[string]string) func(string) (io.ReadCloser, error) {
	return func(name string) (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(contents[name])), nil }
}

// A sealed tree comes out as it went in, has the announced size, and reveals none of its content.
func TestATreeComesOutAsItWentIn(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		names := rapid.SliceOfDistinct(rapid.StringMatching(`[a-zäß \r\n-]{1,150}`), rapid.ID[string]).Draw(rt, "names")
		contents, want := map[string]string{}, map[string]Entry{}
		var entries []Entry
		for _, name := range names {
			e := Entry{Path: "d/" + name, Mode: 0o640}
			switch rapid.IntRange(0, 4).Draw(rt, "kind") {
			case 0:
				e.Mode = fs.ModeDir | 0o755
			case 1:
				e.Mode, e.Target = fs.ModeSymlink|0o777, "../"+name
			default:
				contents[e.Path] = strings.Repeat("secret "+name, rapid.IntRange(0, 500).Draw(rt, "times"))
				e.Size = int64(len(contents[e.Path]))
			}
			entries, want[e.Path] = append(entries, e), e
		}
		key := NewKey()
		for _, p := range Divide(entries) {
			size, err := p.Size()
			if err != nil {
				rt.Fatal(err)
			}
			packed, err := io.ReadAll(p.Seal(key, opener(contents)))
			if err != nil || int64(len(packed)) != size || bytes.Contains(packed, []byte("secret")) {
				rt.Fatalf("pack %s has %d bytes, announced are %d, %v", p.Name, len(packed), size, err)
			}
			err = Unseal(bytes.NewReader(packed), p.Name, []byte(key), func(e Entry, r io.Reader) error {
				text, err := io.ReadAll(r)
				if e != want[e.Path] || string(text) != contents[e.Path] {
					rt.Errorf("%+v came of %+v", e, want[e.Path])
				}
				delete(want, e.Path)
				return err
			})
			if err != nil {
				rt.Fatal(err)
			}
			if len(p.entries) > 0 {
				if err := Unseal(bytes.NewReader(packed), p.Name, []byte(NewKey()), func(Entry, io.Reader) error { return nil }); !errors.Is(err, ErrUnsealed) {
					rt.Errorf("another key: %v", err)
				}
			}
		}
		if len(want) > 0 {
			rt.Errorf("these did not come: %v", want)
		}
	})
}

func TestAContentOfAnotherLengthIsNotSealed(t *testing.T) {
	t.Parallel()
	for _, content := range []string{"short", "longer than that"} {
		for _, p := range Divide([]Entry{{Path: "f", Mode: 0o644, Size: 10}}) {
			_, err := io.ReadAll(p.Seal(NewKey(), opener(map[string]string{"f": content})))
			if (err != nil) != (p.Name != Structure) {
				t.Errorf("%q in %s: %v", content, p.Name, err)
			}
		}
	}
}

func TestNoPackLeadsOutside(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"../f", "/f", "a/../../f", "."} {
		p := Pack{Name: Structure, entries: []Entry{{Path: name, Mode: fs.ModeSymlink | 0o777, Target: "x"}}}
		key := NewKey()
		err := Unseal(p.Seal(key, nil), p.Name, []byte(key), func(e Entry, _ io.Reader) error {
			t.Errorf("%q is unsealed", e.Path)
			return nil
		})
		if err == nil {
			t.Errorf("%q: no error", name)
		}
	}
}
