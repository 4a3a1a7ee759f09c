//go:build bench

package verify

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// A mutation is one place in a project where the bench can change something, together with the change. It is derived from the text alone:
// no code of a project runs on the host.
type mutation struct {
	Kind string `json:"kind"`
	File string `json:"file"`
	// The line of the first edit, counted from 1.
	Line int `json:"line"`
	// In the order of their offsets.
	Edits []textEdit `json:"edits"`
	// The gates that should each notice it on their own; none for a harmless edit.
	Gates []string `json:"gates"`
}

// A textEdit replaces the bytes from Start up to End with Text.
type textEdit struct {
	Start int    `json:"start"`
	End   int    `json:"end"`
	Text  string `json:"text"`
}

// apply returns the text of the file after the change.
func (p mutation) apply(before string) string {
	var b strings.Builder
	at := 0
	for _, e := range p.Edits {
		b.WriteString(before[at:e.Start])
		b.WriteString(e.Text)
		at = e.End
	}
	return b.String() + before[at:]
}

// The ten kinds of faults and the five of harmless edits, in the order of the table.
var (
	faultKinds = []string{
		"syntax", "undefined name", "wrong arity", "wrong type across files", "removed import",
		"removed function", "crash at start", "failing test", "bad JSON or CSS", "infinite loop",
	}
	harmlessKinds = []string{"comment", "blank line", "local renamed", "function added", "parentheses"}
)

// A tongue is what the bench knows about one language: a file of this package.
type tongue struct {
	name string
	// places lists where each kind of change can be planted in the project. It is nil for a language with data files only, which
	// dataPlaces handles.
	places func(t *testing.T, p project, files map[string]string) []mutation
	// tests is a command that runs the project's tests and prints a line for each that fails. It is nil if the bench knows none.
	tests []string
	// failure is the beginning of such a line.
	failure string
}

// A project is one row of the table: real code at a pinned version.
type project struct {
	name   string
	tongue tongue
	// fetch downloads the archive from the ecosystem's own registry.
	fetch   fetcher
	pkg     string // its name in that registry
	version string
	// sha256 is the digest of the archive in hexadecimal; any other archive is refused.
	sha256 string
	// sources are prefixes of the paths in which the tongue plants its changes.
	sources []string
	// entry is what starting the program loads: a module or a file.
	entry string
	// smoke is the command of the smoke gate; nil means the command by convention.
	smoke []string
	// extra has files of the source repository that the archive lacks and that the tools need to recognize the project.
	extra map[string]string
}

// tsconfig is the minimum that makes a directory a TypeScript project.
const tsconfig = `{
  "compilerOptions": {
    "strict": true, "noEmit": true, "target": "es2022", "module": "esnext", "moduleResolution": "bundler", "lib": ["es2022", "dom"]
  },
  "include": ["src"]
}
`

// projects is the table. Each project is one row.
var projects = []project{
	{
		name: "blinker", tongue: pythonTongue, fetch: debian, pkg: "blinker", version: "1.9.0-1",
		sha256:  "aa6567d896a5238caf18f8507693966025743567bdf3720ff7c695088b7baca8",
		sources: []string{"src/"}, entry: "blinker", smoke: []string{"python3", "-c", "import blinker"},
	}, {
		name: "click", tongue: pythonTongue, fetch: debian, pkg: "python-click", version: "8.2.0+0.really.8.1.8-1",
		sha256:  "33b16b4899d3deda7be154c0be415d898511abf928c988972cd97c4d90444a18",
		sources: []string{"src/"}, entry: "click", smoke: []string{"python3", "-c", "import click"},
	}, {
		name: "jmespath", tongue: pythonTongue, fetch: debian, pkg: "python-jmespath", version: "1.0.1-1",
		sha256:  "90261b206d6defd58fdd5e85f478bf633a2901798906be2ad389150c5c60edbe",
		sources: []string{"jmespath/"}, entry: "jmespath", smoke: []string{"python3", "-c", "import jmespath"},
	}, {
		name: "pathspec", tongue: pythonTongue, fetch: debian, pkg: "python-pathspec", version: "0.12.1-1",
		sha256:  "c58eb1ed9058583c6e08f372f938440b62b1dded76fcd572ddec643d8e4a6097",
		sources: []string{"pathspec/"}, entry: "pathspec", smoke: []string{"python3", "-c", "import pathspec"},
	}, {
		name: "semver", tongue: javaScript, fetch: npm, pkg: "semver", version: "7.6.3",
		sha256:  "376d2ca2c941fc5a37e9ac3ec65302e5e421e2cc1ee3dee57a854d2bd9bee125",
		sources: []string{"classes/", "functions/", "internal/", "ranges/", "index.js"}, entry: "index.js",
	}, {
		name: "commander", tongue: javaScript, fetch: npm, pkg: "commander", version: "12.1.0",
		sha256:  "56affc6ddafe486f94b428ae2823d059cf60d4dae2f33eaaf1b1ec4306f73173",
		sources: []string{"lib/", "index.js"}, entry: "index.js",
	}, {
		name: "normalize", tongue: styles, fetch: npm, pkg: "normalize.css", version: "8.0.1",
		sha256: "5cc172e0d5d062bc2a1a4bf85443e2eb260d3720e16527a0c1ac03b642f1de39",
	}, {
		name: "redux", tongue: typeScript, fetch: npm, pkg: "redux", version: "5.0.1",
		sha256:  "adacd4f8a377e638a3feb568e45e8b8ff22c926516941db25b1acfc34d94398b",
		sources: []string{"src/"}, entry: "src/index.ts", extra: map[string]string{"tsconfig.json": tsconfig},
	}, {
		name: "immer", tongue: typeScript, fetch: npm, pkg: "immer", version: "10.1.1",
		sha256:  "946cc79684ad1e080b09d4f2da14247b272aa667f3aaa100f35846148689f08f",
		sources: []string{"src/"}, entry: "src/immer.ts", extra: map[string]string{"tsconfig.json": tsconfig},
	}, {
		name: "uuid", tongue: goTongue, fetch: goModule, pkg: "github.com/google/uuid", version: "v1.6.0",
		sha256:  "d0f02f377217f42702e259684e06441edbf5140dddcc34ba9bea56038b38a6ed",
		sources: []string{""},
	}, {
		name: "mux", tongue: goTongue, fetch: goModule, pkg: "github.com/gorilla/mux", version: "v1.8.1",
		sha256:  "728243623caa67f64e4a0b6c59dde3f762918d9e729266167ba46d8df56c193a",
		sources: []string{""},
	},
}

// choose picks up to n mutations of each kind, in different files as far as possible. The same seed picks the same ones.
func choose(places []mutation, n int, random *rand.Rand) []mutation {
	var chosen []mutation
	for _, kind := range slices.Concat(faultKinds, harmlessKinds) {
		var of []mutation
		for _, p := range places {
			if p.Kind == kind {
				of = append(of, p)
			}
		}
		random.Shuffle(len(of), func(i, j int) { of[i], of[j] = of[j], of[i] })
		// A stable sort by how often the file occurred before spreads the choice over the files.
		seen := map[string]int{}
		rank := map[int]int{}
		order := make([]int, len(of))
		for i, p := range of {
			order[i], rank[i] = i, seen[p.File]
			seen[p.File]++
		}
		slices.SortStableFunc(order, func(i, j int) int { return rank[i] - rank[j] })
		for _, i := range order[:min(n, len(order))] {
			chosen = append(chosen, of[i])
		}
	}
	return chosen
}

// places lists where a change can be planted in the project's own language and in its data files.
func (p project) places(t *testing.T, files map[string]string) []mutation {
	var found []mutation
	if p.tongue.places != nil {
		found = p.tongue.places(t, p, files)
	}
	return append(found, dataPlaces(files)...)
}

// inSources reports whether changes may be planted in the file.
func (p project) inSources(file string) bool {
	return slices.ContainsFunc(p.sources, func(prefix string) bool { return strings.HasPrefix(file, prefix) })
}
