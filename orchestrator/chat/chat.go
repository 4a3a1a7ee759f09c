// Package chat holds conversations of a person with a model about a workspace: the order of a question, its record and its
// answer, the draft that both have between them, and how one that was cut off is carried on.
//
// It writes to no workspace: what becomes of a draft is a gate's. It knows no terminal and no vendor.
package chat

import (
	"context"
	"errors"
	"fmt"
	"time"

	"agent/orchestrator/agent"
	"agent/orchestrator/agent/conversation"
	"agent/orchestrator/agent/tools"
	"agent/orchestrator/llm"
	"agent/sandbox/workspace"
)

// ErrTaken means that another process has gone on with a conversation.
var ErrTaken = errors.New("another process is continuing this conversation")

// A Chat is one conversation.
type Chat struct {
	ID        int64
	Workspace string
	Title     string
	Fence     string // the word that sets data apart in it
	Draft     []byte // the change so far, as a response to the edit engine; empty for none
	Note      string // what the model is to be told with the next question
	Created   time.Time
	Questions int
	Last      *time.Time // of the last question or answer, nil for none
}

// Run is the name under which requests and calls for a conversation are recorded.
func (c Chat) Run() string { return fmt.Sprintf("chat:%d", c.ID) }

// A Turn is one question, and its answer.
type Turn struct {
	N     int
	Typed string // by the person
	Asked string // as the model was asked
	// Pictures are what it was shown with the question.
	Pictures      []llm.Picture
	Answer, Model string
	// Cause is why the answer ended, "" while it is under way; see conversation.End, and Failed.
	Cause         string
	Rounds, Calls int
	// Said is what the turn adds to what the model is shown from then on; with Compacted it is all of that.
	Said      []llm.Message
	Compacted bool
	Begun     time.Time
	Ended     *time.Time
}

// Failed is the cause of a question that was given up without an answer.
const Failed = "failed"

// A Book keeps conversations. It outlives the process.
type Book interface {
	// Ask records a question before anybody is asked; [ErrTaken] says that there is another one in its place.
	Ask(ctx context.Context, chat int64, t Turn) error
	// Answer records what a question came to, once, and the draft as it leaves it.
	Answer(ctx context.Context, chat int64, t Turn, draft []byte) error
	// Keep records draft and note of a conversation.
	Keep(ctx context.Context, c Chat) error
	// Turns returns the questions of a conversation in their order.
	Turns(ctx context.Context, chat int64) ([]Turn, error)
}

// A Session is a conversation that a person goes on with.
type Session struct {
	Chat Chat
	Book Book
	// Engineer words the questions.
	Engineer *agent.Engineer
	// Scan reads the workspace as it is now.
	Scan func(ctx context.Context) (*workspace.Manifest, error)
	// Open returns a conversation about a state of the workspace, with no draft and nothing said.
	Open func(ctx context.Context, base *workspace.Manifest) (*conversation.Chat, error)
	// Rules returns what the project says to those who change it.
	Rules func(base *workspace.Manifest) (string, error)
	// Hide takes the configured secrets out of a text; nil where there are none.
	Hide func(string) string
	// Tell takes what the person should know of; nil for nobody.
	Tell func(text string)

	talk    *conversation.Chat
	base    *workspace.Manifest
	turns   int
	pending *Turn
}

// Resume reads what was said, and looks at the workspace. It comes before everything else.
func (s *Session) Resume(ctx context.Context) error {
	turns, err := s.Book.Turns(ctx, s.Chat.ID)
	if err != nil {
		return err
	}
	if s.base, err = s.Scan(ctx); err != nil {
		return fmt.Errorf("scan the workspace: %w", err)
	}
	if s.talk, err = s.Open(ctx, s.base); err != nil {
		return err
	}
	for _, t := range turns {
		s.turns = t.N
		if t.Cause == "" {
			s.pending = &t
			continue
		}
		if t.Compacted {
			s.talk.Said = nil
		}
		s.talk.Said = append(s.talk.Said, t.Said...)
		s.talk.Calls += t.Calls
	}
	return s.restore()
}

// restore makes the draft what the record has of it. Where that does not fit the files any more it is told, and
// stays in the record until something else takes its place.
func (s *Session) restore() error {
	if len(s.Chat.Draft) == 0 {
		return nil
	}
	if _, err := s.talk.Bench.Draft.Apply(s.Chat.Draft); err != nil {
		s.tell("the draft does not fit the files as they are now, and is left out: " + err.Error())
	}
	return nil
}

// Pending is the question that was asked and has no answer yet; nil for none.
func (s *Session) Pending() *Turn { return s.pending }

// Questions is how many were asked.
func (s *Session) Questions() int { return s.turns }

// Changes is the draft.
func (s *Session) Changes() workspace.Changeset { return s.talk.Bench.Draft.Changes() }

// Response is the draft as an answer for a gate, nil for no change.
func (s *Session) Response() ([]byte, error) {
	if s.Changes().Empty() {
		return nil, nil
	}
	text, err := s.talk.Bench.Draft.Response(s.Chat.Title)
	var changed *workspace.ChangedError
	if errors.As(err, &changed) { // nothing can be tried on files that are no more
		return []byte(s.Changes().Diff()), nil
	}
	return text, err
}

// Base is the workspace as the conversation sees it, without the draft.
func (s *Session) Base() *workspace.Manifest { return s.base }

// tell tells the person something.
func (s *Session) tell(text string) {
	if s.Tell != nil {
		s.Tell(text)
	}
}

// reopen starts over on a state of the workspace, with what was said and no draft.
func (s *Session) reopen(ctx context.Context, base *workspace.Manifest) error {
	talk, err := s.Open(ctx, base)
	if err != nil {
		return err
	}
	talk.Said, talk.Calls = s.talk.Said, s.talk.Calls
	s.talk, s.base = talk, base
	return nil
}

// Refresh looks at the workspace again. A draft goes on on the files as they are now; one that does not fit them stays on what
// they were, and the gate will have the last word.
func (s *Session) Refresh(ctx context.Context) error {
	base, err := s.Scan(ctx)
	if err != nil {
		return fmt.Errorf("scan the workspace: %w", err)
	}
	if base.Digest() == s.base.Digest() {
		return nil
	}
	draft, err := s.Response()
	if err != nil {
		return err
	}
	was, on := s.talk.Bench.Draft, s.base
	if err := s.reopen(ctx, base); err != nil {
		return err
	}
	if draft != nil {
		if _, err := s.talk.Bench.Draft.Apply(draft); err != nil {
			s.talk.Bench.Draft, s.base = was, on
			s.tell("files that the draft changes are others now: it stays on what they were; /drop gives it up")
			return nil
		}
	}
	s.Chat.Note += "Files of the workspace were changed: read again what you rely on.\n"
	return nil
}

// A Question is what a person asks.
type Question struct {
	Text     string
	Picks    []agent.Excerpt // what they want to be read with it
	Pictures []llm.Picture
}

// Ask records a question, and puts it. One that is pending is given up.
func (s *Session) Ask(ctx context.Context, q Question) (conversation.Said, error) {
	if err := s.giveUp(ctx); err != nil {
		return conversation.Said{}, err
	}
	if err := s.Refresh(ctx); err != nil {
		return conversation.Said{}, err
	}
	asked, err := s.question(fmt.Sprintf("turn/%d", s.turns+1), agent.Brief{Goal: q.Text, Session: s.Chat.Note, Related: q.Picks})
	if err != nil {
		return conversation.Said{}, err
	}
	if s.Hide != nil && s.Hide(asked.Text) != asked.Text { // before it is on record
		return conversation.Said{}, &agent.StopError{
			Usage: true, Message: "the question holds a credential of the configuration", Next: "take it out of the question, or of the file that it stands in",
		}
	}
	t := Turn{N: s.turns + 1, Typed: q.Text, Asked: asked.Text, Pictures: q.Pictures}
	if err := s.Book.Ask(ctx, s.Chat.ID, t); err != nil {
		return conversation.Said{}, err
	}
	s.turns, s.pending, s.Chat.Note = t.N, &t, ""
	if s.Chat.Title == "" {
		s.Chat.Title = q.Text // what a patch says of itself
	}
	return s.put(ctx, asked)
}

// question words a question. The first one has the rules of the project.
func (s *Session) question(step string, b agent.Brief) (agent.Question, error) {
	var err error
	if s.turns == 0 && s.Rules != nil {
		if b.Rules, err = s.Rules(s.base); err != nil {
			return agent.Question{}, err
		}
	}
	b.Tools = len(s.talk.Bench.Only) > 0 || s.talk.Bench.Only == nil
	q, cuts, err := s.Engineer.Question(agent.Chat, step, b, agent.NewFence(s.Chat.Fence))
	for _, c := range cuts {
		s.tell(fmt.Sprintf("%s is cut from %d to %d bytes, to fit the model", c.Section, c.From, c.To))
	}
	return q, err
}

// Carry goes on with the question that is pending, on the draft as it was when that was asked. What was answered
// of it is taken from the record.
func (s *Session) Carry(ctx context.Context) (conversation.Said, error) {
	// The instructions are those of today: another version of them asks anew.
	q, err := s.question(fmt.Sprintf("turn/%d", s.pending.N), agent.Brief{Goal: "x"})
	if err != nil {
		return conversation.Said{}, err
	}
	q.Text = s.pending.Asked
	if err := s.reopen(ctx, s.base); err != nil {
		return conversation.Said{}, err
	}
	if err := s.restore(); err != nil {
		return conversation.Said{}, err
	}
	return s.put(ctx, q)
}

// settle bounds how long the record of an answer that was interrupted may take.
const settle = 10 * time.Second

// put puts the pending question and records what it comes to. One that has no answer for another reason than the end of ctx
// stays pending.
func (s *Session) put(ctx context.Context, q agent.Question) (conversation.Said, error) {
	t := *s.pending
	said, err := s.talk.Put(ctx, conversation.Asked{Question: q, Pictures: t.Pictures})
	if err != nil && said.End == "" {
		return said, err
	}
	t.Answer, t.Model, t.Cause, t.Rounds, t.Calls, t.Said, t.Compacted = said.Text, said.Model, string(said.End), said.Rounds, said.Calls, said.Added, said.Compacted
	keep, cancel := context.WithTimeout(context.WithoutCancel(ctx), settle)
	defer cancel()
	return said, errors.Join(err, s.answer(keep, t))
}

// answer records the end of a question.
func (s *Session) answer(ctx context.Context, t Turn) error {
	draft, err := s.Response()
	if err != nil {
		return err
	}
	if err := s.Book.Answer(ctx, s.Chat.ID, t, draft); err != nil {
		return err
	}
	s.Chat.Draft, s.pending = draft, nil
	return nil
}

// giveUp ends a pending question without an answer.
func (s *Session) giveUp(ctx context.Context) error {
	if s.pending == nil {
		return nil
	}
	t := *s.pending
	t.Cause = Failed
	return s.answer(ctx, t)
}

// Drop gives up the draft, and has the model told why with the next question.
func (s *Session) Drop(ctx context.Context, note string) error {
	base, err := s.Scan(ctx)
	if err != nil {
		return fmt.Errorf("scan the workspace: %w", err)
	}
	if err := s.reopen(ctx, base); err != nil {
		return err
	}
	s.Chat.Draft = nil
	return s.Note(ctx, note)
}

// Note has the model told something with the next question.
func (s *Session) Note(ctx context.Context, note string) error {
	s.Chat.Note += note
	return s.Book.Keep(ctx, s.Chat)
}

// Read shows a file of the workspace with the draft, as the model's own tool does.
func (s *Session) Read(ctx context.Context, arguments string) (tools.Answer, error) {
	b := &tools.Bench{Draft: s.talk.Bench.Draft, Symbols: s.talk.Bench.Symbols}
	read, _ := tools.Find(tools.For(b), "read")
	return read.Run(ctx, b, arguments)
}
