package edit

import (
	"fmt"
	"strings"
)

// The engine promises to be done with any input of a mebibyte within a second
// and ten times its memory. Three bounds keep the promise whatever the input
// is: on lines that are many and short, on tokens for a parser, and on the
// comparing that one response may ask for. None of them is near what people
// or models send; what is beyond them is refused with the reason, or left to
// the gates, and never half done.

// Each line costs the engine some hundred bytes where it is indexed and
// paired, and a line of text pays for that with its own length. A text of
// more lines than lightLines that are shorter than lightLine on average does not.
const (
	lightLines = 3 << 14
	lightLine  = 16 // bytes, the line end included
)

// crowded reports whether a text of that size has too many short lines for
// an index.
func crowded(lines, size int) bool { return lines > lightLines && lines > size/lightLine }

// crowdedResponse refuses a response of too many short lines before it is cut
// into any; nil when it is not one. An end of a line in JSON counts as one.
func crowdedResponse(lines, size int) error {
	if !crowded(lines, size) {
		return nil
	}
	return refuse(Problem{
		Kind: kindRefused, Reason: fmt.Sprintf("the response has %d lines of %d bytes on average, more than are read at once", lines, size/lines),
		Advice: "send the change in several responses",
	})
}

// linesIn counts the line ends of a text, those that JSON escapes too.
func linesIn(text string) int { return strings.Count(text, "\n") + strings.Count(text, `\n`) }

// maxTokens bounds the tokens of a text that is parsed: a tree of one costs
// some hundred bytes a token, and some parsers more than linear time.
const maxTokens = 1 << 16

// parsable reports whether a text is short and simple enough to be parsed in
// the process.
func parsable(text string) bool {
	if len(text) > maxParsed {
		return false
	}
	n := 0
	for at := 0; at < len(text) && n <= maxTokens; {
		end := len(text)
		if i := strings.IndexByte(text[at:], '\n'); i >= 0 {
			end = at + i + 1
		}
		eachToken(text[at:end], func(string) { n++ })
		at = end
	}
	return n <= maxTokens
}

// A work counts down what one response may still have compared, in bytes that
// are read one by one; other steps count as more or less. It is no clock: the same input has the same outcome anywhere.
//
// Whoever does linear work for one block counts it, and whoever goes through
// many blocks, pieces or files looks whether anything is left. What is found
// after that is thrown away, so that a search may stop anywhere.
type work struct {
	left  int
	trial bool // whether the blocks fit is all that is asked: nothing is explained
}

// What a response may have compared: workFree whatever it is about, and for
// each byte of the files that it is about workPerByte. The dearest of a
// thousand recorded responses takes one part in four hundred.
const (
	workFree    = 1 << 27
	workPerByte = 32
)

// newWork returns the work that one response may take.
func newWork() *work { return &work{left: workFree} }

// open adds what a file of size bytes allows.
func (w *work) open(size int) { w.left += workPerByte * size }

// add counts n bytes as compared; a nil work counts nothing.
func (w *work) add(n int) {
	if w != nil {
		w.left -= n
	}
}

// tries reports whether nothing is to be explained.
func (w *work) tries() bool { return w != nil && w.trial }

// spent reports whether nothing is left.
func (w *work) spent() bool { return w != nil && w.left < 0 }

// What other steps count as, about a nanosecond each: so much of a search that
// reads many bytes a nanosecond, and a line by its number, with what is kept of
// it, and with its indentation; and what any block takes however small it is.
const (
	workSwift = 32 // bytes that count as one
	workLine  = 4
	workPair  = 8
	workDepth = 32
	workBlock = 4000
)

// overworked refuses the blocks for a file that would have too much compared.
//
// It is a problem of them all: which of them is to blame nobody can say, and
// those that were not looked at are not sound.
func overworked(path string) []Problem {
	return []Problem{{
		Path: path, Kind: kindRefused, Reason: "to find the blocks takes more comparing than is done for one response: too many of their lines stand too often",
		Advice: "send fewer and smaller blocks at a time, each with a line that stands seldom in the file",
	}}
}
