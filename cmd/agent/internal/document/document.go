// Package document describes what commands print with --json, and prints selected parts of it. It holds the name,
// version and type of every document, from which the schemas in docs/schema are generated, and the filters of --jq and
// --template. A filter reads no file, no environment and no other document.
package document

import (
	"fmt"
	"reflect"
)

// A Doc is one kind of document. Its Type is the type of the value printed. For a command that prints several
// documents, one per line, it is the type of one.
type Doc struct {
	Name    string // of its schema
	Version int
	Type    reflect.Type
}

// New describes the documents of type T. The version is raised when a field is renamed, removed or given another
// meaning; a new field leaves it unchanged.
func New[T any](name string, version int) Doc {
	return Doc{name, version, reflect.TypeFor[T]()}
}

// ID returns the $id of the document's schema.
func (d Doc) ID() string { return fmt.Sprintf("urn:agent:schema:%s:%d", d.Name, d.Version) }
