// Package lex cuts text into what the edit engine compares: lines, space,
// characters, tokens, comments and strings of each language.
//
// It owns what the engine asks of a row of package lang; a scanner that tells
// comments from code line by line, for languages whose row is Exact; and a
// lexer that gives whole tokens with their places, for the languages in which
// names are followed. It judges nothing, and knows no file and no response: what
// it cannot follow it says, and calls nothing a comment.
package lex
