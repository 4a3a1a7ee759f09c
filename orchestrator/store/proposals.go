package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// A ProposalKind says what a proposal is.
type ProposalKind string

// The kinds of proposals. A failed one was tried and did not pass its gates.
const (
	PeerReview       ProposalKind = "PEER_REVIEW"
	Feature          ProposalKind = "FEATURE"
	FailedPeerReview ProposalKind = "FAILED_PEER_REVIEW"
	FailedFeature    ProposalKind = "FAILED_FEATURE"
)

// A ProposalState says what became of a proposal.
type ProposalState string

// The states of a proposal. It begins as ProposalOpen.
const (
	ProposalOpen    ProposalState = "open"
	ProposalDone    ProposalState = "done"
	ProposalDropped ProposalState = "dropped"
)

// A Proposal is a change that somebody proposed and nobody made yet. Its texts
// come from models.
type Proposal struct {
	ID        int64 // 0 until it is recorded
	Workspace string
	Kind      ProposalKind
	Path      string // the file that it is about, "" for none
	Text      string
	Reason    string // why it was made, or why it did not pass
	Run       string // the run that proposed or tried it, "" for none
	At        time.Time
}

// ErrSettled means that there is no such proposal, or that it was settled in
// another way before.
var ErrSettled = errors.New("it is not open; `agent sql \"select * from v_proposals\"` shows all")

// AddProposal records an open proposal and returns its number; ID and At of p
// do not count.
func (db *DB) AddProposal(ctx context.Context, p Proposal) (int64, error) {
	op := newOp()
	err := db.do(ctx, "record a proposal for "+p.Workspace, func(ctx context.Context) error {
		// The update changes nothing; a retry whose first answer was lost gets
		// the row that is there.
		return db.pool.QueryRow(ctx, `
			insert into proposal as p (op, workspace, kind, path, text, reason, run)
			values (@op, @workspace, @kind, @path, @text, @reason, nullif(@run, ''))
			on conflict (op) do update set op = p.op
			returning id`,
			pgx.NamedArgs{
				"op": op, "workspace": clean(p.Workspace), "kind": string(p.Kind), "path": clean(p.Path),
				"text": clean(p.Text), "reason": clean(p.Reason), "run": clean(p.Run),
			}).Scan(&p.ID)
	})
	return p.ID, err
}

// Proposals lists the open proposals of a workspace, oldest first.
func (db *DB) Proposals(ctx context.Context, workspace string) ([]Proposal, error) {
	var list []Proposal
	err := db.do(ctx, "list the proposals for "+workspace, func(ctx context.Context) error {
		rows, err := db.pool.Query(ctx, `
			select id, workspace, kind, path, text, reason, coalesce(run, '') as run, at
			from proposal where workspace = @workspace and state = 'open' order by id`, pgx.NamedArgs{"workspace": clean(workspace)})
		if err != nil {
			return err
		}
		list, err = pgx.CollectRows(rows, pgx.RowToStructByName[Proposal])
		return err
	})
	return list, err
}

// SettleProposal records what became of an open proposal: to is ProposalDone or
// ProposalDropped. Settling it in the same way twice is no error, in two ways
// is ErrSettled.
func (db *DB) SettleProposal(ctx context.Context, id int64, to ProposalState) error {
	return db.do(ctx, fmt.Sprintf("settle proposal %d", id), func(ctx context.Context) error {
		// The state asked for is let through as well: a retry finds it done.
		tag, err := db.pool.Exec(ctx, `update proposal set state = @to where id = @id and state in ('open', @to)`,
			pgx.NamedArgs{"id": id, "to": string(to)})
		if err == nil && tag.RowsAffected() == 0 {
			return ErrSettled
		}
		return err
	})
}
