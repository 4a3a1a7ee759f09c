package agent

import (
	"slices"
	"strings"

	"agent/sandbox/workspace/lazyregexp"
)

// Nothing reports whether an answer says that there is nothing to change: it has the word NOTHING on a line of its own,
// and no edit.
//
// Whether there are edits is for package edit to say. An answer that says both contradicts itself, and its edits are
// tried.
func (r Reply) Nothing() bool {
	said := false
	for _, l := range strings.Split(r.Text, "\n") {
		// Drafts give their edits like this: a line of a file, or the text about the edits, may be the word.
		if strings.HasPrefix(l, "diff --git ") || strings.HasPrefix(l, `{"changes":`) {
			return false
		}
		l = strings.Trim(strings.TrimSpace(l), "`*.")
		said = said || l == "NOTHING"
	}
	return said && !strings.Contains(strings.ToUpper(r.Text), "<SEARCH")
}

// snippet matches the core of a proposal.
var snippet = lazyregexp.New(`(?is)<snippet>\s*(.*?)\s*</snippet>`)

// thought matches a proposal's reasoning.
var thought = lazyregexp.New(`(?is)<thought>\s*(.*?)\s*</thought>`)

// Proposal returns the two parts of a proposed feature. ok is false if one of them is missing: then the answer proposes
// nothing worth keeping.
func (r Reply) Proposal() (why, code string, ok bool) {
	w, c := thought.FindStringSubmatch(r.Text), snippet.FindStringSubmatch(r.Text)
	if w == nil || c == nil || w[1] == "" || c[1] == "" {
		return "", "", false
	}
	return w[1], c[1], true
}

// Choices returns the files that an answer names, in its order. listed are those that the model was shown. known
// reports whether any other path exists: a path that does not exist is ignored, whatever the model believes.
//
// Choices reads leniently, since every model formats a list in its own way. A line may have a dash or a number before
// the path, quotation marks around it and a reason after it. The end of a path names a listed file if no other path
// ends so. Choices looks for files within sentences only if no line begins with a file, and ignores a sentence that
// says no.
func (r Reply) Choices(listed []string, known func(path string) bool) []string {
	text := thought.ReplaceAllString(r.Text, "")
	find := finder(listed, known)
	var lines, mentioned []string
	note := func(list *[]string, p string) {
		if !slices.Contains(*list, p) {
			*list = append(*list, p)
		}
	}
	for l := range strings.Lines(text) {
		bare := strings.TrimSpace(listMark.ReplaceAllString(strings.TrimSpace(l), ""))
		if p, ok := find(bare); ok { // a path may hold spaces
			note(&lines, p)
			continue
		}
		if begins(bare) {
			for i, w := range strings.Fields(bare) {
				p, ok := find(w)
				if ok {
					note(&lines, p)
				} else if i == 0 || w != "and" && w != "&" && w != "," {
					break
				}
			}
		}
		for _, w := range strings.Fields(l) {
			if p, ok := find(w); ok && !negation.MatchString(l) {
				note(&mentioned, p)
			}
		}
	}
	if len(lines) > 0 {
		return lines
	}
	return mentioned
}

var (
	listMark = lazyregexp.New(`^(?:[-*+>#]+|\d{1,3}[.)])\s+`)
	negation = lazyregexp.New(`(?i)\b(?:not|no|never|without|except|instead|rather|unlike|don't|needn't)\b`)
)

// begins reports whether a line continues after its first word like an item of a list: with a reason or another item.
func begins(line string) bool {
	word, rest, _ := strings.Cut(line, " ")
	rest = strings.TrimSpace(rest)
	return strings.HasSuffix(word, ":") || strings.HasSuffix(word, ",") || rest != "" && strings.IndexByte("-(,&\xe2", rest[0]) >= 0 ||
		strings.HasPrefix(rest, "and ")
}

// dressing is what may surround a path in an answer without being part of it.
const dressing = "`\"'*_<>()[]{},;:!?"

// finder returns a function that finds the file which a word of an answer names.
func finder(listed []string, known func(string) bool) func(word string) (string, bool) {
	paths, ends := make(map[string]bool, len(listed)), map[string]string{}
	for _, p := range listed {
		paths[p] = true
		for i := strings.LastIndexByte(p, '/'); i >= 0; i = strings.LastIndexByte(p[:i], '/') {
			if end := p[i+1:]; ends[end] == "" {
				ends[end] = p
			} else if ends[end] != p {
				ends[end] = "/" // the end of several; no path
			}
		}
	}
	return func(word string) (string, bool) {
		for _, w := range []string{word, strings.Trim(word, dressing), strings.TrimRight(strings.Trim(word, dressing), dressing+".")} {
			w = strings.TrimPrefix(w, "./")
			if paths[w] || w != "" && known != nil && known(w) {
				return w, true
			}
			if p := ends[w]; p != "" && p != "/" && strings.Contains(w, ".") {
				return p, true
			}
		}
		return "", false
	}
}

// Summaries reads the answer to Summarise: what the project is, and a line for each of the files that has one. It
// ignores lines about other files.
func (r Reply) Summaries(files []string) (project string, lines map[string]string) {
	known, lines := make(map[string]bool, len(files)), map[string]string{}
	for _, f := range files {
		known[f] = true
	}
	for _, l := range strings.Split(r.Text, "\n") {
		if rest, ok := strings.CutPrefix(strings.TrimSpace(l), "PROJECT:"); ok && project == "" {
			project = clipLine(rest, 600)
			continue
		}
		name, text, ok := strings.Cut(strings.TrimLeft(strings.TrimSpace(l), "-* "), ": ")
		if name = strings.Trim(name, "`\"'* "); ok && known[name] && lines[name] == "" {
			lines[name] = clipLine(text, 240)
		}
	}
	return project, lines
}

// clipLine returns at most n bytes of s on one line, cut between words.
func clipLine(s string, n int) string {
	s = strings.Join(strings.Fields(oneLine(strings.ToValidUTF8(s, ""))), " ")
	if len(s) <= n {
		return s
	}
	cut := strings.LastIndexByte(s[:n], ' ')
	if cut < 0 {
		cut = n
		for cut > 0 && s[cut]&0xc0 == 0x80 {
			cut--
		}
	}
	return s[:cut] + "…"
}
