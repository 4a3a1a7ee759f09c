// Package format formats the files of a patch that were formatted before it, and decides by the style of the workspace
// whether to format new ones. Other files keep their style.
package format

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"

	"agent/sandbox/workspace"
	"agent/verify/check"
	"agent/verify/compare"
	"agent/verify/golang"
	"agent/verify/python"
)

// formatters lists the formatters. Files in other languages keep their style.
func formatters() []check.Formatter {
	return []check.Formatter{python.RuffFormat, golang.Gofmt}
}

// formatterOf returns the formatter for the file at p.
func formatterOf(p string) (f check.Formatter, ok bool) {
	list := formatters()
	i := slices.IndexFunc(list, func(f check.Formatter) bool { return f.Owns(p) })
	if i < 0 {
		return check.Formatter{}, false
	}
	return list[i], true
}

// Applies returns the reason why there is nothing to format, or "".
func Applies(cs workspace.Changeset) string {
	if slices.ContainsFunc(cs.Changes, formattable) {
		return ""
	}
	return "the patch touches no Python or Go file"
}

// formattable reports whether c leaves a file that has a formatter.
func formattable(c workspace.Change) bool {
	_, ok := formatterOf(c.Path)
	return ok && c.Op != workspace.Delete
}

// Run formats the touched files that were formatted before the patch, in a box that still holds the base. It formats a
// new file if the workspace has formatted files of its language or none at all. A file whose old text the formatter
// would have changed keeps its style, so that the diff shows only the patch. Run returns the changeset with the
// formatted bytes.
//
// Each text goes through standard input: the formatter never sees the patch in the tree, so the configuration of the
// base applies.
func Run(ctx context.Context, b check.Bench, cs workspace.Changeset) (workspace.Changeset, check.Outcome) {
	final := workspace.Changeset{}
	var sum check.Outcome
	files, changed := 0, 0
	styles := map[string]int{} // of new files by formatter, once determined
	for _, c := range cs.Changes {
		if !formattable(c) {
			final.Changes = append(final.Changes, c)
			continue
		}
		files++
		// A renamed file keeps the style that it had under its old name.
		var wanted bool
		var out check.Outcome
		if c.Op == workspace.Create {
			f, _ := formatterOf(c.Path)
			style, asked := styles[f.Name]
			if !asked {
				style, out = f.Style(ctx, b)
				styles[f.Name] = style
			}
			wanted = style == 1
		} else {
			var before []byte
			before, out = one(ctx, b, check.OldPath(c), c.Before)
			// The old text is a fixed point of the formatter under the configuration at its old path: the file is kept
			// formatted.
			wanted = before != nil && bytes.Equal(before, c.Before)
		}
		after := c.After
		if wanted && out.Verdict == "" {
			after, out = one(ctx, b, c.Path, c.After)
		}
		sum = check.AddCost(sum, out)
		if sum.Verdict != "" {
			return cs, sum // partly formatted would be neither the patch nor its formatted form
		}
		if after != nil && !bytes.Equal(after, c.After) {
			c.After = after
			changed++
		}
		// A patch that only undid the formatting is no longer a change.
		if c.Op != workspace.Modify || !bytes.Equal(c.After, c.Before) || modeChanged(b, c) {
			final.Changes = append(final.Changes, c)
		}
	}
	sum.Detail = fmt.Sprintf("formatted %d of %d touched files; the others needed none or keep their own style", changed, files)
	return final, sum
}

// modeChanged reports whether c changes the mode of a file of the base.
func modeChanged(b check.Bench, c workspace.Change) bool {
	// An unknown mode counts as changed: keeping a change is the safe choice.
	e, ok := b.View.Base.Lookup(check.OldPath(c))
	return !ok || e.Mode.Perm() != c.Mode.Perm()
}

// one runs a file's formatter once. It returns the formatted data, or nil if the formatter rejects it.
func one(ctx context.Context, b check.Bench, name string, data []byte) ([]byte, check.Outcome) {
	f, ok := formatterOf(name)
	if !ok {
		return nil, check.Outcome{} // an old path with another extension
	}
	if data == nil {
		data = []byte{} // nil would mean /dev/null, which is just as empty
	}
	res, out, done := b.Command(ctx, f.Command(b.Tools, name, data))
	switch {
	case !done, f.Refuses(res):
		return nil, out
	case res.Exit == 0 && res.Stdout.Dropped == 0:
		return append([]byte{}, res.Stdout.Head...), out
	}
	out.Verdict = check.Infra
	out.Detail = fmt.Sprintf("%s %s: exit status %d: %s", f.Name, name, res.Exit, check.FirstLine(check.Clean(check.Bytes(res.Stderr))))
	return nil, out
}

// Name is the name of the check.
const Name = "ruff format"

// Check is the row of the formatters in the table of checks. It has no Run field: see the function Run.
var Check = check.Check{
	Name: Name, Gate: check.GateFormat, Group: check.GroupStatic, Judge: compare.JudgeFindings, Tools: []string{"ruff", "go"}, Prove: prove,
}

// prove checks that a file of each language is formatted, keeping its line endings if the formatter does, and that a
// formatted file is left alone.
func prove(ctx context.Context, b check.Bench) error {
	for _, c := range []struct{ name, text, want string }{
		{"planted.py", "x   =  [ 1,2 ]\r\n", "x = [1, 2]\r\n"},
		{"planted.py", "x = 1\n", "x = 1\n"},
		{"planted.go", "package  planted\nvar x  = []int{1,2}\n", "package planted\n\nvar x = []int{1, 2}\n"},
		{"planted.go", golang.Planted, golang.Planted},
	} {
		// Each formatter receives one text at a time, as in the gate itself.
		got, out := one(ctx, b, c.name, []byte(c.text))
		if out.Verdict != "" {
			return errors.New(out.Detail)
		}
		if string(got) != c.want {
			return fmt.Errorf("formatting %s turns %q into %q", c.name, c.text, got)
		}
	}
	return nil
}
