// Package llmtest is for tests of code that asks models. It has fake servers that speak the true wire protocols of the vendors from
// a script, and [Contract], the suite that every provider passes.
//
// A fake never holds a key. It records the ID of the key that it received, whether the key was in the right place, and whether any
// part of it was in the URL.
package llmtest
