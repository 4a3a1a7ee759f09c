package report

import (
	"path"
	"slices"
	"strings"

	"agent/sandbox/workspace/deps"
	"agent/sandbox/workspace/lazyregexp"

	"github.com/pelletier/go-toml/v2"
)

// A licence is a family of licences, with the words that identify it.
type licence struct {
	family string
	words  []string
}

// at returns the position of its first words in a text that contains all of them, or -1.
func (l licence) at(low string) int {
	if slices.ContainsFunc(l.words, func(w string) bool { return !strings.Contains(low, w) }) {
		return -1
	}
	return strings.Index(low, l.words[0])
}

// licences are identified by words of their texts, in lower case with single spaces: all must occur. Of the rows that
// fit, the one whose first words come first counts: texts name other licences further below.
var licences = []licence{
	{"AGPL", []string{"gnu affero general public license"}},
	{"LGPL", []string{"gnu lesser general public license", "version"}},
	{"GPL", []string{"gnu general public license"}},
	{"Apache", []string{"apache license", "version 2.0"}},
	{"MPL", []string{"mozilla public license"}},
	{"MIT", []string{"permission is hereby granted, free of charge, to any person obtaining a copy"}},
	{"BSD", []string{"redistribution and use in source and binary forms"}},
	{"ISC", []string{"permission to use, copy, modify, and", "distribute this software for any purpose with or without fee"}},
	{"Unlicense", []string{"free and unencumbered software released into the public domain"}},
	{"CC0", []string{"cc0 1.0 universal"}},
	{"EPL", []string{"eclipse public license"}},
	{"EUPL", []string{"european union public licence"}},
	{"Zlib", []string{"this software is provided 'as-is', without any express or implied warranty"}},
	{"BSL", []string{"boost software license"}},
	{"BUSL", []string{"business source license"}},
	{"SSPL", []string{"server side public license"}},
	{"PSF", []string{"python software foundation license"}},
	{"Artistic", []string{"artistic license"}},
	{"WTFPL", []string{"do what the fuck you want to public license"}},
}

// vague has rows for texts that fit none of licences: the first one that fits counts.
var vague = []licence{
	{"CC", []string{"creative commons"}},
	{"Apache", []string{"www.apache.org/licenses/license-2.0"}},
	{"MIT", []string{"mit license"}},
}

var licenceName = lazyregexp.New(`(?i)^(?:un)?licen[sc]es?(?:[.-].*)?$|^copying(?:[.-].*)?$|^copyright(?:[.-].*)?$|-licen[sc]e(?:\.\w+)?$`)

// isLicence reports whether p is a place for the text of the whole project's licence.
func isLicence(p string) bool {
	dir, base := path.Split(strings.ToLower(p))
	text := prose(p) || slices.Contains([]string{".mit", ".apache", ".bsd", ".apache2", ".gpl", ".lesser", ".html"}, path.Ext(base)) || strings.HasPrefix(base, "license-") || strings.HasPrefix(base, "copying.")
	return text && (dir == "" && licenceName.MatchString(base) || (dir == "licenses/" || dir == "license/" || dir == "licences/"))
}

// licences returns the paths of licence texts, and the families of the known ones, sorted.
func (f *Facts) licences() (paths, families []string) {
	paths = f.texts(isLicence)
	for _, p := range paths {
		if l := familyOf(f.Text[p]); l != "" {
			families = append(families, l)
		}
	}
	slices.Sort(families)
	return paths, slices.Compact(families)
}

// familyOf identifies a licence by its text, or returns "".
func familyOf(text string) string {
	low := strings.Join(strings.Fields(strings.ToLower(text)), " ")
	first, family := len(low), ""
	for _, l := range licences {
		if at := l.at(low); at >= 0 && at < first {
			first, family = at, l.family
		}
	}
	for _, l := range vague {
		if family == "" && l.at(low) >= 0 {
			family = l.family
		}
	}
	return family
}

// closed reports whether a manifest says that nobody else may use the project.
func (f *Facts) closed() bool {
	for _, s := range f.saidLicences() {
		low := strings.ToLower(s.id)
		if low == "unlicensed" || strings.Contains(low, "proprietary") || strings.Contains(low, "all rights reserved") {
			return true
		}
	}
	return false
}

// licenceThere is 1 with a licence text, or if a manifest says that the project is closed.
func licenceThere(f *Facts) value {
	paths, families := f.licences()
	switch {
	case len(paths) > 0 && len(families) > 0:
		return whole(strings.Join(families, ", "))
	case len(paths) > 0:
		return whole(paths[0])
	case f.closed():
		return whole("a manifest says that it is closed")
	}
	p := f.readme()
	d := Detail{Status: Fail, Message: "there is no licence: others may not use or change it", Next: "add LICENSE with the text of one, or say UNLICENSED or Proprietary in the manifest"}
	if p != "" && readmeLicence.MatchString(f.Text[p]) {
		d = Detail{Status: Warn, File: p, Message: "the README names a licence, but its text is missing", Next: "add LICENSE with the text"}
		return value{score: 0.5, details: []Detail{d}, words: "named in " + p}
	}
	return lacks(d)
}

var readmeLicence = lazyregexp.New(`(?i)\blicen[sc]ed? (?:under|is)|\b(?:MIT|BSD|Apache|GPL\w*|MPL)\b[^\n]{0,40}\blicen[sc]e|\blicen[sc]e:? *\**(?:MIT|BSD|Apache|GPL|MPL)`)

// placeholder matches what the texts of short licences contain in place of names. The long ones have an appendix with such words.
var placeholder = lazyregexp.New(`(?i)\[(?:year|yyyy|fullname|name of copyright owner|owner|author)\]|<(?:year|copyright holders?|owner|name of author)>|\{\{ ?(?:year|organization) ?\}\}`)

// licenceKnown is 1 if the text belongs to a known licence and its names are filled in.
func licenceKnown(f *Facts) value {
	paths, families := f.licences()
	if len(paths) == 0 {
		return value{score: boolScore(f.closed())}
	}
	var details []Detail
	for _, p := range paths {
		switch family := familyOf(f.Text[p]); {
		case strings.TrimSpace(f.Text[p]) == "":
			details = append(details, Detail{Status: Fail, File: p, Message: "it is empty", Next: "put the text of a licence into it"})
		case slices.Contains([]string{"MIT", "BSD", "ISC"}, family) && placeholder.MatchString(f.Text[p]):
			details = append(details, Detail{Status: Warn, File: p, Line: lineOf(f.Text[p], placeholder.FindString(f.Text[p])), Message: "the year and the owner are not filled in", Next: "fill them in"})
		}
	}
	if len(families) == 0 && len(details) == 0 && !f.closed() {
		details = append(details, Detail{Status: Note, File: paths[0], Message: "its text is not that of a known licence", Next: "use one with an SPDX identifier if others are to build on the project"})
	}
	return value{score: boolScore(len(details) == 0), details: details}
}

// boolScore is 1 for true.
func boolScore(ok bool) float64 {
	if ok {
		return 1
	}
	return 0
}

// A said is what a manifest states about the licence.
type said struct{ path, id string }

// saidLicences lists what the manifests at the root state.
func (f *Facts) saidLicences() (list []said) {
	for _, p := range []string{"package.json", "pyproject.toml", "Cargo.toml"} {
		text, ok := f.Text[p]
		if !ok {
			continue
		}
		var id any
		switch p {
		case "package.json":
			fields, _ := deps.ReadPackage([]byte(text))
			id = fields["license"]
		case "pyproject.toml":
			var doc struct {
				Project struct{ License any }
				Tool    struct{ Poetry struct{ License any } }
			}
			if toml.Unmarshal([]byte(text), &doc) == nil {
				if id = doc.Project.License; id == nil {
					id = doc.Tool.Poetry.License
				}
			}
		case "Cargo.toml":
			var doc struct{ Package struct{ License any } }
			if toml.Unmarshal([]byte(text), &doc) == nil {
				id = doc.Package.License
			}
		}
		if table, ok := id.(map[string]any); ok {
			for _, key := range []string{"type", "text"} {
				if s, ok := table[key].(string); ok && len(s) < 100 {
					id = s
				}
			}
		}
		if s, ok := id.(string); ok && strings.TrimSpace(s) != "" {
			list = append(list, said{p, strings.TrimSpace(s)})
		}
	}
	return list
}

// licenceSaid is 1 if no manifest at the root names a licence that differs from the texts.
func licenceSaid(f *Facts) value {
	paths, families := f.licences()
	if len(paths) == 0 {
		return value{score: boolScore(f.closed())}
	}
	for _, s := range f.saidLicences() {
		named := slices.DeleteFunc([]string{"AGPL", "LGPL", "GPL", "Apache", "MPL", "MIT", "BSD", "ISC", "Unlicense", "CC0", "EPL", "Zlib", "BSL", "BUSL"}, func(l string) bool { return !names(s.id, l) })
		if len(named) == 0 || len(families) == 0 || slices.ContainsFunc(named, func(l string) bool { return slices.Contains(families, l) }) {
			continue
		}
		return lacks(Detail{
			Status: Warn, File: s.path, Line: lineOf(f.Text[s.path], "icense"), Message: "it says " + s.id + ", but the text is that of " + strings.Join(families, ", "),
			Next: "say the same in both",
		})
	}
	return value{score: 1}
}

// names reports whether an SPDX expression names a family.
func names(id, family string) bool {
	return slices.ContainsFunc(strings.FieldsFunc(id, func(r rune) bool { return strings.ContainsRune(" ()/+", r) }), func(w string) bool {
		w, _, _ = strings.Cut(w, "-")
		return strings.EqualFold(w, family) || family == "BSD" && strings.HasPrefix(strings.ToUpper(w), "0BSD")
	})
}
