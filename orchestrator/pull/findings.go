package pull

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"agent/orchestrator/forge"
	"agent/orchestrator/gate"
	"agent/sandbox/workspace/lazyregexp"
	"agent/verify"
)

// A Severity says how much a finding matters to the person who decides on a pull request.
type Severity string

// The severities, the worst first.
const (
	Blocker Severity = "blocker"
	Major   Severity = "major"
	Minor   Severity = "minor"
	Nit     Severity = "nit"
)

// severities gives the severity of a failed gate's findings, by its name; for the workspace's own gates it is Major.
var severities = map[string]Severity{
	"edit": Blocker, "syntax": Blocker, "tests": Blocker, "smoke": Blocker, "types": Major, "lint": Major, "format": Nit,
}

// A Finding is one finding in a review.
type Finding struct {
	Severity Severity `json:"severity"`
	Gate     string   `json:"gate"`
	Rule     string   `json:"rule,omitempty"`
	Path     string   `json:"path,omitempty"`
	Line     int      `json:"line,omitempty"`
	Message  string   `json:"message"`
	// Key distinguishes it from others, even if it has moved to another line.
	Key string `json:"key"`
}

// Findings returns what a judgement says about a change: what its gates found new, failed gates without a place, and
// what a person must approve.
func Findings(c gate.Candidate) (list []Finding) {
	seen := map[string]int{}
	add := func(f Finding, source string) {
		key := strings.Join([]string{f.Gate, f.Rule, f.Path, f.Message, source}, "\x00")
		// Two equal findings are still two.
		seen[key]++
		sum := sha256.Sum256([]byte(key + "\x00" + strconv.Itoa(seen[key])))
		f.Key = hex.EncodeToString(sum[:8])
		list = append(list, f)
	}
	for _, g := range c.Gates {
		severity := Minor
		if g.Verdict != verify.Pass {
			var known bool
			if severity, known = severities[g.Name]; !known {
				severity = Major
			}
		}
		for _, f := range g.Findings {
			add(Finding{Severity: severity, Gate: g.Name, Rule: f.Rule, Path: f.File, Line: f.Line, Message: line(f.Message)}, f.Source)
		}
		if g.Verdict != verify.Pass && len(g.Findings) == 0 {
			add(Finding{Severity: severity, Gate: g.Name, Message: line(g.Detail)}, "")
		}
	}
	for _, h := range c.Holds {
		severity := Minor
		if h.Block {
			severity = Major
		}
		add(Finding{Severity: severity, Gate: "policy", Rule: h.Kind, Path: h.Path, Message: line(h.Reason)}, "")
	}
	return list
}

// The bounds of a review.
const (
	maxLines = 30 // comments on lines that are posted at once
	marked   = "agent:finding"
	answered = "agent:fixed"
)

// marks matches the marks of findings in a comment, with their keys.
var marks = lazyregexp.New(`<!-- (agent:finding|agent:fixed) ([0-9a-f]{16}) -->`)

// mark returns a part of a comment that people do not see.
func mark(kind, key string) string { return "\n\n<!-- " + kind + " " + key + " -->" }

// Text returns the comment about a finding.
func (f Finding) Text() string {
	text := fmt.Sprintf("**%s** · %s", f.Severity, f.Gate)
	if f.Rule != "" {
		text += " " + Span(f.Rule)
	}
	return text + "\n\n" + Span(f.Message) + mark(marked, f.Key)
}

// A Plan lists what a review has to post so that every finding is reported once.
type Plan struct {
	// Post are comments on lines. Rest are findings that have no line in the difference, or for which there is no room.
	Post []forge.LineComment
	Rest []Finding
	// Fixed are threads about findings that no longer exist, with the answer to each.
	Fixed []Fixed
	// Known counts the findings that were already reported.
	Known int
}

// A Fixed is an answer to a thread whose finding no longer exists.
type Fixed struct {
	Thread forge.Thread
	Text   string
}

// Review compares the findings with what the same account said before: marks that others put into their comments do not
// count. lines are the lines of the new side in the difference.
func Review(findings []Finding, threads []forge.Thread, lines map[string][]int, commit string) (p Plan) {
	open := map[string][]int{} // indexes of threads, by key
	for i, t := range threads {
		for _, c := range t.Comments {
			if !c.Mine {
				continue
			}
			for _, m := range marks.FindAllStringSubmatch(c.Text, -1) {
				if kind, key := m[1], m[2]; kind == marked {
					open[key] = append(open[key], i)
				} else {
					open[key] = without(open[key], i)
				}
			}
		}
	}
	for _, f := range findings {
		switch {
		case len(open[f.Key]) > 0:
			delete(open, f.Key)
			p.Known++
		case f.Line > 0 && slices.Contains(lines[f.Path], f.Line) && len(p.Post) < maxLines:
			p.Post = append(p.Post, forge.LineComment{Path: f.Path, Line: f.Line, Text: f.Text()})
		default:
			p.Rest = append(p.Rest, f)
		}
	}
	for i, t := range threads {
		for _, c := range t.Comments {
			for _, m := range marks.FindAllStringSubmatch(c.Text, -1) {
				if key := m[2]; c.Mine && m[1] == marked && slices.Contains(open[key], i) {
					delete(open, key)
					p.Fixed = append(p.Fixed, Fixed{t, fmt.Sprintf("No longer found at %.12s.", commit) + mark(answered, key)})
				}
			}
		}
	}
	return p
}

// without returns a list of threads without thread, which holds an answer, or else without its first: on a forge
// without answers, an answer is a thread of its own.
func without(list []int, thread int) []int {
	at := max(slices.Index(list, thread), 0)
	return slices.Delete(list, at, min(at+1, len(list)))
}

// hunk matches the head of a hunk, with the start of its new side.
var hunk = lazyregexp.New(`^@@ -\d+(?:,\d+)? \+(\d+)(?:,(\d+))? @@`)

// Lines lists the lines of the new side that a difference in git's form shows, by path.
func Lines(diff []byte) map[string][]int {
	lines := map[string][]int{}
	name, at, left := "", 0, 0
	for text := range strings.Lines(string(diff)) {
		text = strings.TrimRight(text, "\r\n")
		switch {
		case left > 0 && (strings.HasPrefix(text, "+") || strings.HasPrefix(text, " ")):
			lines[name] = append(lines[name], at)
			at, left = at+1, left-1
		case strings.HasPrefix(text, "+++ "):
			name = newName(strings.TrimPrefix(text, "+++ "))
		case hunk.MatchString(text):
			m := hunk.FindStringSubmatch(text)
			at, _ = strconv.Atoi(m[1])
			left = 1
			if m[2] != "" {
				left, _ = strconv.Atoi(m[2])
			}
		}
	}
	return lines
}

// newName returns the path in a label of the new side, or "" for none. Git quotes a name in C's syntax if a reader
// could not tell where it ends.
func newName(label string) string {
	label = strings.TrimRight(label, "\t")
	if plain, err := strconv.Unquote(label); err == nil {
		label = plain
	}
	name, _ := strings.CutPrefix(label, "b/")
	if name == label {
		return ""
	}
	return name
}

// summary marks the one comment of a review on the whole.
const summary = "<!-- agent:review -->"

// IsSummary reports whether a comment is the summary of an earlier review by the same account.
func IsSummary(c forge.Comment) bool { return c.Mine && strings.Contains(c.Text, summary) }

// Summary returns the comment of a review on the whole.
func Summary(c gate.Candidate, run, commit string, findings []Finding, p Plan, left []string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "## %s\n\nCommit `%.12s`, judged in throwaway containers against the commit where it left its base (run `%s`).\n\n", headline(c), commit, run)
	b.WriteString("| gate | verdict | |\n|---|---|---|\n")
	for _, g := range first(c.Gates) {
		fmt.Fprintf(&b, "| %s | %s | %s |\n", cell(g.Name), g.Verdict, cell(g.Detail))
	}
	for _, s := range first(c.Skipped) {
		fmt.Fprintf(&b, "| %s | did not run | %s |\n", cell(s.Name), cell(s.Reason))
	}
	b.WriteString("\n")
	if n := len(findings) - len(p.Rest); n > 0 {
		fmt.Fprintf(&b, "%d of %d findings are comments at their lines.\n\n", n, len(findings))
	}
	for _, f := range first(p.Rest) {
		place := f.Path
		if f.Line > 0 {
			place += ":" + strconv.Itoa(f.Line)
		}
		fmt.Fprintf(&b, "- **%s** %s %s: %s\n", f.Severity, f.Gate, Span(place), Span(f.Message))
	}
	if len(p.Rest) > maxListed {
		fmt.Fprintf(&b, "- and %d more\n", len(p.Rest)-maxListed)
	}
	b.WriteString("\n")
	Body{Works: []Work{{Judged: c}}, Left: left}.unproven(&b)
	return cut(b.String(), maxBody) + summary + "\n"
}

// headline returns the verdict in a few words.
func headline(c gate.Candidate) string {
	switch {
	case c.Verdict == verify.Pass && len(c.Unproven) > 0:
		return "Passed, but not all of it was proved"
	case c.Verdict == verify.Pass:
		return "Passed"
	case c.Verdict == verify.Policy:
		return "Held: a person must approve"
	}
	return "Did not pass"
}

// Verdict returns the status of the commit: a change from a fork that acts on the build server is held, whatever the
// judgement.
func Verdict(c gate.Candidate, fork bool) (state forge.JobState, text string) {
	state, text = forge.Failed, headline(c)
	if c.Verdict == verify.Pass {
		state = forge.Passed
	}
	for _, h := range c.Holds {
		if fork && h.Kind == "ci" {
			return forge.Failed, "Held: a fork changes what runs on the build server, " + line(h.Path)
		}
	}
	worst := map[Severity]int{}
	for _, f := range Findings(c) {
		worst[f.Severity]++
	}
	for _, s := range []Severity{Blocker, Major, Minor, Nit} {
		if n := worst[s]; n > 0 {
			text += fmt.Sprintf(", %d %s", n, s)
		}
	}
	return state, text
}
