package store_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"agent/orchestrator/llm"
	"agent/orchestrator/run"
	"agent/orchestrator/store/storetest"
)

// value runs a query on a connection of its own and returns its first column, in lines.
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

// constants returns the values of the constants of a named string type in the Go files of a directory.
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
	var declared []string
	for _, s := range run.States() {
		declared = append(declared, string(s))
	}
	slices.Sort(declared)
	states := constants(t, "../run", "State")
	if !slices.Equal(states, declared) {
		t.Errorf("run.States() %v differs from the constants %v", declared, states)
	}
	var final []string
	for _, s := range run.States() {
		if s.Final() {
			final = append(final, string(s))
		}
	}
	slices.Sort(final)
	verdicts := constants(t, "../../verify", "Verdict")
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
	for check, want := range map[string][]string{
		"run_state_check": states, "run_state_state_check": states, "run_ended_check": final,
		"run_verdict_check": verdicts, "candidate_verdict_check": verdicts, "gate_verdict_check": verdicts,
		"candidate_file_op_check": ops, "promotion_file_op_check": ops,
		"promotion_status_check": constants(t, "../run", "PromotionStatus"),
		"model_call_kind_check":  recorded, "model_key_reason_check": kinds, "model_key_retired_check": kinds,
		"event_kind_check":      constants(t, "../run", "EntryKind"),
		"iteration_phase_check": constants(t, "../run", "Phase"),
		"proposal_kind_check":   constants(t, "../run", "ProposalKind"), "proposal_state_check": constants(t, "../run", "ProposalState"),
		"review_verdict_check": constants(t, "history", "ReviewVerdict"),
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
		if err == nil || !strings.Contains(err.Error(), "check constraint") {
			t.Errorf("got %v, want a broken constraint", err)
		}
	}
	if got := value(t, url, `select state from run`); got != "queued" {
		t.Errorf("the run is %s", got)
	}
}

// Whoever writes past the store meets the same rules.
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
		`insert into iteration select '02iter', workspace, 2, '', '', '', '{}', '', null, null, 'learn', '', '', started from iteration`,
	} {
		if _, err := conn.Exec(t.Context(), sql); err == nil {
			t.Errorf("%s was taken", sql)
		}
	}
}
