// Package chat holds conversations of a person with a model about a workspace: the order of a question, its record and
// its answer, the draft that both share, and how an interrupted conversation continues.
//
// It writes to no workspace: a gate decides what becomes of a draft. It knows no terminal and no vendor.
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

// ErrTaken means that another process has continued a conversation.
var ErrTaken = errors.New("another process is continuing this conversation")

// A Chat is one conversation.
type Chat struct {
	ID        int64
	Workspace string
	Title     string
	Fence     string // the word that sets data apart in the conversation
	Draft     []byte // the change so far, as a response to the edit engine; empty if there is none
	Note      string // what the next question also says to the model
	Created   time.Time
	Questions int
	Last      *time.Time // the time of the last question or answer, nil if there is none
}

// Run returns the name under which requests and calls for a conversation are recorded.
func (c Chat) Run() string { return fmt.Sprintf("chat:%d", c.ID) }

// A Turn is one question with its answer.
type Turn struct {
	N     int
	Typed string // by the person
	Asked string // as the model was asked
	// Pictures accompany the question.
	Pictures      []llm.Picture
	Answer, Model string
	// Cause says why the answer ended, "" while it is in progress; see conversation.End, and Failed.
	Cause         string
	Rounds, Calls int
	// Said is what the turn adds to what the model is shown from then on; if Compacted, it replaces all of that.
	Said      []llm.Message
	Compacted bool
	Begun     time.Time
	Ended     *time.Time
}

// Failed is the cause for a question that was given up without an answer.
const Failed = "failed"

// A Book keeps conversations. It outlives the process.
type Book interface {
	// Ask records a question before the model is asked. [ErrTaken] says that another question is in its place.
	Ask(ctx context.Context, chat int64, t Turn) error
	// Answer records the result of a question, once, and the resulting draft.
	Answer(ctx context.Context, chat int64, t Turn, draft []byte) error
	// Keep records the draft and the note of a conversation.
	Keep(ctx context.Context, c Chat) error
	// Turns returns the questions of a conversation in their order.
	Turns(ctx context.Context, chat int64) ([]Turn, error)
}

// A Session is a conversation that a person continues.
type Session struct {
	Chat Chat
	Book Book
	// Engineer words the questions.
	Engineer *agent.Engineer
	// Scan reads the workspace as it is now.
	Scan func(ctx context.Context) (*workspace.Manifest, error)
	// Open returns a conversation about a state of the workspace, with an empty draft and nothing said.
	Open func(ctx context.Context, base *workspace.Manifest) (*conversation.Chat, error)
	// Rules returns the project's rules for contributors.
	Rules func(base *workspace.Manifest) (string, error)
	// Hide removes the configured secrets from a text; nil if there are none.
	Hide func(string) string
	// Tell receives what the person should know; nil means no one.
	Tell func(text string)

	talk    *conversation.Chat
	base    *workspace.Manifest
	turns   int
	pending *Turn
}

// Resume reads what was said and scans the workspace. Call it before anything else.
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

// restore restores the draft from the record. If the draft no longer fits the files, restore tells the person, and the
// draft stays in the record until something else replaces it.
func (s *Session) restore() error {
	if len(s.Chat.Draft) == 0 {
		return nil
	}
	if _, err := s.talk.Bench.Draft.Apply(s.Chat.Draft); err != nil {
		s.tell("the draft is left out, since it does not fit the current files: " + err.Error())
	}
	return nil
}

// Pending returns the question that was asked and has no answer yet, or nil.
func (s *Session) Pending() *Turn { return s.pending }

// Questions returns how many questions were asked.
func (s *Session) Questions() int { return s.turns }

// Changes returns the draft.
func (s *Session) Changes() workspace.Changeset { return s.talk.Bench.Draft.Changes() }

// Response returns the draft as an answer for a gate, or nil if it changes nothing.
func (s *Session) Response() ([]byte, error) {
	if s.Changes().Empty() {
		return nil, nil
	}
	text, err := s.talk.Bench.Draft.Response(s.Chat.Title)
	var changed *workspace.ChangedError
	if errors.As(err, &changed) { // nothing can be tried on files that have changed
		return []byte(s.Changes().Diff()), nil
	}
	return text, err
}

// Base returns the workspace as the conversation sees it, without the draft.
func (s *Session) Base() *workspace.Manifest { return s.base }

// tell tells the person something.
func (s *Session) tell(text string) {
	if s.Tell != nil {
		s.Tell(text)
	}
}

// reopen starts again from a state of the workspace, with what was said and an empty draft.
func (s *Session) reopen(ctx context.Context, base *workspace.Manifest) error {
	talk, err := s.Open(ctx, base)
	if err != nil {
		return err
	}
	talk.Said, talk.Calls = s.talk.Said, s.talk.Calls
	s.talk, s.base = talk, base
	return nil
}

// Refresh scans the workspace again. It moves the draft to the present files. A draft that does not fit them stays on
// the earlier ones, and the gate will have the last word.
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
			s.tell("files that the draft changes have changed: it stays based on their earlier content; /drop discards it")
			return nil
		}
	}
	s.Chat.Note += "Files of the workspace were changed: read again what you rely on.\n"
	return nil
}

// A Question is a person's question.
type Question struct {
	Text     string
	Picks    []agent.Excerpt // files that the model should read with it
	Pictures []llm.Picture
}

// Ask records a question and asks it. It gives up a pending one.
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
	if s.Hide != nil && s.Hide(asked.Text) != asked.Text { // before it is recorded
		return conversation.Said{}, &agent.StopError{
			Usage: true, Message: "the question contains a credential from the configuration", Next: "remove it from the question, or from the file that contains it",
		}
	}
	t := Turn{N: s.turns + 1, Typed: q.Text, Asked: asked.Text, Pictures: q.Pictures}
	if err := s.Book.Ask(ctx, s.Chat.ID, t); err != nil {
		return conversation.Said{}, err
	}
	s.turns, s.pending, s.Chat.Note = t.N, &t, ""
	if s.Chat.Title == "" {
		s.Chat.Title = q.Text // the title that a patch gets
	}
	return s.put(ctx, asked)
}

// question words a question. The first one includes the rules of the project.
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

// Carry continues with the pending question, on the draft of the time when it was asked. It takes recorded answers from
// the record.
func (s *Session) Carry(ctx context.Context) (conversation.Said, error) {
	// The instructions are the present ones: if they have changed, the question is asked anew.
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

// settle bounds how long it may take to record an interrupted answer.
const settle = 10 * time.Second

// put asks the pending question and records the result. A question stays pending if it has no answer for a reason other
// than the end of ctx.
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

// Drop gives up the draft, and tells the model why with the next question.
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

// Note tells the model something with the next question.
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
