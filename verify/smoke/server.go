package smoke

import (
	"fmt"
	"slices"
	"strings"

	"agent/sandbox/guest"
	"agent/verify/check"
)

// These are the rules of the smoke gate besides the names of exceptions.
const (
	ruleExit    = "exit"         // it did not end as before
	ruleEndless = "endless"      // it ended before; now it keeps the processor busy
	ruleWait    = "smoke-wait"   // it ended before; now it only waits
	ruleListen  = "smoke-listen" // it listened before, and does not now
	ruleAnswer  = "smoke-answer" // a port answers with an error, or no longer answers
	ruleReady   = "smoke-ready"  // it does not become ready in the configured way
)

// serverTrouble compares what a program offered to others, and returns what the patch broke. then is nil for a program that
// the patch adds. Another port number or fewer ports are not trouble; having no port left is.
func serverTrouble(then *check.Ending, now check.Ending) (check.Finding, bool) {
	if then == nil {
		then = &check.Ending{Settled: now.Asked} // it must become ready
	}
	was := check.Served(then.Ports)
	// Crashes have been reported by now: what ends here ended well, or as before.
	switch {
	case then.Running && was != "" && !now.Running:
		return check.Finding{Rule: RuleEnded, Message: fmt.Sprintf("before the patch it kept running (%s); now it ends by itself: %s", was, now)}, true
	case then.Running && was != "" && len(now.Ports) == 0:
		return check.Finding{Rule: ruleListen, Message: fmt.Sprintf("it no longer listens; before the patch: %s", was)}, true
	case !now.Running:
		return check.Finding{}, false
	}
	for _, p := range now.Ports {
		before := counterpart(then.Ports, p, len(now.Ports))
		var message string
		switch {
		// An error that is the client's fault is an answer like any other: few servers have something to say at "/".
		case p.Status >= 500 && before.Status < 500:
			message = fmt.Sprintf("server responded on :%d (%d)", p.Port, p.Status)
		case p.Status == 0 && before.Status != 0 && before.Status < 500:
			message = fmt.Sprintf("port %d listens but does not answer; before the patch it answered %d", p.Port, before.Status)
		default:
			continue
		}
		// What the program reported last is most likely the reason.
		f := now.Told
		f.Rule, f.Message = ruleAnswer, strings.TrimSuffix(message+": "+f.Message, ": ")
		return f, true
	}
	if now.Asked && !now.Settled && then.Settled {
		return check.Finding{Rule: ruleReady, Message: "it did not become ready as [smoke] ready asks for"}, true
	}
	return check.Finding{}, false
}

// counterpart returns the port before the patch with which p is compared: the one with its number, else the only one if each
// side has just one, else the one with the worst answer.
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
		return guest.Port{} // whether this port answered before is unknown
	}
	return worst
}

// waitTime bounds the processor time, as a fraction of the watch, that a program that only waits may use beyond what it used
// before the patch to end: one tenth. For restTime, one quarter of the watch, it did nothing at all; a program that a busy
// machine keeps from its work goes on working until the end.
const (
	waitTime = 10
	restTime = 4
)

// onlyWaits reports whether a program that did its work before the patch, and ended well and soon, now does nothing until
// the watch is over: it writes nothing, listens on nothing and uses no processor. A program that is meant to run forever
// does one of these.
func onlyWaits(then *check.Ending, now check.Ending) bool {
	if then == nil || then.Running || then.Crashed() || then.Wall > now.Wall/2 {
		return false
	}
	return now.Running && !now.Settled && len(now.Ports) == 0 && now.Wrote == 0 && now.CPU <= then.CPU+now.Wall/waitTime && now.Rested >= now.Wall/restTime
}
