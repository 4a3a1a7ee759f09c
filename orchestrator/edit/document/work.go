package document

// The engine promises to be done with any input of a mebibyte within a second
// and ten times its memory. Three bounds keep the promise whatever the input
// is: on lines that are many and short, on tokens for a parser, and on the
// comparing that one response may ask for. None of them is near what people
// or models send; what is beyond them is refused with the reason, or left to
// the gates, and never half done.

// A Work counts down what one response may still have compared, in bytes that
// are read one by one; other steps count as more or less. It is no clock: the same input has the same outcome anywhere.
//
// Whoever does linear work for one block counts it, and whoever goes through
// many blocks, pieces or files looks whether anything is left. What is found
// after that is thrown away, so that a search may stop anywhere.
type Work struct {
	left  int
	Trial bool // whether the blocks fit is all that is asked: nothing is explained
}

// What a response may have compared: workFree whatever it is about, and for
// each byte of the files that it is about workPerByte. The dearest of a
// thousand recorded responses takes one part in four hundred.
const (
	workFree    = 1 << 27
	workPerByte = 32
)

// NewWork returns the work that one response may take.
func NewWork() *Work { return &Work{left: workFree} }

// Open adds what a file of size bytes allows.
func (w *Work) Open(size int) { w.left += workPerByte * size }

// Add counts n bytes as compared; a nil work counts nothing.
func (w *Work) Add(n int) {
	if w != nil {
		w.left -= n
	}
}

// TrialOnly reports whether nothing is to be explained.
func (w *Work) TrialOnly() bool { return w != nil && w.Trial }

// Spent reports whether nothing is left.
func (w *Work) Spent() bool { return w != nil && w.left < 0 }

// What other steps count as, about a nanosecond each: so much of a search that
// reads many bytes a nanosecond, and a line by its number, with what is kept of
// it, and with its indentation; and what any block takes however small it is.
const (
	workSwift = 32 // bytes that count as one
	WorkLine  = 4
	WorkPair  = 8
	workDepth = 32
	WorkBlock = 4000
)
