package smoke

import (
	"fmt"
	"slices"
	"strings"

	"agent/sandbox/guest"
	"agent/verify/check"
)

// The rules of the smoke gate besides the names of exceptions.
const (
	ruleExit    = "exit"         // it did not end as before
	ruleEndless = "endless"      // it ended before; now it runs busily
	ruleWait    = "smoke-wait"   // it ended before; now it only waits
	ruleListen  = "smoke-listen" // it listened before, and does not now
	ruleAnswer  = "smoke-answer" // a port answers with trouble, or not any more
	ruleReady   = "smoke-ready"  // it does not become ready in the way that is configured
)

// serverTrouble compares what a program offered to others, and returns what the
// patch broke of it. then is nil for a program that the patch brings. That a port
// has another number, or that there are fewer of them, is no trouble: only that
// there is none any more.
func serverTrouble(then *check.Ending, now check.Ending) (check.Finding, bool) {
	if then == nil {
		then = &check.Ending{Settled: now.Asked} // it has to become ready
	}
	was := check.Served(then.Ports)
	// A crash has been told of by now: what ends here ended well, or as before.
	switch {
	case then.Running && was != "" && !now.Running:
		return check.Finding{Rule: RuleEnded, Message: fmt.Sprintf("before the patch it kept running (%s); now it ends by itself: %s", was, now)}, true
	case then.Running && was != "" && len(now.Ports) == 0:
		return check.Finding{Rule: ruleListen, Message: fmt.Sprintf("it does not listen any more; before the patch: %s", was)}, true
	case !now.Running:
		return check.Finding{}, false
	}
	for _, p := range now.Ports {
		before := counterpart(then.Ports, p, len(now.Ports))
		var message string
		switch {
		// What the client is to blame for is an answer like any other: few servers
		// have something to say at "/".
		case p.Status >= 500 && before.Status < 500:
			message = fmt.Sprintf("server responded on :%d (%d)", p.Port, p.Status)
		case p.Status == 0 && before.Status != 0 && before.Status < 500:
			message = fmt.Sprintf("port %d listens and gives no answer; before the patch it gave %d", p.Port, before.Status)
		default:
			continue
		}
		// What it told last is most likely why.
		f := now.Told
		f.Rule, f.Message = ruleAnswer, strings.TrimSuffix(message+": "+f.Message, ": ")
		return f, true
	}
	if now.Asked && !now.Settled && then.Settled {
		return check.Finding{Rule: ruleReady, Message: "it did not become ready in the way that [smoke] ready asks for"}, true
	}
	return check.Finding{}, false
}

// counterpart is the port before the patch that p is compared with: the one of
// its number, else the only one when both sides have one only, else the one that
// answered worst.
func counterpart(before []guest.Port, p guest.Port, count int) guest.Port {
	// Ports that the system chooses differ from run to run.
	i := slices.IndexFunc(before, func(b guest.Port) bool { return b.Port == p.Port })
	switch {
	case i >= 0:
		return before[i]
	case len(before) == 0:
		return guest.Port{}
	case len(before) == 1 && count == 1:
		return before[0]
	}
	worst := slices.MaxFunc(before, func(a, b guest.Port) int { return a.Status - b.Status })
	if worst.Status < 500 {
		return guest.Port{} // whether this one answered before cannot be told
	}
	return worst
}

// waitTime is how much processor time, as a part of the watch, a program that
// only waits may use beyond what it used to end: one tenth. For restTime, one
// quarter of the watch, it has done nothing at all: one that a busy machine keeps
// from its work goes on with it to the end.
const (
	waitTime = 10
	restTime = 4
)

// onlyWaits reports whether a program that did its work before the patch, and
// ended well and soon, now does nothing until the watch is over: it writes
// nothing, listens on nothing and uses no processor. A program that is to run
// for ever does one of these.
func onlyWaits(then *check.Ending, now check.Ending) bool {
	if then == nil || then.Running || then.Crashed() || then.Wall > now.Wall/2 {
		return false
	}
	return now.Running && !now.Settled && len(now.Ports) == 0 && now.Wrote == 0 && now.CPU <= then.CPU+now.Wall/waitTime && now.Rested >= now.Wall/restTime
}
