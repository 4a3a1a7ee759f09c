package pull

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"agent/orchestrator/forge"
	"agent/verify"
	"agent/verify/policy"
)

// A Task is a comment or thread in a pull request that waits for an answer.
type Task struct {
	// Thread is the forge's name of the thread, or "all " and the name of a comment on the whole. Comment is the last
	// one in it that is not the agent's own.
	Thread, Comment string
	Author          string
	// Path and Line are the place that it is about, "" and 0 for the whole pull request.
	Path string
	Line int
	// Text is what was said, as data: the comments in their order.
	Text string
	// Of is the thread, nil for a comment on the whole.
	Of *forge.Thread
}

// The bounds of a task.
const (
	maxSaid     = 8 << 10 // bytes of one comment
	maxComments = 20      // of one thread, the last ones
	answers     = "agent:answer"
)

// Tasks lists what others said that has no answer: threads first, then comments on the whole, but not requests for work
// (see Command). by lists the authors that count; empty means all. The owner of the token decides which comments are
// the agent's; a mark counts only at the end of the agent's own comments.
func Tasks(threads []forge.Thread, said []forge.Comment, by []string) (list []Task) {
	var mine []string
	for _, t := range threads {
		for _, c := range t.Comments {
			if c.Mine {
				mine = append(mine, c.Text)
			}
		}
	}
	for _, c := range said {
		if c.Mine {
			mine = append(mine, c.Text)
		}
	}
	add := func(t Task) {
		answered := slices.ContainsFunc(mine, func(text string) bool { return strings.HasSuffix(strings.TrimSpace(text), t.mark()) })
		if !answered && (len(by) == 0 || slices.Contains(by, t.Author)) {
			list = append(list, t)
		}
	}
	for i, th := range threads {
		if len(th.Comments) == 0 {
			continue
		}
		last := th.Comments[len(th.Comments)-1]
		if _, order := Command(last.Text); th.Resolved || last.Mine || order {
			continue
		}
		t := Task{Thread: th.ID, Comment: last.ID, Author: last.Author, Path: th.Path, Line: th.Line, Of: &threads[i]}
		for _, c := range th.Comments[max(0, len(th.Comments)-maxComments):] {
			t.Text += spoken(c)
		}
		add(t)
	}
	for _, c := range said {
		if _, order := Command(c.Text); !c.Mine && !order && strings.TrimSpace(c.Text) != "" {
			add(Task{Thread: "all " + c.ID, Comment: c.ID, Author: c.Author, Text: spoken(c)})
		}
	}
	return list
}

// spoken returns a comment with its author.
func spoken(c forge.Comment) string {
	who := c.Author
	if c.Mine {
		who += " (the agent)"
	}
	text := strings.TrimSpace(strings.ToValidUTF8(c.Text, "?"))
	if len(text) > maxSaid {
		text = strings.ToValidUTF8(text[:maxSaid], "") + "…"
	}
	return who + " wrote:\n" + text + "\n\n"
}

// mark returns the part of an answer to a task that people do not see.
func (t Task) mark() string {
	sum := sha256.Sum256([]byte(t.Thread + "\x00" + t.Comment))
	return "<!-- " + answers + " " + hex.EncodeToString(sum[:8]) + " -->"
}

// Goal returns the question to the engineer for a task. It repeats nothing from the comment.
func (t Task) Goal() string {
	where := "this change as a whole"
	if t.Path != "" {
		where = "the file that is shown first"
		if t.Line > 0 {
			where += fmt.Sprintf(", line %d", t.Line)
		}
	}
	return "A reviewer commented on " + where + "; what was written is quoted below. Change the code as the comment asks, as far as that is right, " +
		"and nothing else. If it asks for no change of the code, or for one that would be wrong, change nothing and say why."
}

// Subject returns the subject of the commit for a task.
func (t Task) Subject() string {
	if t.Path == "" {
		return "Address a comment by " + t.Author
	}
	return fmt.Sprintf("Address a comment by %s on %s", t.Author, t.Path)
}

// Answer returns the answer to a task: what was done in commit, or, if commit is "", why nothing was. said is the
// model's own comment on it, "" for none.
func (t Task) Answer(commit, said, why string) string {
	text := fmt.Sprintf("Done in %.12s, which passed the gates.", commit)
	if commit == "" {
		text = "Nothing was changed: " + Span(why)
	}
	if said = strings.TrimSpace(said); said != "" && said != why {
		text += "\n\n" + Span(said)
	}
	return text + "\n\n" + t.mark()
}

// RepairGoal is the question to the engineer about a failing build.
const RepairGoal = "The build of this branch fails on the build server. What its jobs wrote, and what the gates here say of it, is quoted below. Find the " +
	"cause in the code and repair it there. Leave the definition of the build, the tests and the configuration of tools as they are, and suppress nothing. " +
	"If the cause is not in the code, change nothing and say why."

// A FailedJob is a job with the important parts of its log, "" if it has none.
type FailedJob struct{ Name, Log string }

// Failure returns what is known about a failing build, as data for the engineer: its jobs, the gates' findings ("" if
// the gates do not reproduce it), and earlier attempts that did not help.
func Failure(jobs []FailedJob, reproduced string, tried []string) string {
	var b strings.Builder
	for _, j := range jobs {
		fmt.Fprintf(&b, "Job %s failed.\n%s\n\n", line(j.Name), j.Log)
	}
	if reproduced != "" {
		fmt.Fprintf(&b, "The gates here say of the branch:\n%s\n\n", reproduced)
	}
	for i, text := range tried {
		fmt.Fprintf(&b, "Attempt %d did not help:\n%s\n\n", i+1, text)
	}
	return strings.TrimSpace(b.String()) + "\n"
}

// Named lists the files that a failing build is most likely about: the files of changed that a log names, those named
// first coming first, at most that many.
func Named(jobs []FailedJob, changed []string, most int) (list []string) {
	type place struct {
		path string
		at   int
	}
	var places []place
	var all strings.Builder
	for _, j := range jobs {
		all.WriteString(j.Log + "\n")
	}
	for _, path := range changed {
		if at := indexPath(all.String(), path); at >= 0 {
			places = append(places, place{path, at})
		}
	}
	slices.SortStableFunc(places, func(a, b place) int { return a.at - b.at })
	for _, p := range places[:min(len(places), most)] {
		list = append(list, p.path)
	}
	return list
}

// indexPath returns the place where a text first names a path that is not part of another name, or -1.
func indexPath(text, path string) int {
	part := func(text string) bool { // a letter, a digit, or a character with which names of files continue
		return text != "" && (text[0] >= 0x80 || text[0] == '_' || text[0] == '-' || '0' <= text[0] && text[0] <= '9' || 'a' <= text[0]|0x20 && text[0]|0x20 <= 'z')
	}
	for from := 0; path != ""; {
		at := strings.Index(text[from:], path)
		if at < 0 {
			break
		}
		at += from
		end := text[at+len(path):]
		if !part(text[max(at-1, 0):at]) && !part(end) && !(strings.HasPrefix(end, ".") && part(end[1:])) {
			return at
		}
		from = at + len(path)
	}
	return -1
}

// Guarded lists the kinds of hold for which a repair of a build needs an approval, even where they block nothing else:
// ways to turn a red build green without a repair.
func Guarded() []string {
	return []string{policy.CI, policy.Suppression, policy.WeakerTest, policy.WeakerType, policy.ChangedTest, policy.Runner, policy.Tooling}
}

// Reproduced returns how the gates show a failure, or "" if they do not; then why gives the reason.
func Reproduced(findings []Finding, v verify.Verdict) (shown, why string) {
	if v == verify.Pass {
		return "", "the gates here pass on the branch: they do not run what fails on the build server"
	}
	if v != verify.Fail && v != verify.Timeout && v != verify.OOM {
		return "", fmt.Sprintf("the branch could not be judged here: verdict %s", v)
	}
	var b strings.Builder
	listed := 0
	for _, f := range findings {
		if f.Gate == "policy" {
			continue
		}
		if listed++; listed > maxListed {
			break
		}
		fmt.Fprintf(&b, "%s %s:%d %s %s\n", f.Gate, f.Path, f.Line, f.Rule, f.Message)
	}
	if b.Len() == 0 {
		return "", fmt.Sprintf("verdict %s, and no gate says where", v)
	}
	return b.String(), ""
}
