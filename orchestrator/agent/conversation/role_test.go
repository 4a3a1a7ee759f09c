package conversation

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"agent/orchestrator/agent"
	"agent/orchestrator/agent/draft"
	"agent/orchestrator/agent/tools"
	"agent/sandbox/workspace"
)

// as holds a conversation in a role that has only these tools, on a bench that has all of them.
func as(t *testing.T, only []string, s *script, m *memory) (*Conversation, agent.Reply, error) {
	t.Helper()
	c, _, _ := talkOn(t, shop, &script{answers: []string{`finish {"summary": "-", "nothing": true}`}}, &memory{})
	c.Model, c.Record = s, m
	c.Bench = &tools.Bench{
		Draft: draft.New(c.Bench.Draft.Now()), Only: only,
		Command: func(context.Context, workspace.Changeset, string, time.Duration) (tools.Ran, error) {
			t.Error("a command was run")
			return tools.Ran{}, nil
		},
		Check: func(context.Context, workspace.Changeset) (bool, string, error) { return true, "fine", nil },
	}
	reply, err := c.Ask(t.Context(), question)
	return c, reply, err
}

// A role has exactly the tools of its table: no others are offered. A call of any other tool is refused with the names of the offered
// ones, and is not carried out.
func TestARoleHasItsToolsAlone(t *testing.T) {
	for name, c := range map[string]struct {
		only  []string
		call  string
		named string
	}{
		"an edit":             {[]string{"read", "finish"}, edit("tax.py", "RATE = 19", "RATE = 7"), "read, finish"},
		"a new file":          {[]string{"read", "finish"}, `create {"path": "x.py", "content": "x"}`, "read, finish"},
		"a deletion":          {[]string{"list", "finish"}, `delete {"path": "tax.py"}`, "list, finish"},
		"a new name":          {[]string{"finish"}, `rename {"path": "tax.py", "to": "vat.py"}`, "finish"},
		"a command":           {[]string{"read", "edit", "finish"}, `run {"command": "rm -rf /"}`, "read, edit, finish"},
		"in another order":    {[]string{"finish", "read"}, `search {"text": "RATE"}`, "read, finish"},
		"one that is no tool": {[]string{"finish", "sudo"}, `sudo {"command": "id"}`, "finish"},
		"twice":               {[]string{"finish"}, "read {\"path\": \"tax.py\"}\n" + `read {"path": "tax.py"}`, "finish"},
	} {
		s, m := &script{answers: []string{c.call, `finish {"summary": "nothing to do", "nothing": true}`}}, &memory{}
		talked, reply, err := as(t, c.only, s, m)
		if err != nil || !reply.Nothing() || !talked.Bench.Draft.Changes().Empty() {
			t.Errorf("%s: %+v, %v; the draft is %+v", name, reply, err, talked.Bench.Draft.Changes())
		}
		var offered []string
		for _, tool := range s.asked[0].Request.Tools {
			offered = append(offered, tool.Name)
		}
		if got := strings.Join(offered, ", "); got != c.named {
			t.Errorf("%s: it is offered %s", name, got)
		}
		tool, _, _ := strings.Cut(c.call, " ")
		if r := s.last(2).Results; len(r) == 0 || !strings.Contains(r[0].Text, `there is no tool "`+tool+`"; there are `+c.named) {
			t.Errorf("%s: it is told %+v", name, r)
		}
		if slices.ContainsFunc(m.calls, func(k Call) bool { return k.Tool == tool }) {
			t.Errorf("%s: on record as if it had been carried out: %+v", name, m.calls)
		}
	}
}

// A role without a tool does not get that tool's recorded answer: the record may have been made with another table.
func TestARecordGivesARoleNoTool(t *testing.T) {
	call := edit("tax.py", "RATE = 19", "RATE = 7")
	m := &memory{}
	if c, _, err := as(t, nil, &script{answers: []string{call, `finish {"summary": "done"}`}}, m); err != nil || c.Bench.Draft.Changes().Empty() {
		t.Fatalf("with all tools: %v, %+v", err, c.Bench.Draft.Changes())
	}
	end := []string{call, `finish {"summary": "nothing to do", "nothing": true}`}
	if c, reply, err := as(t, []string{"read", "finish"}, &script{answers: end}, m); err != nil || !c.Bench.Draft.Changes().Empty() || !reply.Nothing() {
		t.Errorf("with two: %+v, %v, %+v", reply, err, c.Bench.Draft.Changes())
	}
}

// A conversation ends even if its role has no tool to finish or to change anything.
func TestARoleThatCannotEndComesToAnEnd(t *testing.T) {
	s, m := &script{answers: []string{`read {"path": "tax.py"}`, `finish {"summary": "done"}`}}, &memory{}
	_, reply, err := as(t, []string{"read"}, s, m)
	var none *agent.GaveUpError
	if !errors.As(err, &none) || reply.Text != "" || len(s.asked) > 6 || len(m.ended) != 1 || m.ended[0].End != Talked {
		t.Errorf("%d questions, ended %+v: %+v, %v", len(s.asked), m.ended, reply, err)
	}
}
