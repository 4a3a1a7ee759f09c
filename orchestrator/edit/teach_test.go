package edit_test

import (
	"encoding/json"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"agent/orchestrator/edit"
	"agent/orchestrator/edit/parse"
	"agent/orchestrator/edit/problem"
)

// For every refusal that an archive in testdata contains, an author who follows it literally succeeds with the next response, or reads
// that nothing is left to send. The section "meant" of an archive says what its author meant if the response itself does not.
func TestFollowingTheAdviceSucceeds(t *testing.T) {
	t.Parallel()
	refused, err := filepath.Glob("testdata/refuse_*.txtar")
	guarded, bad := filepath.Glob("testdata/guard_*.txtar")
	if err != nil || bad != nil || len(refused) < 160 || len(guarded) < 40 {
		t.Fatalf("%d refusals and %d guards in testdata: %v, %v", len(refused), len(guarded), err, bad)
	}
	for _, name := range append(refused, guarded...) {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txtar"), func(t *testing.T) {
			t.Parallel()
			a, err := txtar.ParseFile(name)
			if err != nil {
				t.Fatal(err)
			}
			c := readArchive(t, a)
			r := &reader{files: c.files, meant: splitIntents(c.response), form: formOf(c.response)}
			for i := range r.meant {
				if r.meant[i].path == "" {
					r.meant[i].path = c.target
				}
			}
			for _, f := range a.Files {
				if f.Name == "meant" {
					r.whole = splitIntents(string(f.Data))
					if diffStart.Match(f.Data) {
						r.form = "diff" // the author switches to it
					}
				}
			}
			if len(r.meant) == 0 {
				r.meant = r.whole
			}
			_, _, err = edit.Apply(c.files, []byte(c.response), c.target)
			var refusal *problem.Refusal
			if !errors.As(err, &refusal) {
				if slices.Contains(guarded, name) {
					return // the guards accept it
				}
				t.Fatalf("not refused: %v", err)
			}
			next, done, err := r.follow(refusal.Error())
			if err != nil {
				t.Fatalf("%v\n%s", err, refusal)
			}
			if done {
				return
			}
			if _, _, err := edit.Apply(c.files, []byte(next), c.target); err != nil {
				t.Errorf("%s\nwas followed by\n%s\nand refused: %v", refusal, next, err)
			}
		})
	}
}

// formOf returns the form in which an author began a response.
func formOf(response string) string {
	switch {
	case strings.HasPrefix(response, "["), strings.HasPrefix(response, "{"):
		return "json"
	case strings.HasPrefix(response, "*** Begin Patch"):
		return "patch"
	case diffStart.MatchString(response):
		return "diff"
	case strings.Contains(response, "<<<<<<<"):
		return "markers"
	}
	return "tags"
}

// The shown parts of files with odd bytes can be sent back too. The language has no parser here, so only the matching is tested.
func TestFollowingTheAdviceSucceedsInOddFiles(t *testing.T) {
	t.Parallel()
	code := "def level(items):\n    total = 0\n    for item in items:\n        total += item.count\n    return total\n"
	long := strings.Repeat("very_long_name, ", 200)
	for _, c := range []struct {
		name, file, search string
		text               string // part of the refusal
	}{
		{"CRLF", strings.ReplaceAll(code, "\n", "\r\n"), "    total = 1\n    for item in items:\n", "copy lines 2 to 3"},
		{"lone carriage returns", strings.ReplaceAll(code, "\n", "\r"), "    total = 1\n    for item in items:\n", "copy lines 2 to 3"},
		{"byte order mark", "\ufeff" + code, "def level(things):\n    total = 0\n", "copy lines 1 to 2"},
		{"tabs", strings.ReplaceAll(code, "    ", "\t"), "\ttotal = 1\n\tfor item in items:\n", "\n     2 | \ttotal = 0\n"},
		{"no newline at the end", strings.TrimSuffix(code, "\n"), "        total += item.number\n    return total\n", "copy lines 4 to 5"},
		{"a line too long to be shown", "x = f(" + long + "one, " + long + ")\ny = 1\n", "x = f(" + long + "two, " + long + ")\ny = 1\n", "yours has `two`, the file `one`"},
		{"bytes that are not UTF-8", "name = 'caf\xe9'\n" + code, "name = 'cafe'\ndef level(items):\n    total = 0\n", "line 1 holds bytes that are not UTF-8"},
		{"lines that stand often", strings.Repeat("# part\n"+code, 9), "    total = 1\n    for item in items:\n", "in a unified diff with their true line number"},
		{"an empty file", "", "x = 1\n", "send an empty SEARCH"},
		{"a placeholder, and no place", code, "    total = 5\n    for item in items:\n", ""},
	} {
		replace := "    changed = True\n"
		if strings.HasPrefix(c.name, "a placeholder") {
			replace += "    # ... rest of the code unchanged ...\n"
			c.text = "; write REPLACE out in full, without"
		}
		files := memory{text: map[string]string{"a.rb": c.file}}
		_, _, err := edit.ApplyBlocks("a.rb", []byte(c.file), []edit.Block{{Search: c.search, Replace: replace}})
		if err == nil || !strings.Contains(err.Error(), c.text) {
			t.Errorf("%s: %q is not in %v", c.name, c.text, err)
			continue
		}
		r := &reader{files: files, form: "tags", meant: []intent{{kind: "edit", path: "a.rb", search: body(c.search), replace: body(replace)}}}
		next, done, err := r.follow(err.Error())
		if err != nil || done {
			t.Errorf("%s: done %v, %v", c.name, done, err)
			continue
		}
		if _, _, err := edit.Apply(files, []byte(next), ""); err != nil {
			t.Errorf("%s: %s\nwas refused: %v", c.name, next, err)
		}
	}
}

// A refusal fits into a prompt, whatever the response was.
func TestARefusalStaysShort(t *testing.T) {
	t.Parallel()
	file := large(400)
	var blocks []edit.Block
	for i := range parse.MaxBlocks {
		search := "nowhere = at_all\n"
		switch {
		case i%3 == 0:
			search = "    total_7 = 0\n"
		case i < 40:
			search = strings.ReplaceAll(file[:9000], "= 0", "= 1")
		}
		blocks = append(blocks, edit.Block{Search: search, Replace: "x = 1\n"})
	}
	_, _, err := edit.ApplyBlocks("a.py", []byte(file), blocks)
	var r *problem.Refusal
	if !errors.As(err, &r) || len(r.Problems) < 1000 {
		t.Fatalf("%.200v", err)
	}
	if n := len(r.Error()); n > 16<<10 || !strings.Contains(r.Error(), " more problems: correct these first") {
		t.Errorf("%d bytes: …%s", n, r.Error()[max(0, n-300):])
	}
}

// A refusal can be printed as JSON too.
func TestARefusalAsJSON(t *testing.T) {
	t.Parallel()
	_, _, err := edit.ApplyBlocks("a.py", []byte("one = 1\nlevel = 2\n"), []edit.Block{{Search: "one = 1\n", Replace: "one = 3\n"}, {Search: "level = 9\n", Replace: "level = 3\n"}})
	got, err := json.Marshal(err)
	want := `{"problems":[{"block":2,"path":"a.py","kind":"not_found","reason":"SEARCH text not found in the file; nearest line 2","lines":[2],` +
		`"nearest":"     2 | level = 2\n","differs":"  your line 1: level = 9\n       line 2: level = 2\n               yours has ` + "`9`, the file `2`" + `\n",` +
		`"advice":"copy line 2 exactly into SEARCH"}],"staged":[1]}`
	if err != nil || string(got) != want {
		t.Errorf("%v\n%s\nwant\n%s", err, got, want)
	}
}
