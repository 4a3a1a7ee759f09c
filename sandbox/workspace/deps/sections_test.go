package deps

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestSectionsAreReadAsPythonDoes(t *testing.T) {
	t.Parallel()
	got, err := Sections([]byte("# a comment\n[Tox]\nEnvList = py3,\n  docs\n\n; another\n[options.package_data]\n* = *.typed\n[empty]\n[testenv:py3{8,9}]\ndeps =\n    a>=1 # why\n    # nothing\n    b: c\nset_env: X=1\n"))
	want := map[string]map[string]string{
		"Tox": {"envlist": "py3,\ndocs"}, "options.package_data": {"*": "*.typed"}, "empty": {},
		"testenv:py3{8,9}": {"deps": "\na>=1 # why\nb: c", "set_env": "X=1"},
	}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Error(diff, err)
	}
	for _, text := range []string{"a = 1\n", "[a]\nword\n", "[a]\nb = 1\n  [c]\n", "[a]\n[a]\n", "[a]\n  b\n"} {
		if got, err := Sections([]byte(text)); err == nil {
			t.Errorf("%q: %v", text, got)
		}
	}
	long := strings.Repeat("  a\n", 200_000) // the cost of each line is its own length
	if got, err := Sections([]byte("[a]\nb =\n" + long)); err != nil || len(got["a"]["b"]) != 400_000 {
		t.Errorf("%d bytes, %v", len(got["a"]["b"]), err)
	}
}
