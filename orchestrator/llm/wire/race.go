//go:build race

package wire

// lowerBody and lowerEvents say by how many powers of two the bounds of an answer are lower in a program built with the race
// detector, which no user has: reading up to the bounds takes ten times as long there.
const lowerBody, lowerEvents = 1, 3
