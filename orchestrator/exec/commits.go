package exec

import (
	"context"
	"strings"
	"time"
	"unicode"

	"agent/sandbox/guest"
	"agent/sandbox/workbench"
	"agent/sandbox/workspace"
)

const (
	// Bounds on the commits that are taken from a workbench: how many, and how many bytes of each.
	maxCommits = 20
	maxMessage = 4 << 10
	// The largest workspace that becomes a repository, in entries and in bytes: its objects take space next to it, and time.
	maxVersioned      = 20_000
	maxVersionedBytes = 128 << 20
)

// The scripts run in the box, where nothing that they find can do harm. They are the only git that ever sees what a command left in
// .git.
const (
	beginScript = `cd /work && { [ -e .git ] || git init -q; } && git config user.name agent && git config user.email agent@localhost &&
git add -A && git commit -q --no-verify --allow-empty -m 'The workspace as it is' && git update-ref refs/agent/base HEAD`
	commitsScript = `cd /work && git --no-pager log -z --reverse --max-count=20 --format=%B refs/agent/base..HEAD`
)

// inBox runs a script in a box in which no command is running, and returns what it printed. Failures are the box's own affair: the
// files count, whatever git says.
func inBox(ctx context.Context, box Box, script string) string {
	r, err := box.RunAt(ctx, guest.Command{
		Args: []string{"/bin/sh", "-c", script}, Timeout: time.Minute, MaxOutput: 2 * maxCommits * maxMessage,
	}, workbench.Console{})
	if err != nil || r.Exit != 0 {
		return ""
	}
	return string(r.Stdout.Head)
}

// begin commits the files of a box, as the base for the commits of a command, unless base is too large for that.
func begin(ctx context.Context, box Box, base *workspace.Manifest) {
	var size int64
	for _, e := range base.Entries {
		size += e.Size
	}
	if len(base.Entries) <= maxVersioned && size <= maxVersionedBytes {
		inBox(ctx, box, beginScript)
	}
}

// commits returns the messages of the commits that a command made, oldest first. They are strangers' text: control characters, and
// lines that look like trailers of the gate, are removed.
func commits(ctx context.Context, box Box) (list []string) {
	for text := range strings.SplitSeq(inBox(ctx, box, commitsScript), "\x00") {
		if text = said(text); text != "" && len(list) < maxCommits {
			list = append(list, text)
		}
	}
	return list
}

// said returns one message in the form in which it may be shown and committed.
func said(text string) string {
	var kept []string
	for line := range strings.Lines(strings.ToValidUTF8(text[:min(len(text), maxMessage)], "")) {
		line = strings.TrimRightFunc(strings.Map(func(r rune) rune {
			if unicode.IsControl(r) && r != '\t' || unicode.Is(unicode.Bidi_Control, r) {
				return -1
			}
			return r
		}, line), unicode.IsSpace)
		if !strings.HasPrefix(strings.ToLower(strings.TrimSpace(line)), "agent-") {
			kept = append(kept, line)
		}
	}
	return strings.TrimSpace(strings.Join(kept, "\n"))
}
