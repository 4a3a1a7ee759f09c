package verify

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"agent/sandbox/guest"
)

// The rules of the smoke gate besides the names of exceptions.
const (
	ruleExit    = "exit"         // it did not end as before
	ruleEndless = "endless"      // it ended before; now it runs busily
	ruleWait    = "smoke-wait"   // it ended before; now it only waits
	ruleListen  = "smoke-listen" // it listened before, and does not now
	ruleEnded   = "smoke-ended"  // it listened as long as it was watched, and ends now
	ruleAnswer  = "smoke-answer" // a port answers with trouble, or not any more
	ruleReady   = "smoke-ready"  // it does not become ready in the way that is configured
)

// Check reports what is wrong with how the smoke test is configured.
func (s Smoke) Check() error {
	_, err := s.watch()
	return err
}

// watch translates Ready for the guest.
func (s Smoke) watch() (guest.Watch, error) {
	rest, port := strings.CutPrefix(s.Ready, "port:")
	switch {
	// What has the form of one of these and is none is a mistake, not a text.
	case port:
		number, path, _ := strings.Cut(rest, "/")
		n, err := strconv.ParseUint(number, 10, 16)
		if path = "/" + path; err != nil || n == 0 || !guest.ValidPath(path) {
			return guest.Watch{}, fmt.Errorf("ready %q: give port:NUMBER/PATH, as port:8080/health", shorten(s.Ready))
		}
		return guest.Watch{Port: int(n), Path: path}, nil
	case strings.HasPrefix(s.Ready, "/"):
		if !guest.ValidPath(s.Ready) {
			return guest.Watch{}, fmt.Errorf("ready %q: a path holds no spaces and no other letters than those of ASCII", shorten(s.Ready))
		}
		return guest.Watch{Path: s.Ready}, nil
	case strings.HasPrefix(s.Ready, "http://"), strings.HasPrefix(s.Ready, "https://"):
		return guest.Watch{}, fmt.Errorf("ready %q: give the path alone, as /health, or port:8080/health", shorten(s.Ready))
	case len(s.Ready) > maxMessage || strings.ContainsAny(s.Ready, "\n\r"):
		return guest.Watch{}, fmt.Errorf("ready %.40q: give a piece of one line, of %d bytes at most", s.Ready, maxMessage)
	}
	return guest.Watch{Text: s.Ready}, nil
}

// served tells people of the ports, "" when there are none.
func served(ports []guest.Port) string {
	var parts []string
	for _, p := range ports {
		text := fmt.Sprintf("listens on port %d", p.Port)
		if p.Status != 0 {
			text = fmt.Sprintf("port %d answers %d", p.Port, p.Status)
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, ", ")
}

// serverTrouble compares what a program offered to others, and returns what the
// patch broke of it. then is nil for a program that the patch brings. That a port
// has another number, or that there are fewer of them, is no trouble: only that
// there is none any more.
func serverTrouble(then *ending, now ending) (Finding, bool) {
	if then == nil {
		then = &ending{Settled: now.Asked} // it has to become ready
	}
	was := served(then.Ports)
	// A crash has been told of by now: what ends here ended well, or as before.
	switch {
	case then.Running && was != "" && !now.Running:
		return Finding{Rule: ruleEnded, Message: fmt.Sprintf("before the patch it kept running (%s); now it ends by itself: %s", was, now)}, true
	case then.Running && was != "" && len(now.Ports) == 0:
		return Finding{Rule: ruleListen, Message: fmt.Sprintf("it does not listen any more; before the patch: %s", was)}, true
	case !now.Running:
		return Finding{}, false
	}
	for _, p := range now.Ports {
		before := counterpart(then.Ports, p, len(now.Ports))
		var message string
		switch {
		// What the client is to blame for is an answer like any other: few servers
		// have something to say at "/".
		case p.Status >= 500 && before.Status < 500:
			message = fmt.Sprintf("port %d answers %d", p.Port, p.Status)
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
		return Finding{Rule: ruleReady, Message: "it did not become ready in the way that [smoke] ready asks for"}, true
	}
	return Finding{}, false
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
func onlyWaits(then *ending, now ending) bool {
	if then == nil || then.Running || then.crashed() || then.Wall > now.Wall/2 {
		return false
	}
	return now.Running && !now.Settled && len(now.Ports) == 0 && now.Wrote == 0 && now.CPU <= then.CPU+now.Wall/waitTime && now.Rested >= now.Wall/restTime
}
