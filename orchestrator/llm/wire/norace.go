//go:build !race

package wire

const lowerBody, lowerEvents = 0, 0
