//go:build bench

package verify

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
)

var updatePlaces = flag.Bool("update-places", false, "rewrite the lists of places in testdata/bench/places")

// TestPlacesOfMutations lists all places of a small project in each language. The archive shows that each edit does what its kind says:
// the project's files come first, and the file "places" is the expectation.
func TestPlacesOfMutations(t *testing.T) {
	archives, err := filepath.Glob("testdata/bench/places/*.txtar")
	if err != nil || len(archives) == 0 {
		t.Fatalf("%d archives, %v", len(archives), err)
	}
	tongues := map[string]tongue{}
	for _, language := range []tongue{pythonTongue, javaScript, typeScript, goTongue, styles} {
		tongues[language.name] = language
	}
	for _, name := range archives {
		t.Run(filepath.Base(name), func(t *testing.T) {
			archive, err := txtar.ParseFile(name)
			if err != nil {
				t.Fatal(err)
			}
			p, files, want := placesCase(archive, tongues)
			got := listPlaces(p.places(t, files), files)
			if *updatePlaces {
				kept := archive.Files[:0]
				for _, f := range archive.Files {
					if f.Name != "places" {
						kept = append(kept, f)
					}
				}
				archive.Files = append(kept, txtar.File{Name: "places", Data: []byte(got)})
				if err := os.WriteFile(name, txtar.Format(archive), 0o644); err != nil {
					t.Fatal(err)
				}
			} else if got != want {
				t.Errorf("the places are\n%swant\n%s", got, want)
			}
		})
	}
}

// placesCase reads an archive, whose comment names the language, the sources and the entry.
func placesCase(archive *txtar.Archive, tongues map[string]tongue) (p project, files map[string]string, want string) {
	for line := range strings.Lines(string(archive.Comment)) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
		switch key {
		case "language":
			p.tongue = tongues[value]
		case "sources":
			p.sources = strings.Fields(value)
		case "entry":
			p.entry = value
		}
	}
	files = map[string]string{}
	for _, f := range archive.Files {
		if f.Name == "places" {
			want = string(f.Data)
		} else {
			files[f.Name] = string(f.Data)
		}
	}
	return p, files, want
}

// listPlaces prints one place per line: the text there, and its replacement.
func listPlaces(places []mutation, files map[string]string) string {
	var b strings.Builder
	for _, m := range places {
		fmt.Fprintf(&b, "%s %v %s:%d", m.Kind, m.Gates, m.File, m.Line)
		for _, e := range m.Edits {
			fmt.Fprintf(&b, " %q>%q", files[m.File][e.Start:e.End], e.Text)
		}
		b.WriteString("\n")
	}
	return b.String()
}
