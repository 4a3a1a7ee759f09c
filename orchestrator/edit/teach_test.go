package edit_test

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"agent/orchestrator/edit"
)

// An author who takes a refusal at its word succeeds with the next response,
// for every refusal that an archive in testdata holds; or it reads that
// nothing is left to send. The section "meant" of an archive says what its
// author meant where the response itself does not.
func TestFollowingTheAdviceSucceeds(t *testing.T) {
	t.Parallel()
	names, err := filepath.Glob("testdata/refuse_*.txtar")
	if err != nil || len(names) < 70 {
		t.Fatalf("%d refusals in testdata: %v", len(names), err)
	}
	for _, name := range names {
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
				}
			}
			_, _, err = edit.Apply(c.files, []byte(c.response), c.target)
			var refusal *edit.Refusal
			if !errors.As(err, &refusal) {
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

// formOf tells the form in which an author began a response.
func formOf(response string) string {
	switch {
	case strings.HasPrefix(response, "["):
		return "json"
	case diffStart.MatchString(response):
		return "diff"
	case strings.Contains(response, "<<<<<<<"):
		return "markers"
	}
	return "tags"
}
