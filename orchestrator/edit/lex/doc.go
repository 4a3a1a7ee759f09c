// Package lex cuts text into the units that the edit engine compares: lines, space, characters, and the tokens, comments and
// strings of each language.
//
// It owns what the engine needs from a row of package lang; a scanner that tells comments from code line by line, for languages
// whose row is Exact; and a lexer that gives whole tokens with their places, for the languages in which names are followed. It
// judges nothing, and knows neither files nor responses. It reports text that it cannot follow, and calls nothing in it a comment.
package lex
