package sealed

import (
	"bytes"
	"crypto/cipher"
	"io"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
)

// FuzzUnseal unseals arbitrary plain text under the right key. No entry leads outside, and no more comes out than went
// in, although a header alone could claim more.
func FuzzUnseal(f *testing.F) {
	key := NewKey()
	for _, p := range Divide([]Entry{{Path: "d", Mode: fs.ModeDir | 0o755}, {Path: "d/f", Mode: 0o644, Size: 3}, {Path: "l", Mode: fs.ModeSymlink | 0o777, Target: "../x"}}) {
		var plain bytes.Buffer
		if err := p.write(&plain, opener(map[string]string{"d/f": "abc"})); err != nil {
			f.Fatal(err)
		}
		f.Add(p.Name, plain.Bytes())
	}
	f.Add("files-99", []byte("x"))
	f.Add("files-1", []byte("x"))
	f.Fuzz(func(t *testing.T, name string, plain []byte) {
		from := io.Reader(bytes.NewReader(plain))
		p := Pack{Name: name}
		for n := range packs + 1 {
			if packName(n) == name {
				p.number = uint32(n)
			}
		}
		stream, err := p.cipher([]byte(key))
		if err != nil {
			t.Fatal(err)
		}
		total := int64(0)
		err = Unseal(cipher.StreamReader{S: stream, R: from}, name, []byte(key), func(e Entry, content io.Reader) error {
			if !filepath.IsLocal(e.Path) || strings.HasSuffix(e.Path, "/") || e.Path == "." {
				t.Fatalf("%q is unsealed", e.Path)
			}
			n, err := io.Copy(io.Discard, io.LimitReader(content, int64(len(plain))+1))
			total += n
			return err
		})
		if total > int64(len(plain)) {
			t.Errorf("%d bytes out of %d, %v", total, len(plain), err)
		}
		if err == nil && name != Structure && packName(int(p.number)) != name {
			t.Errorf("%q is taken for a pack", name)
		}
	})
}
