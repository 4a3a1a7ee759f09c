// Package llmtest is for tests of what asks models: fake servers that speak
// the true wire protocols of the vendors from a script, and [Contract], the
// suite that every provider passes.
//
// A fake never holds a key: it records the ID of the one that came, whether it
// came where it should, and whether any part of it stood in the URL.
package llmtest
