package conversation

import (
	"cmp"
	"fmt"
)

// An End is why a conversation ended.
type End string

// The ends.
const (
	Finished End = "finished" // the model said that it is done
	Talked   End = "talked"   // it called no tool any more
	Repeated End = "repeated" // it made the same call again and again
	Errors   End = "errors"   // none of its calls did what it should
	Rounds   End = "rounds"   // the caps
	Calls    End = "calls"
	Output   End = "output"

	Interrupted End = "interrupted" // a person ended the answer
)

// Caps bound one conversation; what is 0 is as MaxCaps has it. What money and time it may cost is the run's budget.
type Caps struct {
	Rounds, Calls int
	// Shown are the bytes of answers and diffs that the model is shown.
	Shown int
	// AtOnce are the calls of one round that are made; the others are refused. 0 means as many as there may be of all.
	AtOnce int
	// Identical is how often one call is made in a row, and Errors how many rounds in a row may come to nothing.
	Identical, Errors int
}

// The caps that hold where others do not.
const (
	MaxRounds = 40
	MaxCalls  = 200
	MaxShown  = 500_000
	inVain    = 3
)

// filled returns c with what is not given.
func (c Caps) filled() Caps {
	c.Rounds, c.Calls, c.Shown = cmp.Or(c.Rounds, MaxRounds), cmp.Or(c.Calls, MaxCalls), cmp.Or(c.Shown, MaxShown)
	c.Identical, c.Errors = cmp.Or(c.Identical, inVain), cmp.Or(c.Errors, inVain)
	c.AtOnce = cmp.Or(c.AtOnce, c.Calls)
	return c
}

// cap reports whether a cap ended the conversation.
func (e End) cap() bool { return e == Rounds || e == Calls || e == Output }

// told words an end for people.
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

// A gauge is how much of a cap is used, and whether the model was warned.
type gauge struct {
	what   string
	most   int
	warned bool
}

// warn returns what the model is told when it has used four fifths of a cap, once.
func (g *gauge) warn(used int) string {
	if g.warned || used < g.most*4/5 {
		return ""
	}
	g.warned = true
	return fmt.Sprintf("%d of %d %s are used: come to the end, and call finish.\n", used, g.most, g.what)
}
