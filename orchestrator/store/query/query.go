package query

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"agent/orchestrator/store/database"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

// QueryLimit is how long one query of Query may run unless WithLimit says otherwise: long enough for any question about a history,
// short enough that a mistake does not burden the server for an afternoon.
const QueryLimit = 30 * time.Second

const (
	// prepareTimeout is added to the limit of a statement, for the connection and for what precedes the first row.
	prepareTimeout = 15 * time.Second
	// closeTimeout bounds closing a connection.
	closeTimeout = 5 * time.Second
)

// A Column is one column of a result or of a view. Results may have several columns with one name.
type Column struct {
	Name    string
	Type    string // in Postgres's words: "timestamp with time zone"
	Comment string // what it means, "" if the name says it
}

// A View is a view that Query may read, with the question that it answers.
type View struct {
	Name    string
	Comment string
	Columns []Column
}

// A QueryError means that Query did not run a statement, or stopped it.
type QueryError struct {
	Message  string // what the server said
	Hint     string // what to do next
	Position int    // character of the statement, from 1; 0 if the server names none
}

// Error says what the server said and what to do next.
func (e *QueryError) Error() string {
	at := ""
	if e.Position > 0 {
		at = fmt.Sprintf(" (at character %d)", e.Position)
	}
	return "query: " + e.Message + at + "; " + e.Hint
}

// A Runner runs statements that somebody else wrote, as the reader.
type Runner struct {
	db    *database.DB
	limit time.Duration // of one statement
}

// New returns a Runner with the limit QueryLimit, valid while db is open.
func New(db *database.DB) Runner { return Runner{db, QueryLimit} }

// WithLimit returns a Runner on the same database that stops a statement after limit.
func (r Runner) WithLimit(limit time.Duration) Runner { return Runner{r.db, limit} }

// Query runs one SELECT, WITH, VALUES or TABLE as the reader, in a transaction that only reads, for at most thirty seconds or the limit
// of WithLimit. It calls head once with the columns, then row once for each row: the values are text as Postgres writes it, nil for
// null, and belong to the callee. An error of either stops the query and is returned as it is. A statement that the server refuses
// gives a *QueryError.
//
// The statement runs in the schema's function reader_query, which belongs to the role agent_reader, and on a connection that is thrown
// away afterwards. Whatever the statement does, it therefore reads only views: the role cannot be changed in such a function, and no
// setting or lock outlives it. On a server where the user may not make roles, the function belongs to that user, and only the
// transaction keeps it from writing; Role says which is the case.
func (r Runner) Query(ctx context.Context, sql string, head func([]Column) error, row func([]*string) error) error {
	ctx, cancel := context.WithTimeout(ctx, r.limit+prepareTimeout)
	defer cancel()
	// A final semicolon is a habit, not a second statement.
	sql = strings.TrimRight(strings.TrimSpace(database.Clean(sql)), "; \t\r\n")
	var conn *pgx.Conn
	var columns []Column
	// Only what precedes the first row is retried: rows cannot be taken back.
	err := r.db.Do(ctx, "prepare the query", func(ctx context.Context) error {
		pooled, err := r.db.Pool.Acquire(ctx)
		if err != nil {
			return err
		}
		columns, err = describe(ctx, pooled, sql)
		// From here on the connection does not belong to the pool: it might return with unexpected settings.
		conn = pooled.Hijack()
		if err != nil {
			return errors.Join(err, discard(ctx, conn))
		}
		return nil
	})
	if err != nil {
		return r.refusal(err)
	}
	err = r.stream(ctx, conn, readerSQL(sql, len(columns)), func() error { return head(columns) }, row)
	if gone := discard(ctx, conn); err == nil {
		err = gone
	}
	return err
}

// stream runs a wrapped statement and passes its rows on. The server holds the whole result, on its disk if it is large; here only one
// row at a time is in memory.
func (r Runner) stream(ctx context.Context, conn *pgx.Conn, statement string, head func() error, row func([]*string) error) error {
	var callee error // of head and row, not of the server
	err := pgx.BeginTxFunc(ctx, conn, database.ReadOnly(), func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, fmt.Sprintf("set local statement_timeout = %d", r.limit.Milliseconds())); err != nil {
			return err
		}
		rows, err := tx.Query(ctx, `select reader_query(@statement)`, pgx.NamedArgs{"statement": statement})
		if err != nil {
			return err
		}
		defer rows.Close()
		// head is not called before the server has begun to answer, so that a refusal leaves nothing printed.
		for started := false; rows.Next(); started = true {
			var values []*string
			if err := rows.Scan(&values); err != nil {
				return err
			}
			if !started {
				callee = head()
			}
			if callee == nil {
				callee = row(values)
			}
			if callee != nil {
				return callee
			}
		}
		if err := rows.Err(); err != nil {
			return err
		}
		if rows.CommandTag().RowsAffected() == 0 {
			callee = head()
		}
		return callee
	})
	// The callee's error comes first: it makes the transaction fail.
	switch {
	case callee != nil:
		return callee
	case ctx.Err() != nil:
		return fmt.Errorf("run the query: %w", context.Cause(ctx))
	case err != nil && database.Transient(err):
		return fmt.Errorf("run the query: %w", r.db.Unavailable(err))
	}
	return r.refusal(err)
}

// describe asks for the columns of sql without running it. The protocol itself refuses a batch of several statements here.
func describe(ctx context.Context, conn *pgxpool.Conn, sql string) ([]Column, error) {
	// Preparing parses and resolves names, as the user of the connection; it reads no row and calls no function.
	described, err := conn.Conn().Prepare(ctx, "reader", sql)
	if err != nil {
		return nil, err
	}
	if len(described.Fields) == 0 {
		return nil, &QueryError{Message: "the statement returns no rows", Hint: readingOnly}
	}
	columns := make([]Column, len(described.Fields))
	oids := make([]uint32, len(described.Fields))
	for i, f := range described.Fields {
		columns[i].Name, oids[i] = f.Name, f.DataTypeOID
	}
	rows, err := conn.Query(ctx, `
		select format_type(oid, null) from unnest(@oids::oid[]) with ordinality o(oid, n) order by n`, pgx.NamedArgs{"oids": oids})
	if err != nil {
		return nil, err
	}
	names, err := pgx.CollectRows(rows, pgx.RowTo[string])
	for i, name := range names {
		columns[i].Type = name
	}
	return columns, err
}

// readerSQL wraps a statement of n columns so that each row is one array of text, which a function can return without knowing the
// columns. They are renamed because a subquery may not have two with one name. As a subquery, the statement can only be one that reads,
// and keeps its own order of rows. The line break ends a comment at the end of the statement.
func readerSQL(sql string, n int) string {
	names, texts := make([]string, n), make([]string, n)
	for i := range n {
		names[i] = fmt.Sprintf("c%d", i+1)
		texts[i] = names[i] + "::text"
	}
	return fmt.Sprintf("select array[%s] from (%s\n) as q(%s)", strings.Join(texts, ", "), sql, strings.Join(names, ", "))
}

// readingOnly is the advice after a statement that does not read.
const readingOnly = "use SELECT, WITH, VALUES or TABLE: the history can only be read here, never changed"

// refusal turns the server's answer to a reader's statement into a *QueryError. Trouble of the server itself stays what it is.
func (r Runner) refusal(err error) error {
	if q, ok := errors.AsType[*QueryError](err); ok {
		return q
	}
	if _, ok := errors.AsType[*database.UnavailableError](err); ok {
		return err
	}
	pg, ok := errors.AsType[*pgconn.PgError](err)
	if !ok {
		return err
	}
	q := &QueryError{Message: pg.Message, Hint: "correct the statement; `agent sql` alone lists the views and their columns", Position: int(pg.Position)}
	switch pg.Code {
	case "42501": // insufficient privilege
		q.Hint = "only views may be read; `agent sql` alone lists them"
	case "57014": // cancelled by the statement's time limit
		q.Message, q.Hint = fmt.Sprintf("stopped after %v", r.limit), "ask for less, with where and limit"
	case "25006", "0A000": // read-only transaction; a write inside WITH
		q.Hint = readingOnly
	case "42601": // syntax error; inside the wrapper, positions mean nothing to the reader
		if pg.InternalQuery != "" {
			q.Message, q.Hint = "the statement does more than read", readingOnly
		}
	}
	return q
}

// discard closes a connection on which somebody else's statement ran, even if the caller has gone. It is not an error if the connection
// was already dead.
func discard(ctx context.Context, conn *pgx.Conn) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTimeout)
	defer cancel()
	if err := conn.Close(ctx); err != nil && !database.Transient(err) && ctx.Err() == nil {
		return fmt.Errorf("close the reader's connection: %w", err)
	}
	return nil
}

// Role names the role that Query runs as: migrations.Reader, or the user of the connection if that user may not make roles.
func (r Runner) Role(ctx context.Context) (string, error) {
	var role string
	err := r.db.Do(ctx, "read the reader's role", func(ctx context.Context) error {
		return r.db.Pool.QueryRow(ctx, `select proowner::regrole::text from pg_proc
			where oid = to_regprocedure(format('%I.reader_query(text)', current_schema()))`).Scan(&role)
	})
	return role, err
}

// Views lists the views that Query may read, by name, with their comments: the schema itself is the manual.
func (r Runner) Views(ctx context.Context) ([]View, error) {
	var views []View
	err := r.db.Read(ctx, "list views", func(ctx context.Context, tx pgx.Tx) error {
		views = nil
		rows, err := tx.Query(ctx, `
			select c.relname, coalesce(obj_description(c.oid, 'pg_class'), ''),
				a.attname, format_type(a.atttypid, a.atttypmod), coalesce(col_description(c.oid, a.attnum), '')
			from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0
			where c.relkind = 'v' and c.relnamespace = quote_ident(current_schema())::regnamespace
			order by c.relname, a.attnum`)
		if err != nil {
			return err
		}
		var v View
		var c Column
		_, err = pgx.ForEachRow(rows, []any{&v.Name, &v.Comment, &c.Name, &c.Type, &c.Comment}, func() error {
			if len(views) == 0 || views[len(views)-1].Name != v.Name {
				views = append(views, View{Name: v.Name, Comment: v.Comment})
			}
			last := &views[len(views)-1]
			last.Columns = append(last.Columns, c)
			return nil
		})
		return err
	})
	return views, err
}
