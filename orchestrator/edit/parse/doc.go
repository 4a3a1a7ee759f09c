// Package parse reads a response, in whichever form it is written, into operations.
//
// It owns the forms: tags, conflict markers, diffs, patches, JSON and whole files in fences, each recognized by how it begins. All
// of them mean the same few operations. It looks only at the response: other packages check whether a file exists, whether a path
// may be written and where a body is found. It refuses a response in two forms, one that was cut off and one that could mean two
// things.
package parse
