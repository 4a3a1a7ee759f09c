package gate

import (
	"fmt"
	"strings"

	"agent/verify"
)

// maxLog bounds how much of a gate's output goes back to the model, in bytes.
const maxLog = 8 << 10

// Report words everything that the gates have against a candidate. Findings take one line each, "a.py:3: F821 undefined name", followed
// by their source. A gate without findings gives the end of its output, where tools say what went wrong. A gate that ran the program
// always does, for the traceback.
func (c Candidate) Report() string {
	var b strings.Builder
	for _, g := range c.Gates {
		if g.Verdict == verify.Pass {
			continue
		}
		fmt.Fprintf(&b, "%s: %s %s\n", g.Name, g.Verdict, g.Detail)
		for _, f := range g.Findings {
			fmt.Fprintf(&b, "%s:%d: %s %s\n", f.File, f.Line, f.Rule, f.Message)
			if f.Source != "" {
				fmt.Fprintf(&b, "    %s\n", f.Source)
			}
		}
		if out := g.Output; out != "" && (len(g.Findings) == 0 || RunsCode(g)) {
			b.WriteString(out[max(0, len(out)-maxLog):] + "\n")
		}
	}
	return b.String()
}
