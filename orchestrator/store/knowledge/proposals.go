package knowledge

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"agent/orchestrator/run"
	"agent/orchestrator/store/database"
)

// ErrSettled means that there is no such proposal, or that it was already settled in another way.
var ErrSettled = errors.New("it is not open; `agent sql \"select * from v_proposals\"` shows all")

// columns are the columns of a proposal, named like the fields of run.KeptProposal.
const columns = `id, workspace, kind, state, path, goal, text, patch, reason, coalesce(run, '') as run, at`

// AddProposal implements [run.Proposals]: it records an open proposal and returns its number; it ignores ID, State and At of p. A
// proposal that is open word for word is not recorded again.
func (b Base) AddProposal(ctx context.Context, p run.KeptProposal) (int64, error) {
	op := database.NewOp()
	err := b.db.Do(ctx, "record a proposal for "+p.Workspace, func(ctx context.Context) error {
		// The update changes nothing; a retry whose first answer was lost gets the row that is already there. Runs of one workspace
		// wait for one another, so no two of them can both find that a proposal is missing.
		return b.db.Pool.QueryRow(ctx, `
			with same as (
				select id from proposal
				where state = 'open' and (workspace, kind, path, goal, text) = (@workspace, @kind, @path, @goal, @text)
					and patch is not distinct from @patch and op <> @op
				limit 1
			), added as (
				insert into proposal as p (op, workspace, kind, path, goal, text, patch, reason, run)
				select @op, @workspace, @kind, @path, @goal, @text, @patch, @reason, nullif(@run, '')
				where not exists (select from same)
				on conflict (op) do update set op = p.op
				returning id
			)
			select id from same union all select id from added`,
			pgx.NamedArgs{
				"op": op, "workspace": database.Clean(p.Workspace), "kind": string(p.Kind), "path": database.Clean(p.Path), "goal": database.Clean(p.Goal),
				"text": database.Clean(p.Text), "patch": p.Patch, "reason": database.Clean(p.Reason), "run": database.Clean(p.Run),
			}).Scan(&p.ID)
	})
	return p.ID, err
}

// Proposals lists the open proposals of a workspace, oldest first.
func (b Base) Proposals(ctx context.Context, workspace string) ([]run.KeptProposal, error) {
	var list []run.KeptProposal
	err := b.db.Do(ctx, "list the proposals for "+workspace, func(ctx context.Context) error {
		rows, err := b.db.Pool.Query(ctx, `select `+columns+` from proposal where workspace = @workspace and state = 'open' order by id`,
			pgx.NamedArgs{"workspace": database.Clean(workspace)})
		if err != nil {
			return err
		}
		list, err = pgx.CollectRows(rows, pgx.RowToStructByName[run.KeptProposal])
		return err
	})
	return list, err
}

// Proposal returns the proposal with number id, settled or not. ErrNotFound means that there is none.
func (b Base) Proposal(ctx context.Context, id int64) (run.KeptProposal, error) {
	var p run.KeptProposal
	err := b.db.Do(ctx, fmt.Sprintf("read proposal %d", id), func(ctx context.Context) error {
		rows, err := b.db.Pool.Query(ctx, `select `+columns+` from proposal where id = @id`, pgx.NamedArgs{"id": id})
		if err != nil {
			return err
		}
		p, err = pgx.CollectExactlyOneRow(rows, pgx.RowToStructByName[run.KeptProposal])
		return database.Missing(err)
	})
	return p, err
}

// SettleProposal implements [run.Proposals]: it records what became of an open proposal, run.ProposalDone or run.ProposalDropped.
// Settling it twice in the same way is not an error; settling it in two ways is ErrSettled.
func (b Base) SettleProposal(ctx context.Context, id int64, to run.ProposalState) error {
	return b.db.Do(ctx, fmt.Sprintf("settle proposal %d", id), func(ctx context.Context) error {
		// The requested state is accepted as well: a retry finds it done.
		tag, err := b.db.Pool.Exec(ctx, `update proposal set state = @to where id = @id and state in ('open', @to)`,
			pgx.NamedArgs{"id": id, "to": string(to)})
		if err == nil && tag.RowsAffected() == 0 {
			return ErrSettled
		}
		return err
	})
}
