package chat

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"sync"
	"unicode/utf8"

	"agent/cmd/agent/internal/term"
	"agent/orchestrator/agent"
	"agent/orchestrator/agent/conversation"
	"agent/orchestrator/gate"
	"agent/orchestrator/run"
	"agent/sandbox/workspace"
)

// A printer shows an answer as it arrives. Its text goes to standard output if a person reads along, and the work done
// for it to standard error.
type printer struct {
	*term.Console
	stream bool

	mu      sync.Mutex // guards the fields below, and the order of lines
	torn    []byte     // the beginning of a character whose rest is to come
	within  bool       // a line of the answer has begun
	shown   bool       // some of this answer is on the screen
	in, out int
	cost    int64
	priced  bool
}

// begin resets the state of one answer.
func (p *printer) begin() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.torn, p.within, p.shown, p.in, p.out, p.cost, p.priced = nil, false, false, 0, 0, 0, true
}

// progress shows the progress of a question.
func (p *printer) progress(e agent.Progress) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch e.Stage {
	case agent.Writing:
		p.write(e.Text)
	case agent.Dropped:
		p.line("answer discarded: " + e.Why)
	case agent.Waiting:
		p.line(fmt.Sprintf("waiting %.0f s %s", e.Seconds, e.Why))
	case agent.Called:
		p.line("· " + e.Text)
	case agent.Answered:
		p.in, p.out, p.cost, p.priced = p.in+e.In, p.out+e.Out, p.cost+e.Cost, p.priced && (e.Priced || e.Recorded)
	}
}

// write shows a piece of an answer, up to the last complete character.
func (p *printer) write(piece string) {
	if !p.stream {
		return
	}
	text := append(p.torn, piece...)
	whole := len(text)
	for n := 1; n < utf8.UTFMax && n <= len(text); n++ {
		if r := text[len(text)-n:]; utf8.RuneStart(r[0]) {
			if !utf8.FullRune(r) {
				whole = len(text) - n
			}
			break
		}
	}
	p.torn = append([]byte{}, text[whole:]...)
	if whole == 0 {
		return
	}
	if !p.shown {
		fmt.Fprintln(p.Stderr)
	}
	p.shown = true
	io.WriteString(p.Stdout, term.Clean(string(text[:whole]))) // who reads no more has left
	p.within = text[whole-1] != '\n'
}

// line shows an event, on a line of its own.
func (p *printer) line(text string) {
	if p.within {
		fmt.Fprintln(p.Stdout)
		p.within = false
	}
	fmt.Fprintln(p.Stderr, p.Palette(p.Stderr).Dim(term.CleanLine(text)))
}

// note shows a message to the user.
func (p *printer) note(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.line(strings.TrimSpace(text))
}

// end ends the line of an answer.
func (p *printer) end(answered bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.within {
		fmt.Fprintln(p.Stdout)
		p.within = false
	}
}

// foot shows what an answer cost, and the state of the draft.
func (p *printer) foot(said conversation.Said, draft workspace.Changeset) {
	p.mu.Lock()
	defer p.mu.Unlock()
	text := fmt.Sprintf("%s · %d tokens in, %d out", count(said.Calls, "call"), p.in, p.out)
	if p.priced && p.cost > 0 {
		text += fmt.Sprintf(" · cost %.4f", float64(p.cost)/1e6)
	}
	if n := len(draft.Changes); n > 0 {
		text += fmt.Sprintf(" · draft of %s: /diff /prove /apply /drop", count(n, "file"))
	}
	if said.End != conversation.Talked {
		text += " · answered early: " + string(said.End)
	}
	p.line(text)
}

// count returns a number of things in words.
func count(n int, thing string) string {
	if n != 1 {
		thing += "s"
	}
	return fmt.Sprintf("%d %s", n, thing)
}

// maxSummary bounds the summary of a run for the model, in bytes.
const maxSummary = 6000

// summarised returns, for the model, what the user sees of a run.
func summarised(doc run.Document) string {
	var text bytes.Buffer
	doc.Candidates = append([]gate.Document{}, doc.Candidates...)
	for i := range doc.Candidates {
		doc.Candidates[i].Diff = "" // the model has it
	}
	doc.Promotion = nil
	(&term.Console{Getenv: func(string) string { return "" }, Stdout: &text, Stderr: io.Discard, Color: "never"}).Summary().Document(doc)
	if text.Len() > maxSummary {
		text.Truncate(maxSummary)
	}
	return strings.ToValidUTF8(text.String(), "") + "\n"
}
