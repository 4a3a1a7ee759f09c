package agent

import (
	"slices"
	"strings"

	"agent/sandbox/workspace/lazyregexp"
)

// Nothing reports whether an answer says that there is nothing to change: the
// word on a line of its own, and no edit beside it.
//
// Whether there are edits is package edit's to say; an answer that says both
// has contradicted itself, and the edits are looked at.
func (r Reply) Nothing() bool {
	said := false
	for _, l := range strings.Split(r.Text, "\n") {
		// As a draft gives its edits: a line of a file, or what is said of them, may be the word.
		if strings.HasPrefix(l, "diff --git ") || strings.HasPrefix(l, `{"changes":`) {
			return false
		}
		l = strings.Trim(strings.TrimSpace(l), "`*.")
		said = said || l == "NOTHING"
	}
	return said && !strings.Contains(strings.ToUpper(r.Text), "<SEARCH")
}

// snippet is the heart of a proposal.
var snippet = lazyregexp.New(`(?is)<snippet>\s*(.*?)\s*</snippet>`)

// thought is what a proposal says of itself.
var thought = lazyregexp.New(`(?is)<thought>\s*(.*?)\s*</thought>`)

// Proposal returns the two parts of a proposed feature; ok is false when one
// of them is missing, and then the answer proposes nothing that could be kept.
func (r Reply) Proposal() (why, code string, ok bool) {
	w, c := thought.FindStringSubmatch(r.Text), snippet.FindStringSubmatch(r.Text)
	if w == nil || c == nil || w[1] == "" || c[1] == "" {
		return "", "", false
	}
	return w[1], c[1], true
}

// Choices returns the files that an answer names, in its order. listed are those that the model was shown, and known
// tells of any other path whether there is such a file: a path that is not there is none, whatever the model believes.
//
// It is read leniently, since every model dresses a list in its own way: a line may have a dash or a number before the path,
// quotation marks around it and a reason behind it, and a listed file may be named by the end of its path where that
// is the end of no other. Only where no line begins with a file are files looked for within sentences; a
// sentence that says no names none.
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

// begins reports whether a line goes on behind its first word as behind an item of a list: with a reason or another item.
func begins(line string) bool {
	word, rest, _ := strings.Cut(line, " ")
	rest = strings.TrimSpace(rest)
	return strings.HasSuffix(word, ":") || strings.HasSuffix(word, ",") || rest != "" && strings.IndexByte("-(,&\xe2", rest[0]) >= 0 ||
		strings.HasPrefix(rest, "and ")
}

// dressing is what stands around a path in an answer and is no part of one.
const dressing = "`\"'*_<>()[]{},;:!?"

// finder returns what finds the file that a word of an answer names.
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

// Summaries reads the answer to Summarise: what the project is, and a line
// for each of the files that has one. Lines of other files are left out.
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
