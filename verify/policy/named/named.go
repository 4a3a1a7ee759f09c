// Package named finds the files that other files name. Configuration finds the files that configuration consists of. Follow
// finds the files that act outside the box because a file that acts by its name names them: the script that a GitHub
// workflow runs, the list that a list of requirements includes, the text that the instructions of coding agents import.
//
// The package reads words, and executes and believes nothing. A word counts if the tool would run, include or import
// a file with that path, and if there is one. Directories are never followed. Files that the program's own tests
// judge in the box are left out: see judged.
package named

import (
	"path"
	"slices"
	"strings"

	"agent/sandbox/workspace/lang"
	"agent/sandbox/workspace/lazyregexp"
	"agent/verify/check"
)

// Longest is the size of the largest file that is read, in bytes.
const Longest = 1 << 20

// hops is how far names are followed: a file that was named may name a second one.
const hops = 2

// A Mode says how to read a file that acts. A file with the zero value is not followed.
type Mode int

// The modes.
const (
	None         Mode = iota
	Commands          // of editors, shells and git hooks
	Jobs              // of a build server, which includes other definitions too
	Manifest          // of a package manager: what runs on installation, and lists that lists include
	Instructions      // of coding agents: what they import, and commands of their hooks
)

// A Name says why a file acts.
type Name struct {
	// How it is named, for a person: "run", "run on installing", "included", "taken in", "imported" or "loaded".
	How string
	// The file that names it, and the file where the chain of names begins.
	By, Root string
	// Whether it is also a text for people, for example a README: then a look is enough.
	Shared bool
}

// A mention is a word of a file that may name another.
type mention struct{ word, how string }

// How files are named.
const (
	run       = "run"
	installer = "run on installing"
	included  = "included"
	listed    = "taken in"
	imported  = "imported"
	loaded    = "loaded"
)

// A follower follows names through a workspace.
type follower struct {
	base, cand check.View
	known      map[string]Name
	todo       []step
	tests      string
}

// A step is a file to read.
type step struct {
	path, root string
	mode       Mode
	left       int
}

// Follow lists the touched files that the files in modes name, in two hops, as they are in base or in cand. modes
// says how to read each file that acts by its name.
func Follow(base, cand check.View, modes map[string]Mode, touched func(p string) bool) map[string]Name {
	f := &follower{base: base, cand: cand, known: map[string]Name{}}
	for p, mode := range modes {
		f.todo = append(f.todo, step{p, p, mode, hops})
	}
	slices.SortFunc(f.todo, func(a, b step) int { return strings.Compare(a.path, b.path) })
	for i := 0; i < len(f.todo); i++ {
		f.read(f.todo[i], modes)
	}
	for p := range f.known {
		if !touched(p) || f.judged(p) {
			delete(f.known, p)
		}
	}
	return f.known
}

// read adds the files that one file names.
func (f *follower) read(s step, modes map[string]Mode) {
	before, after := f.base.Text(s.path), f.cand.Text(s.path)
	texts := []string{before}
	if after != before {
		texts = append(texts, after)
	}
	for _, text := range texts {
		if len(text) > Longest {
			continue
		}
		dirs := dirsOf(s.path, text)
		for _, m := range mentions(s.path, text, s.mode, s.path != s.root) {
			for _, dir := range dirs {
				p := path.Join(dir, strings.TrimPrefix(m.word, "/"))
				if f.known[p] != (Name{}) || modes[p] != None || len(f.known) >= 5*check.MostFollowed || !f.acts(p, m.how, s.mode) {
					continue
				}
				f.known[p] = Name{How: m.how, By: s.path, Root: s.root, Shared: m.how == imported && forPeople.MatchString(path.Base(p))}
				if s.left > 1 {
					f.todo = append(f.todo, step{p, s.root, s.mode, s.left - 1})
				}
			}
		}
	}
}

// forPeople matches the names of texts that are written for people first.
var forPeople = lazyregexp.New(`(?i)^(?:readme|changelog|changes|history|contributing|license|licence|notice|authors|code_of_conduct|security)(?:[._-].*)?$`)

// changesDir matches where commands change to another directory, or are started in one.
var changesDir = lazyregexp.New(`(?:\b(?:cd|pushd)[ \t]+|\b(?:working-directory|working_directory|workingDirectory|cwd|dir)["']?[ \t]*[:=][ \t]*)["']?((?:\./)?[\w.@/-]+)`)

// dirsOf lists the directories that names in a file may be relative to: its own, the top of the workspace, and those that it changes to.
func dirsOf(p, text string) []string {
	dirs := []string{path.Dir(p), "."}
	for _, m := range changesDir.FindAllStringSubmatch(text, check.MostFollowed) {
		dirs = append(dirs, path.Clean(m[1]), path.Join(path.Dir(p), m[1]))
	}
	slices.Sort(dirs)
	return slices.Compact(dirs)
}

// acts reports whether there is a file at p that acts when it is named in this way.
func (f *follower) acts(p, how string, mode Mode) bool {
	if !f.base.Has(p) && !f.cand.Has(p) {
		return false
	}
	text := f.cand.Text(p)
	if text == "" {
		text = f.base.Text(p)
	}
	l := lang.Detect(p, text)
	switch how {
	case installer, included, listed, loaded:
		return true
	case imported:
		return l == nil || l.Prose || l.ID == "text"
	}
	return isShell(p, l) || l != nil && l.Values == lang.Code && ofTools(p, mode)
}

// isShell reports whether a file is a shell script.
func isShell(p string, l *lang.Language) bool {
	ext := strings.ToLower(path.Ext(p))
	return ext == ".bat" || ext == ".cmd" || l != nil && (l.Family == lang.Shell && l.ID != "bats" || l.ID == "powershell")
}

// Words in a path that say that a program is a tool of the project and not part of its product. On a build server,
// only words about releases count: "node scripts/build.js" builds the product, and the gates build and test that.
var (
	toolWord   = lazyregexp.New(`(?i)(?:^|[/._-])(?:tools?|scripts?|hooks?|hack|ci|cd|cicd|dev|bin|release|deploy|deployment|publish)(?:[/._-]|$)`)
	serverWord = lazyregexp.New(`(?i)(?:^|[/._-])(?:ci|cd|cicd|releases?|deploy|deployment|publish)(?:[/._-]|$)`)
)

// ofTools reports whether a program is one of the project's tools, judging by its path.
func ofTools(p string, mode Mode) bool {
	if mode == Jobs {
		return serverWord.MatchString(p)
	}
	return toolWord.MatchString(p)
}

// mostTests bounds how many tests are read, and mostTestText how much of them is kept, in bytes.
const (
	mostTests    = 400
	mostTestText = 8 << 20
)

// judged reports whether a file that is run is a test, or a file of the program that the workspace's tests, as they
// were before the patch, name: then the gate that runs the tests judges it.
func (f *follower) judged(p string) bool {
	if how := f.known[p].How; how != run {
		return false
	}
	if lang.IsTest(p) || lang.BesideTests(p) && testName.MatchString(path.Base(p)) {
		return true
	}
	if f.tests == "" {
		f.tests = check.Recall(f.base, "text of tests", func() string { return testText(f.base) })
	}
	base, dir := path.Base(p), path.Base(path.Dir(p))
	forms := []string{p}
	if stem := strings.TrimSuffix(base, path.Ext(p)); stem != base { // else it is a word like any other
		forms = append(forms, base, dir+"."+stem, dir+"/"+stem, "import "+stem, "from "+stem)
	}
	return slices.ContainsFunc(forms, func(form string) bool { return names(f.tests, form) })
}

// testName matches the names of scripts that are tests if they are in a directory of tests.
var testName = lazyregexp.New(`(?i)(?:^|[._-])(?:tests?|specs?)(?:[._-]|$)`)

// testText returns the text of a workspace's tests, after a newline.
func testText(v check.View) string {
	var all strings.Builder
	all.WriteByte('\n')
	n := 0
	for _, p := range v.Paths() {
		l := lang.Of(p)
		if script := l != nil && !l.Prose || path.Ext(p) == ""; !script || !lang.IsTest(p) && !lang.InTests(p) || strings.Contains("/"+p, "/node_modules/") {
			continue
		}
		if n++; n > mostTests || all.Len() > mostTestText {
			break
		}
		all.WriteString(v.Text(p))
	}
	return all.String()
}

// names reports whether a text contains a word that is not part of a longer one.
func names(text, word string) bool {
	for at := 0; ; {
		i := strings.Index(text[at:], word)
		if i < 0 {
			return false
		}
		from, to := at+i, at+i+len(word)
		if (from == 0 || !isNamePart(text[from-1])) && (to == len(text) || !isNamePart(text[to])) {
			return true
		}
		at = to
	}
}
