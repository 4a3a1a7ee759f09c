package agent

import (
	"fmt"
	"strings"
)

// A Brief is what a prompt may say: it has every field that a template can name. The templates quote every field that
// holds text from a workspace, a log or a model, and never write it plain.
type Brief struct {
	Goal     string // what the change is for, in the user's own words: the one text that is an order
	Thought  string // what the model said about the change to be fixed
	Target   string // the path of the file to work on, "" for any
	Language string // the target's language: "python"
	Code     string // the target's text
	Rules    string // the workspace's own rules for contributors
	Project  string // what the project is, and one line for each file
	Memory   string // what earlier iterations learnt
	History  string // the last promotions, shortened
	Around   string // signatures that the target uses, and the users of its own
	Findings string // what lint and types say about the target before any change
	Lazy     string // what a scan for lazy code says
	Cascade  string // the change elsewhere that this file must follow
	Feature  string // the proposal to implement
	Extra    string // what a person added at the checkpoint
	// Given is material by others that the goal is about, such as a build server's log or a review comment.
	Given  string `json:",omitempty"`
	Others []File // further files, whole
	// Related are files, or parts of files, that are only there to be read, the most useful first.
	Related []Excerpt `json:",omitempty"`
	Files   []string
	// Candidates says what the first of Files define, one line for each file.
	Candidates string
	Unlisted   int    // how many more files there are than Files
	Partial    string // the files that are shown in parts, "" for none
	Failure    Failure
	Attempts   []Attempt
	// Answer is the model's own answer that could not be applied; Repeated says that it gave the same one twice.
	Answer   string
	Repeated bool
	Session  string // what this iteration did, for the memory
	// Role stands at the head of the instructions and says who is asked. It is the user's own text and not data.
	Role string `json:",omitempty"`
	// Tasks are the tasks of a plan and their state. Diff is the result of a plan, or the change under review.
	Tasks string `json:",omitempty"`
	Diff  string `json:",omitempty"`
	// Wrong says what is wrong with Answer if Answer is not an edit.
	Wrong   string `json:",omitempty"`
	Gates   string `json:",omitempty"` // what the record says about the judgement of Diff
	Variant Variant
	// Tools says that the model looks around by itself and changes files with tools.
	Tools bool `json:",omitempty"`
}

// List returns the paths, one on each line.
func (b Brief) List() string { return strings.Join(b.Files, "\n") }

// A File is a path and its text.
type File struct{ Path, Text string }

// An Excerpt is a file, or parts of one, and the reason why it is shown.
type Excerpt struct{ Path, Why, Text string }

// Label returns the name under which an excerpt is quoted.
func (x Excerpt) Label() string { return x.Path + " (" + x.Why + ")" }

// A Part is something that a question quotes.
type Part struct {
	Name  string `json:"name"`
	Bytes int    `json:"bytes"`
	Why   string `json:"why,omitempty"` // why a file is among the parts
}

// Parts lists what a question made from the brief quotes, files first.
func (b *Brief) Parts() []Part {
	parts := []Part{}
	add := func(name string, bytes int, why string) {
		if bytes > 0 {
			parts = append(parts, Part{name, bytes, why})
		}
	}
	add(b.Target, len(b.Code), "to be changed")
	for _, f := range b.Others {
		add(f.Path, len(f.Text), "may be changed too")
	}
	for _, x := range b.Related {
		add(x.Path, len(x.Text), x.Why)
	}
	add("goal", len(b.Goal), "")
	for _, s := range b.sections() {
		add(s.Name, len(*s.text), "")
	}
	return parts
}

// Paths joins the paths of files: "a.py, b.py".
func Paths(files []File) string {
	var all []string
	for _, f := range files {
		all = append(all, f.Path)
	}
	return strings.Join(all, ", ")
}

// A Failure says why a candidate did not pass.
type Failure struct {
	// Gate is the gate's name, or "edit" when the answer could not be applied.
	Gate string
	// Text are the findings or the log.
	Text string
}

// An Attempt is an earlier candidate of the same run and the reason why it failed.
type Attempt struct {
	N    int
	Gate string // the first gate that it failed
	Why  string // "lint: 2 findings"
	Diff string
}

// Title says which attempt it was and why it was not accepted.
func (a Attempt) Title() string { return fmt.Sprintf("attempt %d, %s", a.N, a.Why) }

// A Section is a part of a brief that may be shortened to fit.
type Section struct {
	Name string
	text *string
	// keep says which part of a text survives a cut: its head, its tail, or both ends.
	keep end
}

// An end says which part of a text matters most.
type end int

const (
	head end = iota
	tail
	both
)

// sections lists the parts of a brief in the order in which they are shortened. Code and goal are never among them: a
// model that unknowingly sees half of a file writes edits for the half it imagines. See narrow for a brief that is too
// large.
func (b *Brief) sections() []Section {
	return []Section{
		{"lazy", &b.Lazy, head},
		{"history", &b.History, head},
		{"project", &b.Project, head},
		{"candidates", &b.Candidates, head},
		{"memory", &b.Memory, head},
		{"around", &b.Around, head},
		{"findings", &b.Findings, head},
		{"rules", &b.Rules, head},
		{"answer", &b.Answer, both},
		{"tasks", &b.Tasks, head},
		{"wrong", &b.Wrong, head},
		{"cascade", &b.Cascade, both},
		{"given", &b.Given, both},
		{"failure", &b.Failure.Text, tail},
		{"diff", &b.Diff, head},
	}
}

// A Cut says that a section of a brief was shortened.
type Cut struct {
	Section  string `json:"section"`
	From, To int    // bytes
}

// Fit shortens the brief's sections, the least important first, until everything that a prompt may quote takes at most
// budget bytes, and returns what it cut. First of all it drops all attempts but the last two.
//
// The error means that the parts that must not be cut are too large by themselves.
func (b *Brief) Fit(budget int) ([]Cut, error) {
	var cuts []Cut
	if n := len(b.Attempts); n > 2 {
		b.Attempts = b.Attempts[n-2:]
	}
	over := b.size() - budget
	for _, s := range b.sections() {
		if over <= 0 {
			break
		}
		from := len(*s.text)
		*s.text = shorten(*s.text, max(0, from-over), s.keep)
		if to := len(*s.text); to < from {
			cuts = append(cuts, Cut{s.Name, from, to})
			over -= from - to
		}
	}
	if over > 0 {
		return cuts, fmt.Errorf("%s and the goal need %d bytes more than the %d of the prompt", b.Target, over, budget)
	}
	return cuts, nil
}

// size returns the number of bytes of everything that a prompt may quote.
func (b *Brief) size() int {
	n := len(b.Goal) + len(b.Thought) + len(b.Code) + len(b.Feature) + len(b.Extra) + len(b.Session) + len(b.Gates)
	for _, s := range b.sections() {
		n += len(*s.text)
	}
	for _, f := range b.Others {
		n += len(f.Path) + len(f.Text)
	}
	for _, x := range b.Related {
		n += len(x.Path) + len(x.Why) + len(x.Text)
	}
	for _, p := range b.Files {
		n += len(p) + 1
	}
	for _, a := range b.Attempts {
		n += len(a.Diff) + len(a.Why)
	}
	return n
}

// shorten cuts s to at most n bytes at line ends and says how many lines are gone. If there is no room for that remark,
// it returns nothing.
func shorten(s string, n int, keep end) string {
	const room = 48 // for the remark
	if len(s) <= n {
		return s
	}
	if n <= 2*room {
		return ""
	}
	lines := strings.SplitAfter(s, "\n")
	left := n - room
	var front, back []string
	for i, j := 0, len(lines)-1; i <= j; {
		takeBack := keep == tail || keep == both && size(back) < size(front)
		next := lines[i]
		if takeBack {
			next = lines[j]
		}
		if left -= len(next); left < 0 {
			break
		}
		if takeBack {
			back = append([]string{next}, back...)
			j--
		} else {
			front = append(front, next)
			i++
		}
	}
	gone := len(lines) - len(front) - len(back)
	return strings.Join(front, "") + fmt.Sprintf("[%d lines left out]\n", gone) + strings.Join(back, "")
}

// size adds up the bytes of lines.
func size(lines []string) int {
	n := 0
	for _, l := range lines {
		n += len(l)
	}
	return n
}
