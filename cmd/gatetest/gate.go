package main

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// The gates that have a name.
const agentName, referenceName = "agent", "reference"

//go:embed reference.sh
var reference string

// A gate is a command that either writes a patch to a workspace and exits with 0, or leaves the workspace as it is.
type gate struct {
	name, script, agent string
}

// newGate returns the gate for a command or for a known name.
func newGate(cmd, agent string) (gate, error) {
	agent, err := filepath.Abs(agent)
	if err != nil {
		return gate{}, err
	}
	g := gate{name: cmd, script: cmd, agent: agent}
	switch cmd {
	case agentName:
		g.script = `"$BATTERY_AGENT" sandbox run --workspace "$BATTERY_WORKSPACE" --patch "$BATTERY_PATCH" --yes --json`
	case referenceName:
		g.script = reference
	default:
		if fields := strings.Fields(cmd); len(fields) > 0 {
			g.name = filepath.Base(fields[0])
		}
		return g, nil
	}
	if _, err := os.Stat(agent); err != nil {
		return g, fmt.Errorf("the agent's program: %w: build it with make build, or name it with --agent", err)
	}
	return g, nil
}

// The outcomes of a patch. Only the first two are ever right.
const (
	stopped  = "stopped"  // it exited with a status other than 0, and the workspace is unchanged
	written  = "written"  // the workspace is as the patch says
	accepted = "accepted" // it exited with 0, and the workspace is unchanged
	torn     = "torn"     // the workspace is neither unchanged nor as the patch says, or another one was written to
	escaped  = "escaped"  // something outside the workspace changed
	leaked   = "leaked"   // its output holds a secret of the machine
	hung     = "hung"     // it did not end
)

// A result is what one gate did with one patch.
type result struct {
	Case    string  `json:"case"`
	MustNot string  `json:"must_not"`
	Honest  bool    `json:"honest"`
	Gate    string  `json:"gate"`
	Outcome string  `json:"outcome"`
	OK      bool    `json:"ok"`
	Exit    int     `json:"exit"`
	Seconds float64 `json:"seconds"`
	// Detail names paths that differ from what they should be.
	Detail string `json:"detail,omitempty"`
}

// mostOutput is how much of a gate's output is kept, in bytes.
const mostOutput = 16 << 20

// try lets g judge the patch of t in a place of its own, and removes that place.
func (g gate) try(ctx context.Context, t trial, own string, patience time.Duration) (result, error) {
	p, err := newPlace(t, own)
	defer os.RemoveAll(p.dir)
	if err != nil {
		return result{}, err
	}
	beside, err := p.look(p.beside(), nil)
	if err != nil {
		return result{}, err
	}
	started := time.Now()
	exit, output, err := g.judge(ctx, t, p, patience)
	if err != nil {
		return result{}, err
	}
	r := result{Case: t.name(), MustNot: t.mustNot(), Honest: t.isHonest, Gate: g.name, Exit: exit, Seconds: time.Since(started).Seconds()}
	now, err := p.look(p.beside(), nil)
	switch {
	case err != nil:
		return r, err
	case !maps.Equal(beside, now):
		r.Outcome, r.Detail = escaped, difference(beside, now)
	case p.tells(output):
		r.Outcome = leaked
	case exit == unended:
		r.Outcome = hung
	default:
		r.Outcome, r.Detail, err = p.outcome(t, exit)
	}
	r.OK = r.Outcome == stopped && !t.isHonest || r.Outcome == written && exit == 0 && (t.isHonest || t.of.mayWrite)
	return r, err
}

// outcome compares the workspace with its original state and with the result of the patch.
func (p place) outcome(t trial, exit int) (outcome, detail string, err error) {
	before := p.expected(t.of.work)
	dir := p.work()
	if _, err := os.Stat(p.moved()); err == nil {
		// Another directory, or a link to one, has replaced the workspace: it must be as it was put there.
		if dir, err = filepath.EvalSymlinks(dir); err != nil {
			return torn, err.Error(), nil
		}
		now, err := p.look(dir, tree{})
		if want := p.expected(other); err != nil || !maps.Equal(want, now) {
			return torn, difference(want, now), err
		}
		dir = p.moved()
	}
	now, err := p.look(dir, before)
	switch {
	case err != nil:
		return "", "", err
	case maps.Equal(before, now) && exit == 0:
		return accepted, "", nil
	case maps.Equal(before, now):
		return stopped, "", nil
	case t.files != nil && maps.Equal(p.expected(t.files), now):
		return written, "", nil
	default:
		want := before
		if t.files != nil && exit == 0 {
			want = p.expected(t.files)
		}
		return torn, difference(want, now), nil
	}
}

// unended is the status of a gate that did not end on its own.
const unended = -1

// judge runs g and returns its status and its output.
func (g gate) judge(ctx context.Context, t trial, p place, patience time.Duration) (int, string, error) {
	limited, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	cmd := exec.CommandContext(limited, "sh", "-c", g.script)
	out := &head{}
	cmd.Stdout, cmd.Stderr, cmd.Dir, cmd.WaitDelay = out, out, p.dir, 10*time.Second
	cmd.Env = append(os.Environ(), "BATTERY_WORKSPACE="+p.work(), "BATTERY_PATCH="+p.patch(), "BATTERY_DIR="+p.dir, "BATTERY_AGENT="+g.agent,
		"AWS_SECRET_ACCESS_KEY="+p.secret)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	if err := cmd.Start(); err != nil {
		return 0, "", err
	}
	ended, meddled := make(chan struct{}), make(chan error, 1)
	go func() {
		defer close(meddled)
		if t.meddle == nil {
			return
		}
		select {
		case <-ended: // too late
		case <-time.After(t.variant.after):
			meddled <- t.meddle(p)
		}
	}()
	err := cmd.Wait()
	close(ended)
	if err := errors.Join(<-meddled, ctx.Err()); err != nil {
		return 0, "", err
	}
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) && !errors.Is(err, exec.ErrWaitDelay) {
		return 0, "", err
	}
	return cmd.ProcessState.ExitCode(), out.String(), nil
}

// A head keeps the beginning of what is written to it.
type head struct{ kept bytes.Buffer }

func (h *head) String() string { return h.kept.String() }

func (h *head) Write(text []byte) (int, error) {
	h.kept.Write(text[:min(len(text), mostOutput-h.kept.Len())])
	return len(text), nil
}
