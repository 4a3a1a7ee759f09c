package tools

import (
	"context"
	"strings"
)

// Finish is the name of the tool that ends a conversation.
const Finish = "finish"

// finishTool ends the conversation.
var finishTool = Tool{
	Name: Finish, Alone: true,
	About: "Say that the work is done. Your changes are then judged by formatter, linter, type checker, a start of the program and the tests: " +
		"what you say of them counts for nothing there. With nothing: say that nothing has to be changed.",
	Fields: []Field{
		{Name: "summary", Kind: "string", About: "one to five sentences: what was wrong or wanted, and how the change does it", Needed: true},
		{Name: "nothing", Kind: "boolean", About: "nothing has to be changed"},
	},
	run: func(_ context.Context, b *Bench, args []byte) (Answer, error) {
		a := arguments[struct {
			Summary string
			Nothing bool
		}](args)
		empty := b.Draft.Changes().Empty()
		switch {
		case strings.TrimSpace(a.Summary) == "":
			return failed("the summary is empty: say what the change does"), nil
		case empty && !a.Nothing:
			return failed("nothing is changed yet: make the change, or finish with \"nothing\": true and say why there is nothing to change"), nil
		case !empty && a.Nothing:
			return failed("files are changed: finish without \"nothing\", or take the changes back first"), nil
		}
		return Answer{Head: "finished", Finished: &Claim{Summary: a.Summary, Nothing: a.Nothing}}, nil
	},
}
