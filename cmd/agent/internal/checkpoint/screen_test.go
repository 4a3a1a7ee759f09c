package checkpoint

import (
	"fmt"
	"testing"

	"agent/cmd/agent/internal/term/termtest"
	"agent/verify/policy"
)

// The test compares what a person sees in the question about a proven patch, at each width of terminal.
func TestTheScreenOfAQuestion(t *testing.T) {
	t.Parallel()
	for name, env := range map[string]map[string]string{"screen-question": {}, "screen-question-plain": {"NO_COLOR": "1"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			termtest.Screens(t, name+".txt", 40, func(columns int) string {
				all := map[string]string{"COLUMNS": fmt.Sprint(columns)}
				for k, v := range env {
					all[k] = v
				}
				p := newPerson(t, all)
				got := p.asked(t.Context(), aProposal(policy.Hold{Path: "Makefile", Kind: "tooling", Reason: "It runs whenever the project is built."}))
				p.Sees(t, "\n> ", 1)
				asked := p.Screen() // before the answer is echoed
				p.Types(t, "s\n")
				<-got
				return asked
			})
		})
	}
}
