package run

import (
	"context"
	"time"

	"agent/orchestrator/gate"
	"agent/sandbox"
	"agent/verify"
)

// logEnd enters how a run ended. The reason for a policy verdict comes first, so that the end is the last entry of a log.
func logEnd(ctx context.Context, end Ending) {
	detail := map[string]any{"verdict": string(end.Verdict), "exit": end.Exit}
	if end.Error != nil {
		detail["error"] = end.Error.Message
	}
	// Both what no approval allows and what lacks an approval.
	if end.Verdict == verify.Policy && end.Error != nil {
		Enter(ctx, Entry{Kind: PolicyEntry, Actor: "agent", Subject: "run", Detail: map[string]any{"reason": end.Error.Message, "blocks": true}})
	}
	Enter(ctx, Entry{Kind: StateEntry, Actor: "agent", Subject: string(end.State), Detail: detail})
}

// logSettled returns the entry for an end that another process gave to a run. The run's own process died and cannot say when, so the
// time is that of the settling. settled_by and died_in tell such an end from one that a run entered itself.
func logSettled(r Record, end Ending) Entry {
	return Entry{
		Run: r.ID, At: time.Now(), Kind: StateEntry, Actor: "agent", Subject: string(end.State),
		Detail: map[string]any{"verdict": string(end.Verdict), "exit": end.Exit, "settled_by": sandbox.Owner(), "died_in": string(r.State)},
	}
}

// logAnswer enters what a checkpoint answered about a candidate or a feature. It names the candidate by its digest: the approval is of
// these bytes, not of a number.
func logAnswer(ctx context.Context, a Answer, p Proposal) {
	detail := map[string]any{}
	if p.Feature != nil {
		detail["feature"] = p.Feature.Path
	} else {
		detail["candidate"] = p.Candidate.Digest
	}
	// A person who is not there has decided nothing: By then says what would be needed.
	actor := a.By
	if a.Decision == Unattended {
		actor, detail["reason"] = "nobody", a.By
	}
	Enter(ctx, Entry{Kind: ApprovalEntry, Actor: actor, Subject: string(a.Decision), Detail: detail})
}

// logHolds enters the holds of a candidate, if there are any. blocks marks those for which --yes is not enough.
func logHolds(ctx context.Context, cand gate.Candidate) {
	for _, h := range cand.Holds {
		Enter(ctx, Entry{
			Kind: PolicyEntry, Actor: "agent", Subject: h.Path,
			Detail: map[string]any{"kind": h.Kind, "reason": h.Reason, "blocks": h.Block, "candidate": cand.Digest},
		})
	}
}

// logUnproven enters what no gate judged in a candidate. The entry belongs to the gate that would have judged it, since that is where a
// reader looks.
func logUnproven(ctx context.Context, cand gate.Candidate) {
	for _, u := range cand.Unproven {
		Enter(ctx, Entry{
			Kind: GateEntry, Actor: "agent", Subject: u.Gate,
			Detail: map[string]any{"unproven": string(u.Kind), "detail": u.Reason, "part": u.Part, "candidate": cand.Digest},
		})
	}
}

// logGate enters that a gate has judged, or was measured on the unpatched workspace. candidate counts from 1; 0 means that there is
// only one. Start events are skipped: the end has the time.
func logGate(ctx context.Context, e verify.Event, candidate int) {
	if !e.Done {
		return
	}
	detail := map[string]any{"ms": int64(1000 * e.Seconds)}
	switch {
	case e.Baseline: // not a judgement of the patch
		detail["baseline"] = true
	case e.Verdict == "":
		detail["verdict"] = "skipped"
	default:
		detail["verdict"] = string(e.Verdict)
	}
	if e.Detail != "" {
		detail["detail"] = e.Detail
	}
	if candidate > 0 {
		detail["candidate"] = candidate
	}
	Enter(ctx, Entry{Kind: GateEntry, Actor: "agent", Subject: e.Gate, Detail: detail})
}

// logRequest enters a request that left a box, or was stopped from leaving it. It keeps the number of bytes sent and received, not the
// bytes. The actor is the gate, since the code in its box made the request: the agent only let it through, or did not.
func logRequest(ctx context.Context, e verify.Event) {
	q := e.Request
	Enter(ctx, Entry{Kind: EgressEntry, Actor: "box of " + e.Gate, Subject: q.Method + " " + q.Host, Detail: map[string]any{
		"port": int(q.Port), "allowed": q.Allowed, "sent": q.Sent, "received": q.Received, "ms": q.Took.Milliseconds(), "end": q.End,
	}})
}
