package edit_test

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"agent/orchestrator/edit"
	"agent/orchestrator/edit/problem"
)

// A shape is a case of testdata/shapes.txt: files, a response, and either the file that it changes or the kind of the first problem for
// which it is refused.
//
//	=== name
//	@@@ before PATH
//	@@@ response
//	@@@ after PATH, or @@@ refused KIND
//
// <MARK> stands for a byte order mark, <CUT> for a missing newline.
type shape struct {
	name, response, path, after, refused string
	files                                memory
}

func readShapes(t *testing.T) (list []shape) {
	t.Helper()
	text, err := os.ReadFile("testdata/shapes.txt")
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range strings.Split("\n"+strings.TrimSuffix(string(text), "\n"), "\n=== ")[1:] {
		sections := strings.Split(part, "\n@@@ ")
		s := shape{name: sections[0], files: memory{map[string]string{}, nil}}
		for _, section := range sections[1:] {
			head, body, _ := strings.Cut(section+"\n", "\n")
			body = strings.NewReplacer("<MARK>", "\ufeff", "<CUT>\n", "").Replace(body)
			word, rest, _ := strings.Cut(head, " ")
			switch word {
			case "before":
				s.files.text[rest] = body
			case "response":
				s.response = body
			case "after":
				s.path, s.after = rest, body
			case "refused":
				s.refused = rest
			default:
				t.Fatalf("%s: unknown section %q", s.name, head)
			}
		}
		list = append(list, s)
	}
	return list
}

// These are shapes of real responses, next to near misses that must be refused: a wrong result is worse than a refusal.
func TestShapes(t *testing.T) {
	t.Parallel()
	shapes := readShapes(t)
	if len(shapes) < 60 {
		t.Errorf("%d shapes", len(shapes))
	}
	for _, s := range shapes {
		cs, _, err := edit.Apply(s.files, []byte(s.response), "")
		var r *problem.Refusal
		switch {
		case errors.As(err, &r):
			if r.Problems[0].Kind != s.refused {
				t.Errorf("%s: %v\nwant %q", s.name, err, s.refused)
			}
		case err != nil:
			t.Errorf("%s: %v", s.name, err)
		case s.refused != "":
			t.Errorf("%s: applied, want %s:\n%s", s.name, s.refused, cs.Changes[0].After)
		case len(cs.Changes) != 1 || cs.Changes[0].Path != s.path:
			t.Errorf("%s: %d changes", s.name, len(cs.Changes))
		default:
			if d := cmp.Diff(s.after, string(cs.Changes[0].After)); d != "" {
				t.Errorf("%s (-want +got)\n%s", s.name, d)
			}
		}
	}
}
