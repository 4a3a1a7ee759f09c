package agent_test

import (
	"fmt"
	"testing"

	"agent/orchestrator/agent"
)

func TestPrint(t *testing.T) {
	p, err := agent.LoadPrompts(nil)
	if err != nil {
		t.Fatal(err)
	}
	b := agent.Brief{Goal: "make it round", Target: "shop/stock.py", Language: "python", Code: "x = 1\n", Memory: "m", Failure: agent.Failure{Gate: "lint", Text: "E1"}, Attempts: []agent.Attempt{{1, "lint", "lint: 1", "+x"}}, Files: []string{"a", "b"}, Variant: agent.Variant{2, 3}}
	for _, u := range agent.Purposes() {
		q, err := p.Question(u, b, agent.NewFence("abcdef0123456789"))
		fmt.Println("=====", u, err)
		fmt.Println(q.Text)
	}
}
