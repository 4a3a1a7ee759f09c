package check

import (
	"strings"

	"agent/sandbox/workspace/lazyregexp"
)

// sourceEnds matches the file name extensions after which a message gives a place.
//
// Without them a host and its port would count as a place.
const sourceEnds = `\.(?:py|pyi|go|[cm]?[jt]sx?|vue|svelte|astro|json[c5]?|toml|ya?ml|s?css|sass|less|x?html?|xml|sh|bash|md|rs|java|kt|c|h|cc|cpp)`

// places are the forms in which tools put a place into a message. Only the place itself is replaced: every other number
// is part of what the tool found, such as the 4 in "expected 3 arguments, got 4".
var places = []struct {
	form *lazyregexp.Regexp
	with string
}{
	// "lines 3, 5 and 7"
	{lazyregexp.New(`(?i)\blines[ :#]*\d+(?:(?:\s*[-–,]\s*|\s*,?\s+(?:and|to|through)\s+)\d+)*`), "lines N"},
	// "defined on line 12", "line 12, column 5", "line 12:5"
	{lazyregexp.New(`(?i)\b(line|ln)[ :#]*\d+(?:[-–:]\d+)*(?:,?\s*\(?col(?:umn|\.)?[ :#]*\d+)?`), "line N"},
	// "a.go:12:3", "a.ts(3,5)", "a.py#L12", "closure@a.rs:3:5: 3:8"
	{lazyregexp.New(`(` + sourceEnds + `)(?:(?::\d+)+(?:[-–:]\s?\d+:\d+)?|\s?\(\d+(?:,\s?\d+)?\)|#L\d+(?:-L?\d+)?)`), "${1}:N"},
	// "<string>:12", "(anonymous):3:5", "f:12:5", but not a slice such as x[1:2:3]
	{lazyregexp.New(`(<[\w .-]+>|\(anonymous[\w ]*\)):\d+(?::\d+)?`), "${1}:N"},
	{lazyregexp.New(`([A-Za-z_]):\d+:\d+\b`), "${1}:N"},
	// "Unexpected token (3:14)", "at 3:14", "at (3, 14)"
	{lazyregexp.New(`\(\d+:\d+\)`), "(N)"},
	{lazyregexp.New(`\b(at|from|in) (?:\(\d+[:,]\s?\d+\)|\d+:\d+\b)`), "${1} N"},
	// mypy's local and anonymous classes, "Case@3333" and "<subclass>@12"; the compiler's symbols, "__@iterator@35". A
	// version, as in "react@18.2", does not match.
	{lazyregexp.New(`([\w>)\]])@\d+(?:[:.]\d+@|@)?([^\w.@:-]|[.:](?:\D|$)|$)`), "${1}@N${2}"},
	// "<function f at 0x7f3a10>"
	{lazyregexp.New(`\b0x[0-9a-fA-F]{6,}\b`), "0xN"},
}

// Unplaced removes the places from a message. If Shorten has cut the message, what remains depends on the length of the
// places, so its end is dropped.
func Unplaced(message string) string {
	// Most messages have no number, and a place always has one.
	if !strings.ContainsAny(message, "0123456789") {
		return message
	}
	cut := len(message) > MaxMessage
	for _, p := range places {
		message = p.form.ReplaceAllString(message, p.with)
	}
	if cut {
		message = message[:min(len(message), MaxMessage*3/4)]
	}
	return message
}

// SameMessage compares messages without the places in them, which move with every line above.
func SameMessage(a, b string) bool { return Unplaced(a) == Unplaced(b) }
