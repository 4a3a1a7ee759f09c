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
// The package imports nothing of the product. What it must remember outlives
// the process and is handed in by the caller: see [Journal] and [KeyStates].
package llm
