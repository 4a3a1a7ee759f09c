package edit_test

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// An intent is what an author means by one block, in whatever form it is sent.
type intent struct {
	kind    string // edit, create, write (create or replace), modify, delete or rename
	path    string
	from    string // the old path of a rename
	search  []string
	replace []string
	line    int // the line of search, from 1; 0 if unknown
}

// A reader is an author who knows what it meant, sees only the text of a refusal, and follows it literally. It looks into a file only if
// it is told to read it.
type reader struct {
	files  memory
	meant  []intent         // the blocks that were sent
	whole  []intent         // what was meant where the response did not say it
	next   map[int][]intent // the blocks to send, by the number of the block that each comes from
	form   string           // the form to send them in: tags, diff, json, lines, patch or markers
	merged map[int]int      // a block to the one that absorbed it
	sent   []intent         // what follow sent
	moved  []bool           // for each intended block: it was told to go elsewhere than its author thought
}

// A told is one problem as described by the text of the refusal.
type told struct {
	block  int
	kind   string
	reason string
	advice string
	shown  map[int]string // lines of the file by number
	untold []int          // first lines of the places that nothing tells apart
	places [][4]int       // first and last line, first and last line that tells the place apart
}

var (
	toldHead  = regexp.MustCompile(`^(?:block (\d+)(?:, (?:\S+))?: |\S+: )?(parse|truncated|not found|ambiguous|stale|already applied|noop|overlap|path|exists|refused):? (.*)$`)
	toldLine  = regexp.MustCompile(`^ {0,5}(\d+) [|:] (.*)$`)
	toldPlace = regexp.MustCompile(`^  lines? (\d+)(?: to (\d+))?(?:, told apart by (?:lines? (\d+)(?: to (\d+))?|its space)|(, not told apart by the lines around))?:$`)
)

// readRefusal splits the text of a refusal into its problems.
func readRefusal(text string) (out []*told) {
	var p *told
	for _, l := range strings.Split(text, "\n") {
		if m := toldHead.FindStringSubmatch(l); m != nil {
			p = &told{block: number(m[1]), kind: m[2], reason: m[3], shown: map[int]string{}}
			out = append(out, p)
		} else if p == nil {
			continue
		} else if m := toldLine.FindStringSubmatch(l); m != nil {
			p.shown[number(m[1])] = m[2]
		} else if m := toldPlace.FindStringSubmatch(l); m != nil {
			if m[5] != "" {
				p.untold = append(p.untold, number(m[1]))
			}
			at := [4]int{number(m[1]), number(m[2]), number(m[3]), number(m[4])}
			at[1], at[3] = max(at[0], at[1]), max(at[2], at[3])
			p.places = append(p.places, at)
		} else if advice, ok := strings.CutPrefix(l, "  → "); ok {
			p.advice = advice
		}
	}
	return out
}

func number(s string) int {
	n, _ := strconv.Atoi(s)
	return n
}

// lines returns lines lo to hi as they were shown.
func (p *told) lines(lo, hi int) (out []string, err error) {
	for i := lo; i <= hi; i++ {
		s, ok := p.shown[i]
		if !ok {
			return nil, fmt.Errorf("line %d is not shown", i)
		}
		out = append(out, s)
	}
	return out, nil
}

// follow does what the refusal says. done is true if nothing is left to send; an unknown sentence is an error.
func (r *reader) follow(text string) (response string, done bool, err error) {
	r.next, r.merged = map[int][]intent{}, map[int]int{}
	for i, m := range r.meant {
		r.next[i+1] = []intent{m}
	}
	for _, p := range readRefusal(text) {
		if err := r.act(p); err != nil {
			return "", false, fmt.Errorf("block %d, %q: %w", p.block, p.advice, err)
		}
	}
	var moved []bool
	r.sent = nil
	for i := range len(r.meant) + 1 {
		for _, m := range r.next[i] {
			r.sent = append(r.sent, m)
			moved = append(moved, i > 0 && !slices.Equal(m.search, r.meant[i-1].search))
		}
	}
	r.moved = moved
	if len(r.sent) == 0 {
		return "", true, nil
	}
	return written(r.sent, r.form), false, nil
}

// act follows the advice of one problem.
func (r *reader) act(p *told) error {
	if p.block > len(r.meant) && len(r.whole) == 0 && !strings.HasPrefix(p.advice, "leave ") {
		return fmt.Errorf("nothing tells what was meant")
	}
	for _, c := range sentences {
		if m := c.says.FindStringSubmatch(p.advice); m != nil {
			return c.do(r, p, m)
		}
	}
	return fmt.Errorf("the advice is not understood")
}

// file returns the lines of a block's file, for advice that says to read it.
func (r *reader) file(block int) []string {
	return strings.Split(strings.TrimSuffix(strings.ReplaceAll(r.files.text[r.meant[block-1].path], "\r", ""), "\n"), "\n")
}

// put replaces whatever comes from a block by one block with these lines as SEARCH.
func (r *reader) put(block int, search, before, after []string, advice string) {
	m := r.meant[block-1]
	replace := slices.Clone(m.replace)
	if strings.Contains(advice, " in full, without ") {
		replace = slices.DeleteFunc(replace, func(s string) bool { return strings.Contains(s, "...") })
	}
	if strings.Contains(advice, "; indent ") {
		replace = reindent(replace, leading(m.search), leading(search[len(before):]))
	}
	m.search, m.replace = search, slices.Concat(before, replace, after)
	r.next[block] = []intent{m}
}

// leading returns the indentation of the first line that is not blank.
func leading(lines []string) string {
	for _, s := range lines {
		if t := strings.TrimLeft(s, " \t"); t != "" {
			return s[:len(s)-len(t)]
		}
	}
	return ""
}

// reindent replaces the indentation from by the indentation to, in the lines that begin with it.
func reindent(lines []string, from, to string) []string {
	for i, s := range lines {
		if rest, ok := strings.CutPrefix(s, from); ok && strings.TrimSpace(s) != "" {
			lines[i] = to + rest
		}
	}
	return lines
}

// splitIntents reads the blocks of a response in any form: the author's own account of what it sent.
func splitIntents(text string) (out []intent) {
	if strings.HasPrefix(text, "[") {
		var changes []struct{ Path, Action, Content, From string }
		_ = json.Unmarshal([]byte(text), &changes) // a patch that is not JSON says nothing
		for _, c := range changes {
			out = append(out, intent{kind: c.Action, path: c.Path, from: c.From, replace: body(c.Content)})
		}
		return out
	}
	if diffStart.MatchString(text) {
		return splitDiff(text)
	}
	for _, m := range taggedForm.FindAllStringSubmatch(text, -1) {
		switch {
		case m[4] != "":
			out = append(out, intent{kind: "create", path: m[4], replace: body(m[5])})
		case m[6] != "":
			out = append(out, intent{kind: "delete", path: m[6]})
		case m[7] != "":
			out = append(out, intent{kind: "write", path: m[7], replace: body(m[8])})
		case m[9] != "":
			out = append(out, intent{kind: "rename", from: m[9], path: m[10]})
		default:
			out = append(out, intent{kind: "edit", path: m[1], search: body(m[2]), replace: body(m[3])})
		}
	}
	return out
}

var (
	diffStart  = regexp.MustCompile(`(?m)\A(diff --git |--- )`)
	taggedForm = regexp.MustCompile(`(?s)(?:<EDIT(?: file="([^"]*)")?>\s*)?<SEARCH>\n(.*?)</SEARCH>\s*<REPLACE>\n(.*?)</REPLACE>` +
		`|<CREATE_FILE path="([^"]*)">\n(.*?)</CREATE_FILE>|<DELETE_FILE path="([^"]*)"/>` +
		`|<FILE path="([^"]*)">\n(.*?)</FILE>|<RENAME_FILE from="([^"]*)" to="([^"]*)"/>`)
)

// body splits a text into lines.
func body(s string) []string {
	if s == "" {
		return nil
	}
	return strings.Split(strings.TrimSuffix(s, "\n"), "\n")
}

// splitDiff parses the hunks of a diff.
func splitDiff(text string) (out []intent) {
	path, from, gone := "", "", false
	for _, l := range body(text) {
		last := len(out) - 1
		switch {
		case strings.HasPrefix(l, "rename from "):
			from = strings.TrimPrefix(l, "rename from ")
		case strings.HasPrefix(l, "rename to "):
			out = append(out, intent{kind: "rename", from: from, path: strings.TrimPrefix(l, "rename to ")})
		case strings.HasPrefix(l, "--- a/"):
			path = l[len("--- a/"):]
		case strings.HasPrefix(l, "+++ "):
			gone = l == "+++ /dev/null"
		case strings.HasPrefix(l, "@@"):
			kind := "edit"
			if gone {
				kind = "delete"
			}
			out = append(out, intent{kind: kind, path: path})
		case last >= 0 && out[last].kind == "edit" && l != "" && l[0] != '\\':
			if l[0] != '+' {
				out[last].search = append(out[last].search, l[1:])
			}
			if l[0] != '-' {
				out[last].replace = append(out[last].replace, l[1:])
			}
		}
	}
	return out
}

// written renders blocks in a form.
func written(blocks []intent, form string) string {
	var b strings.Builder
	var changes []any
	for _, m := range blocks {
		switch form {
		case "diff":
			b.WriteString(m.diff())
		case "json", "lines":
			changes = append(changes, m.object(form == "lines"))
		case "patch":
			b.WriteString(m.patch())
		case "markers":
			fmt.Fprintf(&b, "%s\n<<<<<<< SEARCH\n%s=======\n%s>>>>>>> REPLACE\n", m.path, ended(m.search), ended(m.replace))
		default:
			b.WriteString(m.tags())
		}
	}
	if changes != nil {
		out, _ := json.Marshal(changes) // strings are always valid JSON
		return string(out)
	}
	if form == "patch" {
		return "*** Begin Patch\n" + b.String() + "*** End Patch\n"
	}
	return b.String()
}

// object renders one block for JSON, by its line number if byLine is set.
func (m intent) object(byLine bool) map[string]any {
	switch {
	case byLine:
		edit := map[string]any{"type": "replace_line", "line": m.line, "expected": ended(m.search), "content": ended(m.replace)}
		return map[string]any{"path": m.path, "edits": []any{edit}}
	case m.kind == "edit":
		return map[string]any{"path": m.path, "oldText": ended(m.search), "newText": ended(m.replace)}
	case m.kind == "delete":
		return map[string]any{"path": m.path, "action": m.kind}
	}
	return map[string]any{"path": m.path, "action": m.kind, "content": ended(m.replace)}
}

// patch renders one block as a part of a patch.
func (m intent) patch() string {
	out := ""
	switch m.kind {
	case "create":
		out = "*** Add File: " + m.path + "\n"
	case "delete":
		return "*** Delete File: " + m.path + "\n"
	default:
		out = "*** Update File: " + m.path + "\n@@\n"
	}
	return out + m.marked()
}

// marked renders the lines of a block with the marks of a diff.
func (m intent) marked() (out string) {
	for _, s := range m.search {
		out += "-" + s + "\n"
	}
	for _, s := range m.replace {
		out += "+" + s + "\n"
	}
	return out
}

// ended joins lines, each with a line end.
func ended(lines []string) string {
	if len(lines) == 0 {
		return ""
	}
	return strings.Join(lines, "\n") + "\n"
}

// tags renders one block in tags.
func (m intent) tags() string {
	switch m.kind {
	case "create":
		return fmt.Sprintf("<CREATE_FILE path=\"%s\">\n%s</CREATE_FILE>\n", m.path, ended(m.replace))
	case "write", "modify":
		return fmt.Sprintf("<FILE path=\"%s\">\n%s</FILE>\n", m.path, ended(m.replace))
	case "rename":
		return fmt.Sprintf("<RENAME_FILE from=\"%s\" to=\"%s\"/>\n", m.from, m.path)
	case "delete":
		return fmt.Sprintf("<DELETE_FILE path=\"%s\"/>\n", m.path)
	}
	return fmt.Sprintf("<EDIT file=\"%s\">\n<SEARCH>\n%s</SEARCH>\n<REPLACE>\n%s</REPLACE>\n</EDIT>\n", m.path, ended(m.search), ended(m.replace))
}

// diff renders one block as a unified diff, with its line number if known.
func (m intent) diff() string {
	if m.kind == "rename" {
		return fmt.Sprintf("diff --git a/%[1]s b/%[2]s\nrename from %[1]s\nrename to %[2]s\n", m.from, m.path)
	}
	head := "@@ @@"
	if m.line > 0 {
		head = fmt.Sprintf("@@ -%d,%d +%d,%d @@", m.line, len(m.search), m.line, len(m.replace))
	}
	out := fmt.Sprintf("--- a/%s\n+++ b/%s\n%s\n", m.path, m.path, head)
	if m.kind == "create" || m.kind == "write" {
		out = fmt.Sprintf("--- /dev/null\n+++ b/%s\n@@ -0,0 +1,%d @@\n", m.path, len(m.replace))
	}
	return out + m.marked()
}
