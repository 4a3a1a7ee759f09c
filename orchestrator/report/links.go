package report

import (
	"net/url"
	"path"
	"strings"

	"agent/sandbox/workspace/lang"
	"agent/sandbox/workspace/lazyregexp"
)

var (
	inlineLink = lazyregexp.New(`!?\[[^\]]*\]\(\s*<?([^()\s<>]+)>?(?:\s+["'(][^)]*)?\)`)
	defineLink = lazyregexp.New(`^\s{0,3}\[[^\]^]+\]:\s*<?(\S+?)>?(?:\s+["'(].*)?$`)
	fence      = lazyregexp.New("^\\s*(?:>\\s*)*(?:```|~~~)")
	codeSpan   = lazyregexp.New("`[^`]*`")
)

// linksOf is the share of the relative links in Markdown files that lead to something in the workspace. It ignores
// links in code, comments and templates, and links that begin with a slash, which each host reads in its own way.
func linksOf(f *Facts, files []string) value {
	all, bad := 0, []Detail{}
	for _, p := range files {
		if !markdown(p) {
			continue
		}
		inCode, inComment, n := false, false, 0
		for l := range strings.Lines(f.Text[p]) {
			n++
			if fence.MatchString(l) {
				inCode = !inCode
			}
			if inCode || strings.HasPrefix(l, "    ") || strings.HasPrefix(l, "\t") {
				continue
			}
			comment := inComment || strings.Contains(l, "<!--")
			inComment = comment && !strings.Contains(l, "-->")
			if comment || len(l) > maxLinkLine {
				continue
			}
			for _, target := range targets(codeSpan.ReplaceAllString(l, "")) {
				to, ok := inside(p, target)
				if !ok {
					continue
				}
				if all++; !f.leadsFrom(to) {
					bad = append(bad, Detail{
						Status: Warn, File: p, Line: n, Message: "the link to " + target + " leads nowhere", Next: "correct the path, or remove the link",
					})
				}
			}
		}
	}
	return share(len(bad), all, bad)
}

// maxLinkLine is the longest line that is searched for links, in bytes.
const maxLinkLine = 4 << 10

// targets lists what a line links to.
func targets(l string) (list []string) {
	for _, m := range inlineLink.FindAllStringSubmatch(l, -1) {
		list = append(list, m[1])
	}
	if m := defineLink.FindStringSubmatch(strings.TrimRight(l, "\r\n")); m != nil {
		list = append(list, m[1])
	}
	return list
}

// inside returns the path in the workspace that a link in the file at p means; ok is false for an address, a place in
// the file itself, or a link that leads out of the workspace.
func inside(p, target string) (to string, ok bool) {
	u, err := url.Parse(target)
	if err != nil || u.Scheme != "" || u.Host != "" || u.Path == "" || strings.HasPrefix(u.Path, "/") || strings.ContainsAny(target, "{}$%@*|") {
		return "", false
	}
	to = path.Join(path.Dir(p), u.Path)
	return to, to != ".." && !strings.HasPrefix(to, "../")
}

// leadsFrom is leads for a link in a document: sites are built from pages without an extension, or with HTML's.
func (f *Facts) leadsFrom(to string) bool {
	if f.leads(to) {
		return true
	}
	stem := strings.TrimSuffix(strings.TrimSuffix(to, ".html"), ".htm")
	for _, l := range lang.All() {
		for _, end := range l.Extensions {
			if l.Prose && (f.has(stem+end) || f.has(stem+"/index"+end) || f.has(stem+"/README"+end)) {
				return true
			}
		}
	}
	return f.has(stem + "/index.html")
}
