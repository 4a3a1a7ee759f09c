// Package lang defines how languages are told apart and what their text consists of.
//
// It owns one row per language: names, extensions, first lines of scripts, comments, strings, regular expressions,
// names of test files, manifests. It also owns the lexer that splits the lines of any of them into code, strings and
// comments, in linear time even on hostile text. Everything else that depends on the name of a file asks here. The
// programs of the toolchain image read the same rows from languages.json; a test keeps both equal.
//
// It judges nothing: its callers decide what may be changed, parsed or run.
package lang
