// Package web holds the checks of what a browser reads: biome, and the references of static
// pages.
//
// CSS, JSON, TOML, YAML and XML are read by real parsers, with bounds on depth, size and
// expansion; HTML by a tokenizer that knows which faults no browser mends.
// A file that a template engine will read first is left out, with that as the
// reason. References of static pages are followed only in a workspace that
// nothing builds or serves, where a file's place is its address.
package web

// The names of the checks of what a browser reads.
const (
	LinksName = "links"
	BiomeName = "biome"
)
