// Package schema holds the JSON schemas of what the agent prints with --json. They are generated
// from the types of the documents by `make schemas`; no file here is written by hand.
package schema

import "embed"

// Files holds each schema as NAME.json.
//
//go:embed *.json
var Files embed.FS
