package deps

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestRequirementsAreReadAsPipReadsThem(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]string{
		"a==1\n\nb\n":                           {"a==1", "b"},
		"a # why\n#b\n  # c\nd\t# tab\n":        {"a", "d"},
		"a @ https://h/x#egg=a\n":               {"a @ https://h/x#egg=a"},
		"a==1 \\\n    --hash=sha256:0 \\\r\n b": {"a==1     --hash=sha256:0  b"},
		"a \\\n":                                {"a"},
		"a \\":                                  {"a"},
		// A comment neither continues nor hides the line after it.
		"# c \\\nevil\n":   {"evil"},
		"a\\\n# c \\\nb\n": {"a", "b"},
		"a # c \\\nb\n":    {"a"},
		"-r more.txt\r\n":  {"-r more.txt"},
	} {
		if diff := cmp.Diff(want, Requirements([]byte(text))); diff != "" {
			t.Errorf("%q: %s", text, diff)
		}
	}
	if got := Requirements([]byte(strings.Repeat("a\\\n", 1<<20))); len(got) != 1 {
		t.Errorf("%d lines", len(got))
	}
}

func TestAPackageIsOneDocument(t *testing.T) {
	t.Parallel()
	fields, err := ReadPackage([]byte(`{"name":"a","name":"b","n":1.50}`))
	if err != nil || fields["name"] != "b" || fields["n"] != json.Number("1.50") {
		t.Errorf("%v, %v", fields, err)
	}
	for _, bad := range []string{"", "{", "{} {}", "[]", `"x"`} {
		if _, err := ReadPackage([]byte(bad)); err == nil {
			t.Errorf("%q is read", bad)
		}
	}
}

func TestWhetherAModuleRequiresAny(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"":                               false,
		"module a\n":                     false,
		"module a\n\nrequire b v1.0.0\n": true,
		"module a\n\nrequire (\n\tb latest // x\n)\n":   true,
		"module a\n\nrequire ()\n":                      false,
		"module a\n\n// require b v1\ntool example/x\n": false,
	} {
		if got, err := RequiresModules([]byte(text)); got != want || err != nil {
			t.Errorf("%q: %v, %v", text, got, err)
		}
	}
	if _, err := RequiresModules([]byte("module a\nrequire (\n")); err == nil {
		t.Error("a block without an end is read")
	}
}

func FuzzChanges(f *testing.F) {
	for _, l := range listers {
		f.Add(strings.ReplaceAll(l.pattern, "*", ""), []byte("module a\nrequire b v1.0.0\n"))
		f.Add(strings.ReplaceAll(l.pattern, "*", ""), []byte(`{"dependencies":{"a":"1"},"packages":{"node_modules/a":{"version":"1"}}}`))
		f.Add(strings.ReplaceAll(l.pattern, "*", ""), []byte("[[package]]\nname = \"a\"\nversion = \"1\"\n"))
	}
	f.Fuzz(func(t *testing.T, name string, text []byte) {
		got := Changes(name, nil, text)
		if strings.ContainsAny(got, "\n\x1b") || Changes(name, text, text) != "" && !strings.HasPrefix(got, "what it lists") {
			t.Errorf("%q of %q", got, text)
		}
	})
}

func TestNoFormOfAModuleFileHidesARequirement(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"require b.com/b v1.0.0\n":                                "added b.com/b v1.0.0",
		"require(\n\tb.com/b v1.0.0 // indirect\n)\n":             "added b.com/b v1.0.0",
		"require \"b.com/b\" v1.0.0\n":                            "added b.com/b v1.0.0",
		"require b.com/b latest\n":                                "added b.com/b latest",
		"require b.com/b/v2 v1.0.0\n":                             "added b.com/b/v2 v1.0.0",
		"replace(\n\ta.com/a => ../a\n)\ntool c.com/c\n":          "added replace a.com/a => ../a, added tool c.com/c",
		"toolchain go1.30.1\nrequire b.com/b\nrequire c.com/c v1": "what it lists cannot be read: ",
		"require (\n": "what it lists cannot be read: ",
	} {
		if got := Changes("go.mod", []byte("module a\n"), []byte("module a\n"+text)); !strings.HasPrefix(got, want) {
			t.Errorf("%q: %s", text, got)
		}
	}
}
