package llm

import "time"

// An Event tells the caller of Ask how a question progresses. It is one of Started, Text, Abandoned, Waiting and Done.
type Event interface{ event() }

// Started says that a request is being made, or that its answer was found in the journal.
type Started struct {
	Attempt  int // from 1; 0 when Recorded
	Vendor   string
	Model    string
	Key      string // ID of the key, "" for none
	In       Tokens // of the question
	Recorded bool   // no request is made: the answer was given before
}

// Text is the next piece of the answer. It may end within a character.
type Text struct{ Text string }

// Abandoned says that the request gave no answer. Text since Started is void, and a caller that shows it must take it back.
type Abandoned struct {
	Err   *Error
	Shown bool // whether there was any text
}

// Waiting says that nothing happens for a while: the vendor must recover, or every key rests.
type Waiting struct {
	For time.Duration
	Why *Error
}

// Done says that the answer is complete.
type Done struct {
	Usage    Usage
	Cost     Money // 0 unless Priced
	Priced   bool  // whether the price is known
	Duration time.Duration
	Recorded bool // nothing was spent this time
}

func (Started) event()   {}
func (Text) event()      {}
func (Abandoned) event() {}
func (Waiting) event()   {}
func (Done) event()      {}
