package agent

import "context"

// Summarise asks what the project is and what each of the files of the brief is for; [Reply.Summaries] reads the
// answer. The brief's Project holds what is known about both.
func (e *Engineer) Summarise(ctx context.Context, t Task, step string) (Reply, error) {
	reply, _, err := e.ask(ctx, Summarise, step, t.Brief, t)
	return reply, err
}
