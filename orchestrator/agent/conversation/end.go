package conversation

import "fmt"

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

// The caps of one conversation. What money and time it may cost is the run's budget.
const (
	MaxRounds = 40
	MaxCalls  = 200
	MaxShown  = 500_000 // bytes of answers and diffs that the model is shown
	// inVain is how many rounds in a row may come to nothing, and how often one call is
	// made in a row.
	inVain = 3
)

// cap reports whether a cap ended the conversation.
func (e End) cap() bool { return e == Rounds || e == Calls || e == Output }

// told words an end for people.
func (e End) told() string {
	switch e {
	case Talked:
		return fmt.Sprintf("it called no tool in %d answers", inVain)
	case Repeated:
		return fmt.Sprintf("it made the same call %d times in a row", inVain)
	case Errors:
		return fmt.Sprintf("in %d rounds in a row none of its calls did what it should", inVain)
	case Rounds:
		return fmt.Sprintf("%d rounds are the most", MaxRounds)
	case Calls:
		return fmt.Sprintf("%d calls are the most", MaxCalls)
	case Output:
		return fmt.Sprintf("%d bytes of answers are the most", MaxShown)
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
