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

// A Task is something that was said of a pull request and waits for an answer.
type Task struct {
	// Thread is the forge's name of it, "all " and that of a comment on the whole; Comment is the
	// last one in it that is not the agent's own.
	Thread, Comment string
	Author          string
	// Path and Line are what it is about, "" and 0 for all of the pull request.
	Path string
	Line int
	// Text is what was said: data, that of the comments in their order.
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

// Tasks lists what was said by others and has no answer: threads first, then comments on the whole. What asks the agent for
// work is none (see Command). by are the authors
// that count, none for all. What the agent said is known by whose token it is; a mark in a comment of others, or before the
// end of one of its own, counts for nothing.
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

// spoken is a comment with who wrote it.
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

// mark is what an answer to a task has that people do not see.
func (t Task) mark() string {
	sum := sha256.Sum256([]byte(t.Thread + "\x00" + t.Comment))
	return "<!-- " + answers + " " + hex.EncodeToString(sum[:8]) + " -->"
}

// Goal is what the engineer is asked for a task. It says nothing that the comment says.
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

// Subject is that of the commit for a task.
func (t Task) Subject() string {
	if t.Path == "" {
		return "Take up a comment by " + t.Author
	}
	return fmt.Sprintf("Take up a comment by %s on %s", t.Author, t.Path)
}

// Answer is what is answered to a task: what was done, in commit, or with none why nothing was. said is the
// model's own word on it, "" for none.
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

// RepairGoal is what the engineer is asked about a build that fails.
const RepairGoal = "The build of this branch fails on the build server. What its jobs wrote, and what the gates here say of it, is quoted below. Find the " +
	"cause in the code and repair it there. Leave the definition of the build, the tests and the configuration of tools as they are, and suppress nothing. " +
	"If the cause is not in the code, change nothing and say why."

// A FailedJob is a job with what matters of its log, "" where it has none.
type FailedJob struct{ Name, Log string }

// Failure is what is known of a build that fails, as data for the engineer: its jobs, what the gates say of it, "" where
// they do not show it, and what was tried before and did not help.
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

// Named are the files of a build's failure that it is most likely about: those of changed that a log names, the
// first named first, at most that many.
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

// indexPath is where a text first names a path that is no part of another name, -1 for nowhere.
func indexPath(text, path string) int {
	part := func(text string) bool { // a letter, a digit, or what names of files go on with
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

// Guarded are the kinds of hold that a repair of a build needs an approval for, also where they block nothing else: what
// makes a red build green without a repair.
func Guarded() []string {
	return []string{policy.CI, policy.Suppression, policy.WeakerTest, policy.WeakerType, policy.ChangedTest, policy.Runner, policy.Tooling}
}

// Reproduced says how the gates show a failure, "" where they do not; why says that they do not, and of what that is
// no word.
func Reproduced(findings []Finding, v verify.Verdict) (shown, why string) {
	if v == verify.Pass {
		return "", "the gates here pass on the branch: what fails on the build server is not among what they run"
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
