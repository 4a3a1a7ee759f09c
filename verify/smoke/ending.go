package smoke

import (
	"slices"
	"strings"

	"agent/sandbox/guest"
	"agent/sandbox/workspace/lazyregexp"
	"agent/verify/check"
	"agent/verify/crash"
)

// readEnding reads exit status and crash reports of a program.
func readEnding(res guest.Result) check.Ending {
	e := check.Ending{
		Exit: res.Exit, Signal: res.Signal, Running: res.TimedOut || res.Settled, Settled: res.Settled, Ports: res.Ports,
		Wall: res.Wall, CPU: res.CPU + res.Waited, Wrote: written(res.Stdout) + written(res.Stderr), Rested: res.Rested,
	}
	e.Busy = res.TimedOut && res.Wall > 0 && e.CPU > res.Wall/2
	// A running program is ended by the watch, not by itself.
	if e.Running {
		e.Exit, e.Signal = 0, "" // how it took the order to end is not judged
	}
	text := check.Clean(check.Bytes(res.Stderr))
	e.Usage = (e.Exit == exitUsage || e.Exit == exitBSDUsage) && usageText.MatchString(text+"\n"+check.Clean(check.Bytes(res.Stdout)))
	lines := strings.Split(text, "\n")
	reports := crash.Find(text)
	own := crash.LastOwn(reports)
	for i, report := range reports {
		e.Told = report.Finding
		// What a program caught it may tell as it likes: only the end of one that
		// did not end well is a crash, and what the runtime says of its parts. Of a
		// chain of exceptions that is the last: nobody caught that one.
		if !report.Part && (i != own || !e.Crashed() || !report.Ends(lines)) {
			continue
		}
		text := volatile.ReplaceAllString(report.Message, "N")
		if !slices.Contains(e.Crashes, text) {
			e.Crashes = append(e.Crashes, text)
		}
		if report.File != "" || e.Where.File == "" {
			e.Where = report.Finding
		}
	}
	return e
}

// The statuses of a wrong command line: that of most programs, and that of BSD's
// sysexits.h.
const (
	exitUsage    = 2
	exitBSDUsage = 64
)

// usageText is how the right one is shown.
var usageText = lazyregexp.New(`(?im)^\s*usage\b`)

// written counts all the bytes of a stream.
func written(o guest.Output) int64 { return int64(len(o.Head)+len(o.Tail)) + o.Dropped }

// volatile is what differs between two runs of the same crash: addresses,
// times, ports, process numbers.
var volatile = lazyregexp.New(`0x[0-9a-fA-F]+|\d+`)
