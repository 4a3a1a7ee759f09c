//go:build race

package wire

// By how many powers of two the bounds of an answer are lower in a program that is watched for races, which no user has: reading up to
// them takes ten times as long there.
const lowerBody, lowerEvents = 1, 3
