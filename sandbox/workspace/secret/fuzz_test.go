package secret

import "testing"

// FuzzFind looks for credentials in arbitrary text: each finding is at a line of the text.
func FuzzFind(f *testing.F) {
	f.Add([]byte("password = \"x\"\ntoken: abc\n"))
	f.Add([]byte("https://me:secret@host/x\n-----BEGIN"))
	f.Fuzz(func(t *testing.T, text []byte) {
		lines := 1
		for _, b := range text {
			if b == '\n' {
				lines++
			}
		}
		for _, s := range Find(text, nil) {
			if s.Line < 1 || s.Line > lines {
				t.Errorf("%+v of %d lines", s, lines)
			}
		}
	})
}
