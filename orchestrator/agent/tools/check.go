package tools

import (
	"context"

	"agent/sandbox/workspace"
)

// A Check has the gates judge a draft in fresh boxes. An error is trouble of the machine.
type Check func(ctx context.Context, draft workspace.Changeset) (passed bool, report string, err error)

// checkTool has the gates judge the draft.
var checkTool = Tool{
	Name: "check",
	About: "Have your changes judged as they will be after finish: formatter, linter, type checker, a start of the program and the tests, in fresh boxes. " +
		"The answer says what is wrong that was not wrong before. It takes a while: make the change first.",
	has: func(b *Bench) bool { return b.Check != nil },
	run: func(ctx context.Context, b *Bench, _ []byte) (Answer, error) {
		draft := b.Draft.Changes()
		if draft.Empty() {
			return failed("nothing is changed yet: there is nothing to check"), nil
		}
		passed, report, err := b.Check(ctx, draft)
		switch {
		case err != nil:
			return Answer{}, err
		case passed:
			return Answer{Head: "every gate passes: finish when the work is done", Text: report}, nil
		}
		return Answer{Head: "this does not pass", Text: report}, nil
	},
}
