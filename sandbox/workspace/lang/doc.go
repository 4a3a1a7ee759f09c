// Package lang says how languages are told apart and what their text is made of.
//
// It owns one row a language: names, extensions, first lines of scripts, comments, strings,
// regular expressions, what a test file is called, manifests. And it owns the lexer that
// splits the lines of any of them into code, strings and comments, in linear time on hostile
// text. Everything else that asks by the name of a file asks here; the programs of the
// toolchain image read the same rows from languages.json, which a test keeps equal.
//
// It judges nothing: what may be changed, parsed or run is decided by those who ask.
package lang
