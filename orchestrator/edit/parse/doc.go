// Package parse reads a response, in whichever form it is written, into operations.
//
// It owns the forms: tags, conflict markers, diffs, patches, JSON and whole files
// in fences, each told by how it begins. All mean the same few operations. It looks at the
// response alone: whether a file exists, whether a path may be written and where
// a body stands is asked later. A response in two forms, one that was cut off and one
// that could mean two things are refused.
package parse
