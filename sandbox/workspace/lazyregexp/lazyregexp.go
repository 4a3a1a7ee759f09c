// Package lazyregexp is package regexp for package variables: it compiles a pattern at its first use, so that a program
// with hundreds of patterns starts without compiling any. It owns no pattern.
package lazyregexp

import (
	"os"
	"regexp"
	"strings"
	"sync"
)

// A Regexp is a regular expression that is compiled once, at its first use. Its methods do what those of regexp.Regexp
// do, and any number of goroutines may call them.
type Regexp struct {
	text string
	once sync.Once
	form *regexp.Regexp // of once
}

// inTest makes a mistake in a pattern fail the tests of its package rather than the first run that uses it.
var inTest = len(os.Args) > 0 && strings.HasSuffix(os.Args[0], ".test")

// New returns a Regexp for the pattern text, which must be valid.
func New(text string) *Regexp {
	r := &Regexp{text: text}
	if inTest {
		r.compiled()
	}
	return r
}

// compiled returns the expression, compiled.
func (r *Regexp) compiled() *regexp.Regexp {
	r.once.Do(func() { r.form = regexp.MustCompile(r.text) })
	return r.form
}

// String returns the pattern.
func (r *Regexp) String() string { return r.text }

// Match reports whether b contains a match.
func (r *Regexp) Match(b []byte) bool { return r.compiled().Match(b) }

// MatchString reports whether s contains a match.
func (r *Regexp) MatchString(s string) bool { return r.compiled().MatchString(s) }

// Find returns the first match.
func (r *Regexp) Find(b []byte) []byte { return r.compiled().Find(b) }

// FindString returns the first match, empty for none.
func (r *Regexp) FindString(s string) string { return r.compiled().FindString(s) }

// FindStringIndex returns the position of the first match.
func (r *Regexp) FindStringIndex(s string) []int { return r.compiled().FindStringIndex(s) }

// FindStringSubmatch returns the first match and its groups.
func (r *Regexp) FindStringSubmatch(s string) []string { return r.compiled().FindStringSubmatch(s) }

// FindStringSubmatchIndex returns the positions of the first match and its groups.
func (r *Regexp) FindStringSubmatchIndex(s string) []int {
	return r.compiled().FindStringSubmatchIndex(s)
}

// FindAllString returns up to n matches, all for -1.
func (r *Regexp) FindAllString(s string, n int) []string { return r.compiled().FindAllString(s, n) }

// FindAllStringIndex returns the positions of up to n matches.
func (r *Regexp) FindAllStringIndex(s string, n int) [][]int {
	return r.compiled().FindAllStringIndex(s, n)
}

// FindAllSubmatch returns up to n matches and their groups.
func (r *Regexp) FindAllSubmatch(b []byte, n int) [][][]byte {
	return r.compiled().FindAllSubmatch(b, n)
}

// FindAllStringSubmatch returns up to n matches and their groups.
func (r *Regexp) FindAllStringSubmatch(s string, n int) [][]string {
	return r.compiled().FindAllStringSubmatch(s, n)
}

// FindAllStringSubmatchIndex returns the positions of up to n matches and their groups.
func (r *Regexp) FindAllStringSubmatchIndex(s string, n int) [][]int {
	return r.compiled().FindAllStringSubmatchIndex(s, n)
}

// ReplaceAll replaces all matches, with $1 for a group.
func (r *Regexp) ReplaceAll(src, repl []byte) []byte { return r.compiled().ReplaceAll(src, repl) }

// ReplaceAllString replaces all matches, with $1 for a group.
func (r *Regexp) ReplaceAllString(src, repl string) string {
	return r.compiled().ReplaceAllString(src, repl)
}

// ReplaceAllStringFunc replaces each match by the result of repl.
func (r *Regexp) ReplaceAllStringFunc(src string, repl func(string) string) string {
	return r.compiled().ReplaceAllStringFunc(src, repl)
}

// Split splits s at its matches, into at most n pieces.
func (r *Regexp) Split(s string, n int) []string { return r.compiled().Split(s, n) }
