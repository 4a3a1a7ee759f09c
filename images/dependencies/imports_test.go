package dependencies

import (
	"errors"
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The packages compiled ahead are those that files of a module import from others: nothing from the standard library, the
// module itself or modules that nothing is installed for, and nothing that is not a path. Files with C code add "C".
func TestImportsOfOtherModulesAreFound(t *testing.T) {
	t.Parallel()
	const requires = "\n\ngo 1.24\n\nrequire example.com/a v1.0.0\n"
	files := map[string][]byte{
		"go.mod": []byte("module example.com/own" + requires), "sub/go.mod": []byte("module example.com/own/sub" + requires), "bare/go.mod": []byte("module example.com/bare\n"),
		"a.go":        []byte("package own\n\nimport (\n\t\"fmt\"\n\t\"example.com/own/x\"\n\t_ \"example.com/a/b\"\n\tc \"example.com/a/c\"\n)\n\nfunc F() {\n"),
		"a_test.go":   []byte("package own\n\nimport \"example.com/a/b\"\nimport \"example.com/t\"\n"),
		"in/b.go":     []byte("package in\n\nimport \"-example.com/x\"\nimport \"example.com/$(x)\"\nimport \"example.com/ownother\"\n"),
		"sub/c.go":    []byte("package sub\n\nimport \"example.com/a\"\nimport \"example.com/own/x\"\nimport \"C\"\n"),
		"bare/d.go":   []byte("package bare\n\nimport \"example.com/z\"\n"),
		"sub/d.go":    []byte("//go:build windows\n\npackage sub\n\nimport \"C\"\nimport \"example.com/w\"\n"),
		"broken.go":   []byte("packge\n"),
		"README.md":   nil,
		"missing.go":  nil,
		"package.txt": nil,
	}
	d := Read(files)
	got := d.Importing(slices.Sorted(maps.Keys(files)), func(p string) ([]byte, error) {
		if p == "missing.go" {
			return nil, errors.New("gone")
		}
		return files[p], nil
	})
	want := map[string][]string{
		".":   {"example.com/a/b", "example.com/a/c", "example.com/ownother", "example.com/t"},
		"sub": {"C", "example.com/a", "example.com/own/x", "example.com/w"},
	}
	if diff := cmp.Diff(want, got.Imports()); diff != "" {
		t.Errorf("imports (-want +got):\n%s", diff)
	}
	if !got.Equal(d) {
		t.Error("what is imported changes what is to be installed")
	}
	if none := Read(map[string][]byte{"package.json": []byte("{}")}).Importing([]string{"a.go"}, func(string) ([]byte, error) { return files["a.go"], nil }).Imports(); len(none) > 0 {
		t.Errorf("without a module: %v", none)
	}
}

// Files that are compiled here need a C compiler if they hold C, including vendored ones; nothing else does.
func TestWhatIsWrittenInCIsFound(t *testing.T) {
	t.Parallel()
	for p, text := range map[string]string{
		"a.go": "package a\n\nimport \"C\"\n", "vendor/x.org/y/z.go": "package y\n\n// #include <x.h>\nimport \"C\"\n", "b_linux.go": "//go:build cgo\n\npackage a\n\nimport \"C\"\n",
	} {
		if got := Read(nil).Importing([]string{p}, func(string) ([]byte, error) { return []byte(text), nil }).Imports(); len(got) != 1 || !slices.Equal(got["."], []string{"C"}) {
			t.Errorf("%s: %v", p, got)
		}
	}
	for p, text := range map[string]string{
		"a_windows.go": "package a\n\nimport \"C\"\n", "b.go": "//go:build !cgo\n\npackage a\n\nimport \"C\"\n", "c.go": "//go:build ignore\n\npackage a\n\nimport \"C\"\n",
		"testdata/d.go": "package a\n\nimport \"C\"\n", "_x/e.go": "package a\n\nimport \"C\"\n", "f.go": "package a\n\nvar c = \"C\"\n", "g.go": "package a\n\nimport \"x.org/y\"\n", "h.txt": "import \"C\"\n",
	} {
		if got := Read(nil).Importing([]string{p}, func(string) ([]byte, error) { return []byte(text), nil }).Imports(); len(got) != 0 {
			t.Errorf("%s: %v", p, got)
		}
	}
	both := map[string]string{"a/c.go": "package a\n\nimport \"C\"\n", "a/go.go": "//go:build !cgo\n\npackage a\n"}
	read := func(p string) ([]byte, error) { return []byte(both[p]), nil }
	if got := Read(nil).Importing([]string{"a/c.go", "a/go.go"}, read).Imports(); len(got) != 0 {
		t.Errorf("with another form: %v", got)
	}
	both["a/go.go"] = "//go:build !cgo && windows\n\npackage a\n"
	if got := Read(nil).Importing([]string{"a/c.go", "a/go.go"}, read).Imports(); len(got) != 1 {
		t.Errorf("with another form for other systems: %v", got)
	}
}
