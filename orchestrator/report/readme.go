package report

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"agent/sandbox/workspace/lazyregexp"
)

// readme returns the path of the README that a host shows, or "": the one at the root before those in .github and docs.
func (f *Facts) readme() string {
	best := ""
	for _, e := range f.Files {
		if stemOf(e.Path) != "readme" || !prose(e.Path) || !rootFile(e.Path) || strings.Contains(path.Dir(e.Path), "/") {
			continue
		}
		if best == "" || path.Dir(e.Path) == "." && path.Dir(best) != "." || path.Dir(e.Path) == path.Dir(best) && markdown(e.Path) && !markdown(best) {
			best = e.Path
		}
	}
	return best
}

// readmeThere is 1 if there is a README.
func readmeThere(f *Facts) value {
	p := f.readme()
	if p == "" {
		return lacks(Detail{Status: Fail, Message: "there is no README", Next: "write README.md: what the project is for, how it is installed, how it is used"})
	}
	return whole(p)
}

// minWords is how many words a README needs besides titles and badges.
const minWords = 20

// readmeSays is 1 if the README has as many words as two sentences, and proportionally less otherwise.
func readmeSays(f *Facts) value {
	p := f.readme()
	if p == "" {
		return value{}
	}
	n := 0
	for l := range strings.Lines(f.Text[p]) {
		if l = strings.TrimSpace(l); l != "" && !strings.HasPrefix(l, "#") && !badge.MatchString(l) {
			n += len(strings.Fields(l))
		}
	}
	if n >= minWords {
		return value{score: 1}
	}
	return value{score: float64(n) / minWords, details: []Detail{{
		Status: Warn, File: p, Message: fmt.Sprintf("the README has %s besides its title", some(n, "word")), Next: "say in a few sentences what the project is for and who uses it",
	}}}
}

var (
	badge    = lazyregexp.New(`^\[?!\[|^<img|^\.\. image::|^\.\. \|`)
	useWords = lazyregexp.New(`(?i)\b(?:install\w*|usage|use|using|getting started|quick ?start|set ?up|build\w*|run\w*|examples?|tutorial|how to|documentation|docs|synopsis|deploy\w*|development|configur\w*)\b`)
	// codeBlock matches a code block in Markdown, reStructuredText and AsciiDoc.
	codeBlock = lazyregexp.New("(?m)^\\s*(?:```|~~~)|^(?: {4}|\t)\\S|^\\.\\. code|::\\s*$|^\\[source|^----\\s*$")
	heading   = lazyregexp.New(`(?m)^(?:#{1,6}\s+.*|=+\s+.*|<h[1-6][^>]*>.*)$`)
	underline = lazyregexp.New(`(?m)^(.{3,})\n(?:={3,}|-{3,}|~{3,})\s*$`)
)

// readmeUse is 1 if the README shows code, or has a heading on how the project is installed, used or built, or on where
// to read more.
func readmeUse(f *Facts) value {
	p := f.readme()
	if p == "" {
		return value{}
	}
	text := f.Text[p]
	headings := heading.FindAllString(text, -1)
	for _, m := range underline.FindAllStringSubmatch(text, -1) {
		headings = append(headings, m[1])
	}
	if codeBlock.MatchString(text) || slices.ContainsFunc(headings, useWords.MatchString) || docLink.MatchString(text) {
		return value{score: 1}
	}
	return lacks(Detail{Status: Warn, File: p, Message: "the README does not show how the project is installed or used", Next: "add a section with the commands that a newcomer types"})
}

// docLink matches a link to documentation elsewhere.
var docLink = lazyregexp.New(`(?i)\[[^\]]*\b(?:docs?|documentation|guide|manual|wiki|website)\b[^\]]*\]\(https?://|https?://[\w.-]*(?:readthedocs|docs\.|\.dev/|github\.io)`)

// readmeLinks is the share of the README's links into the workspace that lead somewhere.
func readmeLinks(f *Facts) value {
	p := f.readme()
	if p == "" {
		return value{}
	}
	if v := linksOf(f, []string{p}); !v.idle {
		return v
	}
	return value{score: 1}
}
