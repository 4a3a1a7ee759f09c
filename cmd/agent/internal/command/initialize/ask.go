package initialize

import (
	"cmp"
	"context"

	"agent/cmd/agent/internal/term"
)

// yes asks until the answer is yes or no; Enter means no.
func (c command) yes(ctx context.Context, what string) (bool, error) {
	key, err := c.Ask(ctx, term.Question{Text: what, Default: 'n', Choices: []term.Choice{
		{Key: 'y', Name: "yes", Help: "do it"},
		{Key: 'n', Name: "no", Help: "leave it as it is", More: "q"},
	}})
	return key == 'y', err
}

// line asks for text; Enter selects without, the value that is used otherwise.
func (c command) line(ctx context.Context, what, without string) (string, error) {
	if without != "" {
		what += " (Enter: " + without + ")"
	}
	answer, err := c.AskLine(ctx, what)
	return cmp.Or(answer, without), err
}
