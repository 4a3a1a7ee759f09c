package edit

import (
	"testing"
)

func TestLinesForTheEndsOfAFile(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		file, after, before string
	}{
		{"", "n\n", "n\n"},
		{"a", "a\nn", "n\na"},
		{"a\n", "a\nn\n", "n\na\n"},
		{"a\nb\na\n", "a\nb\na\nn\n", "n\na\nb\na\n"},
		{"a\n\n\n", "a\n\n\nn\n", "n\na\n\n\n"},
		{"\n\na\n", "\n\na\nn\n", "n\n\n\na\n"},
		{"\n\n", "\n\nn\n", "n\n\n\n"},
		{"a\r\nb\r\n", "a\r\nb\r\nn\r\n", "n\r\na\r\nb\r\n"},
		{"\ufeffa\n", "\ufeffa\nn\n", "\ufeffn\na\n"},
		{"\ufeff", "\ufeffn\n", "\ufeffn\n"},
	} {
		for kind, want := range map[string]string{"append": c.after, "prepend": c.before} {
			response := `{"path":"x","type":"` + kind + `","content":"n"}`
			cs, _, err := Apply(single{"x", c.file}, []byte(response), "")
			if err != nil || string(cs.Changes[0].After) != want {
				t.Errorf("%s to %q: %v, %q, want %q", kind, c.file, err, cs.Changes, want)
			}
		}
	}
}

// single is a workspace with one file: its name and content.
type single [2]string

func (o single) Paths() []string { return []string{o[0]} }

func (o single) Read(name string) ([]byte, error) { return []byte(o[1]), nil }

func (o single) Executable(string) bool { return false }
