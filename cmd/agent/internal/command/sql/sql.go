// Package sql implements `agent sql`, which queries the record as a role that may only read views.
package sql

import (
	"bufio"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"
	"github.com/urfave/cli/v2"

	"agent/cmd/agent/internal/cmdline"
	"agent/cmd/agent/internal/config"
	"agent/cmd/agent/internal/fault"
	"agent/cmd/agent/internal/term"
	"agent/cmd/agent/internal/wire"
	"agent/orchestrator/run"
	"agent/orchestrator/store/query"
	"agent/sandbox/workspace/lazyregexp"
)

type command struct{ *cmdline.Line }

// Command returns the command that reads the record with SQL.
func Command(line *cmdline.Line) *cli.Command {
	c := command{line}
	return &cli.Command{
		Name: "sql", Usage: "query run history with SQL", ArgsUsage: "[QUERY]",
		Description: "Runs one query as a role that may only read views. The name of a view alone shows its newest\n" +
			"100 rows. Without QUERY it lists the views; on a terminal it opens psql, if that is\n" +
			"installed, with the rights of that role until you give them up with SET ROLE.\n\n" + cmdline.Examples(
			"agent sql --json", "the views, and what each answers",
			"agent sql v_stuck", "what does not continue on its own",
			"agent sql 'select * from v_runs limit 5'", "a table",
			"agent sql --csv 'select * from v_gates' > gates.csv", "for other tools"),
		Flags: []cli.Flag{
			&cli.BoolFlag{Name: "csv", Usage: "print CSV with a header", DisableDefaultText: true},
			&cli.DurationFlag{Name: "timeout", Usage: "stop a query after `TIME`", Value: query.QueryLimit},
			cmdline.JSONFlag(cmdline.Document[[]query.View]("views", 1), cmdline.Document[[]map[string]any]("rows", 1)),
		},
		Action: c.sql,
	}
}

// shownRows is how many rows of a view are shown if only its name is given.
const shownRows = 100

// sql prints the views, or the rows of one query as they arrive. The store runs the query as a role that can only read
// views, so the query need not be checked here.
func (c command) sql(ctx *cli.Context) error {
	set, err := config.Load(ctx, c.Getenv)
	if err != nil {
		return err
	}
	asJSON := set.On("json")
	if ctx.Bool("csv") && ctx.Bool("json") {
		return fault.Usage("choose one", "--csv and --json are mutually exclusive")
	}
	if ctx.Duration("timeout") < time.Millisecond {
		return fault.Usage("use e.g. 30s or 5m", "--timeout %v is too short", ctx.Duration("timeout"))
	}
	// The query is one argument: quoting it is up to the shell.
	query := strings.TrimSpace(ctx.Args().First())
	return c.With(ctx.Context, set, false, func(s *wire.Session) error {
		db, most := s.DB.WithLimit(ctx.Duration("timeout")), 0
		// A user who does not know the views yet cannot ask anything.
		if query == "" || viewName.MatchString(query) {
			views, err := db.Views(ctx.Context)
			if err != nil {
				return err
			}
			if query == "" {
				return c.sqlViews(ctx, db, views, asJSON)
			}
			if query, err = newest(views, query); err != nil {
				return err
			}
			most = shownRows
		}
		return c.sqlQuery(ctx, db, query, asJSON, most)
	})
}

// sqlViews lists the views, or opens psql if the user has it.
func (c command) sqlViews(ctx *cli.Context, db query.Runner, views []query.View, asJSON bool) error {
	if asJSON {
		return term.PrintJSON(c.Stdout, views)
	}
	if !ctx.Bool("csv") && term.Terminal(c.Stdin) != nil && c.Attended() && term.Terminal(c.Stdout) != nil {
		env, ok, err := db.Psql(ctx.Context)
		if err != nil {
			return err
		}
		if _, err := exec.LookPath("psql"); err == nil && ok {
			return c.RunProgram(ctx.Context, []string{"psql"}, c.Stdin, env...)
		}
	}
	return c.printViews(views)
}

// sqlQuery prints the rows of one query as they arrive, and no more than most of them unless that is 0.
func (c command) sqlQuery(ctx *cli.Context, db query.Runner, query string, asJSON bool, most int) error {
	// One write per row would be slow for a large result, and the reader gets whole lines either way.
	out := bufio.NewWriter(c.Stdout)
	var rows rowPrinter
	switch {
	case ctx.Bool("csv"):
		rows = &csvRows{w: csv.NewWriter(out)}
	case asJSON:
		rows = &jsonRows{w: out}
	default:
		columns := 0
		if term.Terminal(c.Stdout) != nil {
			columns, _ = c.Size(c.Stdout)
		}
		rows = &tableRows{w: out, columns: columns, palette: c.Palette(c.Stdout)}
	}
	n := 0
	err := db.Query(ctx.Context, query, rows.head, func(values []*string) error {
		if n++; most > 0 && n > most {
			return nil // the extra row that newest asks for
		}
		return rows.row(values)
	})
	if err != nil {
		return err
	}
	if err := rows.end(); err != nil {
		return err
	}
	if err := out.Flush(); err != nil {
		return err
	}
	if most > 0 && n > most {
		fmt.Fprintf(c.Stderr, "agent: showing the first %s; use SELECT … LIMIT\n", run.Count(most, "row"))
	}
	return nil
}

// viewName matches the form of a view's name, and no query.
var viewName = lazyregexp.New(`^v_[a-z_]+$`)

// newest returns a query for the newest rows of a view, one more than are shown. It sorts by the first column with a
// time, and then by run, candidate and n; names of runs sort by time.
func newest(views []query.View, name string) (query string, err error) {
	var names, order []string
	for _, v := range views {
		names = append(names, v.Name)
		if v.Name != name {
			continue
		}
		for _, col := range v.Columns {
			if len(order) == 0 && (col.Type == "date" || strings.HasPrefix(col.Type, "timestamp")) {
				order = append(order, col.Name+" desc nulls last")
			}
		}
		for _, col := range v.Columns {
			if slices.Contains([]string{"run", "candidate", "n"}, col.Name) {
				order = append(order, col.Name+" desc")
			}
		}
		query = "select * from " + name
		if len(order) > 0 {
			query += " order by " + strings.Join(order, ", ")
		}
		return fmt.Sprintf("%s limit %d", query, shownRows+1), nil
	}
	next := "`agent sql --json` lists the views"
	if near := cmdline.Nearest(name, names); near != "" {
		next = "did you mean `agent sql " + near + "`?"
	}
	return "", fault.Usage(next, "unknown view %s", name)
}

// printViews lists the views with their columns, and queries to start with.
func (c command) printViews(views []query.View) error {
	pal := c.Palette(c.Stdout)
	return term.Print(c.Stdout, func(w io.Writer) error {
		for _, v := range views {
			fmt.Fprintf(w, "%s\n  %s\n", pal.Bold(v.Name), v.Comment)
			for _, col := range v.Columns {
				fmt.Fprintf(w, "    %-16s %s\n", col.Name, pal.Dim(strings.TrimSpace(col.Type+"  "+col.Comment)))
			}
			fmt.Fprintln(w)
		}
		fmt.Fprint(w, "Examples:\n"+
			"  agent sql 'select run, state, verdict, seconds from v_runs limit 10'\n"+
			"  agent sql 'select gate, verdict, count(*) from v_gates group by 1, 2 order by 1, 2'\n"+
			"  agent sql --csv 'select * from v_promotions'\n")
		return nil
	})
}

// A rowPrinter prints the result of a query as it arrives. head is called once, before the first row; end once, after
// the last. An error of any of them stops the query: usually the reader closed the pipe.
type rowPrinter interface {
	head(columns []query.Column) error
	row(values []*string) error
	end() error
}

// csvRows prints CSV; null is an empty field.
//
// It is for programs, so nothing is cleaned or cut: a spreadsheet gets what the record has.
type csvRows struct{ w *csv.Writer }

// head prints the header, even for a result without rows.
func (p *csvRows) head(columns []query.Column) error {
	var names []string
	for _, c := range columns {
		names = append(names, c.Name)
	}
	return p.w.Write(names)
}

// row prints one record. CSV has no null; an empty field is the convention.
func (p *csvRows) row(values []*string) error {
	fields := make([]string, len(values))
	for i, v := range values {
		if v != nil {
			fields[i] = *v
		}
	}
	return p.w.Write(fields)
}

// end flushes the rest.
func (p *csvRows) end() error {
	p.w.Flush()
	return p.w.Error()
}

// jsonRows prints an array of objects, in the order of the columns. Numbers, booleans and JSON keep their types.
//
// Rows are written as they arrive and not collected, so the array is closed by hand, even after no rows.
type jsonRows struct {
	w       io.Writer
	columns []query.Column
	rows    int
}

// head opens the array and determines the keys.
func (p *jsonRows) head(columns []query.Column) error {
	// A result may have two columns of the same name, from a join.
	seen := map[string]int{}
	for _, c := range columns {
		// Two columns of the same name would be one key.
		if seen[c.Name]++; seen[c.Name] > 1 {
			c.Name = fmt.Sprintf("%s_%d", c.Name, seen[c.Name])
		}
		p.columns = append(p.columns, c)
	}
	_, err := io.WriteString(p.w, "[")
	return err
}

// row prints one object, built by hand because a map would lose the order of the columns.
func (p *jsonRows) row(values []*string) error {
	var line strings.Builder
	if p.rows > 0 {
		line.WriteString(",")
	}
	p.rows++
	line.WriteString("\n  {")
	for i, v := range values {
		if i > 0 {
			line.WriteString(", ")
		}
		name, err := json.Marshal(p.columns[i].Name)
		if err != nil {
			return err
		}
		line.Write(name)
		line.WriteString(": ")
		line.Write(jsonValue(p.columns[i].Type, v))
	}
	line.WriteString("}")
	_, err := io.WriteString(p.w, line.String())
	return err
}

// end closes the array; an empty result is an empty array, not nothing.
func (p *jsonRows) end() error {
	text := "\n]\n"
	if p.rows == 0 {
		text = "]\n"
	}
	_, err := io.WriteString(p.w, text)
	return err
}

// jsonValue translates a value that Postgres wrote as text.
//
// It quotes text, and everything for which JSON has no form: a number that is not a JSON number, a date, a Postgres
// array.
func jsonValue(kind string, v *string) []byte {
	if v == nil {
		return []byte("null")
	}
	kind, _, _ = strings.Cut(kind, "(") // numeric(10,2)
	switch kind {
	case "boolean":
		return fmt.Append(nil, strings.HasPrefix(*v, "t"))
	case "smallint", "integer", "bigint", "numeric", "real", "double precision", "json", "jsonb":
		if json.Valid([]byte(*v)) { // NaN and Infinity are not
			return []byte(*v)
		}
	}
	text, err := json.Marshal(*v)
	if err != nil { // strings always marshal
		return []byte("null")
	}
	return text
}

// How much of a result a table examines before it prints its first line.
const (
	measuredRows = 200 // rows whose widths determine the table's
	widestColumn = 60
)

// tableRows prints a table. The first rows determine the widths; wider cells are cut, so that the rest can be printed
// as it arrives.
type tableRows struct {
	w       io.Writer
	columns int // of the terminal; 0 if there is none, and then nothing is cut
	palette term.Palette
	names   []string
	numbers []bool
	waiting [][]string // nil once the widths are known
	widths  []int
	rows    int
}

// head remembers the columns; they are printed once their widths are known.
func (p *tableRows) head(columns []query.Column) error {
	for _, c := range columns {
		p.names = append(p.names, term.CleanLine(c.Name))
		// A type may carry its precision, as numeric(10,2).
		kind, _, _ := strings.Cut(c.Type, "(")
		p.numbers = append(p.numbers, strings.Contains("smallint integer bigint numeric real double precision", kind))
	}
	p.waiting = [][]string{}
	return nil
}

// row prints a row, or keeps it until there are enough to measure. Cells may hold the output of a tool, so they are
// cleaned; null is an empty cell.
func (p *tableRows) row(values []*string) error {
	cells := make([]string, len(values))
	for i, v := range values {
		if v != nil {
			cells[i] = term.CleanLine(*v)
		}
	}
	p.rows++
	// The widths are determined: the rest is printed as it arrives, so that a long result needs no memory.
	if p.waiting == nil {
		return p.line(cells, false)
	}
	if p.waiting = append(p.waiting, cells); len(p.waiting) < measuredRows {
		return nil
	}
	return p.release()
}

// release determines the widths and prints the rows that waited for them.
func (p *tableRows) release() error {
	p.widths = make([]int, len(p.names))
	for _, cells := range append([][]string{p.names}, p.waiting...) {
		for i, cell := range cells {
			p.widths[i] = max(p.widths[i], ansi.StringWidth(cell))
			// One long message must not push every other column off the screen. A pipe gets everything in full.
			if p.columns > 0 {
				p.widths[i] = min(p.widths[i], widestColumn)
			}
		}
	}
	// From here on rows are not kept.
	waiting := p.waiting
	p.waiting = nil
	if err := p.line(p.names, true); err != nil {
		return err
	}
	for _, cells := range waiting {
		if err := p.line(cells, false); err != nil {
			return err
		}
	}
	return nil
}

// line prints one row, with numbers aligned to the right.
func (p *tableRows) line(cells []string, bold bool) error {
	var text strings.Builder
	// Widths are counted in cells of the terminal, not in bytes or letters.
	for i, cell := range cells {
		if p.columns > 0 {
			cell = ansi.Truncate(cell, p.widths[i], "…")
		}
		pad := strings.Repeat(" ", max(0, p.widths[i]-ansi.StringWidth(cell)))
		if i > 0 {
			text.WriteString("  ")
		}
		if p.numbers[i] {
			text.WriteString(pad + cell)
		} else {
			text.WriteString(cell + pad)
		}
	}
	line := strings.TrimRight(text.String(), " ")
	if p.columns > 0 {
		line = ansi.Truncate(line, p.columns, "…")
	}
	if bold {
		line = p.palette.Bold(line)
	}
	_, err := fmt.Fprintln(p.w, line)
	return err
}

// end prints the rows that still wait and, for people, the number of rows.
func (p *tableRows) end() error {
	if p.waiting != nil {
		if err := p.release(); err != nil {
			return err
		}
	}
	if p.columns == 0 {
		return nil
	}
	_, err := fmt.Fprintln(p.w, p.palette.Dim("("+run.Count(p.rows, "row")+")"))
	return err
}
