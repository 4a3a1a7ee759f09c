package conversation

import (
	"cmp"
	"fmt"
)

// An End says why a conversation ended.
type End string

// The ends.
const (
	Finished End = "finished" // the model said that it is done
	Talked   End = "talked"   // it stopped calling tools
	Repeated End = "repeated" // it kept making the same call
	Errors   End = "errors"   // its calls kept failing
	Rounds   End = "rounds"   // the caps
	Calls    End = "calls"
	Output   End = "output"

	Interrupted End = "interrupted" // a person ended the answer
)

// Caps bound one conversation; a field that is 0 takes the default below. The run's budget bounds money and time.
type Caps struct {
	Rounds, Calls int
	// Shown bounds the bytes of answers and diffs that the model is shown.
	Shown int
	// AtOnce bounds how many calls of one round are made; the others are refused. 0 means Calls.
	AtOnce int
	// Identical bounds how often one call is made in a row, and Errors how many rounds in a row may fail.
	Identical, Errors int
}

// The defaults of the caps.
const (
	MaxRounds = 40
	MaxCalls  = 200
	MaxShown  = 500_000
	inVain    = 3
)

// filled returns c with the missing values filled in.
func (c Caps) filled() Caps {
	c.Rounds, c.Calls, c.Shown = cmp.Or(c.Rounds, MaxRounds), cmp.Or(c.Calls, MaxCalls), cmp.Or(c.Shown, MaxShown)
	c.Identical, c.Errors = cmp.Or(c.Identical, inVain), cmp.Or(c.Errors, inVain)
	c.AtOnce = cmp.Or(c.AtOnce, c.Calls)
	return c
}

// cap reports whether a cap ended the conversation.
func (e End) cap() bool { return e == Rounds || e == Calls || e == Output }

// told describes an end for people.
func (c Caps) told(e End) string {
	switch c = c.filled(); e {
	case Talked:
		return fmt.Sprintf("it called no tool in %d answers", inVain)
	case Repeated:
		return fmt.Sprintf("it made the same call %d times in a row", c.Identical)
	case Errors:
		return fmt.Sprintf("in %d rounds in a row none of its calls did what it should", c.Errors)
	case Rounds:
		return fmt.Sprintf("%d rounds are the most", c.Rounds)
	case Calls:
		return fmt.Sprintf("%d calls are the most", c.Calls)
	case Output:
		return fmt.Sprintf("%d bytes of answers are the most", c.Shown)
	}
	return string(e)
}

// A gauge measures how much of a cap is used, and whether the model was warned.
type gauge struct {
	what   string
	most   int
	warned bool
}

// warn returns the warning for a model that has used four fifths of a cap, once.
func (g *gauge) warn(used int) string {
	if g.warned || used < g.most*4/5 {
		return ""
	}
	g.warned = true
	return fmt.Sprintf("%d of %d %s are used: come to the end, and call finish.\n", used, g.most, g.what)
}
