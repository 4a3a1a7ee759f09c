package shell

import (
	"path"
	"slices"
	"strings"

	"agent/sandbox/workspace/lang"
	"agent/sandbox/workspace/lazyregexp"
	"agent/verify/check"
)

// token matches a separator of commands, or a word between them.
var token = lazyregexp.New("[;&|(){}`\n]|[^\\s;&|(){}`]+")

// starters matches the words that may precede what is started, including shells and interpreters, also with a version in the name.
var starters = lazyregexp.New(`^(?:(?:\S*/)?(?:(?:ba|da|z|k)?sh|python[\d.]*|node|perl|ruby|env)|source|\.|exec|time|command|if|then|do|else|while|!|\w+=.*)$`)

// startedIn lists the words with which a command, or a line of a script or Makefile, starts or reads programs: at the
// beginning, after a shell or an interpreter, and after a separator of commands. Words after other programs are data.
func startedIn(text string) (words []string) {
	begins := true
	for _, t := range token.FindAllString(text, -1) {
		word := strings.TrimLeft(strings.Trim(t, `"'`), "@")
		switch {
		case len(t) == 1 && strings.ContainsAny(t, ";&|(){}`\n"):
			begins = true
		case !begins || strings.HasPrefix(word, "-") || starters.MatchString(word): // options of a shell, too
		default:
			words, begins = append(words, word), false
		}
	}
	return words
}

// makefiles are the files that make reads, in its order.
var makefiles = []string{"GNUmakefile", "makefile", "Makefile"}

// mostStarted bounds how many files are followed.
const mostStarted = 50

// Started lists the files of v that a command starts, and those that scripts and Makefiles among them start in turn. Paths
// are relative to the top or to the script's directory. It only reads text and runs nothing, so it does not find names that
// a script builds as it runs.
func Started(v check.View, command []string) (files []string) {
	follow := func(dir, text string) {
		for _, word := range startedIn(text) {
			for _, p := range []string{path.Clean(word), path.Join(dir, word)} {
				if len(files) < mostStarted && v.Has(p) && !slices.Contains(files, p) {
					files = append(files, p)
				}
			}
		}
	}
	follow(".", strings.Join(command, " "))
	if slices.ContainsFunc(command, func(word string) bool {
		return strings.HasSuffix(path.Base(word), "make") || strings.Contains(word, "make ")
	}) {
		if i := slices.IndexFunc(makefiles, v.Has); i >= 0 {
			files = append(files, makefiles[i])
		}
	}
	for i := 0; i < len(files); i++ {
		text := v.Text(files[i])
		if l := lang.Detect(files[i], text); slices.Contains(makefiles, path.Base(files[i])) || l != nil && l.ID == "shell" {
			follow(path.Dir(files[i]), text)
		}
	}
	return files
}
