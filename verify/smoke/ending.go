package smoke

import (
	"slices"
	"strings"

	"agent/sandbox/guest"
	"agent/sandbox/workspace/lazyregexp"
	"agent/verify/check"
	"agent/verify/crash"
)

// readEnding reads the exit status and the crash reports of a program.
func readEnding(res guest.Result) check.Ending {
	e := check.Ending{
		Exit: res.Exit, Signal: res.Signal, Running: res.TimedOut || res.Settled, Settled: res.Settled, Ports: res.Ports,
		Wall: res.Wall, CPU: res.CPU + res.Waited, Wrote: written(res.Stdout) + written(res.Stderr), Rested: res.Rested,
	}
	e.Busy = res.TimedOut && res.Wall > 0 && e.CPU > res.Wall/2
	// The watch ends a running program; it does not end by itself.
	if e.Running {
		e.Exit, e.Signal = 0, "" // how it obeyed the order to end is not judged
	}
	text := check.Clean(check.Bytes(res.Stderr))
	e.Usage = (e.Exit == exitUsage || e.Exit == exitBSDUsage) && usageText.MatchString(text+"\n"+check.Clean(check.Bytes(res.Stdout)))
	lines := strings.Split(text, "\n")
	reports := crash.Find(text)
	own := crash.LastOwn(reports)
	for i, report := range reports {
		e.Told = report.Finding
		// A program may report what it caught as it likes. A crash is only the end of a program that did not end well, and
		// what the runtime says of its parts. In a chain of exceptions it is the last one, which nothing caught.
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

// The statuses of a wrong command line: that of most programs, and that of BSD's sysexits.h.
const (
	exitUsage    = 2
	exitBSDUsage = 64
)

// usageText matches how a program shows the right command line.
var usageText = lazyregexp.New(`(?im)^\s*usage\b`)

// written returns the number of all bytes of a stream.
func written(o guest.Output) int64 { return int64(len(o.Head)+len(o.Tail)) + o.Dropped }

// volatile matches what differs between two runs of the same crash: addresses, times, ports, process numbers.
var volatile = lazyregexp.New(`0x[0-9a-fA-F]+|\d+`)
