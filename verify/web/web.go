// Package web holds the checks of what a browser reads: biome, and the references of static
// pages.
package web

// The names of the checks of what a browser reads.
const (
	LinksName = "links"
	BiomeName = "biome"
)
