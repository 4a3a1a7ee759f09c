package node

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"agent/sandbox/guest"
	"agent/sandbox/workspace"
	"agent/verify/check"
)

// mostKept bounds how many files of a patch are put back for a linter's configuration.
const mostKept = 30

// configuredByBase runs a linter of the workspace that is stopped before it runs a file that the patch touched, or reads one
// as its configuration; record is where it names that file. The file is put back, or removed, and the linter runs again. So
// nothing from the patch runs in the linter, whatever names its configuration makes up. configuredByBase returns what is in
// the box afterwards, and which files were put back.
func configuredByBase(ctx context.Context, b check.Bench, cmd guest.Command, record string) (now check.Bench, kept []string, res guest.Result, out check.Outcome, done bool) {
	cmd.Collect = append(cmd.Collect, record)
	env := cmd.Env
	for {
		touched := slices.Concat(slices.Collect(maps.Keys(b.View.Changed)), slices.Collect(maps.Keys(b.View.Gone)))
		// In a proof, the planted files are all there is.
		if len(touched) > 0 && len(b.View.Base.Entries) > 0 {
			list, err := packed(touched)
			if err != nil {
				return b, kept, res, check.Infraf("list what the patch touches: %v", err), false
			}
			cmd.Env = maps.Clone(env)
			cmd.Env["AGENT_TOUCHED"], cmd.Env["AGENT_LOADS"] = list, record
			cmd.Env["NODE_OPTIONS"] = strings.TrimSpace("--require " + b.Tools.ConfigLoads + " " + env["NODE_OPTIONS"])
		}
		var cost check.Outcome
		res, cost, done = b.Command(ctx, cmd)
		p := string(res.Files[record])
		if p == "" || !slices.Contains(touched, p) {
			return b, kept, res, check.AddCost(out, cost), done
		}
		out.Seconds += cost.Seconds
		if kept = append(kept, p); len(kept) > mostKept {
			return b, kept, res, check.Infraf("the configuration of the linter loads more than %d files of the patch", mostKept), false
		}
		var err error
		if b.View, err = putBack(ctx, b, p); err != nil {
			return b, kept, res, check.Infraf("restore %s: %v", check.Shorten(p), err), false
		}
		// Otherwise the next run would find the old record.
		if _, cost, done = b.Command(ctx, guest.Command{Args: []string{b.Tools.Node, "-e", "require('node:fs').unlinkSync(process.argv[1])", "--", record}, Dir: "/"}); !done {
			return b, kept, res, cost, false
		}
	}
}

// packed returns a list of paths in the form that config_loads.cjs takes.
func packed(paths []string) (string, error) {
	slices.Sort(paths)
	list, err := json.Marshal(paths)
	if err != nil {
		return "", fmt.Errorf("write the list: %w", err)
	}
	var data bytes.Buffer
	z := gzip.NewWriter(&data)
	_, _ = z.Write(list) // to memory
	if err := z.Close(); err != nil {
		return "", fmt.Errorf("pack the list: %w", err)
	}
	return base64.StdEncoding.EncodeToString(data.Bytes()), nil
}

// putBack restores a file of the box to what it is in the base, and returns what is in the box then.
func putBack(ctx context.Context, b check.Bench, p string) (check.View, error) {
	one, rest := workspace.Change{Op: workspace.Delete, Path: p}, workspace.Changeset{}
	if c, there := b.View.Changed[p]; there {
		one.Before, one.Mode = c.After, c.Mode
	}
	if e, ok := b.View.Base.Lookup(p); ok && e.Kind == workspace.File {
		text, err := b.View.Base.ReadFile(p)
		if err != nil {
			return b.View, fmt.Errorf("read it: %w", err)
		}
		if one.Op = workspace.Modify; b.View.Gone[p] {
			one.Op = workspace.Create
		} else if one.Mode != e.Mode.Perm() {
			one.OldMode = one.Mode
		}
		one.After, one.Mode = text, e.Mode.Perm()
	}
	for name, c := range b.View.Changed {
		if name != p {
			c.Op, c.From = workspace.Create, ""
			rest.Changes = append(rest.Changes, c)
		}
	}
	for name := range b.View.Gone {
		if name != p {
			rest.Changes = append(rest.Changes, workspace.Change{Op: workspace.Delete, Path: name})
		}
	}
	return check.NewView(b.View.Base, rest), b.Box.Apply(ctx, workspace.Changeset{Changes: []workspace.Change{one}})
}
