package agent

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"agent/sandbox/workspace/lazyregexp"
)

// Bounds of the memory, in bytes: how much an answer may hold, and how much a prompt shows of it. MaxMemory is the
// original's cap.
const (
	MaxMemory = 1500
	// compressEvery is how many iterations pass between two compressions.
	compressEvery = 2
)

// A Memory is what iterations leave to later ones.
type Memory struct {
	Text string
	// Iteration counts the merges, and so says when to compress.
	Iteration int
	// Run is the run that was merged last, "" before the first.
	Run string
}

// Remember merges what an iteration did into the memory, and compresses it every second time. session says what
// happened, in a few lines.
//
// Remember takes the model's answer only if it is a plausible memory: not an edit, within the cap, and still naming at
// least half of the paths that the old memory and the session held, except those that files reports as gone. Otherwise
// the old memory stays, with the session appended and the front cut off, which loses only the oldest part; kept says
// why. An error comes from the model and leaves the memory as it was.
func (m Memory) Remember(ctx context.Context, model Model, p *Prompts, f Fence, session string, files func(string) bool) (next Memory, kept string, err error) {
	next = Memory{Text: m.Text, Iteration: m.Iteration + 1}
	steps := []Purpose{UpdateMemory}
	if next.Iteration%compressEvery == 0 {
		steps = append(steps, RefactorMemo)
	}
	for _, purpose := range steps {
		q, err := p.Question(purpose, Brief{Memory: next.Text, Session: session}, f)
		if err != nil {
			return m, "", err
		}
		q.Step = fmt.Sprintf("memory/%s", purpose)
		reply, err := model.Ask(ctx, q)
		if err != nil {
			return m, "", err
		}
		before := next.Text
		if purpose == UpdateMemory {
			before += "\n" + session
		}
		text := strings.TrimSpace(strings.ToValidUTF8(reply.Text, ""))
		if why := lossy(before, text, files); why != "" {
			kept = string(purpose) + ": " + why
			if purpose == UpdateMemory {
				next.Text = newest(before, MaxMemory)
			}
			continue
		}
		next.Text = text
	}
	return next, kept, nil
}

// Note returns the text of the memory with line at its end, within its cap: what does not fit is dropped from the
// front, the oldest first.
func (m Memory) Note(line string) string { return newest(m.Text+"\n"+line, MaxMemory) }

// lossy says why text may not take the place of before, or "" if it may.
func lossy(before, text string, files func(string) bool) string {
	switch {
	case text == "":
		return "the answer is empty"
	case len(text) > MaxMemory:
		return fmt.Sprintf("the answer has %d bytes, more than %d", len(text), MaxMemory)
	case strings.Contains(strings.ToUpper(text), "<SEARCH"):
		return "the answer is an edit"
	}
	lost := slices.DeleteFunc(paths(before), func(p string) bool { return strings.Contains(text, p) || !files(p) })
	// A memory has to forget something: half of the paths may go, but not most of them.
	if all := paths(before); 2*len(lost) > len(all) {
		return fmt.Sprintf("the answer has lost %d of %d paths, %s among them", len(lost), len(all), lost[0])
	}
	return ""
}

// pathWord matches what looks like a path in a text.
var pathWord = lazyregexp.New(`[\w@.-]+(?:/[\w@.-]+)*\.\w{1,6}`)

// paths lists what looks like a path in a text, each once, sorted.
func paths(text string) []string {
	found := pathWord.FindAllString(text, -1)
	slices.Sort(found)
	return slices.Compact(found)
}

// newest returns the last lines of text that fit into n bytes.
func newest(text string, n int) string {
	lines := strings.SplitAfter(strings.TrimSpace(text), "\n")
	from, left := len(lines), n
	for from > 0 && left >= len(lines[from-1]) {
		from--
		left -= len(lines[from])
	}
	return strings.TrimSpace(strings.Join(lines[from:], ""))
}
