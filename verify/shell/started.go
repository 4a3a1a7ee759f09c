package shell

import (
	"path"
	"slices"
	"strings"

	"agent/sandbox/workspace/lang"
	"agent/sandbox/workspace/lazyregexp"
	"agent/verify/check"
)

// token matches what joins commands, and the words between.
var token = lazyregexp.New("[;&|(){}`\n]|[^\\s;&|(){}`]+")

// starters are the words behind which what is started stands, besides names of shells and interpreters with a version.
var starters = lazyregexp.New(`^(?:(?:\S*/)?(?:(?:ba|da|z|k)?sh|python[\d.]*|node|perl|ruby|env)|source|\.|exec|time|command|if|then|do|else|while|!|\w+=.*)$`)

// startedIn lists the words of a text at which a command, or a line of a script or of a Makefile, starts or reads programs: at
// the beginning, behind a shell or an interpreter, and behind what joins commands. What is behind other programs is data.
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

// makefiles are what make reads, in its order.
var makefiles = []string{"GNUmakefile", "makefile", "Makefile"}

// mostStarted bounds the files that are followed.
const mostStarted = 50

// Started lists the files of v that a command starts, and those that scripts and Makefiles among them start in turn;
// what a path leads to from the top, or from beside a script. It reads and runs nothing but text, so names that are put
// together as a script runs are not found.
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
