package report

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// Up to smallCode lines of code, a README is enough documentation; above that, a README of guideWords words is.
const (
	smallCode  = 2000
	guideWords = 400
)

// guidePages are files and directories of documentation sites.
var guidePages = []string{"mkdocs.yml", "mkdocs.yaml", "book.toml", "antora.yml", "docusaurus.config.js", "docusaurus.config.ts", "_config.yml", ".readthedocs.yaml", ".readthedocs.yml"}

// docsGuide is 1 with pages besides the README, a documentation site or a man page; without them it is 1 with a README,
// which must be long if there is much code.
func docsGuide(f *Facts) value {
	pages := 0
	for _, e := range f.Files {
		top, _, _ := strings.Cut(strings.ToLower(e.Path), "/")
		switch {
		case slices.Contains([]string{"docs", "doc", "documentation", "website", "site", "guide", "man", "manual", "wiki"}, top) && top != strings.ToLower(e.Path) && !e.Binary:
			pages++
		case slices.Contains(guidePages, strings.ToLower(path.Base(e.Path))), manPage(e.Path):
			pages++
		}
	}
	p, code := f.readme(), lines(f.code())
	words := len(strings.Fields(f.Text[p]))
	switch {
	case pages > 0:
		return whole(some(pages, "page"))
	case words > 0 && (code <= smallCode || words >= guideWords):
		return whole("the README is the documentation")
	}
	return lacks(Detail{Status: Warn, Message: fmt.Sprintf("%s of code, but no documentation besides a README of %s", some(code, "line"), some(words, "word")), Next: "write docs/: what a user does first, and what everything else does"})
}

// manPage reports whether a path is a page of a manual.
func manPage(p string) bool {
	ext := path.Ext(p)
	return len(ext) == 2 && ext[1] >= '1' && ext[1] <= '8' && strings.Contains("/"+p, "/man")
}

// minDescribed is the number of lines from which a file should say what it is for.
const minDescribed = 50

// docsDescribed is the share of Python files and Go packages whose text begins with what they are for.
func docsDescribed(f *Facts) value {
	if f.Ledger == nil {
		return unmeasured("which files say what they are for", f.NoLedger)
	}
	said := map[string]bool{}
	size := map[string]int{}
	for _, e := range f.code() {
		known, ok := f.Ledger.File(e.Path)
		if !ok || known.Language != "python" && known.Language != "go" {
			continue
		}
		of := e.Path
		if known.Language == "go" {
			of = path.Dir(e.Path)
		}
		size[of] += e.Lines
		said[of] = said[of] || known.Summary != ""
	}
	all, details := 0, []Detail{}
	for of := range size {
		if size[of] < minDescribed {
			continue
		}
		all++
		if !said[of] {
			details = append(details, Detail{Status: Note, File: of, Message: "it does not say what it is for", Next: "begin it with a comment or docstring of one sentence"})
		}
	}
	return share(len(details), all, details)
}

// docsLinks is the share of links in documents, other than the README, that lead to something in the workspace.
func docsLinks(f *Facts) value {
	readme := f.readme()
	return linksOf(f, f.texts(func(p string) bool {
		return markdown(p) && p != readme && !strings.Contains(p, "{{") && (rootFile(p) || strings.HasPrefix(strings.ToLower(p), "doc"))
	}))
}

// docsChanges is 1 if the project records what changed from version to version.
func docsChanges(f *Facts) value {
	for _, e := range f.Files {
		if rootFile(e.Path) && slices.Contains([]string{"changelog", "changes", "history", "news", "releases", "release_notes", "release-notes", "changelogs", "whatsnew"}, stemOf(e.Path)) {
			return value{score: 1}
		}
	}
	if f.hasDir("changelog") || f.hasDir("changes") || f.hasDir("newsfragments") || f.hasDir(".changeset") || f.hasDir("news") {
		return value{score: 1}
	}
	return lacks(Detail{Status: Note, Message: "no file says what changed from version to version", Next: "keep CHANGELOG.md, or say in the README where releases are described"})
}

// docsContributing is 1 if the project tells contributors how to work on it.
func docsContributing(f *Facts) value {
	for p, text := range f.Text {
		if rootFile(p) && slices.Contains([]string{"contributing", "hacking", "development", "developing"}, stemOf(p)) || stemOf(p) == "readme" && strings.Contains(strings.ToLower(text), "contribut") {
			return value{score: 1}
		}
	}
	return lacks(Detail{Status: Note, Message: "nothing tells a contributor how to build, test and submit", Next: "write CONTRIBUTING.md"})
}
