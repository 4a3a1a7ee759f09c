// Package web implements the checks of what a browser reads: biome, and the references of static pages.
//
// Real parsers read CSS, JSON, TOML, YAML and XML, with bounds on depth, size and expansion. A tokenizer that knows which
// faults no browser repairs reads HTML. A file that a template engine will read first is left out, with that as the reason.
// References of static pages are followed only in a workspace that nothing builds or serves, where the place of a file is
// its address.
package web

// These are the names of the checks of what a browser reads.
const (
	LinksName = "links"
	BiomeName = "biome"
)
