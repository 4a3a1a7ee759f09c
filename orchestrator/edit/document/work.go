package document

// The engine promises to handle any input of a mebibyte within a second and ten times its memory. Three bounds keep the promise for
// every input: on many short lines, on tokens for a parser, and on the comparisons for one response. None of them is near what
// people or models send. Input beyond them is refused with the reason, or left to the gates, and never handled halfway.

// A Work counts down the comparisons left for one response, in bytes that are read one by one; other steps count as more or less.
// It is not a clock: the same input has the same outcome on every machine.
//
// Code that does linear work for one block counts it, and code that loops over many blocks, pieces or files checks whether any is
// left. Everything found after that is discarded, so a search may stop anywhere.
type Work struct {
	left  int
	Trial bool // the only question is whether the blocks fit: nothing is explained
}

// The work that a response may use: workFree in any case, and workPerByte for each byte of its files. The most expensive of a
// thousand recorded responses uses one part in four hundred.
const (
	workFree    = 1 << 27
	workPerByte = 32
)

// NewWork returns the initial work of one response.
func NewWork() *Work { return &Work{left: workFree} }

// Open adds the work that a file of size bytes allows.
func (w *Work) Open(size int) { w.left += workPerByte * size }

// Add counts n bytes as compared; on a nil Work it does nothing.
func (w *Work) Add(n int) {
	if w != nil {
		w.left -= n
	}
}

// TrialOnly reports whether nothing needs explaining.
func (w *Work) TrialOnly() bool { return w != nil && w.Trial }

// Spent reports whether no work is left.
func (w *Work) Spent() bool { return w != nil && w.left < 0 }

// The cost of other steps, in units of about a nanosecond: workSwift for a search that reads many bytes per nanosecond; WorkLine
// for a line by its number, WorkPair with the data that is kept for it, and workDepth with its indentation; WorkBlock for any
// block, however small.
const (
	workSwift = 32 // bytes that count as one
	WorkLine  = 4
	WorkPair  = 8
	workDepth = 32
	WorkBlock = 4000
)
