package lang

import (
	"path"
	"slices"
	"strings"

	"agent/sandbox/workspace/lazyregexp"
)

// A Language is one row of the table.
type Language struct {
	// The key of the row, in lower case: "python". [[gate]] of agent.toml and the programs of the toolchain image use
	// it.
	ID string
	// Its name in prompts and fences; "text" for data of no particular language.
	Prompt string
	// The family that it shares the rules for its text with, "" for no rules.
	Family Family
	// Extensions in lower case, each with its dot. No two rows share one.
	Extensions []string
	// Extensions of other rows, or of none, whose files also concern its tools.
	Also []string
	// Names of files without such an extension, in lower case.
	Files []string
	// Interpreters on the first line of a script, without versions: "python".
	Shebangs []string
	// Those of Extensions under which JSX elements may occur.
	JSX []string
	// Comments and strings; never nil.
	Syntax *Syntax
	// Where line breaks are insignificant.
	Flow Flow
	// Indentation is significant.
	Offside bool
	// Text for people: a fence of backquotes is part of it.
	Prose bool
	// How to read an unquoted value.
	Values Values
	// How tests are named; nil if no tests are written in it.
	Tests *Tests
	// A change of it needs no notice that no gate reads it: gates parse, lint or type-check it, or a runner's plugin
	// runs it, as with Gherkin.
	Checked bool
	// The syntax checker of the toolchain image has a parser for it.
	Parsed bool
	// Patterns of path.Match, in lower case, for the files that say what is installed. A pattern that ends in a slash
	// is a directory.
	Manifests []string
}

// A Family is a set of languages that share rules on their text.
type Family string

// The families for which there are rules.
const (
	Python Family = "python"
	Script Family = "script" // JavaScript and TypeScript
	Go     Family = "go"
	Shell  Family = "shell"
	CSS    Family = "css"    // and what compiles to it
	Markup Family = "markup" // HTML, and components that hold script and style
	Rust   Family = "rust"
	JVM    Family = "jvm" // Java and Kotlin
)

// A Flow says where line breaks and the space around tokens are insignificant.
type Flow int

// The flows, from strict to free.
const (
	Fixed    Flow = iota // nowhere
	Brackets             // between ( and ), or [ and ]
	Braces               // also between { and }
	Free                 // everywhere
)

// byExtension, byFile and byID are the rows by their keys.
var byExtension, byFile, byID = func() (extensions, files, ids map[string]*Language) {
	extensions, files, ids = map[string]*Language{}, map[string]*Language{}, map[string]*Language{}
	for _, l := range rows {
		ids[l.ID] = l
		for _, ext := range l.Extensions {
			extensions[ext] = l
		}
		for _, name := range l.Files {
			files[name] = l
		}
	}
	return extensions, files, ids
}()

// All returns the rows in their order. They are shared, so callers must not change them.
func All() []*Language { return slices.Clone(rows) }

// Named returns the row of an ID, nil for none.
func Named(id string) *Language { return byID[id] }

// Of returns the row of a file by its name, or by its extension, ignoring case; nil if there is none.
func Of(name string) *Language {
	if l := byFile[strings.ToLower(path.Base(name))]; l != nil {
		return l
	}
	return ByExtension(name)
}

// ByExtension returns the row of a file by its extension alone, nil for none.
func ByExtension(name string) *Language { return byExtension[strings.ToLower(path.Ext(name))] }

// Detect returns the row of a file. Without an extension, the line that names the interpreter decides if there is one.
// Otherwise Detect is Of; nil means none.
func Detect(name, text string) *Language {
	if path.Ext(name) == "" {
		if l := byFirstLine(text); l != nil {
			return l
		}
	}
	return Of(name)
}

// maxFirstLine bounds how much of a first line is read, in bytes.
const maxFirstLine = 400

// byFirstLine returns the row of the interpreter that the first line of a script names, nil if there is none. If no
// word is the name of an interpreter, a word that contains one counts. If none does, a program whose name ends like
// those of shells counts as one.
func byFirstLine(text string) *Language {
	line, ok := strings.CutPrefix(text[:min(len(text), maxFirstLine)], "#!")
	if !ok {
		return nil
	}
	line, _, _ = strings.Cut(line, "\n")
	words := strings.Fields(line)
	for i, w := range words {
		words[i] = strings.TrimRight(path.Base(w), "0123456789.")
	}
	for _, names := range []func(word, shebang string) bool{
		func(word, shebang string) bool { return word == shebang },
		func(word, shebang string) bool { return len(shebang) > 3 && strings.Contains(word, shebang) },
	} {
		for _, l := range rows {
			if slices.ContainsFunc(l.Shebangs, func(s string) bool {
				return slices.ContainsFunc(words, func(w string) bool { return names(w, s) })
			}) {
				return l
			}
		}
	}
	if slices.ContainsFunc(words, func(w string) bool { return strings.HasSuffix(w, "sh") }) {
		return byID["shell"]
	}
	return nil
}

// Extensions returns the extensions of the rows with these IDs, in the order of the IDs.
func Extensions(ids ...string) (list []string) {
	for _, id := range ids {
		list = append(list, byID[id].Extensions...)
	}
	return list
}

// Manifests returns the patterns of the manifests of all rows.
func Manifests() (list []string) {
	for _, l := range rows {
		list = append(list, l.Manifests...)
	}
	return list
}

// Elements reports whether a file with that name may contain JSX elements.
func (l *Language) Elements(name string) bool {
	return slices.Contains(l.JSX, strings.ToLower(path.Ext(name)))
}

// Tests describes how people name the tests of a language, or of several.
//
// There are three questions. A runner collects files by its own rule, which only it may configure; IsTest reports what
// people call a test file, collected or not. To look for tests that nothing ran, use Candidate. To guard tests against
// being weakened, use MayTest, which is true if either of these is, and for helpers next to tests.
type Tests struct {
	// What findings call the language: "Python".
	Name string
	// Names of test files; nil for none.
	Named *lazyregexp.Regexp
	// Paths in a directory that contains only tests; nil for none.
	Within *lazyregexp.Regexp
	// Paths of test files, provided that the text matches too; nil for none.
	Likely *lazyregexp.Regexp
	// What the text of tests contains; nil if the name is enough.
	Text *lazyregexp.Regexp
	// A name matched by Named or Within is enough. In other languages files with such names may hold no tests: a script
	// that tries a connection or a class that measures load.
	Certain bool
	// Tests stand among other code: every file may contain some.
	Inline bool
	// Programs that test it, for gates that the workspace defines.
	Tools []string
}
