package ledger

import (
	"cmp"
	"slices"
	"strings"
)

// A File is what the scanner found in one file.
type File struct {
	// Path is relative to the workspace, with slashes.
	Path string `json:"path"`
	// Language is python, javascript, typescript, go, html, css, json, shell or module (go.mod and package.json), or ""
	// for a file from which nothing was read.
	Language string `json:"language,omitempty"`
	// SHA256 is the digest of the bytes that were scanned, in hex.
	SHA256 string `json:"sha256,omitempty"`
	// Lines is the number of lines.
	Lines int `json:"lines,omitempty"`
	// Summary is the first line of the file's own description.
	Summary     string       `json:"summary,omitempty"`
	Imports     []Import     `json:"imports,omitempty"`
	Definitions []Definition `json:"definitions,omitempty"`
	References  []Reference  `json:"references,omitempty"`
	// Problem says why the file could not be read completely, or is "".
	Problem string `json:"problem,omitempty"`
}

// The kinds of definitions. The text in the source decides: a const that holds a function is a Function.
const (
	Function = "function"
	Method   = "method" // of a class, type or object
	Class    = "class"
	Type     = "type" // of Go, and interfaces, aliases and enums of TypeScript
	Constant = "constant"
	Variable = "variable" // of a module, and custom properties of CSS
	Field    = "field"    // of a class, type or object
	Selector = "selector" // ".class" and "#id" in CSS
	ID       = "id"       // "#id" in HTML
	Key      = "key"      // of the outermost object of a JSON file
	Package  = "package"  // the package clause of a Go file
	Module   = "module"   // the name that go.mod or package.json gives its directory
)

// A Definition is one name that a file defines outside of functions.
type Definition struct {
	Name string `json:"name"`
	Kind string `json:"kind"`
	// Parent is the class or type around it, with dots between nested ones.
	Parent string `json:"parent,omitempty"`
	Line   int    `json:"line"`
	End    int    `json:"end"`
	// Signature is the part on which users depend, without the name: parameters and results, base classes, a type, a value.
	Signature string `json:"signature,omitempty"`
	// Digest identifies the whole text except for the name, so that it survives a rename.
	Digest string `json:"digest,omitempty"`
	// Exported says that it is meant for use by other files.
	Exported bool `json:"exported,omitempty"`
}

// full returns the name with its parent.
func (d Definition) full() string { return strings.TrimPrefix(d.Parent+"."+d.Name, ".") }

// title returns the name followed by the signature.
func (d Definition) title() string {
	if d.Signature == "" || strings.ContainsAny(d.Signature[:1], "([<:?!") {
		return d.full() + d.Signature
	}
	return d.full() + " " + d.Signature
}

// An Import is one name that a file takes from another, or passes on to others.
type Import struct {
	// Module is written as in the source; "" is the file itself, in an export under another name.
	Module string `json:"module"`
	// Name is the imported name: "*" is everything, "default" the default export, and "" says that the module is only loaded.
	Name string `json:"name,omitempty"`
	// Alias is the name in this file. For "*" it names the module; there "" means that all names come without a
	// qualifier, "/" that Go's package clause names it, and "?" that the name is unknown.
	Alias string `json:"alias,omitempty"`
	Line  int    `json:"line"`
	// Export says that other files may in turn take it from this file.
	Export bool `json:"export,omitempty"`
}

// A Reference is one name that a file mentions.
type Reference struct {
	Name string `json:"name"`
	// On is the qualifier: "a.b" in a.b.name, "?" if it is more than names or unknown, "=" for a keyword argument or
	// the key of a literal, and "" for a bare name.
	On string `json:"on,omitempty"`
	// Lines are the first lines on which it occurs, ascending.
	Lines []int `json:"lines"`
}

// Sort sorts the parts of f into the order on which the package relies: definitions by line, references by name.
func (f *File) Sort() {
	slices.SortStableFunc(f.Definitions, func(a, b Definition) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Parent, b.Parent), cmp.Compare(a.Name, b.Name))
	})
	slices.SortFunc(f.References, func(a, b Reference) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.On, b.On))
	})
}

// refs returns the references of f to name, one for each qualifier.
func (f *File) refs(name string) []Reference {
	i, _ := slices.BinarySearchFunc(f.References, name, func(r Reference, n string) int { return cmp.Compare(r.Name, n) })
	j := i
	for j < len(f.References) && f.References[j].Name == name {
		j++
	}
	return f.References[i:j]
}

// script reports whether f is JavaScript in one of its forms.
func (f *File) script() bool { return f.Language == "javascript" || f.Language == "typescript" }
