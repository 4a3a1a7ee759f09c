//go:build bench

package verify

import (
	"encoding/json"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"agent/verify/check"
)

// styles is the tongue of projects that consist of style sheets.
var styles = tongue{name: "CSS"}

// maxData is the largest data file in which a fault is planted, in bytes.
const maxData = 200 << 10

var (
	// A punctuation mark of JSON, of any kind; the parser decides whether its loss is a fault.
	jsonMark = regexp.MustCompile(`[,:{}\[\]]`)
	// A declaration of CSS on a line of its own.
	declaration = regexp.MustCompile(`(?m)^[ \t]+[a-z-]+(:) *[^:;{}\n]+;[ \t]*$`)
	// The end of a rule at the left margin.
	ruleEnd = regexp.MustCompile(`(?m)^\}$`)
)

// dataPlaces lists where a JSON or CSS file of any project can be broken.
func dataPlaces(files map[string]string) []mutation {
	var found []mutation
	for _, name := range slices.Sorted(maps.Keys(files)) {
		text := files[name]
		if len(text) > maxData {
			continue
		}
		switch path.Ext(name) {
		case ".json":
			found = append(found, jsonPlaces(name, text)...)
		case ".css":
			found = append(found, cssPlaces(name, text)...)
		}
	}
	return found
}

// jsonPlaces returns marks without which the file is not valid JSON. It also checks that the file was valid before.
func jsonPlaces(name, text string) []mutation {
	var found []mutation
	if !json.Valid([]byte(text)) {
		return nil
	}
	marks := jsonMark.FindAllStringIndex(text, -1)
	// A handful from all over the file, since each costs one parse of it.
	for i := 0; i < len(marks); i += max(1, len(marks)/8) {
		m := marks[i]
		p := place("bad JSON or CSS", name, text, textEdit{m[0], m[1], ""}, check.GateSyntax)
		if !json.Valid([]byte(p.apply(text))) {
			found = append(found, p)
		}
	}
	return found
}

// cssPlaces returns colons of declarations and braces at the end of rules. Losing either is a parse error by CSS Syntax Level 3, sections
// 5.4.4 to 5.4.6.
func cssPlaces(name, text string) []mutation {
	var found []mutation
	if strings.Count(text, "{") != strings.Count(text, "}") {
		return nil
	}
	for _, m := range declaration.FindAllStringSubmatchIndex(text, -1) {
		// Text in a comment is not a declaration.
		if before := text[:m[2]]; strings.Count(before, "/*") != strings.Count(before, "*/") {
			continue
		}
		found = append(found, place("bad JSON or CSS", name, text, textEdit{m[2], m[3], ""}, check.GateSyntax))
	}
	for _, m := range ruleEnd.FindAllStringIndex(text, -1) {
		found = append(found, place("bad JSON or CSS", name, text, textEdit{m[0], m[1], ""}, check.GateSyntax))
	}
	return found
}

// place returns a mutation that consists of one edit, with its line number.
func place(kind, file, text string, e textEdit, gates ...string) mutation {
	return mutation{kind, file, 1 + strings.Count(text[:e.Start], "\n"), []textEdit{e}, gates}
}
