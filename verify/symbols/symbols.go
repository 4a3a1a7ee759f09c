// Package symbols runs the scanner of the toolchain image, which lists what files define, import and refer to. It
// judges nothing, and does not trust the answer.
package symbols

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"agent/sandbox"
	"agent/sandbox/guest"
	"agent/verify/check"
)

const (
	// symbolsScript is the scanner in the toolchain image. It is not a gate, so it is not part of the definitions that
	// a baseline is stored under.
	symbolsScript = "/agent/symbols.py"
	// symbolBatch is how many files one run of the scanner reads: few enough that their symbols fit into the output of
	// one command.
	symbolBatch = 500
	// symbolTime is the time limit for a batch. The scanner itself gives up on a single file long before.
	symbolTime = 5 * time.Minute
)

// Scan lists what the files at paths below dir in the box define, import and refer to. It calls each with a part of the
// paths and the scanner's answer about them, one JSON object a line, for the ledger to decode. The answer was produced
// next to hostile text, so nothing in it can be trusted. It is empty for a file that alone has too many symbols.
//
// The files are parsed, never run, by an interpreter that nothing in the workspace configures. An error from each ends
// the scan and is returned unchanged.
func Scan(ctx context.Context, box *sandbox.Box, dir string, paths []string, each func(paths []string, answer []byte) error) error {
	return scan(ctx, box, dir, paths, each)
}

// scan is Scan on any runner.
func scan(ctx context.Context, box check.Runner, dir string, paths []string, each func([]string, []byte) error) error {
	for len(paths) > 0 {
		batch := paths[:min(symbolBatch, len(paths))]
		paths = paths[len(batch):]
		if err := scanBatch(ctx, box, dir, batch, each); err != nil {
			return err
		}
	}
	return nil
}

// scanBatch scans with one command, or with two of half the size if the output was too large.
func scanBatch(ctx context.Context, box check.Runner, dir string, paths []string, each func([]string, []byte) error) error {
	list, err := json.Marshal(paths)
	if err != nil {
		return err
	}
	res, err := box.Run(ctx, guest.Command{
		Args: []string{check.Toolchain.Python, "-I", "-S", "-B", symbolsScript}, Dir: dir, Stdin: list,
		Timeout: symbolTime, MaxOutput: check.MaxToolOutput,
	})
	switch {
	case err != nil:
		return fmt.Errorf("scan %d files for symbols: %w", len(paths), err)
	case res.Exit != 0 || res.Killed || res.TimedOut:
		return fmt.Errorf("scan %d files for symbols: exit status %d after %s: %s", len(paths), res.Exit,
			res.Wall.Round(time.Second), check.FirstLine(check.Tail(check.Clean(check.Bytes(res.Stderr)), check.MaxMessage)))
	case res.Stdout.Dropped == 0:
		return each(paths, check.Bytes(res.Stdout))
	case len(paths) == 1:
		return each(paths, nil)
	}
	half := len(paths) / 2
	if err := scanBatch(ctx, box, dir, paths[:half], each); err != nil {
		return err
	}
	return scanBatch(ctx, box, dir, paths[half:], each)
}
