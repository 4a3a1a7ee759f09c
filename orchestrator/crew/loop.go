package crew

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/pelletier/go-toml/v2"
	"go.yaml.in/yaml/v3"

	"agent/sandbox/workspace"
)

// A Loop is what a task file says in addition to its goal. A plan with a Loop runs loop after loop: each of its tasks
// is one loop, and the next is made from what a review of the one before found missing.
type Loop struct {
	// File is the path of the task file in the workspace, or an absolute path if it is elsewhere. Its text is read
	// once: SHA256 is the digest of the text that counts.
	File   string `toml:"-" yaml:"-" json:"file"`
	SHA256 string `toml:"-" yaml:"-" json:"sha256"`
	// Files are the files that the goal is about; none if the model should look for them.
	Files  []string   `toml:"files" yaml:"files" json:"files,omitempty"`
	Limits LoopLimits `toml:"limits" yaml:"limits" json:"limits"`
	Tools  LoopTools  `toml:"tools" yaml:"tools" json:"tools"`
	Accept Acceptance `toml:"accept" yaml:"accept" json:"accept"`
}

// LoopTools lists the tools that models may call.
type LoopTools struct {
	// Use lists tools from those of the role; none means all of them.
	Use []string `toml:"use" yaml:"use" json:"use,omitempty"`
}

// LoopLimits are the caps of a task file. They can lower the caps that apply anyway, but raise none.
type LoopLimits struct {
	Loops int `toml:"loops" yaml:"loops" json:"loops"`
	Talk  `yaml:",inline"`
	// What all loops together may spend; 0 or "" means the settings decide.
	Requests int     `toml:"requests" yaml:"requests" json:"requests,omitempty"`
	Tokens   int64   `toml:"tokens" yaml:"tokens" json:"tokens,omitempty"`
	Cost     float64 `toml:"cost" yaml:"cost" json:"cost,omitempty"`
	Time     string  `toml:"time" yaml:"time" json:"time,omitempty"`
}

// Talk holds the caps of one conversation with tools; 0 means the ones that apply otherwise.
type Talk struct {
	Iterations int `toml:"iterations" yaml:"iterations" json:"iterations,omitempty"`                            // questions
	Calls      int `toml:"calls" yaml:"calls" json:"calls,omitempty"`                                           // of tools
	AtOnce     int `toml:"calls_per_iteration" yaml:"calls_per_iteration" json:"calls_per_iteration,omitempty"` // of them in one answer
	Identical  int `toml:"identical" yaml:"identical" json:"identical,omitempty"`                               // in a row
	Errors     int `toml:"failed_iterations" yaml:"failed_iterations" json:"failed_iterations,omitempty"`       // in a row, in which every call failed
	Output     int `toml:"output" yaml:"output" json:"output,omitempty"`                                        // bytes of answers
}

// The bounds of a task file, and its defaults.
const (
	MaxTaskFile                                       = 64 << 10 // bytes
	MaxLoops                                          = 20
	defaultLoops, defaultIterations, defaultLoopCalls = 5, 30, 120
	defaultAtOnce, defaultIdentical, defaultErrors    = 10, 3, 3
)

// MaxTalk holds the caps of a conversation that no file can raise.
var MaxTalk = Talk{Iterations: 40, Calls: 200, AtOnce: 50, Identical: 3, Errors: 3, Output: 500_000}

// ReadTask reads a task file: Markdown, which is the goal, below a head in TOML between lines of +++ or in YAML between
// lines of ---. The error says what is wrong with it.
func ReadTask(file string, text []byte) (goal string, l Loop, err error) {
	sum := sha256.Sum256(text)
	l = Loop{File: file, SHA256: hex.EncodeToString(sum[:])}
	if len(text) > MaxTaskFile {
		return "", l, fmt.Errorf("it has %d bytes, more than %d", len(text), MaxTaskFile)
	}
	mark, rest, _ := strings.Cut(strings.ReplaceAll(strings.TrimPrefix(string(text), "\ufeff"), "\r\n", "\n"), "\n")
	mark = strings.TrimSpace(mark)
	head, body, closed := strings.Cut("\n"+rest, "\n"+mark+"\n")
	if mark != "+++" && mark != "---" || !closed {
		return "", l, errors.New("it has no head: begin with a line of +++, TOML with [accept], and another line of +++; the goal follows")
	}
	if mark == "+++" {
		d := toml.NewDecoder(strings.NewReader(head)).DisallowUnknownFields()
		err = d.Decode(&l)
		if strict, ok := errors.AsType[*toml.StrictMissingError](err); ok {
			err = fmt.Errorf("unknown field:\n%s", strict.String())
		}
	} else {
		d := yaml.NewDecoder(bytes.NewReader([]byte(head)))
		d.KnownFields(true)
		err = d.Decode(&l)
	}
	if err != nil {
		return "", l, fmt.Errorf("its head: %w", err)
	}
	l.Files, l.Accept.Tests, l.Accept.Text = paths(l.Files), paths(l.Accept.Tests), strings.TrimSpace(l.Accept.Text)
	l.Limits.defaults()
	goal = strings.TrimSpace(body)
	return goal, l, l.check(goal)
}

// defaults fills in the missing values.
func (l *LoopLimits) defaults() {
	for _, d := range []struct {
		n  *int
		is int
	}{
		{&l.Loops, defaultLoops},
		{&l.Iterations, defaultIterations},
		{&l.Calls, defaultLoopCalls},
		{&l.AtOnce, defaultAtOnce},
		{&l.Identical, defaultIdentical},
		{&l.Errors, defaultErrors},
		{&l.Output, MaxTalk.Output},
	} {
		if *d.n == 0 {
			*d.n = d.is
		}
	}
}

// check reports a cap that is negative or above its maximum. in is the table of the file that contains it.
func (t Talk) check(in string) error {
	for _, c := range []struct {
		name    string
		n, most int
	}{
		{"iterations", t.Iterations, MaxTalk.Iterations},
		{"calls", t.Calls, MaxTalk.Calls},
		{"calls_per_iteration", t.AtOnce, MaxTalk.AtOnce},
		{"identical", t.Identical, MaxTalk.Identical},
		{"failed_iterations", t.Errors, MaxTalk.Errors},
		{"output", t.Output, MaxTalk.Output},
	} {
		if c.n < 0 || c.n > c.most {
			return fmt.Errorf("%s.%s is %d: give a number from 1 to %d", in, c.name, c.n, c.most)
		}
	}
	return nil
}

// check reports what in a task file is invalid.
func (l Loop) check(goal string) error {
	if n := l.Limits.Loops; n < 1 || n > MaxLoops {
		return fmt.Errorf("limits.loops is %d: give a number from 1 to %d", n, MaxLoops)
	}
	if err := l.Limits.Talk.check("limits"); err != nil {
		return err
	}
	if l.Limits.Requests < 0 || l.Limits.Tokens < 0 || l.Limits.Cost < 0 {
		return errors.New("a limit is below 0")
	}
	if d, err := time.ParseDuration(l.Limits.Time); l.Limits.Time != "" && (err != nil || d <= 0) {
		return fmt.Errorf("limits.time is %q: give a time such as 2h", l.Limits.Time)
	}
	a := l.Accept
	switch {
	case goal == "":
		return errors.New("there is no goal after the head")
	case len(goal) > 16<<10:
		return fmt.Errorf("the goal has %d bytes, more than %d", len(goal), 16<<10)
	case len(a.Command) == 0 && len(a.Tests) == 0 && a.Text == "":
		return errors.New("nothing says when it is done: give [accept] a command, tests, or a text that tells a reviewer what to look for")
	case len(a.Command) > maxArgs || slices.ContainsFunc(a.Command, func(s string) bool { return len(s) > maxAccept || strings.ContainsRune(s, 0) }):
		return errors.New("accept.command is too long")
	case len(a.Command) > 0 && strings.TrimSpace(a.Command[0]) == "":
		return errors.New("accept.command names no program")
	case len(a.Text) > maxAccept:
		return fmt.Errorf("accept.text has %d bytes, more than %d", len(a.Text), maxAccept)
	case len(l.Files) > maxFiles || len(a.Tests) > maxFiles:
		return fmt.Errorf("it names more than %d files", maxFiles)
	}
	for _, f := range slices.Concat(l.Files, a.Tests) {
		if err := workspace.CheckPath(f); err != nil {
			return err
		}
	}
	return nil
}

// Role returns the role as the loop uses it: with the loop's tools and caps, and one try.
func (l Loop) Role(r Role) Role {
	if len(l.Tools.Use) > 0 {
		r.Tools = slices.DeleteFunc(slices.Clone(r.Tools), func(t string) bool { return !slices.Contains(l.Tools.Use, t) && t != "finish" })
	}
	r.Talk, r.Limits.Tries = l.Limits.Talk, 1
	return r
}

// The ways in which loops end.
const (
	EndAccepted   = "accepted"    // the acceptance is met, and a review accepted the whole
	EndLoops      = "loops"       // the maximum number of loops is reached without acceptance
	EndNoProgress = "no progress" // two loops in a row changed nothing
)
