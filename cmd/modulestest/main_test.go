package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// These licences are given by their addresses, which are recognised like their texts.
const (
	allows = "https://www.apache.org/licenses/LICENSE-2.0\n"
	denies = "https://creativecommons.org/licenses/by-nc/4.0/\n"
	texts  = "https://creativecommons.org/licenses/by-sa/4.0/\n"
)

// tree returns a module that requires another one with these files.
func tree(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod": "module example.com/a\n\ngo 1.24\n\nrequire example.com/b v1.0.0\n\nreplace example.com/b => ./b\n",
		"a.go":   "package a\n\nimport _ \"example.com/b\"\n", "b/go.mod": "module example.com/b\n\ngo 1.24\n", "b/b.go": "package b\n",
	} {
		files[name] = text
	}
	for name, text := range files {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestOnlyALicenceThatIsAllowedPasses(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		files map[string]string
		says  string
	}{
		"allowed":                 {map[string]string{"b/LICENSE": allows}, ""},
		"in another spelling":     {map[string]string{"b/licence.txt": allows}, ""},
		"with documentation":      {map[string]string{"b/LICENSE": allows, "b/LICENSE.docs": texts}, ""},
		"a source called licence": {map[string]string{"b/LICENSE": allows, "b/license.go": "package b\n"}, ""},
		"not allowed":             {map[string]string{"b/LICENSE": denies}, "example.com/b v1.0.0: LICENSE: CC-BY-NC-4.0 is not allowed here"},
		"one that is not, beside": {map[string]string{"b/LICENSE": allows, "b/COPYING": denies}, "COPYING: CC-BY-NC-4.0 is not allowed here"},
		"documentation alone":     {map[string]string{"b/LICENSE": texts}, "no file with a licence"},
		"a text of nobody":        {map[string]string{"b/LICENSE": strings.Repeat("You may look and not touch this. ", 20)}, "no licence that is known"},
		"none":                    {map[string]string{}, "no file with a licence"},
		"one of a package of it":  {map[string]string{"b/b/LICENSE": allows}, "no file with a licence"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var out bytes.Buffer
			err := start(t.Context(), tree(t, c.files), &out)
			if (err == nil) != (c.says == "") || err != nil && !strings.Contains(err.Error(), c.says) {
				t.Errorf("%v, want %q\n%s", err, c.says, &out)
			}
			if !strings.HasPrefix(out.String(), "example.com/b v1.0.0") {
				t.Errorf("the module is not listed: %q", &out)
			}
		})
	}
}

func TestModulesThatCannotBeListedAreAnError(t *testing.T) {
	t.Parallel()
	dir := tree(t, map[string]string{"b/LICENSE": allows})
	if err := os.RemoveAll(filepath.Join(dir, "b")); err != nil {
		t.Fatal(err)
	}
	if err := start(t.Context(), dir, &bytes.Buffer{}); err == nil {
		t.Error("a module that is not there passes")
	}
}
