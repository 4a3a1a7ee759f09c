package pull

import (
	"bufio"
	"errors"
	"io"
	"strings"

	"agent/sandbox/workspace/lazyregexp"
)

// The bounds on what is kept of a log.
const (
	maxLogLine  = 400       // bytes of one line
	lastLines   = 60        // kept from its end
	tellingMost = 60        // lines about trouble, from its beginning
	before      = 3         // lines before each of these
	maxLog      = 512 << 20 // bytes read
)

var (
	// stamped matches the time before each line, as GitHub and Gitea write it.
	stamped = lazyregexp.New(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z `)
	// colour matches the control sequences of a terminal.
	colour = lazyregexp.New("\x1b\\[[0-9;?]*[A-Za-z]")
	// telling matches words that report trouble, in the output of any tool.
	telling = lazyregexp.New(`(?i)(?:\b|m)(error|errors|fail|fails|failed|failure|assert\w*|panic|exception|traceback|fatal|expected|undefined|not found|denied|segfault|killed)\b|^E\s|✗|✘|×`)
)

// CutLog keeps the parts of a job's log that say why the job failed: lines about trouble with the lines before them,
// and the end of the log. It reads the log once, in bounded memory, however long it is.
func CutLog(log io.Reader) (string, error) {
	r := bufio.NewReaderSize(io.LimitReader(log, maxLog), 64<<10)
	var told []numbered
	var recent []string
	n, last := 0, 0 // lines read; the number of the last line in told
	for {
		text, err := logLine(r)
		if err != nil && !errors.Is(err, io.EOF) {
			return "", err
		}
		if text != "" || err == nil {
			n++
			if recent = append(recent, text); len(recent) > lastLines {
				recent = recent[1:]
			}
			if len(told) < tellingMost && telling.MatchString(text) {
				from := max(last, n-1-before, n-len(recent))
				for i, text := range recent[len(recent)-(n-from):] {
					told = append(told, numbered{from + i + 1, text})
				}
				last = n
			}
		}
		if err != nil {
			break
		}
	}
	kept := append(behind(told, n-len(recent)), recent...)
	for i := range kept {
		kept[i] = plainLog(kept[i])
	}
	return strings.TrimSpace(strings.Join(kept, "\n")), nil
}

// A numbered is a line of a log with its number; the first is 1.
type numbered struct {
	n    int
	text string
}

// behind returns the lines of told among the first begun lines, before the end of the log, with a mark where lines are
// left out.
func behind(told []numbered, begun int) (kept []string) {
	at := 0
	for _, l := range told {
		if l.n > begun {
			break
		}
		if at > 0 && l.n > at+1 {
			kept = append(kept, "…")
		}
		kept, at = append(kept, l.text), l.n
	}
	if at > 0 && at < begun {
		kept = append(kept, "…")
	}
	return kept
}

// logLine reads a line and keeps its beginning.
func logLine(r *bufio.Reader) (string, error) {
	var kept []byte
	for {
		part, err := r.ReadSlice('\n')
		if room := maxLogLine - len(kept); room > 0 {
			kept = append(kept, part[:min(len(part), room)]...)
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		return strings.TrimRight(string(kept), "\r\n"), err
	}
}

// plainLog returns a line of a log without its time and without what controls a terminal.
func plainLog(text string) string {
	text = colour.ReplaceAllString(stamped.ReplaceAllString(text, ""), "")
	text = strings.Map(func(c rune) rune {
		if c == '\t' {
			return c
		}
		return printable(c)
	}, strings.ToValidUTF8(text, "?"))
	return strings.TrimRight(text, " \t")
}
