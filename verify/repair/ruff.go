package repair

import (
	"context"
	"strings"

	"agent/sandbox/guest"
	"agent/verify/check"
	"agent/verify/python"
)

// ruff repairs what ruff finds.
var ruff = check.Fixer{Check: python.RuffName, Group: check.GroupStatic, Fix: ruffFix}

// ruffFix has ruff repair one text with its safe fixes alone.
func ruffFix(ctx context.Context, b check.Bench, name string, text []byte, rules []string) ([]byte, check.Outcome) {
	res, out, done := b.Command(ctx, guest.Command{
		Args: []string{
			b.Tools.Ruff, "check", "--fix-only", "--no-unsafe-fixes", "--no-cache", "--no-respect-gitignore", "--force-exclude",
			"--select", strings.Join(rules, ","), "--stdin-filename", name, "-",
		},
		Dir: check.Work, Stdin: text, MaxOutput: check.MaxToolOutput,
	})
	if !done || res.Exit != 0 || res.Stdout.Dropped > 0 {
		return nil, out
	}
	return res.Stdout.Head, out
}
