package agent

// A Progress tells how far a question is, in plain values, for a display. Only the fields that belong to its stage
// count.
type Progress struct {
	Step  string // of the question: "propose/1"
	Stage Stage
	// Model and Key say who is asked: "gemini/gemini-2.5-flash", and the ID of a key, or "".
	Model, Key string
	// Recorded says that the answer is on record and costs nothing now.
	Recorded bool
	// In and Out count tokens. Estimated says that the vendor did not measure them; while the model writes, they are
	// always estimates.
	In, Out   int
	Estimated bool
	// Text is the next piece of the answer. It may end within a character.
	Text string
	// Why says what went wrong, when the stage is Dropped or Waiting.
	Why string
	// Seconds are how long to wait, or how long the answer took.
	Seconds float64
	// Cost is in millionths of the currency of the prices, when Priced.
	Cost   int64
	Priced bool
}

// A Stage is how far a question has come.
type Stage string

// The stages. A question is asked, written piece by piece and answered; it may be dropped, waited for, and asked again.
const (
	Asked    Stage = "asked"
	Writing  Stage = "writing"
	Dropped  Stage = "dropped" // the text so far is void
	Waiting  Stage = "waiting"
	Answered Stage = "answered"
	Called   Stage = "called" // a tool called by the answer is at work, as Text says
)
