package store_test

import (
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"agent/orchestrator/llm"
	"agent/orchestrator/run"
	"agent/orchestrator/store/storetest"
)

// value runs a query on a separate connection and returns its first column, one value per line.
func value(t *testing.T, url, sql string, args ...any) string {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	must(t, err)
	defer conn.Close(t.Context())
	rows, err := conn.Query(t.Context(), sql, append([]any{pgx.QueryExecModeSimpleProtocol}, args...)...)
	must(t, err)
	lines, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (string, error) { return string(row.RawValues()[0]), nil })
	must(t, err)
	return strings.Join(lines, "\n")
}

// constants returns the values of a string type's constants in the Go files of a directory.
func constants(t *testing.T, dir, name string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	must(t, err)
	var list []string
	for _, path := range files {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		must(t, err)
		ast.Inspect(file, func(n ast.Node) bool {
			spec, ok := n.(*ast.ValueSpec)
			if !ok || len(spec.Values) == 0 {
				return true
			}
			if kind, ok := spec.Type.(*ast.Ident); ok && kind.Name == name {
				if literal, ok := spec.Values[0].(*ast.BasicLit); ok {
					text, err := strconv.Unquote(literal.Value)
					must(t, err)
					list = append(list, text)
				}
			}
			return true
		})
	}
	slices.Sort(list)
	return list
}

func TestTheNamesInSQLAreThoseInGo(t *testing.T) {
	t.Parallel()
	_, url := storetest.New(t)
	var ordered, final, failed []string
	for _, s := range run.States() {
		ordered = append(ordered, string(s))
		if s.Final() {
			final = append(final, string(s))
		}
		if s.Final() && s != run.Promoted && s != run.Done {
			failed = append(failed, string(s))
		}
	}
	declared := slices.Sorted(slices.Values(ordered))
	slices.Sort(failed)
	// Built before sorting, because the sentence lists the ends in their order.
	ends := strings.Join(final[:len(final)-1], ", ") + " and " + final[len(final)-1] + " are ends"
	if said := value(t, url, `select col_description('v_runs'::regclass, 2)`); !strings.HasSuffix(said, ends) {
		t.Errorf("the comment on v_runs.state is %q, want it to end with %q", said, ends)
	}
	slices.Sort(final)
	states := constants(t, "../run", "State")
	if !slices.Equal(states, declared) {
		t.Errorf("run.States() %v differs from the constants %v", declared, states)
	}
	verdicts := constants(t, "../../verify/check", "Verdict")
	ops := constants(t, "../../sandbox/workspace", "Op")
	var kinds []string
	for _, k := range llm.Kinds() {
		kinds = append(kinds, string(k))
	}
	slices.Sort(kinds)
	recorded := slices.Sorted(slices.Values(append(slices.Clone(kinds), string(llm.Cancelled))))
	if all := constants(t, "../llm", "Kind"); !slices.Equal(all, recorded) {
		t.Errorf("llm.Kinds() and Cancelled are %v, the constants %v", recorded, all)
	}
	for names, want := range map[string][]string{
		`select name from state`: states, `select name from state where final`: final,
		`select name from state where failed`: failed, `select name from state order by place`: ordered,
		`select name from verdict`: verdicts, `select name from call_error`: recorded,
	} {
		got := strings.Split(value(t, url, names), "\n")
		if !strings.Contains(names, "order by") {
			slices.Sort(got)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s gives %v, Go has %v", names, got, want)
		}
	}
	for names, want := range map[string]string{
		"state":      "run.state run_state.state",
		"verdict":    "candidate.verdict gate.verdict run.verdict",
		"call_error": "model_call.kind model_key.reason model_key.retired",
	} {
		got := value(t, url, `select string_agg(c.conrelid::regclass || '.' || a.attname, ' ' order by c.conrelid::regclass::text collate "C", a.attname)
			from pg_constraint c join pg_attribute a on a.attrelid = c.conrelid and a.attnum = c.conkey[1]
			where c.contype = 'f' and c.confrelid = to_regclass($1)`, names)
		if got != want {
			t.Errorf("%s is referred to by %s, want %s", names, got, want)
		}
	}
	for check, want := range map[string][]string{
		"candidate_file_op_check": ops, "promotion_file_op_check": ops,
		"promotion_status_check": constants(t, "../run", "PromotionStatus"),
		"event_kind_check":       constants(t, "../run", "EntryKind"),
		"iteration_phase_check":  constants(t, "../loop", "Phase"),
		"proposal_kind_check":    constants(t, "../run", "ProposalKind"), "proposal_state_check": constants(t, "../run", "ProposalState"),
		"conversation_cause_check": constants(t, "../agent/conversation", "End"),
		"review_verdict_check":     constants(t, "history", "ReviewVerdict"),
	} {
		definition := value(t, url, `select pg_get_constraintdef(oid) from pg_constraint
			where connamespace = current_schema()::regnamespace and conname = $1`, check)
		var got []string
		for _, m := range regexp.MustCompile(`'([^']*)'`).FindAllStringSubmatch(definition, -1) {
			got = append(got, m[1])
		}
		slices.Sort(got)
		if len(want) == 0 || !slices.Equal(got, want) {
			t.Errorf("%s allows %v, Go has %v", check, got, want)
		}
	}
}

// The package documentation lists the existing tables.
func TestTheDocumentationListsEveryTable(t *testing.T) {
	t.Parallel()
	_, url := storetest.New(t)
	text, err := os.ReadFile("doc.go")
	must(t, err)
	var listed []string
	for _, m := range regexp.MustCompile(`(?m)^//\t([a-z_]+)(?:, ([a-z_]+))?  `).FindAllStringSubmatch(string(text), -1) {
		listed = append(listed, m[1])
		if m[2] != "" {
			listed = append(listed, m[2])
		}
	}
	slices.Sort(listed)
	tables := value(t, url, `select relname from pg_class where relkind = 'r' and relnamespace = current_schema()::regnamespace
		and relname <> 'schema_version' order by relname collate "C"`)
	if got := strings.Join(listed, "\n"); got != tables {
		t.Errorf("doc.go lists\n%s\nthe schema has\n%s", got, tables)
	}
}

func TestTheDatabaseRefusesNamesThatNobodyKnows(t *testing.T) {
	t.Parallel()
	db, url := storetest.New(t)
	must(t, db.Create(t.Context(), record("01run")))
	for _, err := range []error{
		db.Advance(t.Context(), "01run", 1, "dancing", "", ""),
		db.Finish(t.Context(), "01run", 1, run.Ending{State: run.Done, Verdict: "splendid"}),
		db.Finish(t.Context(), "01run", 1, run.Ending{State: run.Verifying, Verdict: "pass"}),
		db.SavePromotion(t.Context(), "01run", 1, run.Promotion{Status: "half"}),
	} {
		refused, ok := errors.AsType[*pgconn.PgError](err)
		if !ok || refused.Code != "23503" && refused.Code != "23514" {
			t.Errorf("got %v, want a broken constraint", err)
		}
	}
	if got := value(t, url, `select state from run`); got != "queued" {
		t.Errorf("the run is %s", got)
	}
}

// Statements that bypass the store are subject to the same rules.
func TestTheDatabaseItselfGuardsItsRules(t *testing.T) {
	t.Parallel()
	db, url := storetest.New(t)
	must(t, db.Create(t.Context(), record("01run")))
	must(t, db.Finish(t.Context(), "01run", 1, run.Ending{State: run.Rejected, Verdict: "fail", Exit: 1}))
	conn, err := pgx.Connect(t.Context(), url)
	must(t, err)
	defer conn.Close(t.Context())
	_, err = db.StartIteration(t.Context(), iteration("01iter"))
	must(t, err)
	for _, sql := range []string{
		`update run set state = 'promoted'`, `update run set token = 0`,
		`insert into run (id, last_op, workspace, intent, owner, token, state, started, ended) select '02run', last_op, '', '', '', 1, 'queued', started, ended from run`,
		`insert into model_key (vendor, key_id, reason) values ('v', 'k', 'cancelled')`,
		`delete from state where name = 'rejected'`,
		`insert into iteration select '02iter', workspace, 2, '', '', '', '{}', '', null, null, 'learn', '', '', started from iteration`,
	} {
		if _, err := conn.Exec(t.Context(), sql); err == nil {
			t.Errorf("%s was taken", sql)
		}
	}
}
