// Package owngate makes checks from the gates that a workspace defines in its agent.toml. It owns what such a gate may be,
// when it has anything to do, and how it is compared with itself before the patch. It starts no box; package verify does.
package owngate

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"agent/sandbox/guest"
	"agent/sandbox/workspace"
	"agent/sandbox/workspace/lang"
	"agent/sandbox/workspace/lazyregexp"
	"agent/verify/check"
	"agent/verify/shell"
	"agent/verify/smoke"
)

// When a gate of the workspace runs.
const (
	WhenTouched = "touched" // the patch touches a file of its languages
	WhenAlways  = "always"  // on every patch
)

// A Gate is a gate that the workspace defines: a command that exits with status 0 if all is well. It runs in its own
// box after the patch is applied, and appears in the report under its own name after the built-in gates.
//
// It is compared with itself on the unpatched snapshot by its exit status alone: a command that failed there too says
// nothing about the patch. It needs no proof on planted faults, since only the workspace knows what it must find.
// Like the tests, it may run workspace code. A patch that rewrites what the command starts, a script or a Makefile,
// is held, and is also judged with that file as it was before the patch.
type Gate struct {
	Name string
	// Program and arguments, looked up in the box's PATH without a shell.
	Command []string
	// Languages, such as "python", or extensions, such as ".proto", of the files that it judges. None means all files.
	Languages []string
	// 0 means the timeout of the other gates. A longer timeout is reduced to that.
	Timeout time.Duration
	// WhenTouched or WhenAlways; "" means WhenTouched.
	When string
	// Strict makes a failure count even if the command failed before the patch too, for example because the change is
	// meant to make it succeed.
	Strict bool `json:",omitempty"`
}

// Bounds on what a workspace may define: each gate costs a box, and a second one for its baseline.
const (
	Most       = 16
	minTimeout = time.Second
	maxTimeout = time.Hour
)

// gateName matches the valid names of gates. A name appears in tables, labels of boxes and keys of the cache.
var gateName = lazyregexp.New(`^[a-z][a-z0-9-]{0,39}$`)

// extensions returns the extensions of a language that a gate names, or nil if it is unknown.
func extensions(language string) []string {
	if l := lang.Named(language); l != nil {
		return slices.Concat(l.Extensions, l.Also)
	}
	return nil
}

// languages returns the names of languages that a gate may give, sorted.
func languages() (names []string) {
	for _, l := range lang.All() {
		names = append(names, l.ID)
	}
	slices.Sort(names)
	return names
}

// Check returns an error for gates that cannot be intended. taken reports whether a gate or a check that exists without them has a name.
func Check(list []Gate, taken func(name string) bool) error {
	if len(list) > Most {
		return fmt.Errorf("%d gates, at most %d are allowed", len(list), Most)
	}
	seen := map[string]bool{}
	for _, g := range list {
		if !gateName.MatchString(g.Name) {
			return fmt.Errorf("a gate is named %q: use lower-case letters, digits and hyphens, at most 40, and begin with a letter", g.Name)
		}
		if seen[g.Name] {
			return fmt.Errorf("two gates are named %q", g.Name)
		}
		seen[g.Name] = true
		err := g.check()
		if taken(g.Name) {
			err = errors.New("the agent has a gate or a check with that name")
		}
		if err != nil {
			return fmt.Errorf("gate %q: %w", g.Name, err)
		}
	}
	return nil
}

// check is Check for one gate with a valid name.
func (g Gate) check() error {
	switch {
	case len(g.Command) == 0 || strings.TrimSpace(g.Command[0]) == "":
		return fmt.Errorf("it has no command")
	case g.Timeout != 0 && (g.Timeout < minTimeout || g.Timeout > maxTimeout):
		return fmt.Errorf("its timeout of %s is not between %s and %s", g.Timeout, minTimeout, maxTimeout)
	case !slices.Contains([]string{"", WhenTouched, WhenAlways}, g.When):
		return fmt.Errorf("when is %q, and must be %q or %q", g.When, WhenTouched, WhenAlways)
	}
	for _, l := range g.Languages {
		if lang.Named(l) == nil && !(strings.HasPrefix(l, ".") && len(l) > 1) {
			return fmt.Errorf("unknown language %q: name an extension, such as \".proto\", or one of %s", l, strings.Join(languages(), ", "))
		}
	}
	return nil
}

// Checks returns the checks for the gates that a workspace defines, for one changeset.
func Checks(list []Gate, cs workspace.Changeset) []check.Check {
	var made []check.Check
	for _, g := range list {
		reason := g.idle(cs)
		made = append(made, check.Check{
			Name: g.Name, Gate: g.Name, Group: check.GroupOwn + g.Name, Run: g.run, Judge: g.judge, Variants: g.variants, Alone: g.Strict,
			// The answer is the same for both sides: the base is asked only because of the patch.
			Applies: func(check.View) string { return reason },
		})
	}
	return made
}

// idle returns the reason why the gate has nothing to do for a changeset, or "".
func (g Gate) idle(cs workspace.Changeset) string {
	if g.When == WhenAlways || len(g.Languages) == 0 {
		return ""
	}
	for _, c := range cs.Changes {
		if g.judges(c.Path) || c.Op == workspace.Rename && g.judges(c.From) {
			return ""
		}
	}
	return "the patch touches no file of " + strings.Join(g.Languages, ", ")
}

// judges reports whether a file belongs to the gate's languages.
func (g Gate) judges(p string) bool {
	ext, of := strings.ToLower(path.Ext(p)), lang.Of(p)
	return slices.ContainsFunc(g.Languages, func(l string) bool {
		return of != nil && of.ID == l || ext != "" && (ext == strings.ToLower(l) || slices.Contains(extensions(l), ext))
	})
}

// variants returns the candidate with everything that the gate itself is made of as it was.
func (g Gate) variants(base, _ check.View) []check.Variant {
	own := shell.Started(base, g.Command)
	return []check.Variant{{Back: func(p string) bool { return slices.Contains(own, p) }, Counts: func(string) bool { return false }}}
}

// run runs the command. However the command ends, even by a signal, that is its answer. Only the death of the box and a deadline are not.
func (g Gate) run(ctx context.Context, b check.Bench) check.Outcome {
	timeout := b.Timeout
	if g.Timeout > 0 {
		timeout = min(timeout, g.Timeout)
	}
	// The image's env finds the command in the box's PATH, and exits with 127 if there is none.
	args := append([]string{b.Tools.Env, "--"}, g.Command...)
	res, out, _ := b.Command(ctx, guest.Command{Args: args, Dir: check.Work, Timeout: timeout})
	switch {
	case out.Verdict == check.Timeout:
		out.Detail = fmt.Sprintf("%s did not finish within %s", g.Command[0], timeout)
		return out
	case out.Verdict == check.OOM || res.Killed:
		return out
	case out.Verdict == check.Infra && res.Exit == 0 && res.Signal == "":
		return out // the guest did not run it
	}
	out.Verdict = ""
	out.Ending = &check.Ending{Exit: res.Exit, Signal: res.Signal}
	out.Detail = fmt.Sprintf("%s: %s", g.Command[0], out.Ending)
	return out
}

// judge counts a failure against the patch if the command succeeded without it.
func (g Gate) judge(base, cand check.Outcome, _ check.Diff) check.Gate {
	v := check.GateOf(g.Name, cand)
	failed := base.Verdict != "" || base.Ending != nil && base.Ending.Crashed()
	absent := base.Ending != nil && base.Ending.Exit == smoke.ExitNotFound
	switch {
	// Too late or too large, but not before the patch: an equal result on both sides never gets here.
	case v.Verdict != "" && !failed:
	case v.Verdict == "" && !cand.Ending.Crashed():
		v.Verdict = check.Pass
		if failed {
			v.Fixed = 1
		}
	case absent:
		// There was nothing to compare with, and no patch is to blame for that.
		v.Verdict = check.Infra
		v.Detail += ": the command was not in the box before the patch: correct [[gate]] " + g.Name + " in agent.toml"
	case failed:
		v.Verdict, v.Detail = "", "failed before the patch too: "+base.Detail
	default:
		v.Verdict = check.Fail
		v.Findings = append(v.Findings, check.Finding{Rule: "exit", Message: check.Shorten(check.Join([]string{v.Detail, check.LastLine(v.Output)}, ": "))})
	}
	return v
}
