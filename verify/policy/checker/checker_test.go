package checker

import (
	"iter"
	"maps"
	"strings"
	"testing"
)

// files returns the files of a project in the form that Named takes.
func files(list map[string]string) iter.Seq2[string, string] { return maps.All(list) }

// A tool is named by its file, in a build or in a configuration. A word that only contains its name is a different word.
func TestATool(t *testing.T) {
	t.Parallel()
	for family, c := range map[string]struct {
		used, unused map[string]string
	}{
		"ruff":          {map[string]string{"Makefile": "lint:\n\tuvx ruff check"}, map[string]string{"tox.ini": "commands = flake8 src"}},
		"noqa":          {map[string]string{"tox.ini": "commands = flake8 src"}, map[string]string{"tox.ini": "commands = pytest"}},
		"type: ignore":  {map[string]string{".github/workflows/ci.yml": "- run: uvx ty check"}, map[string]string{"package.json": `{"description": "pretty empty"}`}},
		"pylint":        {map[string]string{".pylintrc": ""}, map[string]string{"setup.cfg": "[flake8]"}},
		"scanner":       {map[string]string{"ci.yml": "uses: gitleaks/gitleaks-action@v2"}, map[string]string{"ci.yml": "go vet ./..."}},
		"nosec":         {map[string]string{"Makefile": "gosec ./..."}, map[string]string{"Makefile": "go vet ./..."}},
		"eslint":        {map[string]string{"package.json": `{"scripts": {"test": "xo && ava"}}`}, map[string]string{"package.json": `{"scripts": {"test": "ava --boxo"}}`}},
		"tslint":        {map[string]string{"tslint.json": "{}"}, map[string]string{"tsconfig.json": "{}"}},
		"deno-lint":     {map[string]string{"deno.json": "{}"}, map[string]string{"package.json": `{"name": "denomination"}`}},
		"typescript":    {map[string]string{"package.json": `{"scripts": {"build": "tsc -p ."}}`}, map[string]string{"package.json": `{"scripts": {"build": "rollup -c"}}`}},
		"biome":         {map[string]string{"biome.json": "{}"}, map[string]string{"package.json": "{}"}},
		"nolint":        {map[string]string{".golangci.yml": ""}, map[string]string{"Makefile": "go vet ./..."}},
		"staticcheck":   {map[string]string{"Makefile": "staticcheck ./..."}, map[string]string{"Makefile": "go test ./..."}},
		"revive":        {map[string]string{".golangci.toml": "enable = ['revive']"}, map[string]string{"Makefile": "go build ./..."}},
		"shellcheck":    {map[string]string{".shellcheckrc": ""}, map[string]string{"Makefile": "sh build.sh"}},
		"stylelint":     {map[string]string{"package.json": `{"devDependencies": {"stylelint": "16"}}`}, map[string]string{"package.json": `{"devDependencies": {"eslint": "9"}}`}},
		"html-validate": {map[string]string{".htmlvalidate.json": "{}"}, map[string]string{"package.json": "{}"}},
	} {
		if !Known(family) {
			t.Errorf("%s has no row", family)
		}
		if !Named(family, files(c.used)) || Named(family, files(c.unused)) || Named(family, files(nil)) {
			t.Errorf("%s: used %v, unused %v", family, Named(family, files(c.used)), Named(family, files(c.unused)))
		}
	}
	for family := range checkers {
		if strings.TrimSpace(family) == "" {
			t.Error("a row of no family")
		}
	}
}

// An unknown family counts as used; the end of a long file is not read.
func TestWhatIsNotKnownOrNotRead(t *testing.T) {
	t.Parallel()
	if Known("of another tool") || !Named("of another tool", files(nil)) {
		t.Error("a family without a row is not taken for one that is checked")
	}
	long := strings.Repeat("x", longestConfig)
	if Named("biome", files(map[string]string{"Makefile": long + " biome"})) || !Named("biome", files(map[string]string{"Makefile": "biome " + long})) {
		t.Error("more or less was read of a file than its bound")
	}
	// Reading stops at the first file that names the tool.
	read := 0
	Named("biome", func(yield func(p, text string) bool) {
		for _, p := range []string{"a", "biome.json", "b"} {
			if read++; !yield(p, "") {
				return
			}
		}
	})
	if read != 2 {
		t.Errorf("%d files were read", read)
	}
}
