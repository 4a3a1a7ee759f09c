package gate_test

import (
	"strings"
	"testing"

	"agent/orchestrator/agent"
	"agent/orchestrator/gate"
	"agent/orchestrator/run/runtest"
)

// The example in the instructions applies to the files that it mentions, because models copy its form literally.
func TestTheExampleOfTheInstructionsApplies(t *testing.T) {
	t.Parallel()
	prompts, err := agent.LoadPrompts(nil)
	if err != nil {
		t.Fatal(err)
	}
	q, err := prompts.Question(agent.Implement, agent.Brief{Goal: "g"}, agent.NewFence("0123456789abcdef"))
	if err != nil {
		t.Fatal(err)
	}
	from, to := strings.Index(q.System, "<THOUGHT>"), strings.LastIndex(q.System, "</FILE>")
	if from < 0 || to < 0 {
		t.Fatalf("no example in\n%s", q.System)
	}
	base := runtest.Scan(t, map[string]string{
		"hello/greeting.py": "import sys\n\n\ndef greet(person):\n    return \"Hello \" + person.name\n", "tests/test_greeting.py": "x = 1\n",
	})
	cs, _, err := gate.Edit(base, []byte(q.System[from:to+len("</FILE>")]), "")
	if err != nil || len(cs.Changes) != 2 {
		t.Fatalf("%v: %d changes", err, len(cs.Changes))
	}
	for _, c := range cs.Changes {
		if want := map[string]string{"hello/greeting.py": "import sys\n\n\ndef greet(person):\n    title = ", "tests/test_title.py": "from hello.greeting"}[c.Path]; want == "" || !strings.HasPrefix(string(c.After), want) {
			t.Errorf("%s becomes\n%s", c.Path, c.After)
		}
	}
	// The file attribute has the same name in all tags.
	if strings.Contains(q.System, "path=") {
		t.Error("the instructions name a file in two ways")
	}
}
