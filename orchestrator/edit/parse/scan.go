package parse

import (
	"sort"
	"strings"
)

// A tag is one tag of the block form, anywhere in the response.
type tag struct {
	name       string // in capitals
	closes     bool   // </NAME>
	alone      bool   // <NAME/>
	attrs      string // the text between the name and ">"
	start, end int    // of the tag in the text
	line       bool   // only space is before it on its line
	skip       bool   // it is inside a thought
}

// thinks reports whether the tag encloses the author's thoughts.
func (t tag) thinks() bool {
	return t.name == "THOUGHT" || t.name == "THINK" || t.name == "THINKING"
}

// tagNames are the names that make a tag; everything else in angle brackets is text.
var tagNames = []string{"EDIT", "SEARCH", "REPLACE", "CREATE_FILE", "DELETE_FILE", "RENAME_FILE", "FILE", "THOUGHT", "THINKING", "THINK"}

// maxAttrs bounds the attributes of a tag, in bytes: enough for a path with room to spare.
const maxAttrs = 4 << 10

// maxTags bounds the tags of a response: more than twice what the most blocks need.
const maxTags = 16 * MaxBlocks

// scanTags lists the tags of a text in order, and marks those inside thoughts. It stops after one more than maxTags.
//
// It makes one pass over the text, however many angle brackets that holds. A "<" that begins no tag is text, and the search
// continues after it, so that "<EDIT <SEARCH>" still yields the second.
func scanTags(text string) []tag {
	var tags []tag
	begin := 0 // of the text since the previous tag
	for at := 0; len(tags) <= maxTags; {
		i := strings.IndexByte(text[at:], '<')
		if i < 0 {
			break
		}
		at += i
		t, ok := scanTag(text[at:])
		if !ok {
			at++
			continue
		}
		t.start, t.end = at, at+t.end
		nl := strings.LastIndexByte(text[begin:at], '\n')
		t.line = (nl >= 0 || begin == 0) && strings.Trim(text[begin+nl+1:at], " \t\r") == ""
		at, begin = t.end, t.end
		tags = append(tags, t)
	}
	markThoughts(tags)
	return tags
}

// scanTag reads the tag at the start of s, ignoring case; end is its length. A quoted attribute may hold ">". FILE is a common tag
// in many kinds of markup, so only one with a path is an opening tag.
//
// "<edit file='a>b'>" is the tag EDIT with the attributes "file='a>b'". A tag ends on its line, and holds "<" only inside quotation
// marks: "if a <edit" at the end of a line must not swallow the next tag.
func scanTag(s string) (t tag, ok bool) {
	rest := s[1:]
	if t.closes = strings.HasPrefix(rest, "/"); t.closes {
		rest = rest[1:]
	}
	for _, name := range tagNames {
		if len(rest) > len(name) && strings.EqualFold(rest[:len(name)], name) && strings.IndexByte(" \t/>", rest[len(name)]) >= 0 {
			t.name, rest = name, rest[len(name):]
			break
		}
	}
	if t.name == "" {
		return t, false
	}
	quote := byte(0)
	for i := 0; i < min(len(rest), maxAttrs); i++ {
		switch c := rest[i]; {
		case c == '\n' || c == '<' && quote == 0:
			return t, false
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '"' || c == '\'':
			quote = c
		case c == '>':
			t.end = len(s) - len(rest) + i + 1
			t.attrs, t.alone = strings.CutSuffix(strings.TrimSpace(rest[:i]), "/")
			return t, t.name != "FILE" || t.closes || attrValue(t.attrs, pathAttrs...) != "" && !t.alone
		}
	}
	return t, false
}

// markThoughts marks the tags from one that opens a thought to the one that closes it, both included. A thought that is never
// closed hides nothing, since the edits after it would be lost.
func markThoughts(tags []tag) {
	endless := map[string]bool{} // names without a further closing tag: no need to look again
	for i := 0; i < len(tags); i++ {
		name := tags[i].name
		if !tags[i].thinks() || tags[i].closes || endless[name] {
			continue
		}
		j := i + 1
		for j < len(tags) && !(tags[j].closes && tags[j].name == name) {
			j++
		}
		if j == len(tags) {
			endless[name] = true
			continue
		}
		for k := i; k <= j; k++ {
			tags[k].skip = true
		}
		i = j
	}
}

// inThought reports whether the offset is between the tags of a closed thought.
func inThought(tags []tag, at int) bool {
	i := sort.Search(len(tags), func(i int) bool { return tags[i].start > at })
	return i > 0 && i < len(tags) && tags[i-1].skip && tags[i].skip && !(tags[i-1].thinks() && tags[i-1].closes)
}

// thoughts skips thoughts for the forms that are read line by line. It holds the names without a further closing tag: no need to
// look again.
type thoughts map[string]bool

// pass returns the line at which the thought that line i opens is closed, and cuts that line to the text after the tag. It returns
// i if line i opens none.
//
// The tags of the whole text would not do: a block may hold a thought tag as content, and another block may hold its end.
func (endless thoughts) pass(lines []string, i int) int {
	for _, t := range scanTags(lines[i]) {
		if !t.thinks() || t.closes || t.skip || endless[t.name] {
			continue
		}
		for j := i + 1; j < len(lines); j++ {
			for _, u := range scanTags(lines[j]) {
				if u.closes && u.name == t.name {
					lines[j] = lines[j][u.end:]
					return j
				}
			}
		}
		endless[t.name] = true
	}
	return i
}

// opens reports whether a tag outside any block begins one: it is at the start of its line, or right after another, or carries a
// path. A tag in the middle of a sentence only mentions edits.
func opens(text string, tags []tag, i int) bool {
	t := tags[i]
	if t.skip || t.closes || t.thinks() {
		return false
	}
	if t.line || t.name == "EDIT" && attrPath(t.attrs) != "" {
		return true
	}
	return i > 0 && strings.TrimSpace(text[tags[i-1].end:t.start]) == "" || t.name == "EDIT" && i+1 < len(tags) && tags[i+1].name == "SEARCH" && strings.TrimSpace(text[t.end:tags[i+1].start]) == ""
}

// firstTag returns where the first block begins, or -1 if there is none.
func firstTag(text string, tags []tag) int {
	for i := range tags {
		if opens(text, tags, i) {
			return tags[i].start
		}
	}
	return -1
}
