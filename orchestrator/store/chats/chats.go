// Package chats keeps conversations of people with models: who asked what, what was answered, and what both add to the text that the
// model sees again. It knows no model and judges nothing.
package chats

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"

	"agent/orchestrator/chat"
	"agent/orchestrator/store/database"
	"agent/sandbox/workspace/secret/disguise"
)

// A Book holds the conversations.
type Book struct{ db *database.DB }

// New returns the conversations of a database.
func New(db *database.DB) Book { return Book{db} }

var _ chat.Book = Book{}

// Begin records a new conversation and returns its number. Its title is the beginning of the first question.
func (b Book) Begin(ctx context.Context, c chat.Chat) (int64, error) {
	op := database.NewOp()
	err := b.db.Do(ctx, "record a conversation about "+c.Workspace, func(ctx context.Context) error {
		// The update changes nothing: a retry whose first answer was lost gets the row that is already there.
		return b.db.Pool.QueryRow(ctx, `
			insert into chat as c (op, workspace, title, fence) values (@op, @workspace, '', @fence)
			on conflict (op) do update set op = c.op returning id`,
			pgx.NamedArgs{"op": op, "workspace": database.Clean(c.Workspace), "fence": c.Fence}).Scan(&c.ID)
	})
	return c.ID, err
}

// Ask implements [chat.Book]. It clears the note for the model, which the question has delivered.
func (b Book) Ask(ctx context.Context, id int64, t chat.Turn) error {
	pictures, err := bytesOf(t.Pictures)
	if err != nil {
		return err
	}
	op := database.NewOp()
	typed, _ := disguise.Hide(t.Typed)
	return b.db.Do(ctx, fmt.Sprintf("record question %d of conversation %d", t.N, id), func(ctx context.Context) error {
		return pgx.BeginFunc(ctx, b.db.Pool, func(tx pgx.Tx) error {
			tag, err := tx.Exec(ctx, `
				insert into chat_turn as t (chat, n, op, typed, asked, pictures) values (@chat, @n, @op, @typed, @asked, @pictures)
				on conflict (chat, n) do update set op = t.op where t.op = @op`,
				pgx.NamedArgs{"chat": id, "n": t.N, "op": op, "typed": database.Clean(typed), "asked": []byte(t.Asked), "pictures": pictures})
			if err == nil && tag.RowsAffected() == 0 {
				return chat.ErrTaken
			}
			if err == nil {
				_, err = tx.Exec(ctx, `update chat set note = '', title = coalesce(nullif(title, ''), $2) where id = $1`, id, headline(database.Clean(typed)))
			}
			return err
		})
	})
}

// headline returns the beginning of a question, on one line.
func headline(text string) string {
	if r := []rune(strings.Join(strings.Fields(text), " ")); len(r) > 72 {
		return string(r[:72]) + "…"
	}
	return strings.Join(strings.Fields(text), " ")
}

// Answer implements [chat.Book].
func (b Book) Answer(ctx context.Context, id int64, t chat.Turn, draft []byte) error {
	said, err := bytesOf(t.Said)
	if err != nil {
		return err
	}
	op := database.NewOp()
	return b.db.Do(ctx, fmt.Sprintf("record the answer to question %d of conversation %d", t.N, id), func(ctx context.Context) error {
		return pgx.BeginFunc(ctx, b.db.Pool, func(tx pgx.Tx) error {
			tag, err := tx.Exec(ctx, `
				update chat_turn set answer = @answer, model = @model, cause = @cause, rounds = @rounds, calls = @calls, said = @said,
					compacted = @compacted, ended = clock_timestamp(), end_op = @op
				where chat = @chat and n = @n and (cause is null or end_op = @op)`,
				pgx.NamedArgs{
					"chat": id, "n": t.N, "op": op, "answer": []byte(t.Answer), "model": database.Clean(t.Model), "cause": t.Cause,
					"rounds": t.Rounds, "calls": t.Calls, "said": said, "compacted": t.Compacted,
				})
			if err == nil && tag.RowsAffected() == 0 {
				return chat.ErrTaken
			}
			if err == nil {
				_, err = tx.Exec(ctx, `update chat set draft = $2 where id = $1`, id, append([]byte{}, draft...))
			}
			return err
		})
	})
}

// Keep implements [chat.Book].
func (b Book) Keep(ctx context.Context, c chat.Chat) error {
	return b.db.Do(ctx, fmt.Sprintf("record the draft of conversation %d", c.ID), func(ctx context.Context) error {
		_, err := b.db.Pool.Exec(ctx, `update chat set draft = $2, note = $3 where id = $1`, c.ID, append([]byte{}, c.Draft...), database.Clean(c.Note))
		return err
	})
}

// List returns the conversations about a workspace in which something was asked, "" for all workspaces, latest first.
func (b Book) List(ctx context.Context, workspace string, limit int) (list []chat.Chat, err error) {
	err = b.db.Do(ctx, "list conversations", func(ctx context.Context) error {
		list, err = b.query(ctx, `where questions > 0 and @workspace in ('', workspace) order by coalesce(last, created) desc, id desc limit @limit`,
			pgx.NamedArgs{"workspace": database.Clean(workspace), "limit": limit})
		return err
	})
	return list, err
}

// Find returns a conversation; database.ErrNotFound means that there is none with that number.
func (b Book) Find(ctx context.Context, id int64) (c chat.Chat, err error) {
	err = b.db.Do(ctx, fmt.Sprintf("read conversation %d", id), func(ctx context.Context) error {
		list, err := b.query(ctx, `where id = @id`, pgx.NamedArgs{"id": id})
		if err == nil && len(list) == 0 {
			return database.ErrNotFound
		}
		if err == nil {
			c = list[0]
		}
		return err
	})
	return c, err
}

// query reads conversations.
func (b Book) query(ctx context.Context, where string, args pgx.NamedArgs) ([]chat.Chat, error) {
	rows, err := b.db.Pool.Query(ctx, `
		select id, workspace, title, fence, draft, note, created, questions, last from (
			select c.*, (select count(*) from chat_turn t where t.chat = c.id) as questions,
				(select max(coalesce(t.ended, t.begun)) from chat_turn t where t.chat = c.id) as last
			from chat c) c `+where, args)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowToStructByPos[chat.Chat])
}

// Turns implements [chat.Book].
func (b Book) Turns(ctx context.Context, id int64) (list []chat.Turn, err error) {
	err = b.db.Do(ctx, fmt.Sprintf("read the questions of conversation %d", id), func(ctx context.Context) error {
		rows, err := b.db.Pool.Query(ctx, `
			select n, typed, asked, pictures, answer, model, coalesce(cause, ''), rounds, calls, said, compacted, begun, ended
			from chat_turn where chat = $1 order by n`, id)
		if err != nil {
			return err
		}
		list, err = pgx.CollectRows(rows, scan)
		return err
	})
	return list, err
}

// scan reads the columns that Turns selects.
func scan(row pgx.CollectableRow) (t chat.Turn, err error) {
	var asked, pictures, answer, said []byte
	err = row.Scan(&t.N, &t.Typed, &asked, &pictures, &answer, &t.Model, &t.Cause, &t.Rounds, &t.Calls, &said, &t.Compacted, &t.Begun, &t.Ended)
	t.Asked, t.Answer = string(asked), string(answer)
	if err == nil && len(pictures) > 0 {
		err = json.Unmarshal(pictures, &t.Pictures)
	}
	if err == nil && len(said) > 0 {
		err = json.Unmarshal(said, &t.Said)
	}
	return t, err
}

// bytesOf encodes a list as JSON; an empty list gives no bytes.
func bytesOf[T any](list []T) ([]byte, error) {
	if len(list) == 0 {
		return []byte{}, nil
	}
	return json.Marshal(list)
}
