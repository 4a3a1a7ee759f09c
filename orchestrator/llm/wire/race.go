//go:build race

package wire

// raced lowers the bounds of an answer, by powers of two, in a program that is watched for races, which no user has: it takes ten
// times as long to read up to them.
const raced = 3
