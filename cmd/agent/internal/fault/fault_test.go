package fault

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"agent/migrations"
	"agent/orchestrator/run"
	"agent/orchestrator/store/database"
	"agent/orchestrator/store/query"
	"agent/sandbox"
)

func TestEveryKindOfErrorHasItsCodeAndItsCure(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		err  error
		kind run.ProblemKind
		exit int
		next string
	}{
		{"usage", Usage("do this", "wrong %d", 1), "usage", run.ExitUsage, "do this"},
		{"infrastructure", Infra("do this", "gone"), "infra", run.ExitInfra, "do this"},
		{"policy", Policy("do this", "held"), "policy", run.ExitApproval, "do this"},
		{"wrapped", fmt.Errorf("open it: %w", Usage("do this", "wrong")), "usage", run.ExitUsage, "do this"},
		{"no engine", &sandbox.UnavailableError{Host: "unix:///x", Hint: "start one", Err: errors.New("refused")}, "infra", run.ExitInfra, "start one"},
		{"no database", &database.UnavailableError{Address: "host:1/db", Hint: "start it", Err: errors.New("refused")}, "infra", run.ExitInfra, "start it"},
		{"no such run", fmt.Errorf("find it: %w", database.ErrNotFound), "usage", run.ExitUsage, "see `agent runs list`"},
		{"ambiguous run", &database.AmbiguousError{Prefix: "1k", IDs: []string{"1k3", "1k4"}}, "usage", run.ExitUsage, "type more of the run's name"},
		{"bad query", &query.QueryError{Message: "syntax", Hint: "look", Position: 8}, "usage", run.ExitUsage, "look"},
		{"newer schema", fmt.Errorf("open: %w", &migrations.NewerError{Have: 9, Know: 1}), "infra", run.ExitInfra, "upgrade the agent"},
		{"anything else", errors.New("strange"), "infra", run.ExitInfra, "run `agent doctor`"},
	} {
		p, exit := Classify(t.Context(), c.err)
		if p.Kind != c.kind || exit != c.exit || p.Next != c.next || p.Message == "" {
			t.Errorf("%s: %+v with exit code %d, want %s, %d and %q", c.name, p, exit, c.kind, c.exit, c.next)
		}
		if strings.HasSuffix(p.Message, c.next) {
			t.Errorf("%s: the cure is told twice: %q", c.name, p.Message)
		}
	}
}
