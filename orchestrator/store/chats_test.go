package store_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"agent/orchestrator/chat"
	"agent/orchestrator/llm"
	"agent/orchestrator/store/database"
)

func TestConversationsAreKept(t *testing.T) {
	t.Parallel()
	a, b, dsn := two(t)
	ctx := t.Context()
	c := chat.Chat{Workspace: "/w", Fence: "00ff"}
	var err error
	c.ID, err = a.Chats().Begin(ctx, c)
	must(t, err)
	if list, err := b.Chats().List(ctx, "/w", 9); err != nil || len(list) != 0 {
		t.Errorf("before a question %v, %+v", err, list)
	}
	first := chat.Turn{N: 1, Typed: "What is\x00\n token = ghp" + "_abcdefghijklmnopqrstuvwxyz0123456789", Asked: "What is this?\x00\xff", Pictures: []llm.Picture{{Type: "image/png", Data: []byte{0, 255}}}}
	must(t, a.Chats().Keep(ctx, chat.Chat{ID: c.ID, Draft: []byte("d\x00"), Note: "told"}))
	must(t, a.Chats().Ask(ctx, c.ID, first))
	if err := b.Chats().Ask(ctx, c.ID, first); !errors.Is(err, chat.ErrTaken) {
		t.Errorf("asked twice: %v", err)
	}
	found, err := b.Chats().Find(ctx, c.ID)
	must(t, err)
	if string(found.Draft) != "d\x00" || found.Note != "" || found.Questions != 1 || found.Last == nil || found.Title != "What is\ufffd token = [secret 1]" || found.Fence != "00ff" {
		t.Errorf("found %+v", found)
	}
	first.Answer, first.Model, first.Cause, first.Rounds, first.Calls, first.Compacted = "It\x00 is.", "v/m", "talked", 2, 1, true
	first.Said = []llm.Message{{Role: llm.User, Text: "x", Pictures: first.Pictures}, {Role: llm.Assistant, Text: "y", State: &llm.State{Vendor: "v", Model: "m", Data: []byte{1}}}}
	must(t, a.Chats().Answer(ctx, c.ID, first, []byte("after")))
	if err := b.Chats().Answer(ctx, c.ID, first, nil); !errors.Is(err, chat.ErrTaken) {
		t.Errorf("answered twice: %v", err)
	}
	turns, err := b.Chats().Turns(ctx, c.ID)
	must(t, err)
	first.Typed = "What is\ufffd\n token = [secret 1]"
	if d := cmp.Diff([]chat.Turn{first}, turns, cmpopts.IgnoreFields(chat.Turn{}, "Begun", "Ended")); d != "" || turns[0].Ended == nil {
		t.Errorf("turns (-want +got):\n%s", d)
	}
	list, err := b.Chats().List(ctx, "/w", 9)
	if err != nil || len(list) != 1 || string(list[0].Draft) != "after" {
		t.Errorf("%v, %+v", err, list)
	}
	if list, err := b.Chats().List(ctx, "/other", 9); err != nil || len(list) != 0 {
		t.Errorf("%v, %+v", err, list)
	}
	if _, err := b.Chats().Find(ctx, c.ID+1); !errors.Is(err, database.ErrNotFound) {
		t.Error(err)
	}
	if got := value(t, dsn, `select questions || ' ' || answered || ' ' || compacted || ' ' || draft from v_chats`); got != "1 1 1 true" {
		t.Errorf("the view has %s", got)
	}
}
