package lang

import (
	"path"
	"slices"
	"strings"

	"agent/sandbox/workspace/lazyregexp"
)

// A Language is one row of the table.
type Language struct {
	// The key of the row, in lower case: "python". [[gate]] of agent.toml and the programs of
	// the toolchain image use it.
	ID string
	// Its name in prompts and fences; "text" for data of no particular language.
	Prompt string
	// What the rules for its text are shared with, "" for no rules.
	Family Family
	// Extensions in lower case, each with its dot. No other row has one of them.
	Extensions []string
	// Extensions of other rows, or of none, whose files concern its tools as well.
	Also []string
	// Names of files without such an extension, in lower case.
	Files []string
	// Interpreters on the first line of a script, without versions: "python".
	Shebangs []string
	// Of Extensions those under which elements of JSX may stand.
	JSX []string
	// Comments and strings; never nil.
	Syntax *Syntax
	// Where line breaks mean nothing.
	Flow Flow
	// Depth has a meaning.
	Offside bool
	// Text for people: a fence of backquotes is part of it.
	Prose bool
	// How a value that nobody quoted reads.
	Values Values
	// How tests are named; nil where nobody writes tests in it.
	Tests *Tests
	// A change of it needs no word that no gate reads it: gates parse, lint or type check it, or a
	// runner's plugin runs it, as with Gherkin.
	Checked bool
	// The syntax checker of the toolchain image has a parser for it.
	Parsed bool
	// Patterns of path.Match, in lower case, for the files that say what is installed. One
	// that ends in a slash is a directory.
	Manifests []string
}

// A Family is a set of languages that rules on their text are shared by.
type Family string

// The families that rules are known for.
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

// A Flow is where line breaks and the space around tokens mean nothing.
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

// All returns the rows in their order. They are shared: callers do not change them.
func All() []*Language { return slices.Clone(rows) }

// Named returns the row of an ID, nil for none.
func Named(id string) *Language { return byID[id] }

// Of returns the row of a file by its name, or by its extension, in any case of letters; nil
// for none.
func Of(name string) *Language {
	if l := byFile[strings.ToLower(path.Base(name))]; l != nil {
		return l
	}
	return ByExtension(name)
}

// ByExtension returns the row of a file by its extension alone, nil for none.
func ByExtension(name string) *Language { return byExtension[strings.ToLower(path.Ext(name))] }

// Detect returns the row of a file: without an extension by the line that names the
// interpreter, where there is one, else as Of does; nil for none.
func Detect(name, text string) *Language {
	if path.Ext(name) == "" {
		if l := byFirstLine(text); l != nil {
			return l
		}
	}
	return Of(name)
}

// maxFirstLine bounds what is read of a first line, in bytes.
const maxFirstLine = 400

// byFirstLine returns the row of the interpreter that the first line of a script names, nil
// for none. A word that only contains the name of an interpreter counts where no word is one,
// and so does any program whose name ends as those of shells do.
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

// Extensions returns the extensions of the rows with these IDs, in their order.
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

// Elements reports whether a file of that name may hold elements of JSX.
func (l *Language) Elements(name string) bool {
	return slices.Contains(l.JSX, strings.ToLower(path.Ext(name)))
}

// Tests say how people of a language, or of several, name their tests.
//
// There are three questions. A runner collects files by its own rule, which only it may
// configure: IsTest is what people call a file of tests, collected or not. Whoever
// looks for tests that nothing ran asks Candidate. Whoever guards tests against being
// weakened asks MayTest, which says yes where either does, and for helpers beside tests.
type Tests struct {
	// What findings call the language: "Python".
	Name string
	// Names of files that are those of tests; nil for none.
	Named *lazyregexp.Regexp
	// Paths in a directory that only tests are in; nil for none.
	Within *lazyregexp.Regexp
	// Paths that are those of tests only where the text is, too; nil for none.
	Likely *lazyregexp.Regexp
	// What the text of tests holds; nil where the name says enough.
	Text *lazyregexp.Regexp
	// A name by Named or Within is enough. Elsewhere files are called so which hold no tests,
	// a script that tries a connection or a class that measures load.
	Certain bool
	// Tests stand among other code: every file may have some.
	Inline bool
	// Programs that test it, for gates that the workspace defines.
	Tools []string
}
