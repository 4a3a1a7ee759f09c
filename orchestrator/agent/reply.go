package agent

import (
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

// Choice returns the one of the files that an answer names: a line that is a
// path of the list and nothing else, but for quotation marks and a list's dash.
//
// Two different files are no choice. A path that is not in the list is not
// there, whatever the model believes.
func (r Reply) Choice(files []string) (string, bool) {
	known := make(map[string]bool, len(files))
	for _, f := range files {
		known[f] = true
	}
	choice := ""
	for _, l := range strings.Split(r.Text, "\n") {
		l = strings.TrimPrefix(strings.Trim(strings.TrimLeft(strings.TrimSpace(l), "-* "), "`\"'* "), "./")
		if !known[l] || l == choice {
			continue
		}
		if choice != "" {
			return "", false
		}
		choice = l
	}
	return choice, choice != ""
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
