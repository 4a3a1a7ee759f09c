// Package llm asks models for text.
//
// It owns what is the same for every vendor: the shape of a question and an
// answer, one taxonomy of errors and what each of them means for a run, the
// ring of keys, the chain of fallbacks, the caps on attempts, time, tokens and
// money, and the record of every request. A vendor is a package below this
// one that satisfies [Provider] and passes the contract suite in llmtest.
//
// It refuses to guess: an answer that was cut, blocked or malformed is an
// error with a kind, never a shorter answer; a count of tokens that the vendor
// did not measure says that it is an estimate. It never retries without a cap,
// and no key appears in an error, a record or a log.
//
// A [Chain] is how it is used. Ask takes a question of a run and looks for it
// in the journal first: what was answered once is never paid for again, which
// is also how a run is resumed and replayed. Otherwise the first [Link] with a
// [Key] that does not rest is asked. Before each request the caps of [Limits]
// are checked and the request is entered; after it, what it gave and cost. What
// follows from an error is looked up in one table, by [Kind.Rule].
//
// A question may carry tools. Its answer then may be calls of them, and the conversation
// goes on with [Answer.Message] and the results: [Request.CheckTurns] says what is one.
// It refuses to read what a model writes as arguments, and never takes half of a call
// for one. A link that is not asked with tools is passed over.
//
// Of the product it imports only the masking of known secrets, package secret. What it must remember outlives
// the process and is handed in by the caller: see [Journal] and [KeyStates].
package llm
