// Package llm asks models for text.
//
// It owns everything that is the same for all vendors: the shape of a question and an answer, one taxonomy of errors and what each
// of them means for a run, the ring of keys, the chain of fallbacks, the caps on attempts, time, tokens and money, and the record
// of every request. A vendor is a package below this one that satisfies [Provider] and passes the contract suite in llmtest.
//
// It refuses to guess. An answer that was cut, blocked or malformed is an error with a kind, never a shorter answer. A token count
// that the vendor did not measure is marked as an estimate. It never retries without a cap, and no key appears in an error, a
// record or a log.
//
// Callers use a [Chain]. Ask takes a question of a run and first looks for it in the journal: an answered question is never paid
// for again, which is also how a run is resumed and replayed. Otherwise it asks the first [Link] with a [Key] that does not rest.
// Before each request it checks the caps of [Limits] and records the request; afterwards it records the result and the cost. One
// table decides what follows from an error, see [Kind.Rule].
//
// A question may carry tools. Its answer may then be calls of them, and the conversation continues with [Answer.Message] and the
// results; [Request.CheckTurns] says which conversations are valid. The package does not interpret the arguments that a model
// writes, and never takes half of a call for a whole one. It skips a link that is not asked with tools.
//
// From the product it imports only the masking of known secrets, package secret. What it must remember outlives the process and
// comes from the caller: see [Journal] and [KeyStates].
package llm
