package edit_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/rogpeppe/go-internal/txtar"

	"agent/orchestrator/edit"
	"agent/orchestrator/edit/match"
	"agent/orchestrator/edit/parse"
	"agent/orchestrator/edit/problem"
)

// fuzzed returns the workspace for fuzzed responses.
func fuzzed() memory {
	return memory{text: map[string]string{
		"shop/stock.py": "import math\n\n\ndef level(items):\n    total = 0\n    return total\n",
		"a.txt":         "x\r\n\ty\r\nz",
		"empty":         "",
	}}
}

// seed adds the responses of the archives whose names begin with prefix.
func seed(f *testing.F, prefix string) {
	f.Helper()
	names, err := filepath.Glob(filepath.Join("testdata", prefix+"*.txtar"))
	if err != nil || len(names) == 0 {
		f.Fatalf("%d archives for %s: %v", len(names), prefix, err)
	}
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		for _, s := range txtar.Parse(data).Files {
			if s.Name == "response" {
				f.Add(s.Data)
			}
		}
	}
}

// checkResponse applies an arbitrary response. It must give changes that differ from the old content, at writable paths, or a readable
// refusal.
func checkResponse(t *testing.T, response []byte) {
	files := fuzzed()
	cs, applied, err := edit.Apply(files, response, "shop/stock.py")
	if err == nil {
		if cs.Empty() || len(applied) == 0 {
			t.Fatalf("applied %d blocks and changed %d files", len(applied), len(cs.Changes))
		}
		for _, c := range cs.Changes {
			if old, ok := files.text[c.Path]; ok && c.Op == "modify" && old == string(c.After) && c.Mode == 0o644 {
				t.Fatalf("%s is listed and not changed", c.Path)
			}
			if strings.HasPrefix(c.Path, "/") || strings.Contains(c.Path, "..") && strings.Contains("/"+c.Path+"/", "/../") {
				t.Fatalf("path %q", c.Path)
			}
		}
		return
	}
	var refusal *problem.Refusal
	if !errors.As(err, &refusal) {
		t.Fatalf("not a refusal: %v", err)
	}
	if len(refusal.Problems) == 0 || refusal.Problems[0].Kind == "" || refusal.Problems[0].Reason == "" {
		t.Fatalf("a refusal without a reason: %+v", refusal)
	}
	if utf8.Valid(response) && !utf8.ValidString(err.Error()) {
		t.Fatalf("the refusal is not UTF-8: %q", err)
	}
	parse.Thought(response)
}

func FuzzTags(f *testing.F) {
	for _, p := range []string{"form", "create", "delete", "refuse_t", "multi"} {
		seed(f, p)
	}
	f.Fuzz(checkResponse)
}

func FuzzDiff(f *testing.F) {
	seed(f, "diff")
	seed(f, "refuse_diff")
	f.Fuzz(checkResponse)
}

func FuzzMarkers(f *testing.F) {
	seed(f, "markers")
	seed(f, "refuse_markers")
	f.Fuzz(checkResponse)
}

func FuzzJSON(f *testing.F) {
	seed(f, "json")
	seed(f, "refuse_json")
	f.Fuzz(checkResponse)
}

func FuzzPatch(f *testing.F) {
	seed(f, "patch")
	seed(f, "refuse_patch")
	f.Fuzz(checkResponse)
}

func FuzzLines(f *testing.F) {
	seed(f, "lines")
	seed(f, "refuse_lines")
	f.Fuzz(checkResponse)
}

func FuzzWhole(f *testing.F) {
	for _, p := range []string{"whole", "rename", "refuse_whole", "hint", "refuse_thought"} {
		seed(f, p)
	}
	f.Fuzz(checkResponse)
}

// FuzzMatch compares the matcher with the obvious implementation where that has an answer: whole lines that occur once.
func FuzzMatch(f *testing.F) {
	f.Add("a.py", "a\nb\nc\n", "b\n", "x\ny\n")
	f.Add("a.go", "f(\n\ta,\n\tb)\n", "f(a, b)\n", "f(a)\n")
	f.Add("a.py", "x = 1\n# c\ny = 2\n", "x = 1\ny = 2\n", "x = 1\ny = 3\n")
	f.Add("a.py", "if x:\n    a\n    b\n", "  a\n  b\n", "  a\n    c\n  b\n")
	f.Add("a.py", "a\nb\nc\nd\n", "a\n# ...\nd\n", "e\n# ...\nd\n")
	f.Add("a.txt", "\ufeffa\r\nb", "b", "c\nd")
	f.Add("a.txt", "a\rb\rc", "b", "")
	f.Add("a.txt", "a\nb", "b\n", "\n")
	f.Fuzz(func(t *testing.T, path, before, search, replace string) {
		after, applied, err := edit.ApplyBlocks(path, []byte(before), []edit.Block{{Search: search, Replace: replace}})
		if err != nil {
			var refusal *problem.Refusal
			if !errors.As(err, &refusal) || refusal.Error() == "" {
				t.Fatalf("not a refusal: %v", err)
			}
			return
		}
		if string(after) == before {
			t.Fatal("applied and changed nothing")
		}
		if applied[0].Strategy != match.Exact || strings.ContainsAny(before+search+replace, "\r\ufeff") || strings.Contains(replace, "```") {
			return
		}
		end := func(s string) string {
			if s != "" && !strings.HasSuffix(s, "\n") {
				s += "\n"
			}
			return s
		}
		body, s, r := "\n"+end(before), "\n"+end(search), "\n"+end(replace)
		if strings.Count(body, s) != 1 {
			t.Fatalf("exact, but %q stands %d times", s, strings.Count(body, s))
		}
		want := strings.Replace(body, s, r, 1)[1:]
		if before != end(before) && (replace != "" || !strings.HasSuffix(body, s)) {
			want = strings.TrimSuffix(want, "\n") // the last line still has no newline
		}
		if string(after) != want {
			t.Fatalf("%q instead of %q", after, want)
		}
	})
}
